"""``tacit serve`` as a command: prints its address, keeps its state private, tells nothing of queries."""

from __future__ import annotations

import json
import os
import re
import signal
import stat
import subprocess
import sys
from pathlib import Path

import httpx


def test_it_serves_until_it_is_stopped(tmp_path: Path) -> None:
    profile = tmp_path / "me.profile"
    command = [sys.executable, "-m", "tacit", "serve", "--port", "0", "--no-browser", "--json"]
    with subprocess.Popen(
        [*command, "--profile", str(profile)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as running:
        assert running.stdout is not None and running.stderr is not None
        text = ""
        while not text.rstrip().endswith("}"):
            line = running.stdout.readline()
            assert line, running.stderr.read()
            text += line
        told = json.loads(text)
        address = told["address"].partition("/open")[0]
        with httpx.Client(base_url=address, trust_env=False, headers={"Sec-Fetch-Site": "none"}) as client:
            opened = client.get(told["address"])
            place = re.search(r"/at-[\w-]+", opened.text)
            assert opened.status_code == 200 and place is not None
            client.base_url = client.base_url.join(place[0])
            assert "zanzibar" in client.get("/search?q=zanzibar").text.lower()
            posted = client.post("/search", data={"q": "zanzibar"})
            assert posted.status_code == 200
            assert client.get("/nowhere/zanzibar").status_code == 404
        port = int(address.rpartition(":")[2])
        listening = Path("/proc/net/tcp").read_text() + Path("/proc/net/tcp6").read_text()
        places = [
            line.split()[1] for line in listening.splitlines() if f":{port:04X} " in line.split(" rem")[0]
        ]
        assert {place.partition(":")[0] for place in places if place.endswith(f":{port:04X}")} == {"0100007F"}
        for path in tmp_path.iterdir():
            assert stat.S_IMODE(path.stat().st_mode) == 0o600
        os.kill(running.pid, signal.SIGTERM)
        said = running.stdout.read() + running.stderr.read()
        assert running.wait(30) == 0
    assert "zanzibar" not in said.lower()
    assert profile.is_file() and not Path(f"{profile}-wal").exists()


def test_a_port_in_use_is_said_to_be(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = subprocess.run(
            [sys.executable, "-m", "tacit", "serve", "--port", str(port), "--profile", str(tmp_path / "p")],
            capture_output=True,
            text=True,
        )
    assert done.returncode == 1
    assert "--port" in done.stderr
    assert not (tmp_path / "p").exists()
