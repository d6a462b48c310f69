"""Where a person's own profile lies if none is named."""

from __future__ import annotations

from pathlib import Path

import platformdirs

__all__ = ["profile_place"]


def profile_place() -> Path:
    """``tacit.profile`` in the person's data folder, which is made, for its owner only, if there is none."""
    folder = Path(platformdirs.user_data_dir("tacit", appauthor=False))
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    return folder / "tacit.profile"
