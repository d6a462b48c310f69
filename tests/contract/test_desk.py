"""The owner's desk: nobody else starts, stops or reads anything, and no kill leaves a job that lies."""

from __future__ import annotations

import html
import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest
from starlette.routing import Route
from tests.local_server import running
from tests.release_log import CANARY_QUERY, write_log

from tacit import Ledger, verify
from tacit.errors import InputError
from tacit.web.desk.actions import ACTIONS, Shelf
from tacit.web.desk.application import Desk, desk_application, open_desk
from tacit.web.desk.jobs import Jobs, JobStanding
from tacit.web.server import bound_socket

KILLS = int(os.environ.get("TACIT_DESK_KILLS", "4"))
RELEASE = {
    "log": "log.parquet",
    "mechanism": "zealous",
    "epsilon": "1",
    "delta": "1e-8",
    "budget_epsilon": "100",
    "budget_delta": "1e-3",
    "purpose": "--purpose of a test",
}


def until(holds: Callable[[], Any], seconds: float = 200) -> None:
    """Wait for a condition."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never came"
        time.sleep(0.02)


@contextmanager
def served(home: Path) -> Iterator[tuple[Desk, str]]:
    opened = bound_socket("127.0.0.1", 0)
    with (
        open_desk(home, opened.getsockname()[1]) as desk,
        running(desk_application(desk), opened) as address,
    ):
        yield desk, address


@contextmanager
def let_in(address: str, place: str, opening: str) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=address + place, trust_env=False, headers={"Sec-Fetch-Site": "same-origin"}, timeout=60
    ) as client:
        assert client.get(opening).status_code == 200
        yield client


def post(client: httpx.Client, path: str, address: str, **fields: Any) -> httpx.Response:
    found = re.search(
        r"form=([0-9a-f]{64})",
        client.get("/release?filled=1&" + str(httpx.QueryParams(RELEASE | {"output": "x"}))).text,
    )
    assert found is not None
    return client.post(f"{path}?form={found[1]}", data=fields, headers={"Origin": address})


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    write_log(folder / "log.parquet")
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "state"))
    return folder


class Noted(dict[str, list[str]]):
    """A filled form that notes what was asked of it."""

    def get(self, name: str, default: Any = None) -> Any:
        self.asked = {*getattr(self, "asked", ()), name}
        return super().get(name, default)


@pytest.mark.parametrize("name", ACTIONS)
def test_a_form_has_the_fields_that_its_command_is_made_of(home: Path, name: str) -> None:
    shelf, form = Shelf(home), ACTIONS[name]
    vars(shelf).update(raw=["a.csv"], releases={"week-01": {}}, ledgers={"log.ledger": ""})
    more = {"files": "a.csv", "how": "import", "releases": "week-01", "ledger": "log.ledger", "output": "new"}
    filled = Noted({each: [value] for each, value in (RELEASE | more).items()})
    form.words(shelf, filled)
    fields = {field.name for field in form.fields}
    assert filled.asked <= fields and fields - filled.asked <= {"log"}  # a plan is judged with its ledger
    offering = [field for field in form.fields if field.kind in ("choice", "several")]
    assert all(field.offered(shelf) for field in offering if field.name != "keys")


def test_what_a_command_would_make_is_not_there_yet(home: Path) -> None:
    (home / "week-01-audit.html").touch()
    (home / "week-02").mkdir()
    shelf, form = Shelf(home), {name: [value] for name, value in RELEASE.items()}
    vars(shelf).update(raw=["a.csv"])
    imported, audited = ACTIONS["import"], ACTIONS["audit"]
    with pytest.raises(InputError, match=r"log\.parquet exists already"):
        imported.words(shelf, {"files": ["a.csv"], "how": ["import"], "output": ["log"]})
    with pytest.raises(InputError, match=r"week-01-audit\.html exists already"):
        audited.words(shelf, form | {"output": ["week-01"]})
    assert audited.words(shelf, form | {"output": ["week-02"]})[-1] == "week-02-audit.html"


def test_a_release_from_form_to_site(home: Path) -> None:
    with (
        served(home) as (desk, address),
        let_in(address, desk.admission.place, desk.admission.address) as client,
    ):
        front = client.get("/").text
        assert "log.parquet" in front and "No ledger beside it yet" in front and CANARY_QUERY not in front
        form = client.get("/release", params={**RELEASE, "filled": "1", "output": "week-01"}).text
        typed = "tacit release zealous log.parquet --epsilon 1 --delta 1e-08 --budget-epsilon 100"
        assert typed in form and "--purpose=--purpose of a test" in form
        assert "Strong protection of every user" in form and '<svg class="belief"' in form, (
            "before anything is spent"
        )
        assert not (home / "log.parquet.ledger").exists()
        asked = {name: RELEASE[name] for name in ("log", "mechanism", "epsilon", "delta")}
        planned = post(client, "/plan", address, **asked, users="300").headers["location"].rpartition("/")[2]
        bad = client.get("/release", params={**RELEASE, "filled": "1", "output": "../elsewhere"}).text
        assert "name a new folder" in bad and "Start it" not in bad
        answer = post(client, "/release", address, **RELEASE, output="week-01")
        assert answer.status_code == 303
        job = desk.jobs.find(answer.headers["location"].rpartition("/")[2])
        until(lambda: job.standing is not JobStanding.RUNNING)
        assert job.standing is JobStanding.DONE, job.said("stderr")
        assert verify(home / "week-01", home / "log.parquet.ledger")
        until(lambda: desk.jobs.find(planned).standing is not JobStanding.RUNNING)
        plan = client.get(f"/jobs/{planned}").text
        assert "users must have" in plan and "To expect of a log of 300 users" in plan, plan
        shown = client.get(f"/jobs/{job.name}").text
        assert "tacit release zealous" in shown and "See the page it made" in shown
        (back,) = re.findall(r'href="/at-[^"/]+(/release\?[^"]*)">Back to its form', shown)
        assert 'value="--purpose of a test"' in client.get(html.unescape(back)).text, "as it was filled"
        page = client.get("/page/week-01/release.html")
        assert page.status_code == 200 and page.headers["content-security-policy"].startswith("sandbox")
        for path in (
            "/page/log.parquet",
            "/page/../state/release.html",
            "/page/jobs/.desk.sqlite",
            "/page/%2e%2e/x",
        ):
            assert client.get(path).status_code == 404
        assert client.get("/ledger/log.parquet.ledger").status_code == 200
        chosen = {"releases": "week-01", "ledger": "log.parquet.ledger", "output": "site"}
        preview = client.get("/publish", params={**chosen, "filled": "1"}).text
        assert all(f"week-01/{name}" in preview for name in ("manifest.json", "queries.tsv", "release.html"))
        answer = post(client, "/publish", address, **chosen)
        job = desk.jobs.find(answer.headers["location"].rpartition("/")[2])
        until(lambda: job.standing is not JobStanding.RUNNING)
        assert (home / "site" / "index.html").is_file(), job.said("stderr")
    with (
        served(home) as (desk, address),
        let_in(address, desk.admission.place, desk.admission.address) as client,
    ):
        assert [each.standing for each in desk.jobs.all()] == [JobStanding.DONE] * 3, (
            "a restart loses nothing"
        )
        listed = client.get("/jobs").text
        assert listed.count('class="tag done"') == 3


def test_a_log_from_a_file_that_lies_there(home: Path) -> None:
    rows = "".join(
        f"u{user}\t2026-03-0{1 + day}T10:0{user}:00\tnews {user * day}\n"
        for user in range(9)
        for day in range(3)
    )
    (home / "raw.tsv").write_text(f"user\ttime\tquery\n{rows}")
    (home / "elsewhere.csv").symlink_to("/etc/hostname")
    with (
        served(home) as (desk, address),
        let_in(address, desk.admission.place, desk.admission.address) as client,
    ):
        form = client.get("/import").text
        assert "raw.tsv" in form and "elsewhere.csv" not in form
        said = {}
        for how in ("look", "import"):
            answer = post(client, "/import", address, files="raw.tsv", how=how, output="new.parquet")
            job = desk.jobs.find(answer.headers["location"].rpartition("/")[2])
            until(lambda job=job: job.standing is not JobStanding.RUNNING)  # type: ignore[misc]
            assert job.standing is JobStanding.DONE, job.said("stderr")
            said[how] = job.said("stdout") + job.said("stderr")
        assert "time" in said["look"] and "27 records" in said["import"]
        assert not any("news" in each for each in said.values()), "what stands in the files is not shown"
        assert "new.parquet" in client.get("/").text
        wrong = client.get("/import", params={"filled": "1", "files": "/etc/passwd", "how": "look"}).text
        assert "choose at least one" in wrong


def test_nobody_else_starts_stops_or_reads(home: Path) -> None:
    with served(home) as (desk, address):
        app = desk_application(desk)
        with let_in(address, desk.admission.place, desk.admission.address) as client:
            cookie = client.cookies[desk.admission.cookie]
            form = client.get("/publish").text
        token = desk.admission.form_token(cookie)
        assert "There is none in this folder" in form
        known = desk.jobs.start(["--version"])
        inside = address + desk.admission.place
        sample = {"name": known.name, "path": "week-01/release.html", "action": "release"}
        own = {
            "Cookie": f"{desk.admission.cookie}={cookie}",
            "Sec-Fetch-Site": "same-origin",
            "Origin": address,
        }
        elsewhere = "http://127.0.0.1:1"
        for route in app.routes:
            if not isinstance(route, Route) or route.path == "/open":  # style; guarded by its secret
                continue
            path = route.path.replace(":path", "").format(**sample)
            for method in (route.methods or set()) - {"HEAD"}:

                def ask(
                    headers: dict[str, str],
                    base: str = inside,
                    query: str = f"?form={token}",
                    m: str = method,
                    p: str = path,
                ) -> int:
                    data = RELEASE if m == "POST" else None
                    return httpx.request(
                        m, base + p + query, headers=headers, data=data, trust_env=False
                    ).status_code

                refused = {
                    "no cookie": ask({k: v for k, v in own.items() if k != "Cookie"}),
                    "a wrong cookie": ask(own | {"Cookie": f"{desk.admission.cookie}=x"}),
                    "another port": ask(own | {"Origin": elsewhere, "Sec-Fetch-Site": "same-site"}),
                    "another port, as a link": ask(
                        own | {"Sec-Fetch-Site": "same-site"} | {"Origin": address}
                    ),
                    "another site": ask(
                        own | {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}
                    ),
                    "another name": ask(own | {"Host": "evil.example"}),
                }
                if method == "POST":
                    refused["no token"] = ask(own, query="")
                    refused["another token"] = ask(own, query="?form=" + "0" * 64)
                    silent = {k: v for k, v in own.items() if k == "Cookie"}
                    refused["no origin"] = ask(silent)
                assert all(code in (403, 421) for code in refused.values()), (method, path, refused)
                assert ask(own, base=address) in (200, 403), "outside the place there is only the door"
        assert [job.name for job in desk.jobs.all()] == [known.name]
        until(lambda: known.standing is not JobStanding.RUNNING)


def test_a_job_is_stopped_and_says_so(home: Path) -> None:
    jobs = Jobs(home)
    job = jobs.start(["synth", "--users", "200000", "-o", "large.parquet"])
    assert job.standing is JobStanding.RUNNING
    until(lambda: (job.folder / "pid").is_file())
    until(job.stop)
    until(lambda: job.standing is not JobStanding.RUNNING)
    assert job.standing is JobStanding.STOPPED, (job.said("stderr"), sorted(job.folder.iterdir()))
    assert not (home / "large.parquet").exists()
    assert not job.stop(), "nothing is sent to a number that may be another's by now"
    failed = jobs.start(["release", "zealous", "nowhere.parquet", "-o", "x"])
    until(lambda: failed.standing is not JobStanding.RUNNING)
    assert failed.standing is JobStanding.FAILED and "error" in failed.said("stderr")
    (job.folder / "job.json").write_text("{")  # whatever lies in a folder, the list is shown
    (jobs.folder / "20260101-000000-x-abcdef").mkdir()
    assert len(jobs.all()) == 3 and jobs.all()[-1].standing is JobStanding.KILLED


def test_a_kill_at_any_moment_leaves_the_truth(home: Path) -> None:
    """kill -9 of desk and job: no half-visible release, every release charged, no state that is not so."""
    drawn = Random(28)
    for number in range(KILLS):
        desk = subprocess.Popen(
            [sys.executable, "-m", "tacit", "desk", str(home), "--port", "0", "--no-browser", "--json"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
        )  # fmt: skip
        assert desk.stdout is not None
        said = ""
        while not said.endswith("}\n"):
            said += (line := desk.stdout.readline())
            assert line, "the desk did not start"
        opening = json.loads(said)["address"]
        address = opening.partition("/open")[0]
        place = httpx.get(opening, trust_env=False).text.partition("url=")[2].partition('/"')[0]
        with let_in(address, place, opening) as client:
            answer = post(client, "/release", address, **RELEASE, output=f"week-{number}")
            name = answer.headers["location"].rpartition("/")[2]
        job = Jobs(home).find(name)
        time.sleep(drawn.random() * 2.5)
        first, second = (desk.pid, None) if drawn.random() < 0.5 else (None, desk.pid)
        if first:
            os.kill(first, signal.SIGKILL)
        if (job.folder / "pid").is_file() and (text := (job.folder / "pid").read_text().strip()):
            with_group = drawn.random() < 0.7
            if job.standing is JobStanding.RUNNING:
                (os.killpg if with_group else os.kill)(int(text), signal.SIGKILL)
        if second:
            os.kill(second, signal.SIGKILL)
        desk.wait()
        desk.stdout.close()
        until(lambda job=job: job.standing is not JobStanding.RUNNING)
        output, ledger = home / f"week-{number}", home / "log.parquet.ledger"
        if output.exists():
            assert verify(output, ledger), "what is there is whole and charged"
        else:
            assert job.standing is not JobStanding.DONE
        if job.standing is JobStanding.DONE:
            assert output.is_dir()
        if ledger.exists():
            Ledger(ledger).verify()
    assert len(Jobs(home).all()) == KILLS
