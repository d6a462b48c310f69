"""Adaptive rounds as relational work find and count what the compiled loops do, under the same noise."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.typing import NDArray
from tests.drawn import SeededRandomness
from tests.spark_cluster import odd_log

from tacit import Adaptive, InfeasibleError, Plan
from tacit.engines import Engine, open_engine
from tacit.errors import LogError
from tacit.privacy.noise.randomness import KeyedRandomness
from tacit.release import execution
from tacit.release.execution import Holdings, SelectedItems, execute
from tacit.release.mechanism import run
from tacit.release.mechanisms.adaptive import HeldItem
from tacit.release.mechanisms.adaptive_holdings import read_held
from tacit.release.mechanisms.adaptive_relational import NamedHeld, read_named
from tacit.release.public_sets import PublicDomain
from tacit.release.schedule import AdaptiveRounds
from tacit.searchlog import SCHEMA

KEY = bytes(range(32))
USERS, RECORDS, LISTED = 3_000, 24_000, [f"q{n}" for n in range(0, 4_000, 7)]


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with open_engine(threads=1) as opened:
        yield opened


def zipf_log() -> pa.Table:
    """Queries of one to four words; some users have many."""
    drawn = np.random.default_rng(5)
    users = (drawn.pareto(1.2, RECORDS) * 40).astype(int) % USERS
    numbers = np.minimum(drawn.zipf(1.3, RECORDS), 30_000)
    queries = [f"q{n}" + " more" * (n % 4) for n in numbers.tolist()]
    nothing = pa.nulls(RECORDS)
    times = pa.array(np.arange(RECORDS) * 60_000_000).cast(pa.timestamp("us"))
    columns = [pa.array([f"u{user}" for user in users]), pa.array(queries), times, nothing, nothing]
    return pa.table([c.cast(f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def without_noise(plan: Plan[Any]) -> Plan[Any]:
    """Nothing is drawn, not even lots, and thresholds are so low that every round finds some items."""
    rounds = plan.schedule.selection
    assert isinstance(rounds, AdaptiveRounds) and rounds.tally is not None
    steps = []
    for step in rounds.rounds:
        steers = step.steering and replace(
            step.steering, cuts=tuple(cut - 10**9 for cut in step.steering.cuts)
        )
        steps.append(replace(step, sigma=0, threshold=step.threshold // 40, steering=steers))
    tally = replace(rounds.tally, users_sigma=0, sigma=0, squares_sigma=0)
    quiet = replace(rounds, held=10_000, rounds=tuple(steps), tally=tally)
    object.__setattr__(plan, "schedule", replace(plan.schedule, selection=quiet))
    return plan


def test_without_noise_every_kind_is_found_and_counted_as_in_memory(engine: Engine) -> None:
    kinds = HeldItem.KEYWORDS, HeldItem.CLICKS, HeldItem.SESSIONS  # the others are read as these
    plan = without_noise(Adaptive(epsilon=4.0, delta=1e-5, items=kinds, per_user=100).plan())
    log = engine.load(odd_log())
    here = execute(plan.schedule, read_held(engine, log, kinds), SeededRandomness(1))
    there = execute(plan.schedule, read_named(engine, log, kinds), SeededRandomness(1))
    assert all(table.num_rows >= 15 for table in here.values())
    assert here == there


class ByLoops:
    """The compiled loops on the same pairs, items numbered in the order of their names, with their noise."""

    def __init__(self, held: NamedHeld, source: KeyedRandomness) -> None:
        pairs = held.engine.table(held.pairs)
        if held.listed is not None:
            listed = held.engine.table(held.listed)
            everybody = pa.concat_tables(
                [pairs.drop_columns("user"), listed.select(["item", "words", "listed"])]
            )
        else:
            everybody = pairs.drop_columns("user")
        self.source, self.naming = source.within("selection"), held.engine.naming
        self.names = sorted(set(everybody["item"].to_pylist()))
        self.users = sorted(set(pairs["user"].to_pylist()))
        number = {name: place for place, name in enumerate(self.names)}
        described = {row["item"]: (row["words"], row["listed"]) for row in everybody.to_pylist()}
        of_user: dict[bytes, list[int]] = {user: [] for user in self.users}
        for user, item in zip(pairs["user"].to_pylist(), pairs["item"].to_pylist(), strict=True):
            of_user[user].append(number[item])
        sets = [sorted(of_user[user]) for user in self.users]
        self.holdings = Holdings(
            np.concatenate([[0], np.cumsum([len(each) for each in sets])]),
            np.concatenate(sets).astype(np.int32),
            len(self.names),
            np.array([described[name][0] for name in self.names], np.uint8),
            np.array([described[name][1] for name in self.names]),
        )
        self.round = 0

    def words(self, n: int) -> NDArray[np.uint64]:
        """The lots of those who hold too many: all that the loops draw from here."""
        sizes = np.diff(self.holdings.starts)
        held = next(h for h in range(sizes.max() + 1) if sizes[sizes > h].sum() == n)
        lots = []
        for user in np.flatnonzero(sizes > held):
            for item in self.holdings.items[self.holdings.starts[user] : self.holdings.starts[user + 1]]:
                texts = self.users[user].hex().upper(), self.names[item].hex().upper()
                said = f"{self.naming} lot" + "".join(f"{len(text)}:{text}" for text in texts)
                lots.append(int.from_bytes(hashlib.sha256(said.encode()).digest()[:8]))
        return np.array(lots, np.uint64)

    def _names(self, items: NDArray[np.int64]) -> list[bytes]:
        return [self.names[item] for item in items]

    def select(self, selection: Any) -> tuple[list[bytes], SelectedItems]:
        weigh, number, once = execution.noisy_weights, execution.noisy_number, execution.noisy_once
        scalars, cut = iter(["users", "squares"]), execution.cut_to
        present: list[int] = []

        def cut_to(*given: Any) -> Holdings:
            left = cut(*given)
            present[:] = np.unique(left.items).tolist()
            return left

        def noisy_weights(
            holdings: Any, values: Any, present: Any, sigma: int, _: Any, least: int = 0
        ) -> Any:
            self.round += 1
            purpose = "counts" if least else f"round {self.round}"
            own = self.source.addressed(purpose, self._names(present))
            return weigh(holdings, values, present, sigma, own, least)

        def noisy_number(whole: int, sigma: int, _: Any) -> int:
            return number(whole, sigma, self.source.addressed(next(scalars), [b""]))

        def noisy_once(schedule: Any, true: Any, _: Any) -> Any:
            return once(schedule, true, self.source.addressed("compared", self._names(np.array(present))))

        with mock.patch.multiple(
            execution,
            noisy_weights=noisy_weights,
            noisy_number=noisy_number,
            noisy_once=noisy_once,
            cut_to=cut_to,
        ):
            found = execution.select(selection, self.holdings, self)  # type: ignore[arg-type]
        return self._names(found.items), found


PLANS = {
    "rounds": Adaptive(epsilon=2.0, delta=1e-3, per_user=6),
    "keys only": Adaptive(epsilon=2.0, delta=1e-3, per_user=6, keys_only=True),
    "a public list": Adaptive(
        epsilon=2.0, delta=1e-3, per_user=6, public_list=PublicDomain("test", pa.array(LISTED))
    ),
    "a single count": Adaptive(epsilon=2.0, delta=1e-3, per_user=2, single=True),
}


@pytest.mark.parametrize("name", PLANS)
def test_with_one_key_the_same_is_found_and_counted(engine: Engine, name: str) -> None:
    """Users with too many items are cut by the same lots; what is found in which round decides the first."""
    plan, log = PLANS[name].plan(), engine.load(zipf_log())
    public = plan.mechanism.listed and plan.mechanism.listed.queries
    held = read_named(engine, log, plan.mechanism.items, public)
    selection, source = plan.schedule.selection, KeyedRandomness(KEY, "entry")
    assert selection is not None
    mine, keys = held.select(selection, source)
    names, other = ByLoops(held, source).select(selection)
    by_name = sorted(range(len(names)), key=lambda place: names[place])
    assert len(names) > 20
    texts = keys.keys("queries", mine.items)["query"].to_pylist()
    said = [f"{engine.naming} queries{len(text)}:{text}" for text in texts]
    assert [hashlib.sha256(text.encode()).digest()[:16] for text in said] == sorted(names)
    for column in ("counts", "deviations", "below"):
        here, there = getattr(mine, column), getattr(other, column)
        if there is not None and there.size:
            there = there[by_name]
        assert (here is None and there is None) or np.array_equal(here, there), column


def test_weights_are_whole_numbers_however_large_the_squares(engine: Engine) -> None:
    """Where the quotient of doubles rounds up to the next square, the loops' whole numbers decide."""
    from tacit.release.mechanisms.adaptive_relational import _totals
    from tacit.release.weights import add_weights

    drawn, sets = np.random.default_rng(3), []
    for size in (1, 2, 3, 7, 80, 200, 2_000):
        sets += [drawn.choice([1, 3, 255, 12_000, 16_319, 16_320], size).tolist() for _ in range(20)]
    sets += [[16_320] * 255 + [1], [16_320] * 65_536, [1, 16_320]]
    users = np.repeat(np.arange(len(sets)), [len(each) for each in sets])
    values = np.concatenate([np.array(each) for each in sets])
    items = np.arange(values.size)
    for least in (0, 1 << 31):
        totals = np.zeros(values.size, np.int64)
        starts = np.concatenate([[0], np.cumsum([len(each) for each in sets])]).astype(np.int64)
        add_weights(starts, items.astype(np.int32), values.astype(np.uint16), least, totals)
        pairs = engine.load(pa.table({"user": users, "item": items, "value": values}))
        found = engine.table(_totals(pairs, least)).sort_by("item")
        assert found["weight"].to_pylist() == totals.tolist()


