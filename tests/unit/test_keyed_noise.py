"""Noise under a key: the same for an item whatever stands beside it, and distributed as fresh noise is."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray

from tacit import ParameterError, Zealous
from tacit.privacy.noise.inversion import GeometricThresholds, InversionTable
from tacit.privacy.noise.randomness import KeyedRandomness, RandomSource
from tacit.privacy.noise.samplers import bernoulli, capped_laplace, discrete_gaussian, discrete_laplace
from tacit.release.execution import _addressed, execute, published_rows
from tacit.release.schedule import Schedule

KEY = bytes(range(32))
SAMPLERS = {
    "Laplace": partial(discrete_laplace, 3.0),
    "wide Laplace": partial(discrete_laplace, 5e6),
    "Gaussian": partial(discrete_gaussian, 40.0),
    "wide Gaussian": partial(discrete_gaussian, 2**20),
    "capped": partial(capped_laplace, 5.0, 0.4, 9),
    "coin": partial(bernoulli, 0.3),
}


def items(size: int) -> list[bytes]:
    return [f"item {number}".encode() for number in range(size)]


@pytest.mark.parametrize("name", SAMPLERS)
def test_an_item_has_its_noise_wherever_it_stands(name: str) -> None:
    draw, names = SAMPLERS[name], items(3000)
    source = KeyedRandomness(KEY, "entry")
    whole = draw(3000, source.addressed("table", names))
    order = np.random.Generator(np.random.Philox(1)).permutation(3000)
    pieces = [
        draw(part.size, source.addressed("table", [names[place] for place in part]))
        for part in np.array_split(order, 7)
    ]
    assert np.array_equal(np.concatenate(pieces), whole[order])
    assert not np.array_equal(draw(3000, source.addressed("another", names)), whole)
    assert not np.array_equal(draw(3000, KeyedRandomness(KEY, "later").addressed("table", names)), whole)
    assert not np.array_equal(draw(3000, source.within("t").addressed("table", names)), whole)
    other = KeyedRandomness(bytes(32), "entry").addressed("table", names)
    assert not np.array_equal(draw(3000, other), whole)


def test_items_beyond_a_block_have_noise_of_their_own() -> None:
    names, source = items((1 << 16) + 40), KeyedRandomness(KEY, "e")
    whole = discrete_gaussian(90, len(names), source.addressed("t", names))
    last = discrete_gaussian(90, 40, source.addressed("t", names[-40:]))
    assert np.array_equal(whole[-40:], last) and not np.array_equal(whole[:40], last)


def chances(name: str) -> dict[int, float]:
    """What the samplers' pages say of the values that a table of frequencies can hold."""
    if name == "Laplace":
        a = math.exp(-1 / 3)
        return {x: (1 - a) / (1 + a) * a ** abs(x) for x in range(-15, 16)}
    if name == "Gaussian":
        weights = {x: math.exp(-x * x / 3200) for x in range(-400, 401)}
        total = sum(weights.values())
        return {x: weights[x] / total for x in range(-60, 61, 4)}
    a = math.exp(-1 / 5)
    up, down = 0.4 * (1 - a), 0.6 * (1 - a)
    weights = {x: up * a**x if x >= 0 else down * a ** (-1 - x) for x in range(-25, 10)}
    return {x: weight / (1 - 0.4 * a**10) for x, weight in weights.items()}


@pytest.mark.parametrize("name", ["Laplace", "Gaussian", "capped"])
def test_keyed_noise_is_distributed_as_it_must_be(name: str) -> None:
    """Each frequency within 6.5 standard deviations: a false alarm in 10^8, and the key is fixed."""
    size = 40_000
    drawn: NDArray[np.int64] = SAMPLERS[name](size, KeyedRandomness(KEY, "e").addressed("t", items(size)))
    for value, chance in chances(name).items():
        found = int((drawn == value).sum())
        assert abs(found - size * chance) <= 6.5 * math.sqrt(size * chance * (1 - chance)) + 1, value


