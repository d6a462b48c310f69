"""Run every benchmark, one after another: ``make bench``, or ``python benchmarks/run.py --quick``.

Each benchmark is a file beside this one. It measures a claim as a ratio against a peer or a floor
measured in the same run, since absolute times say more about the machine than about the code.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path


def main() -> None:
    failed = []
    for path in sorted(Path(__file__).parent.glob("*.py")):
        if path == Path(__file__):
            continue
        print(f"\n== {path.stem} ==", flush=True)
        if subprocess.run([sys.executable, str(path), *sys.argv[1:]]).returncode:
            failed.append(path.stem)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


if __name__ == "__main__":
    main()
