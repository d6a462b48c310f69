"""OpenDP, PipelineDP, Tumult Analytics and Tacit on one log at (1, 1e-6), written as one page.

Each peer gets a virtual environment of its own, made once in a cache folder, with the version named here. A
peer that cannot be installed, or does not end in time, is on the page with the reason. All count the users
of each query of the log of ``adaptive_selection.py``: the peers as whole numbers in arrays or Parquet, Tacit
as texts in a search log, by its whole command. A peer that needs a bound of queries a user has the best of
those named; its time is that run's. Time is of processors and by the clock, from the start of the
interpreter to its end, memory the most that all processes together hold (PSS).

Then what a second computation does to noise, on a log of 200,000 records on two executors: the result is read
twice; and an executor is killed after its task has drawn.

    python benchmarks/release_peers.py                    # a million records; writes benchmarks/peers/page.md
    python benchmarks/release_peers.py --quick            # 50,000 records, to the terminal
    python benchmarks/release_peers.py --page FILE --records 200000 --only Tumult
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import platformdirs
import pyarrow as pa
import pyarrow.parquet as pq

from adaptive_selection import records_of, write_log
from peers.key_selection import within

HERE = Path(__file__).parent / "peers"
SMALL, MIDDLE, LARGE = 50_000, 200_000, 1_000_000
MOST = 2
"""Queries a user where an executor is killed: few, so that every peer has some keys to differ in."""


@dataclass(frozen=True)
class Peer:
    """One way to count users by query.

    Args:
        name: as on the page.
        packages: what is installed for it; nothing for Tacit, which is here.
        mode: of its script; for Tacit the words of its command.
        bounds: of queries a user, of which the best is taken; 0 where it needs none.
        form: of the log it reads.
    """

    name: str
    packages: tuple[str, ...]
    mode: str
    bounds: tuple[int, ...]
    form: str = "parquet"

    @property
    def script(self) -> Path:
        """What runs it."""
        return HERE / f"with_{self.name.split()[0].lower().replace('pipelinedp', 'pipeline_dp')}.py"


OPENDP = ("opendp==0.16.0", "numpy")
PIPELINE = ("pipeline-dp==0.3.1", "pyspark==3.5.9")
TUMULT = ("tmlt.analytics==0.21.0", "pyspark==3.5.9")
SPENT = "--epsilon 1 --delta 1e-6 --budget-epsilon 2 --budget-delta 1e-5"
PEERS = (
    Peer("OpenDP 0.16.0, Gaussian with threshold", OPENDP, "release", (3, 10, 30), "npz"),
    Peer("PipelineDP 0.3.1, Gaussian, local", PIPELINE, "local", (3, 10, 30), "npz"),
    Peer("PipelineDP 0.3.1, Gaussian, Spark", PIPELINE, "spark", (10,)),
    Peer("Tumult Analytics 0.21.0, Spark", TUMULT, "spark", (1, 3)),
    Peer("Tacit, zealous", (), f"zealous {SPENT}", (0,), "log"),
    Peer("Tacit, adaptive", (), f"adaptive {SPENT}", (0,), "log"),
    Peer("Tacit, adaptive, Spark", (), f"adaptive {SPENT} --engine local[2]", (0,), "log"),
)
KILLED = (
    Peer("PipelineDP 0.3.1, Spark", PIPELINE, "killed", (MOST,)),
    Peer("Tumult Analytics 0.21.0, Spark", TUMULT, "killed", (MOST,)),
    Peer("Tacit, Spark", (), "killed", (MOST,), "log"),
)


class NotRunError(Exception):
    """Why a peer is on the page without figures."""


@dataclass(frozen=True)
class Taken:
    """Seconds of processors and by the clock, and the most bytes."""

    processors: float
    clock: float
    peak: int


def installed(packages: tuple[str, ...], environments: Path) -> str:
    """The interpreter of an environment that has these packages, made now unless it is there."""
    if not packages:
        return sys.executable
    folder = environments / packages[0].replace("==", "-")
    python = folder / "bin" / "python"
    if not (folder / "complete").exists():
        for words in ([sys.executable, "-m", "venv", "--clear", str(folder)],
                      [str(python), "-m", "pip", "install", "--quiet", *packages]):  # fmt: skip
            done = subprocess.run(words, capture_output=True, text=True, check=False)
            if done.returncode:
                said = [line for line in (done.stderr or done.stdout).splitlines() if "ERROR" in line]
                raise NotRunError(f"could not be installed ({(said or ['no reason given'])[-1][:120]})")
        (folder / "complete").touch()
    return str(python)


def below(process: int) -> list[int]:
    """The process and all that it started, directly or not."""
    parents: dict[int, int] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                fields = (folder / "stat").read_text().rpartition(")")[2].split()
            except OSError:
                continue
            parents[int(folder.name)] = int(fields[1])
    found = {process}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return sorted(found)


def measured(command: list[str], limit: float, given: dict[str, str]) -> Taken:
    """Run a command to its end, and take what it and all its processes used."""
    begun, most, spent = time.perf_counter(), 0, dict[int, float]()
    with tempfile.TemporaryFile("w+") as said:
        process = subprocess.Popen(command, stdout=said, stderr=said, env=given, start_new_session=True)
        ended = threading.Event()
        threading.Thread(target=lambda: (process.wait(), ended.set())).start()
        late = False
        while not ended.wait(0.2):
            held = 0
            for one in below(process.pid):
                try:
                    fields = Path(f"/proc/{one}/stat").read_text().rpartition(")")[2].split()
                    rollup = Path(f"/proc/{one}/smaps_rollup").read_text()
                except OSError:
                    continue
                spent[one] = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
                held += next(
                    1024 * int(line.split()[1]) for line in rollup.splitlines() if line[:4] == "Pss:"
                )
            most = max(most, held)
            if time.perf_counter() - begun > limit:
                late = True
                os.killpg(process.pid, signal.SIGKILL)  # the session that was started above, nothing else
                ended.wait()
        if late:
            raise NotRunError(f"did not end within {limit:.0f} s")
        if process.returncode:
            said.seek(0)
            lines = [line.strip() for line in said if "Error" in line or "error" in line]
            raise NotRunError(f"failed ({(lines or ['no reason given'])[-1][:120]})")
    return Taken(sum(spent.values()), time.perf_counter() - begun, most)


@dataclass(frozen=True)
class Logs:
    """One log in the forms that are read: a search log, whole numbers in Parquet, arrays."""

    folder: Path
    records: int
    truth: np.ndarray

    @classmethod
    def written(cls, folder: Path, records: int, seed: int) -> Logs:
        user, query = records_of(records, seed)
        np.savez(folder / f"{records}.npz", user=user, query=query)
        pq.write_table(pa.table({"user": user, "query": query}), folder / f"{records}.parquet")
        write_log(folder / f"{records}.log", records, seed)
        pairs = np.unique(np.stack([user, query]), axis=1)
        return cls(folder, records, np.bincount(pairs[1], minlength=4 * records))


def released(peer: Peer, python: str, logs: Logs, limit: float) -> tuple[int, int, int, Taken]:
    """Keys, those within 25%, the bound with most of these, and what that run took."""
    found = []
    log = logs.folder / f"{logs.records}.{peer.form}"
    for bound in peer.bounds:
        with tempfile.TemporaryDirectory() as folder:
            out = Path(folder) / "out"
            given = {**os.environ, "TACIT_STATE": f"{folder}/state"}
            if peer.form == "log":
                words = [python, "-m", "tacit", "release", *peer.mode.split(), "--output", str(out)]
                words[5:5] = [str(log)]
                taken = measured([*words, "--ledger", f"{folder}/ledger"], limit, given)
                table = pq.read_table(out / "queries.parquet")
                texts = table["query"].to_pylist()
                keys = np.array([int(text.rpartition(" ")[2]) for text in texts], np.int64)
                counts = np.array([count or 0 for count in table["count"].to_pylist()])
            else:
                words = [python, str(peer.script), peer.mode, str(log), str(bound), str(out)]
                taken = measured(words, limit, given)
                pairs = json.loads(out.read_text())
                keys = np.array([key for key, _ in pairs], np.int64)
                counts = np.array([count for _, count in pairs])
        found.append((keys.size, within(counts, logs.truth[keys]), bound, taken))
    return max(found, key=lambda each: each[1])


def killed(peer: Peer, python: str, logs: Logs, limit: float) -> dict[str, tuple[int, int]]:
    """Of how many keys how many differ: between two readings, and between two attempts of a task."""
    with tempfile.TemporaryDirectory() as folder:
        log = logs.folder / f"{logs.records}.{peer.form}"
        words = [python, str(peer.script), peer.mode, str(log), str(peer.bounds[0]), f"{folder}/out"]
        measured(words, limit, {**os.environ, "TMPDIR": folder})
        return dict(json.loads((Path(folder) / "out").read_text()))


def page_of(options: argparse.Namespace, records: int) -> str:
    """All that is measured, as Markdown."""
    kept = min(records, MIDDLE)
    asked = "" if options.only is None else f" --only {options.only}"
    lines = [
        "# Peers in one run",
        "",
        f"`python benchmarks/release_peers.py --records {records}{asked}`, Python "
        f"{platform.python_version()}, {os.cpu_count()} cores. The log of `adaptive_selection.py` (seed "
        f"{options.seed}) at (1, 10⁻⁶).",
        "",
        f"## Keys and counts, {records:,} records",
        "",
        "| | bound | keys | counts within 25% | s of processors | s by the clock | memory, MB |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    with tempfile.TemporaryDirectory() as folder:
        logs = Logs.written(Path(folder), records, options.seed)
        for peer in PEERS:
            if options.only is None or options.only in peer.name:
                try:
                    python = installed(peer.packages, options.environments)
                    keys, near, bound, taken = released(peer, python, logs, options.limit)
                    said = f"{bound or '–'} | {keys:,} | {near:,} | {taken.processors:.1f} | "
                    said += f"{taken.clock:.1f} | {taken.peak / 1e6:,.0f} |"
                except NotRunError as error:
                    said = f"{error} | | | | | |"
                lines.append(f"| {peer.name} | {said}")
                print(lines[-1], flush=True)
        lines += [
            "",
            f"## A second computation, {kept:,} records",
            "",
            "Keys whose noisy numbers differ, of all keys: in two readings of one result without a failure;",
            "and in two attempts of the tasks that were computed again because an executor was killed after",
            "it had drawn. Of the two attempts Spark keeps the second.",
            "",
            "| | read twice | an executor killed |",
            "|---|---:|---:|",
        ]
        small = Logs.written(Path(folder), kept, options.seed)
        for peer in KILLED:
            if options.only is None or options.only in peer.name:
                try:
                    python = installed(peer.packages, options.environments)
                    found = killed(peer, python, small, options.limit)
                    said = " | ".join(
                        f"{differing:,} of {keys:,}"
                        for keys, differing in (found["two actions"], found["killed"])
                    )
                except NotRunError as error:
                    said = f"{error} |"
                lines.append(f"| {peer.name} | {said} |")
                print(lines[-1], flush=True)
        lines += [
            "",
            "OpenDP runs in one process and draws once; PipelineDP's local backend too.",
        ]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Install, run, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--records", type=int, default=LARGE)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", help="peers with this in their names")
    parser.add_argument("--limit", type=float, default=900, help="seconds for each run")
    parser.add_argument("--page", type=Path, help="where to write it")
    parser.add_argument(
        "--environments", type=Path, default=Path(platformdirs.user_cache_dir("tacit")) / "peers"
    )
    options = parser.parse_args()
    page = page_of(options, SMALL if options.quick else options.records)
    place = options.page or (None if options.quick or options.only else HERE / "page.md")
    if place is None:
        print(page)
    else:
        place.write_text(page)
        print(f"written: {shlex.quote(str(place))}")


if __name__ == "__main__":
    main()
