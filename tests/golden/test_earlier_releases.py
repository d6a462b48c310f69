"""Releases made before schedules were stated still verify, against their ledger too; forged ones do not."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tacit.errors import IntegrityError
from tacit.release.manifest import manifest_text, read_manifest
from tacit.release.verify import verify_release

HOME = Path(__file__).parent / "releases-format-1"
NAMES = ["zealous", "click-pure", "click-approximate", "session", "session-given", "k-query"]


@pytest.mark.parametrize("name", NAMES)
def test_it_verifies(name: str) -> None:
    assert read_manifest(HOME / name)["format"] == 1
    checks = verify_release(HOME / name, HOME / "log.parquet.ledger")
    assert [check.what for check in checks if not check.holds] == []
    assert any(check.what == "the ledger notes this very manifest" for check in checks)


@pytest.mark.parametrize("name", NAMES)
def test_an_understated_guarantee_is_found(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "forged"
    shutil.copytree(HOME / name, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    if name == "k-query":
        manifest["guarantee"]["k"] += 1
    else:
        manifest["guarantee"]["epsilon"] *= 0.9
    (folder / "manifest.json").write_text(manifest_text(manifest))
    failed = {check.what for check in verify_release(folder) if not check.holds}
    assert failed == {"the guarantee follows from the parameters"}


def test_a_form_of_the_future_is_refused_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"format": 99}')
    with pytest.raises(IntegrityError, match="does not know") as refused:
        verify_release(tmp_path)
    assert "newer Tacit" in refused.value.remedy
