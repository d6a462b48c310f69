"""``tacit ledger`` as people and programs use it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.release_log import write_log
from typer.testing import CliRunner

import tacit as tacit_library
from tacit import Guarantee, InputError, Ledger
from tacit.commands import application
from tacit.privacy.accounting.events import ApproximateDp, KQueryRelease
from tacit.privacy.guarantee import GuaranteeKind, Neighbours


def tacit(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tacit", "ledger", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def answer(*arguments: object) -> dict[str, Any]:
    done = tacit(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return dict(json.loads(done.stdout))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "log.ledger"
    answer("init", path, "--budget-epsilon", 2, "--budget-delta", "1e-6", "--label", "weekly log")
    promise = Guarantee(GuaranteeKind.APPROXIMATE, Neighbours.ADD_REMOVE, 0.5, 2e-7)
    ledger = Ledger(path)
    ledger.note_release(ledger.spend(ApproximateDp(promise), "week 1"), "0" * 64)
    ledger.confirm_release(1)
    ledger.spend(ApproximateDp(promise), "week 2")
    return path


def test_show_says_what_was_spent_and_what_is_left(path: Path) -> None:
    shown = answer("show", path)
    assert shown["label"] == "weekly log"
    assert shown["budget"] == {
        "kind": "approximate",
        "neighbours": "add-remove",
        "epsilon": 2.0,
        "delta": 1e-6,
    }
    assert (shown["spent"]["epsilon"], shown["remaining"]["epsilon"]) == (1.0, 1.0)
    assert shown["remaining"]["delta"] == 6e-7
    assert shown["repetitions_left"] == 2
    assert [release["purpose"] for release in shown["releases"]] == ["week 1", "week 2"]
    assert [release["manifest"] for release in shown["releases"]] == ["0" * 64, None]


def test_the_readable_form_has_a_bar_and_a_line_for_each_release(path: Path) -> None:
    lines = tacit("show", path).stdout.splitlines()
    assert any(line.startswith("epsilon") and "█" * 16 + "░" * 16 in line for line in lines)
    assert any("1 of 2 spent, 1 left" in line for line in lines)
    assert any("week 1" in line and "released" in line for line in lines)
    assert any("week 2" in line and "spent" in line for line in lines)
    assert "noted, not released" not in " ".join(lines)


def test_a_charge_whose_release_never_appeared_is_told_apart(path: Path) -> None:
    ledger = Ledger(path)
    ledger.note_release(ledger.state().entries[1].number, "1" * 64)
    shown = answer("show", path)
    assert [release["state"] for release in shown["releases"]] == ["released", "noted"]
    lines = tacit("show", path).stdout
    assert "noted, not released: 4" in " ".join(lines.split())


def test_verify_finds_a_published_head_and_misses_a_false_one(path: Path) -> None:
    head = answer("show", path)["head"]
    Ledger(path).spend(KQueryRelease(5), "baseline")
    checked = answer("verify", path, "--head", head)
    assert (checked["valid"], checked["head_found"], checked["unprotected_releases"]) == (True, True, 1)
    done = tacit("verify", path, "--head", "f" * 64)
    assert done.returncode == 1
    assert "not in this chain" in done.stderr


def test_a_changed_ledger_fails_without_a_traceback(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b'"epsilon":2.0', b'"epsilon":9.0', 1))
    for verb in ("show", "verify"):
        done = tacit(verb, path)
        assert done.returncode == 1
        assert done.stderr.startswith("error: entry 0 of the ledger does not match its own hash")
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (["--budget-epsilon", "0"], 2, "must be positive and finite; found 0"),
        (["--budget-epsilon", "-1"], 2, "at least 0"),
        (["--budget-epsilon", "nan"], 2, "--budget-epsilon must be a finite number, at least 0; found nan"),
        (["--budget-epsilon", "1", "--budget-delta", "2"], 2, "in [0, 1]"),
        (["--budget-epsilon", "1", "--composition", "pld"], 2, "greater than 0 for the rule pld"),
        (["--budget-epsilon", "1", "--composition", "hope"], 2, "hope"),
        (["--budget-epsilon", "1", "--log", "nowhere.parquet"], 1, "cannot be read as a search log"),
        ([], 2, "--budget-epsilon"),
    ],
)
def test_a_wrong_budget_is_told_and_makes_no_file(
    arguments: list[str], code: int, complaint: str, tmp_path: Path
) -> None:
    path = tmp_path / "log.ledger"
    done = tacit("init", path, *arguments)
    assert done.returncode == code
    assert complaint in " ".join(done.stderr.split())
    assert not path.exists()


def test_a_folder_that_is_missing_is_told(tmp_path: Path) -> None:
    done = tacit("init", tmp_path / "no" / "log.ledger", "--budget-epsilon", 1)
    assert done.returncode == 1
    assert "does not exist" in done.stderr


def test_a_copy_that_lacks_entries_is_not_called_sound_where_more_was_seen(tmp_path: Path) -> None:
    """By show and by verify, whether it was cut short, or went on in another way."""
    log = tacit_library.read_log(write_log(tmp_path / "log.parquet", 120))
    ledger = tmp_path / "log.parquet.ledger"
    kept = {}
    for name in ("one", "two"):
        plan = tacit_library.Zealous(epsilon=0.25, delta=1e-7)
        log.release(plan, to=tmp_path / name, budget_epsilon=2, budget_delta=1e-5)
        kept[name] = ledger.read_bytes()
    for content, missing in ((kept["two"], 0), (kept["one"], 3)):
        ledger.write_bytes(content)
        shown = CliRunner().invoke(application(), ["ledger", "show", str(ledger), "--json"])
        assert json.loads(shown.stdout)["entries_missing"] == missing
        said = CliRunner().invoke(application(), ["ledger", "show", str(ledger)]).output
        assert ("not the newest copy" in said) == bool(missing)
        checked = CliRunner().invoke(application(), ["ledger", "verify", str(ledger)])
        assert (checked.exit_code == 0) == (not missing)
        assert ("sound" in checked.output) == (not missing)


def test_what_the_owner_states_is_asked_for_once(tmp_path: Path) -> None:
    log = tacit_library.read_log(write_log(tmp_path / "log.parquet", 120))
    given = {"budget_epsilon": 2, "budget_delta": 1e-5}
    said: list[str] = []
    plan = tacit_library.Zealous(epsilon=0.25, delta=1e-7)
    first = log.release(plan, to=tmp_path / "one", report=said.append, **given)
    assert "The page shows as missing: data_set" in said[-1] and "not stated" in page_of(first)
    words = ["ledger", "about", str(tmp_path / "log.parquet.ledger"), "--json"]
    made = json.loads(CliRunner().invoke(application(), words).stdout)
    path = Path(made["file"])
    assert path.name == "log.parquet.about.toml" and "controller" in made["missing"]
    stated = "\n".join(f'{name} = "the {name} of it"' for name in made["about"])
    path.write_text(stated)
    again = log.release(plan, to=tmp_path / "two", report=said.append, purpose="another one")
    assert "not stated</strong>" not in page_of(again) and "the recipients of it" in page_of(again)
    assert again.manifest["deployment"]["curator"] == "the controller of it"
    assert again.manifest["about"]["purpose"] == "another one"
    assert "missing" not in said[-1] and tacit_library.verify(tmp_path / "two")
    for wrong in ("controler = 'x'", "controller = 5", "controller = ", 'controller = "a\\nb"'):
        path.write_text(wrong)
        with pytest.raises(InputError, match=r"about\.toml"):
            log.release(plan, to=tmp_path / "three")
    assert not (tmp_path / "three").exists()


def page_of(release: Any) -> str:
    return (release.folder / "release.html").read_text("utf-8")
