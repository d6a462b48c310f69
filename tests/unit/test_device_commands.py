"""``tacit profile`` and ``tacit generalise``, run as a person runs them."""

from __future__ import annotations

import contextlib
import io
import json
import stat
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tacit.commands import main

HISTORY = """url,title,text
https://a.example/,Espresso,strong black coffee brewed by forcing hot water through ground coffee beans
https://b.example/,Java,an island in Indonesia to the south of Borneo
https://c.example/,Diabetes,a polygenic disease characterized by abnormally high glucose levels in the blood
https://d.example/,Golden eagle,large eagle of mountainous regions of the northern hemisphere
"""


@dataclass
class Done:
    returncode: int
    stdout: str
    stderr: str


def tacit(*arguments: str, cwd: Path) -> Done:
    """Run the command in this process: same entry point, without starting Python anew each time."""
    out, err = io.StringIO(), io.StringIO()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        patch.setenv("COLUMNS", "200")
        patch.setattr(sys, "argv", ["tacit", *arguments])
        try:
            main()
            code = 0
        except SystemExit as exit:
            code = int(exit.code or 0)
    return Done(code, out.getvalue(), err.getvalue())


def as_json(*arguments: str, cwd: Path) -> dict[str, Any]:
    done = tacit(*arguments, "--json", cwd=cwd)
    assert done.returncode == 0, done.stderr
    loaded: dict[str, Any] = json.loads(done.stdout)
    return loaded


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("device")
    (made / "history.csv").write_text(HISTORY)
    built = as_json(
        *("profile", "build", "me.profile", "--history", "history.csv", "--taxonomy", "wordnet"), cwd=made
    )
    assert (built["filed"], built["created"]) == (4, True)
    assert stat.S_IMODE((made / "me.profile").stat().st_mode) == 0o600
    protected = as_json("profile", "protect", "me.profile", "disease.n.01", "--sensitivity", "2", cwd=made)
    assert protected["in_profile"]
    assert 0 < protected["least_risk"] < 0.1
    return made


def test_generalise_says_what_is_exposed_and_keeps_to_the_bound(folder: Path) -> None:
    always = ["--delta", "0.1"]
    found = as_json("generalise", "diabetes", "--profile", "me.profile", *always, cwd=folder)
    assert {"exposed", "risk", "utility", "personalised"} <= set(found)
    assert found["personalised"]
    assert 0 < found["risk"] <= 0.1
    assert not any("disease.n.01" in topic.split("/") for topic in found["exposed"])
    assert any("disease.n.01" in topic.split("/") for topic in found["hidden"])


def test_the_tree_shows_what_stays_and_what_is_hidden(folder: Path) -> None:
    shown = tacit("generalise", "diabetes", "--profile", "me.profile", cwd=folder)
    assert shown.returncode == 0, shown.stderr
    assert "hidden" in shown.stdout
    assert "topics stay" in shown.stdout


def test_over_the_peoples_taxonomy_queries_go_alone_until_the_list_was_looked_at(tmp_path: Path) -> None:
    pages = [*["Espresso beans and coffee grinder"] * 3, "Chemotherapy and its side effects"]
    rows = "".join(f"https://u{place}.example/,{title},part {place}\n" for place, title in enumerate(pages))
    (tmp_path / "history.csv").write_text(f"url,title,text\n{rows}")
    as_json("profile", "build", "p.profile", "--history", "history.csv", cwd=tmp_path)
    asked = ("generalise", "coffee", "--profile", "p.profile")
    assert "not looked at" in as_json(*asked, cwd=tmp_path)["decision"]
    listed = as_json("profile", "sensitive", "p.profile", cwd=tmp_path)["concepts"]
    assert len(listed) == 12 and all(0 < concept["recognised"]["pages"] <= 1 for concept in listed)
    assert as_json(*asked, cwd=tmp_path)["exposed"][-1] == "Top/Food & Drink/Coffee & Tea"
    caught = as_json("generalise", "chemotherapy", "--profile", "p.profile", cwd=tmp_path)
    assert not caught["personalised"] and "sensitive" in caught["decision"]


