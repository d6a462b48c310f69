"""Groups on disk: what may be shown, and apart from it who is in which group.

::

    DIR/
      representatives.jsonl      one group a line: its number, its members' number, its weighted terms
      report.json                what was measured; aggregates only
      operator/                  mode 0700: for the service that must know whose requests use which group
        membership.jsonl         mode 0600: {"user": ..., "group": ...}

All of it appears at once, or nothing does.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path

from tacit.files import atomic_directory
from tacit.groups.bundler import Bundling
from tacit.groups.report import Report

__all__ = ["write_groups"]


def write_groups(bundling: Bundling, measured: Report, folder: str | Path) -> Path:
    """Write a bundling into a new folder."""
    folder = Path(folder)
    with atomic_directory(folder) as temporary:
        with (temporary / "representatives.jsonl").open("w", encoding="utf-8") as lines:
            for representative in bundling.representatives:
                lines.write(json.dumps(asdict(representative), ensure_ascii=False) + "\n")
        text = json.dumps(measured.as_dict(), indent=2, allow_nan=False)
        (temporary / "report.json").write_text(text + "\n", encoding="utf-8")
        (temporary / "operator").mkdir(mode=0o700)
        private = os.open(
            temporary / "operator" / "membership.jsonl", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600
        )
        with os.fdopen(private, "w", encoding="utf-8") as lines:
            # Sorted by user: the order of the input, or of the bundling, is nobody's business.
            for user, group in sorted(zip(bundling.profiles.users, bundling.labels.tolist(), strict=True)):
                lines.write(json.dumps({"user": user, "group": group}, ensure_ascii=False) + "\n")
    return folder
