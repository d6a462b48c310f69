"""Groups from Python: what the command makes and refuses, with every parameter named and explained."""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tacit
from tacit import InfeasibleError, ParameterError, TacitError
from tacit.commands import application

PEOPLE = {f"u{user}": {f"word{user * 3 % 17 + term}": 1.0 for term in range(6)} for user in range(30)}


@pytest.fixture
def profiles(tmp_path: Path) -> Path:
    path = tmp_path / "profiles.jsonl"
    path.write_text("".join(json.dumps({"user": u, "terms": t}) + "\n" for u, t in PEOPLE.items()))
    return path


def files(folder: Path) -> dict[str, bytes]:
    names = ("representatives.jsonl", "report.json", "operator/membership.jsonl")
    return {name: (folder / name).read_bytes() for name in names}


def test_both_doors_make_the_same_groups(profiles: Path, tmp_path: Path) -> None:
    words = ["group", str(profiles), "-o", str(tmp_path / "one"), "--p", "0.5", "--seed", "7", "--json"]
    words += ["--fewest-in-group", "1"]
    done = CliRunner().invoke(application(), words)
    assert done.exit_code == 0, done.output
    with tacit.Groups.bundle(PEOPLE, tmp_path / "other", p=0.5, seed=7, fewest_in_group=1) as groups:
        assert files(tmp_path / "one") == files(tmp_path / "other")
        assert json.loads(done.stdout) == {"output": str(tmp_path / "one"), **groups.report}
        assert groups.report["linkability"]["max"] <= 0.5
        assert "\n" not in repr(groups) and "30 users" in repr(groups)


@pytest.mark.parametrize(
    "options",
    [
        {"p": 0.0},
        {"p": 0.01},
        {"criterion": "cohorts", "p": 0.4},
        {"fewest_in_group": 5},
        {"p": 0.4, "epsilon": 2},
        {"epsilon": 0},
        {"strength": 40},
        {"p": 0.4, "augment": 99},
        {"p": 0.4, "fewest_holders": 40},
        {"p": 0.4, "seed": -1},
        {"p": 0.4, "seed": "many"},
        {"p": "half"},
    ],
)
def test_both_doors_refuse_the_same(options: dict[str, object], profiles: Path, tmp_path: Path) -> None:
    with pytest.raises((ParameterError, InfeasibleError)) as caught:
        tacit.Groups.bundle(profiles, tmp_path / "out", **options)  # type: ignore[arg-type]
    words = [word for name, value in options.items() for word in (f"--{name.replace('_', '-')}", str(value))]
    done = CliRunner().invoke(application(), ["group", str(profiles), "-o", str(tmp_path / "out"), *words])
    assert isinstance(done.exception, TacitError) or done.exit_code == 2
    assert not (tmp_path / "out").exists()
    for quoted in str(caught.value).split("`")[1::2]:
        assert quoted.partition("=")[0] in inspect.signature(tacit.Groups.bundle).parameters


@pytest.mark.parametrize("public", [tacit.Groups.bundle, tacit.Log.bundle])
def test_every_parameter_is_named_and_explained(public: Callable[..., object]) -> None:
    text = inspect.getdoc(public) or ""
    for name in inspect.signature(public).parameters:
        assert name == "self" or f"{name}:" in text, name


def test_log_and_groups_take_the_same_parameters() -> None:
    log, groups = (inspect.signature(each).parameters for each in (tacit.Log.bundle, tacit.Groups.bundle))
    assert set(groups) - set(log) == {"profiles", "progress"} and set(log) - set(groups) == {"self"}
    for name in set(log) & set(groups):
        assert log[name].default == groups[name].default, name