def test_it_is_taken_where_pairs_outgrow_memory(tmp_path: Path) -> None:
    pq.write_table(zipf_log(), tmp_path / "log.parquet")
    plan = Adaptive(epsilon=4.0, delta=1e-3, per_user=6).plan()
    for memory, kind in ((2 * 28 * RECORDS, "Counted"), (2 * 28 * RECORDS - 1, "NamedHeld")):
        with open_engine(threads=1) as engine:
            engine._memory = memory
            held = plan.count(engine, engine.log(tmp_path / "log.parquet"))["held"]
            assert type(held).__name__ == kind
    with pytest.raises(InfeasibleError, match="does not fit in memory"):
        assert held.holdings


def test_it_spills_and_leaves_nothing(tmp_path: Path) -> None:
    """At a tenth of the memory the same release, drawn by the system's randomness."""
    log = tmp_path / "log.parquet"
    pq.write_table(zipf_log(), log)
    with open_engine(threads=1, spill=tmp_path) as engine:
        engine._memory = 0
        tables = run(Adaptive(epsilon=8.0, delta=1e-3), engine, engine.log(log), SeededRandomness(1))
        assert tables["queries"].num_rows > 20
    assert list(tmp_path.iterdir()) == [log]


def test_a_log_that_changes_meanwhile_is_told(engine: Engine) -> None:
    plan = Adaptive(epsilon=4.0, delta=1e-3, per_user=6).plan()
    held = read_named(engine, engine.load(zipf_log()), plan.mechanism.items)
    lost = replace(held, keys={"queries": held.keys["queries"].limit(0)})
    assert plan.schedule.selection is not None
    with pytest.raises(LogError, match="was changed"):
        lost.select(plan.schedule.selection, SeededRandomness(1))