def test_bits_are_uniform_and_differ_by_item_and_counter() -> None:
    source = KeyedRandomness(KEY, "e").addressed("t", items(4000))
    drawn = np.concatenate([source.words(4000) for _ in range(10)])
    assert np.unique(drawn).size == drawn.size
    ones = np.unpackbits(drawn.view(np.uint8)).sum()
    assert abs(int(ones) - 32 * drawn.size) < 6.5 * 4 * math.sqrt(drawn.size)


def test_a_draw_that_is_not_for_each_item_is_refused() -> None:
    with pytest.raises(ParameterError, match="each of which has one"):
        KeyedRandomness(KEY, "e").addressed("t", items(3)).words(2)
    with pytest.raises(ParameterError, match="256 bits"):
        KeyedRandomness(b"short", "e")


def test_no_two_keys_have_one_stream() -> None:
    """Columns are told apart, and so is what is missing from what is empty."""
    rows = [("a", "bc"), ("ab", "c"), ("abc", ""), ("abc", None), (None, "abc"), ("", "abc")]
    keys = pa.table({"query": [row[0] for row in rows], "url": [row[1] for row in rows]})
    source = _addressed(KeyedRandomness(KEY, "e"), "compared", keys)
    assert np.unique(source.words(len(rows))).size == len(rows)


def test_a_key_is_in_no_message() -> None:
    source = KeyedRandomness(KEY, "e")
    assert KEY.hex() not in repr(source) and repr(KEY)[2:-1] not in repr(source)


ROWS = pa.table(
    {"query": [f"q{n}" for n in range(400)] + ["", "a\0b"], "count": [n % 60 for n in range(400)] + [50, 50]}
)


def schedule() -> Schedule:
    return Zealous(per_user=3, noise=4.0, threshold_1=2, threshold_2=20).plan().schedule


def released(source: RandomSource, rows: pa.Table, batch: int) -> pa.Table:
    def batches(*_: object) -> list[pa.RecordBatch]:
        return rows.to_batches(max_chunksize=batch)

    return execute(schedule(), batches, source)["queries"]


def test_a_table_is_the_same_however_its_rows_are_cut() -> None:
    source = KeyedRandomness(KEY, "e")
    whole = released(source, ROWS, 1000)
    turned = ROWS.take(pa.array(range(401, -1, -1)))
    assert 50 < whole.num_rows < 390
    assert released(source, turned, 7) == whole == released(KeyedRandomness(KEY, "e"), ROWS, 33)
    assert released(KeyedRandomness(bytes(32), "e"), ROWS, 1000) != whole


def test_what_an_executor_publishes_is_what_the_driver_would() -> None:
    (part,) = schedule().parts
    own = KeyedRandomness(KEY, "e").within(part.table)
    there = [published_rows(part, own, batch) for batch in ROWS.to_batches(max_chunksize=50)]
    found = {row["query"]: row["count"] for table in there for row in table.to_pylist()}
    here = released(KeyedRandomness(KEY, "e"), ROWS, 1000)
    assert found == {row["query"]: row["count"] for row in here.to_pylist()}


def test_a_kept_table_is_what_was_proven_and_a_damaged_one_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path))
    thresholds = GeometricThresholds(Fraction(1, 100), 300)
    first = InversionTable(thresholds).fine
    (file,) = tmp_path.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert np.array_equal(InversionTable(thresholds).fine, first)
    whole = bytearray(file.read_bytes())
    for damaged in (bytes(whole[:-8]), bytes(whole[:40]) + bytes([whole[40] ^ 1]) + bytes(whole[41:]), b""):
        file.write_bytes(damaged)
        assert np.array_equal(InversionTable(thresholds).fine, first)
        assert file.read_bytes() == whole
    InversionTable(GeometricThresholds(Fraction(1, 101), 300))
    assert len(list(tmp_path.iterdir())) == 2
    monkeypatch.setenv("TACIT_CACHE", "/proc/nowhere")
    assert np.array_equal(InversionTable(thresholds).fine, first)
