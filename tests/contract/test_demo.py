"""The demo runs from beginning to end, on a small log."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
import sys
from pathlib import Path

from tacit.privacy import Guarantee
from tacit.release.document.words import verdict_on

_SOURCE = Path(__file__).parents[2] / "src"


def test_the_demo_ends_with_what_it_promises(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tacit", "demo", "-o", "demo", "--users", "500", "--json"],
        capture_output=True, text=True, check=False, cwd=tmp_path, timeout=280,
        env={**os.environ, "PYTHONPATH": str(_SOURCE)},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    page = Path(result["page"])
    assert page == tmp_path / "demo/index.html"
    told = page.read_text(encoding="utf-8")
    for command in ("generalise", "simulate", "group", "release"):
        (typed,) = [line for line in result["commands"] if line.split()[1] == command]
        assert html.escape(typed, quote=False) in told
    for target in re.findall(r'href="([^#"]+)"', told):
        assert (page.parent / target).is_file(), "every step links to the page that it made"
    manifest = json.loads((page.parent / "released/manifest.json").read_text(encoding="utf-8"))
    verdict = verdict_on(Guarantee.from_dict(manifest["guarantee"]))
    assert verdict.sentences[0] in html.unescape(told)
    officer = (page.parent / "released/release.html").read_text(encoding="utf-8")
    assert verdict.sure in told and verdict.sure in officer, "both pages say the same of the same release"
    assert [command.split()[1] for command in result["commands"]] == [
        "synth", "release", "verify", "group", "profile", "profile", "generalise", "simulate", "evaluate",
        "audit", "site",
    ]  # fmt: skip
