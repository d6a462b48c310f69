"""One entrance publishes: the command and the library give the same manifest, or the same refusal.

Random releases are made twice, by ``Log.release`` and by ``tacit release``, each with a copy of the log and a
register of its own. Manifests agree but for times, hashes, and what is drawn at random; refusals agree in
their kind and, with parameters named as options, in their words.
"""

from __future__ import annotations

import json
import os
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.release_log import write_log
from typer.main import get_command

import tacit
from tacit import PrivacyWarning, TacitError
from tacit.commands import application
from tacit.commands.verbs import say_in_options
from tacit.release import forecast

MECHANISMS: dict[str, Any] = {
    "zealous": tacit.Zealous,
    "click": tacit.Click,
    "session": tacit.Session,
    "topics": tacit.Topics,
    "k-query": tacit.KQuery,
}
PARAMETERS: dict[str, dict[str, st.SearchStrategy[Any]]] = {
    "zealous": {
        "epsilon": st.sampled_from([None, -1.0, 0.5, 2.0, 30.0]),
        "delta": st.sampled_from([1e-6, 2.0]),
    }
    | {"per_user": st.sampled_from([0, 1, 5]), "noise": st.sampled_from([None, 0.0, 3.0])},
    "click": {"epsilon": st.sampled_from([None, 4.0, 12.0]), "queries_per_user": st.sampled_from([1, 3])},
    "session": {
        "epsilon": st.sampled_from([0.1, 6.0]),
        "neighbours": st.sampled_from(["add-remove", "replace"]),
    },
    "topics": {"epsilon": st.sampled_from([None, 2.0]), "levels": st.sampled_from([1, 2, 99])},
    "k-query": {"k": st.sampled_from([0, 5])},
}
WORDS: dict[str, st.SearchStrategy[Any]] = {
    "budget_epsilon": st.sampled_from([None, -1.0, 1.0, 40.0]),
    "budget_delta": st.sampled_from([0.0, 1e-3, 7.0]),
    "data_set": st.sampled_from(["", "the weekly log", "x" * 300, "two\nlines"]),
    "controller": st.sampled_from(["", "the office"]),
    "purpose": st.sampled_from(["", "a study"]),
    "since": st.sampled_from([None, "2006-03-01", "2006-09-01T12:00+02:00"]),
    "until": st.sampled_from([None, "2006-04-01"]),
    "scrub": st.booleans(),
    "session_gap": st.sampled_from([None, -1.0, 20.0]),
    "users": st.sampled_from([None, 300]),
    "a_person_may_be_shown": st.booleans(),
    "even_if_empty": st.booleans(),
    "memory": st.sampled_from([None, "1GB", "lots"]),
    "threads": st.sampled_from([None, 1]),
}


@st.composite
def releases(draw: st.DrawFn) -> tuple[str, dict[str, Any], dict[str, Any], list[str]]:
    """A mechanism with some of its parameters, what a release takes besides, and what is wrong around it."""
    name = draw(st.sampled_from(sorted(MECHANISMS)))

    def some(known: dict[str, st.SearchStrategy[Any]], most: int) -> dict[str, Any]:
        chosen = draw(st.lists(st.sampled_from(sorted(known)), unique=True, max_size=most))
        return {each: draw(known[each]) for each in chosen}

    words = {"budget_epsilon": 40.0, "budget_delta": 1e-3} | some(WORDS, 4)
    parameters = {"epsilon": 4.0} if name not in ("k-query",) else {"k": 5}
    parameters |= some(PARAMETERS[name], 2)
    if name == "k-query":
        words["unsafe_exact_counts"] = draw(st.booleans())
    return name, parameters, words, draw(st.lists(st.sampled_from(["no log", "taken"]), max_size=1))


FLAGS = {"unsafe_exact_counts": "--i-know-this-is-not-private", "even_if_empty": "--even-if-empty"}


def arguments(values: dict[str, Any]) -> list[str]:
    listed: list[str] = []
    for name, value in values.items():
        option = FLAGS.get(name, f"--{name.replace('_', '-')}")
        if value is None or (value is False and name != "scrub"):
            continue
        if isinstance(value, bool):
            listed.append("--no-scrub" if value is False else option)
        else:
            listed.append(f"{option}={value}")
    return listed


def outcome(run: Any, folder: Path) -> tuple[str, Any]:
    """What came of it: the manifest without what differs from run to run, or the error."""
    try:
        run()
    except TacitError as error:
        return "refused", error
    manifest = json.loads((folder / "manifest.json").read_text())
    for name in ("released", "files", "published"):
        del manifest[name]
    for name in ("published", "data_product"):
        del manifest["deployment"][name]
    del manifest["ledger"]["hash"]
    return "made", manifest


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_log(tmp_path_factory.mktemp("log") / "log.parquet", 120)


@given(releases())
@settings(max_examples=20)
def test_command_and_library_do_the_same(
    log: Path, asked: tuple[str, dict[str, Any], dict[str, Any], list[str]]
) -> None:
    name, parameters, words, wrong = asked
    command = get_command(application())
    found: list[tuple[str, Any]] = []
    refused: list[str] = []
    for door in ("library", "command"):
        with tempfile.TemporaryDirectory() as home, pytest.MonkeyPatch.context() as patch:
            patch.setenv("TACIT_STATE", f"{home}/state")
            patch.chdir(home)
            patch.setattr(forecast, "WORLDS", (300,))
            if "no log" not in wrong:
                shutil.copy(log, "log.parquet")
            if "taken" in wrong:
                Path("out").mkdir()

            def library() -> None:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", PrivacyWarning)
                    made = MECHANISMS[name](**parameters)
                    tacit.Log("log.parquet").release(made, to="out", **words)

            def terminal() -> None:
                line = ["release", name, "log.parquet", "-o", "out", *arguments(parameters | words), "--json"]
                with Path(os.devnull).open("w") as nowhere, pytest.MonkeyPatch.context() as quiet:
                    quiet.setattr("sys.stdout", nowhere)
                    quiet.setattr("sys.stderr", nowhere)
                    command.main(line, standalone_mode=False)

            found.append(outcome(library if door == "library" else terminal, Path("out")))
            if found[-1][0] == "refused":
                error = found[-1][1]
                if door == "library":
                    release = command.commands["release"].commands[name]  # type: ignore[attr-defined]
                    say_in_options(error, release)
                refused.append(f"{type(error).__name__}: {error}".replace(home, "HOME"))
    assert [kind for kind, _ in found] in (["made", "made"], ["refused", "refused"]), (refused, found)
    if refused:
        assert refused[0] == refused[1]
    else:
        assert found[0][1] == found[1][1]
