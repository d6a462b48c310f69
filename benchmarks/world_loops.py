"""Why the loops of the synthetic world stay compiled: what numpy and Arrow take for a part of their work.

Processor time on one thread, in one run. Right of each loop stands only some of what it does, in numpy:
of the clicks the attractions of the results, and no draw; of the texts their joined phrases, without slips
and hashes; of the walk through a user's searches, which all users take in step, the random numbers, the row
that each search follows from and its pause, and not one decision.

    python benchmarks/world_loops.py
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

import tacit.world.synth as synth
from tacit.world.loops import queries as q
from tacit.world.loops.randomness import uniforms
from tacit.world.loops.sessions import PAGE_SIZE

USERS, DRAWS = 20_000, 7
"""Numbers drawn for each search: 7.3 on average."""


def walk(starts: Any, quotas: Any, *_: Any) -> None:
    """Every user's searches, one step of all users at a time."""
    quotas = np.sort(quotas)[::-1]
    begins = np.cumsum(quotas) - quotas
    rows = np.zeros((quotas.sum(), q.ROW), np.int32)
    for step in range(1, quotas[0]):
        active = np.searchsorted(-quotas, -step)
        drawn = [uniforms(starts[:active], np.full(active, step * DRAWS + n)) for n in range(DRAWS)]
        row = rows[begins[:active] + step - 1]
        row[:, q.PAUSE] = np.exp(np.sqrt(-2 * np.log(1 - drawn[0])) * np.cos(2 * np.pi * drawn[1]))
        row[:, q.PAGE] = np.where(drawn[2] < 0.4, row[:, q.PAGE] + 1, 0)
        rows[begins[:active] + step] = row


def clicks(_starts: Any, rows: Any, _bounds: Any, base: Any, results: Any, end: Any) -> None:
    """How much each result of a page attracts whoever searches."""
    topic = rows[:, q.INTEREST]
    places = rows[:, q.PAGE, None] * PAGE_SIZE + np.arange(PAGE_SIZE)
    found = results[base[rows[:, q.BASE]][:, None], places]
    last = np.where(topic >= 0, end[topic], 0)
    within = (topic[:, None] <= found) & (found < last[:, None])
    fit = np.where(found == rows[:, q.MEANING, None], 12.0, np.where(within, 4.0, 1.0))
    np.cumsum(fit * (found >= 0), axis=1)


def texts(rows: Any, lexicon: Any, _room: int) -> None:
    """The phrases of each query, joined by spaces."""
    phrases = pa.LargeStringArray.from_buffers(
        len(lexicon.text_bounds) - 1,
        pa.py_buffer(np.asarray(lexicon.text_bounds, np.int64)),
        pa.py_buffer(np.ascontiguousarray(lexicon.text)),
    )
    parts = (rows[:, part] for part in (q.BEFORE, q.BASE, q.FIRST, q.SECOND))
    taken = [phrases.take(pa.array(part, mask=part < 0)) for part in parts]
    pc.binary_join_element_wise(*taken, pa.scalar(" ", pa.large_string()), null_handling="skip")


def main() -> None:
    """Make a log twice, the second time with the loops timed, and do the parts in numpy beside them."""
    spent: dict[str, list[float]] = {}

    def timed(work: Callable[..., Any], *given: Any) -> tuple[Any, float]:
        begun = time.process_time()
        return work(*given), time.process_time() - begun

    def beside(name: str, part: Callable[..., None]) -> None:
        loop = getattr(synth, name)

        def both(*given: Any) -> Any:
            found, compiled = timed(loop, *given)
            kept = np.diff(found[1]) if name == "histories" else None
            _, numpy = timed(part, *(given if kept is None else (given[0], kept)))
            sums = spent.setdefault(name, [0.0, 0.0])
            sums[0] += compiled
            sums[1] += numpy
            return found

        setattr(synth, name, both)

    with tempfile.TemporaryDirectory() as folder:
        synth.SyntheticLog(200, seed=1).write(Path(folder) / "first.parquet", threads=1)
        for name, part in (("histories", walk), ("choose_clicks", clicks), ("spell", texts)):
            beside(name, part)
        synth.SyntheticLog(USERS, seed=2).write(Path(folder) / "log.parquet", threads=1)
    for name, (compiled, numpy) in spent.items():
        times = f"{numpy / compiled:.1f} times"
        print(f"{name:14} compiled {compiled:6.3f} s, part of it in numpy {numpy:6.3f} s: {times}")


if __name__ == "__main__":
    main()
