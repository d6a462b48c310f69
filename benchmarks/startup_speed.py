"""How long Tacit takes to begin: ``import tacit`` and ``tacit --help`` against a Python that does nothing.

Claims: ``import tacit`` adds less than 0.1 s of processor time to ``python -c pass``; ``tacit --help`` takes
less than a second. Each is the least of several runs, so that what else the machine does counts little.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time

RUNS = 7


def least(*arguments: str) -> tuple[float, float]:
    """Seconds and processor seconds of the quickest of several runs."""
    found = []
    for _ in range(RUNS):
        before, begun = _busy(), time.perf_counter()
        subprocess.run([sys.executable, *arguments], check=True, stdout=subprocess.DEVNULL)
        found.append((time.perf_counter() - begun, _busy() - before))
    return min(each[0] for each in found), min(each[1] for each in found)


def _busy() -> float:
    """Processor seconds of all children so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    nothing = least("-c", "pass")
    imported = least("-c", "import tacit")
    helped = least("-m", "tacit", "--help")
    for name, (seconds, busy) in (
        ("python -c pass", nothing),
        ("import tacit", imported),
        ("tacit --help", helped),
    ):
        print(f"{name:<16} {seconds:6.3f} s  {busy:6.3f} s of processor time  {busy / nothing[1]:5.1f} times")
    added = imported[1] - nothing[1]
    print(f"import tacit adds {added:.3f} s (claimed: less than 0.1 s)")
    if added >= 0.1 or helped[1] >= 1.0:
        raise SystemExit("the claim does not hold")


if __name__ == "__main__":
    main()