def test_an_infeasible_bound_sends_nothing_and_says_so(folder: Path) -> None:
    found = as_json("generalise", "diabetes", "--profile", "me.profile", "--delta", "0", cwd=folder)
    assert not found["personalised"]
    assert found["exposed"] == []
    assert "exceeds the risk bound" in found["decision"]


def test_every_algorithm_answers(folder: Path) -> None:
    for algorithm in ("greedy-il", "greedy-dp"):
        found = as_json(
            "generalise",
            "coffee",
            "--profile",
            "me.profile",
            "--algorithm",
            algorithm,
            "--delta",
            "0.05",
            cwd=folder,
        )
        assert found["algorithm"] == algorithm


def test_exposures_are_recorded_and_exported(folder: Path) -> None:
    arguments = ["--profile", "me.profile", "--upstream", "engine", "--delta", "0.05"]
    found = as_json("generalise", "diabetes", *arguments, cwd=folder)
    assert found["risk"] <= 0.05
    assert (
        "engine: 1 queries, 1 of them with topics"
        in tacit("profile", "show", "me.profile", cwd=folder).stdout
    )
    done = tacit("profile", "export", "me.profile", "--output", "out.json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert stat.S_IMODE((folder / "out.json").stat().st_mode) == 0o600
    exported = json.loads((folder / "out.json").read_text())
    assert exported["exposures"][-1]["upstream"] == "engine"
    assert exported["exposures"][-1]["topics"] == sorted(found["exposed"])
    assert exported["exposures"][-1]["risk"] == found["risk"]
    assert exported["sensitive"][0]["sensitivity"] == 2.0
    for arguments, code in [(["out.json"], 1), (["out.json", "--force"], 0), (["me.profile", "--force"], 1)]:
        again = tacit("profile", "export", "me.profile", "--output", *arguments, cwd=folder)
        assert again.returncode == code, again.stderr


def test_errors_explain_and_never_tell_the_profile(folder: Path) -> None:
    overlap = tacit("profile", "protect", "me.profile", "diabetes.n.01", cwd=folder)
    assert overlap.returncode == 1
    assert "must not overlap" in overlap.stderr
    assert "diabetes" not in overlap.stderr
    for arguments, said in [
        (["generalise", "secret", "--profile", "none.profile"], "no profile"),
        (["generalise", "secret", "--profile", "me.profile", "--delta", "1.5"], "delta must be in [0, 1]"),
        (
            ["generalise", "secret", "--profile", "me.profile", "--algorithm", "x"],
            "'x' is not one of 'greedy-ratio'",
        ),
        (["generalise", "secret", "--profile", "me.profile", "--delta", "nan"], "--delta must be"),
        (["profile", "build", "me.profile"], "exactly one of"),
        (["profile", "build", "new.profile", "--history", "absent.csv"], "no browsing history"),
    ]:
        done = tacit(*arguments, cwd=folder)
        assert done.returncode == (1 if said.startswith("no ") else 2), arguments
        assert said in done.stderr
        assert "secret" not in done.stderr
        assert "Traceback" not in done.stderr
    assert not (folder / "new.profile").exists()


def test_a_sensitivity_that_would_drown_all_others_is_refused(folder: Path) -> None:
    done = tacit("profile", "protect", "me.profile", "person.n.01", "--sensitivity", "1e308", cwd=folder)
    assert done.returncode == 2
    assert "Invalid value for '--sensitivity'" in done.stderr
    exported = json.loads(tacit("profile", "export", "me.profile", cwd=folder).stdout)
    assert len(exported["sensitive"]) == 1


def test_show(folder: Path) -> None:
    shown = tacit("profile", "show", "me.profile", cwd=folder)
    assert "golden_eagle.n.01" in shown.stdout
    assert "sensitive 2" in shown.stdout
