"""Compiled templates are kept on disk, and one that was damaged or belongs to other code is not used."""

from pathlib import Path

import pytest

from tacit import pages


@pytest.fixture
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path))
    return tmp_path


def _page() -> str:
    module = pages.templates().get_template("table.html.j2").module
    return str(module.table(["a"], [["<b>"]]))  # type: ignore[attr-defined]


def test_a_template_is_compiled_once(kept: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = _page()
    (file,) = kept.glob("page-*")
    assert file.stat().st_mode & 0o777 == 0o600 and "&lt;b&gt;" in page
    before = file.stat().st_mtime_ns
    assert _page() == page and file.stat().st_mtime_ns == before


def test_a_damaged_one_is_compiled_again(kept: Path) -> None:
    page = _page()
    (file,) = kept.glob("page-*")
    whole = file.read_bytes()
    for damaged in (b"", whole[:-1], whole.replace(b"<table>", b"<tabla>")):
        assert damaged != whole
        file.write_bytes(damaged)
        assert _page() == page
        assert file.read_bytes() == whole


def test_where_nothing_can_be_kept_pages_are_made_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_CACHE", "/proc/none")
    assert "&lt;b&gt;" in _page()
