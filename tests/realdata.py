"""Where the tests find real data: the folder ``shared/data`` beside the project, never a part of it."""

from __future__ import annotations

from pathlib import Path

import pytest

__all__ = ["shared_data"]


def _data_folder() -> Path | None:
    """The folder beside the project, or beside one of the folders that hold it (a work tree, a clone)."""
    for ancestor in Path(__file__).resolve().parents[2:]:
        folder = ancestor / "shared" / "data"
        if folder.is_dir():
            return folder
    return None


def shared_data(name: str) -> Path:
    """The real data file or folder ``name``.

    The test that asks is skipped, saying why, only where the whole data folder is absent. A folder that
    is there without the file asked for is an error: a misspelt name must not look like a skipped test.
    """
    folder = _data_folder()
    if folder is None:
        pytest.skip(f"real data is absent: no folder shared/data beside the project, so no {name}")
    path = folder / name
    if not path.exists():
        raise FileNotFoundError(
            f"{name} is not in the data folder, which holds: {sorted(p.name for p in folder.iterdir())}"
        )
    return path
