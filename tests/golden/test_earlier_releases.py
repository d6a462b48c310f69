"""Releases of earlier forms still verify, against their ledger too; forged ones do not.

Those of the first form were made before schedules were stated, those of the second before it was analysed
what one user can attain: their figures are no less than what the same parameters give today.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tacit.errors import IntegrityError
from tacit.release.document.manifest import manifest_text, mechanism_of, read_manifest
from tacit.release.verify import verify_release

HOME = Path(__file__).parent
FIRST = ["zealous", "click-pure", "click-approximate", "session", "session-given", "k-query"]
SECOND = ["zealous", "click-approximate", "session", "session-each", "adaptive"]
THIRD = ["adaptive", "adaptive-one"]
ALL = [(1, name) for name in FIRST] + [(2, name) for name in SECOND]
OF_THIS_FORM = [(3, name) for name in THIRD]
"""Adaptive releases from before one item a user had a count of its own kind: rounds, then as now."""


def home(form: int) -> Path:
    return HOME / f"releases-format-{form}"


def forged(tmp_path: Path, form: int, name: str, *path: str, factor: float = 0.9) -> set[str]:
    """The checks that fail when one figure of the manifest is changed."""
    folder = tmp_path / "forged"
    shutil.copytree(home(form) / name, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    place = manifest
    for step in path[:-1]:
        place = place[int(step) if isinstance(place, list) else step]
    place[path[-1]] *= factor
    (folder / "manifest.json").write_text(manifest_text(manifest))
    return {check.what for check in verify_release(folder) if not check.holds}


@pytest.mark.parametrize(("form", "name"), ALL + OF_THIS_FORM)
def test_it_verifies(form: int, name: str) -> None:
    assert read_manifest(home(form) / name)["format"] == form
    checks = verify_release(home(form) / name, home(form) / "log.parquet.ledger")
    assert [check.what for check in checks if not check.holds] == []
    assert any(check.what == "the ledger notes this very manifest" for check in checks)


@pytest.mark.parametrize(("form", "name"), ALL + OF_THIS_FORM)
def test_an_understated_guarantee_is_found(form: int, name: str, tmp_path: Path) -> None:
    field, factor = ("k", 2) if name == "k-query" else ("epsilon", 0.9)
    failed = forged(tmp_path, form, name, "guarantee", field, factor=factor)
    assert failed == {"the guarantee follows from the parameters"}


@pytest.mark.parametrize("name", ["click-approximate", "session-each"])
def test_figures_of_the_second_form_are_no_less_than_todays(name: str, tmp_path: Path) -> None:
    manifest = read_manifest(home(2) / name)
    stated, today = manifest["guarantee"], mechanism_of(manifest).guarantee()
    assert today.epsilon == stated["epsilon"]
    assert today.delta < 0.8 * stated["delta"]
    below = 0.9 * today.delta / stated["delta"]
    failed = forged(tmp_path, 2, name, "guarantee", "delta", factor=below)
    assert failed == {"the guarantee follows from the parameters"}


@pytest.mark.parametrize("field", ["epsilon", "delta"])
def test_a_part_that_is_charged_too_little_is_found(field: str, tmp_path: Path) -> None:
    failed = forged(tmp_path, 2, "session-each", "parts", "0", field, factor=0.01)
    assert failed == {"the cost of each part follows from the parameters"}


def test_a_schedule_of_the_second_form_that_was_altered_is_found(tmp_path: Path) -> None:
    failed = forged(tmp_path, 2, "session-each", "schedule", "0", "least", factor=2)
    assert failed == {"what was drawn and compared follows from the parameters"}


def test_a_form_of_the_future_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"format": 99}')
    with pytest.raises(IntegrityError, match="does not know") as refused:
        verify_release(tmp_path)
    assert "newer Tacit" in refused.value.remedy


def rewritten(tmp_path: Path, form: int, name: str, change: Callable[[dict[str, Any]], None]) -> set[str]:
    """The checks that fail when a manifest is rewritten."""
    folder = tmp_path / "rewritten"
    shutil.copytree(home(form) / name, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    change(manifest)
    (folder / "manifest.json").write_text(manifest_text(manifest))
    return {check.what for check in verify_release(folder) if not check.holds}


def test_a_release_of_the_first_form_is_not_pure_without_a_public_domain(tmp_path: Path) -> None:
    def pure(manifest: dict[str, Any]) -> None:
        manifest["parameters"] |= {"mode": "pure", "domain": None, "surfaced": None}
        manifest["guarantee"] |= {"kind": "pure", "delta": 0.0}
        manifest |= {"parts": [], "paper": None}

    assert "the public sets are named, with their digests" in rewritten(
        tmp_path, 1, "click-approximate", pure
    )


@pytest.mark.parametrize("name", ["click-approximate", "session-each"])
@pytest.mark.parametrize(
    "change",
    [{"note": "a person's words"}, {"epsilon": 99.0}, {"delta": "0.001"}, {"delta": True}],
    ids=str,
)
def test_a_guarantee_of_the_second_form_says_nothing_besides(
    name: str, change: dict[str, Any], tmp_path: Path
) -> None:
    failed = rewritten(tmp_path, 2, name, lambda manifest: manifest["guarantee"].update(change))
    assert "the guarantee follows from the parameters" in failed


def test_a_part_of_the_second_form_says_nothing_besides(tmp_path: Path) -> None:
    failed = rewritten(
        tmp_path, 2, "session-each", lambda manifest: manifest["parts"][0].update(extra="words")
    )
    assert failed == {"the cost of each part follows from the parameters"}
