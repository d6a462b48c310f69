"""Releases that were made long ago still verify, against their ledger too; forged ones do not.

What is compared to the letter is their page, which only the version that made it can make again.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tacit import IntegrityError
from tacit.release.document.manifest import manifest_text, read_manifest
from tacit.release.verify import verify_release

HOME = Path(__file__).parent / "releases"
NAMES = ["zealous", "click"]
PAGE = {"release.html says what manifest and tables say"}


@pytest.mark.parametrize("name", NAMES)
def test_it_verifies(name: str) -> None:
    assert read_manifest(HOME / name)["format"] == 4
    checks = verify_release(HOME / name, HOME / "log.parquet.ledger")
    assert {check.what for check in checks if not check.holds} <= PAGE
    assert any(check.what == "the ledger notes this very manifest" for check in checks)


@pytest.mark.parametrize("name", NAMES)
def test_an_understated_guarantee_is_found(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "forged"
    shutil.copytree(HOME / name, folder)
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["guarantee"]["epsilon"] *= 0.9
    (folder / "manifest.json").write_text(manifest_text(manifest))
    failed = {check.what for check in verify_release(folder) if not check.holds}
    assert failed - PAGE == {"the guarantee follows from the parameters"}


@pytest.mark.parametrize("form", ["1", "3", "99", '"4"', "true", "4.0"])
def test_another_format_is_refused_with_what_to_do(form: str, tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text(f'{{"format": {form}}}')
    with pytest.raises(IntegrityError, match="does not know") as refused:
        verify_release(tmp_path)
    assert "newer Tacit" in refused.value.remedy
