"""How long Tacit takes to begin: an import, the help, and the search page on a new machine.

``import tacit`` and ``tacit --help`` stand beside a Python that does nothing. ``tacit serve`` is started with
an empty profile, first with all caches empty (its own, and Python's compiled modules), then once more. A
client opens the printed address as a browser does, asks for the front page and searches at once; then it
waits until nothing is prepared any more.

Claims: ``import tacit`` adds less than 0.1 s of processor time to ``python -c pass``; ``tacit --help`` takes
less than a second; the front page of a first start is there in 4 s and the first results in 8. Each is the
least of several runs, so that what else the machine does counts little.

Run: python benchmarks/startup_speed.py
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import httpcore

from proxy_latency import admitted, peak_megabytes, processor_seconds

RUNS = 7
STARTS = 3


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


class Start(NamedTuple):
    """Seconds from the command to each step, and what the process took until all was prepared."""

    address: float
    front: float
    results: float
    processor: float
    megabytes: float


def started(folder: Path) -> Start:
    """Start the page with the caches and the profile in a folder, and use it at once."""
    places = {"TACIT_CACHE": "cache", "PYTHONPYCACHEPREFIX": "modules", "HOME": "home"}
    environment = os.environ | {name: str(folder / place) for name, place in places.items()}
    command = [sys.executable, "-m", "tacit", "serve", "--port", "0", "--no-browser", "--json"]
    command += ["--profile", str(folder / "me.profile")]
    begun = time.perf_counter()
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as page:
        assert page.stdout is not None
        try:
            said = ""
            while not said.rstrip().endswith("}"):
                said += page.stdout.readline()
            moments = [time.perf_counter()]
            inside, headers = admitted(json.loads(said)["address"])
            for path in ("", "search?q=golden+eagle"):
                answer = httpcore.request("GET", inside + path, headers=headers)
                assert answer.status == 200, answer.status
                moments.append(time.perf_counter())
            before = -1.0
            while processor_seconds(page.pid) > before:
                before = processor_seconds(page.pid)
                time.sleep(1.0)
            return Start(*(moment - begun for moment in moments), before, peak_megabytes(page.pid))
        finally:
            page.terminate()


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
    starts: dict[str, list[Start]] = {"first start": [], "later start": []}
    for _ in range(STARTS):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "home").mkdir()
            for found in starts.values():
                found.append(started(Path(folder)))
    print("\ntacit serve   address printed  front page  first results  processor  peak memory")
    best = {name: Start(*map(min, zip(*found, strict=True))) for name, found in starts.items()}
    for name, one in best.items():
        print(
            f"{name:<13} {one.address:13.2f} s {one.front:9.2f} s {one.results:12.2f} s "
            f"{one.processor:8.2f} s {one.megabytes:9.0f} MB"
        )
    late = best["first start"].front >= 4 or best["first start"].results >= 8
    if added >= 0.1 or helped[1] >= 1.0 or late:
        raise SystemExit("the claim does not hold")


if __name__ == "__main__":
    main()
