"""A mechanism"s ``publish``, run on counts of our choice and with noise of our choice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa

from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release import execution
from tacit.release.mechanism import Plan
from tacit.release.schedule import NoiseKind, Part

__all__ = ["always", "noise_off", "publish", "shown_within"]


def rows_of(mechanism: Plan[Any], part: Part, counts: np.ndarray) -> pa.RecordBatch:
    """Keys 0, 1, 2, … with these true counts; of both kinds of keys, every second is public."""
    number = len(counts)
    names = [column.name for column in part.columns]
    if part.columns[0].several:
        names = [f"query_{i + 1}" for i in range(mechanism.mechanism.queries_per_session)]
    keys = [pa.array([f"k{i}" for i in range(number)]) for _ in names]
    public = pa.array(np.arange(number) % 2 == 0)
    return pa.record_batch([*keys, pa.array(counts), public], names=[*names, "count", "public"])


def publish(mechanism: Plan[Any], counts: Mapping[str, np.ndarray]) -> dict[str, dict[int, int]]:
    """What is published of such keys, each table by itself: number of the key to its count."""
    parts = tuple(replace(part, within=()) for part in mechanism.schedule)
    alone = replace(mechanism, schedule=replace(mechanism.schedule, parts=parts))

    def rows(self: Any, engine: Any, counting: Any, part: Part, published: Any) -> list[pa.RecordBatch]:
        del self, engine, counting, published
        return [rows_of(mechanism, part, counts[part.table])]

    def drawn(self: Any, tables: Any) -> Any:
        del self
        return tables  # before post-processing

    with mock.patch.multiple(type(mechanism), rows=rows, finish=drawn):
        tables = alone.publish(None, {}, OperatingSystemRandomness())  # type: ignore[arg-type]
    found = {}
    for name, table in tables.items():
        keys = [key[0] if isinstance(key, list) else key for key in table.column(0).to_pylist()]
        found[name] = {int(k[1:]): n for k, n in zip(keys, table.column("count").to_pylist(), strict=True)}
    return found


@contextmanager
def noise_off(constant: int = 0) -> Iterator[list[float]]:
    """Every draw is 0, or another constant; the scales that were asked for are noted."""
    asked: list[float] = []

    def nothing(scale: float, size: int, source: Any) -> np.ndarray:
        del source
        asked.append(scale)
        return np.full(size, constant, np.int64)

    with mock.patch.dict(execution._SAMPLERS, dict.fromkeys(NoiseKind, nothing)):
        yield asked


def always(chance: float, size: int, source: Any) -> np.ndarray:
    """In the place of chance: everybody takes part."""
    del chance, source
    return np.ones(size, np.bool_)


def shown_within(mechanism: Plan[Any]) -> dict[str, bool]:
    """Of each table, whether what belongs to a query is shown with that query alone."""
    stated = {part.table: part.within for part in mechanism.schedule}
    queries = {"k0": 1000, "k1": 1, "k2": 1000}  # with noise off the second one does not pass
    pairs = [(one, two) for one in queries for two in queries]

    def rows(self: Any, engine: Any, counting: Any, part: Part, published: Any) -> list[pa.RecordBatch]:
        del self, engine, counting, published
        names = [column.name for column in part.columns]
        within = stated[part.table]
        if not within:
            columns = [list(queries), list(queries.values())]
        else:
            keys = pairs if len(within) > 1 else [(query, "http://a") for query in queries]
            columns = [*(list(column) for column in zip(*keys, strict=True)), [1000] * len(keys)]
        public = [True] * len(columns[-1])
        return [pa.record_batch([*columns, public], names=[*names, "count", "public"])]

    with noise_off(), mock.patch.object(type(mechanism), "rows", rows):
        tables = mechanism.publish(None, {}, OperatingSystemRandomness())  # type: ignore[arg-type]
    found = {}
    for part in mechanism.schedule:
        listed = [
            value for column, _ in part.within for value in tables[part.table].column(column).to_pylist()
        ]
        assert not part.within or listed, f"{part.table}: nothing is shown"
        found[part.table] = "k1" not in listed
    return found
