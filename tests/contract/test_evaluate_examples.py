"""The examples that redo the papers' tables run on any log."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.evaluate_report import write_popular_log

EXAMPLES = Path(__file__).parent.parent.parent / "examples"


def test_the_thesis_is_redone_on_a_small_log(tmp_path: Path) -> None:
    log = write_popular_log(tmp_path / "log.parquet")
    command = [sys.executable, str(EXAMPLES / "reproduce_thesis.py"), str(log), "-o", str(tmp_path / "out")]
    options = ["--folds", "2", "--part", "tables_3_5_and_3_6"]
    done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    for table in ("Table 3.5: random walk", "Table 3.6: implicit feedback, as printed", "without the leak"):
        assert f"**{table}" in done.stdout or table in done.stdout
    rows = [line.split(" | ") for line in done.stdout.splitlines() if line.startswith("| Anonymized")]
    assert len(rows) == 3
    assert float(rows[0][1]) > 0.5
