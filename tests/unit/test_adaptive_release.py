"""From a log to an adaptive release: who holds what is read right, and tables show what they say."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit import Adaptive, InputError, ParameterError
from tacit.engines import open_engine
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.mechanism import run
from tacit.release.mechanisms.adaptive import HELD_COLUMNS, HeldItem
from tacit.release.mechanisms.adaptive_holdings import read_held
from tacit.searchlog import SCHEMA

START = datetime(2006, 3, 1, 8)
ROWS = [
    ("ann", "weather", 0, "http://w/"),
    ("ann", "weather", 1, None),
    ("ann", "news today", 2, "http://n/"),
    ("ann", "cats", 3, None),
    ("ann", "weather", 600, None),
    ("bob", "weather", 0, None),
    ("bob", "news today", 4, "http://n/"),
    ("eve", "cats", 9, None),
]
EXPECTED = {
    HeldItem.QUERIES: {
        "ann": {("weather",), ("news today",), ("cats",)},
        "bob": {("weather",), ("news today",)},
        "eve": {("cats",)},
    },
    HeldItem.KEYWORDS: {
        "ann": {("weather",), ("news",), ("today",), ("cats",)},
        "bob": {("weather",), ("news",), ("today",)},
        "eve": {("cats",)},
    },
    HeldItem.CLICKS: {
        "ann": {("weather", "http://w/"), ("news today", "http://n/")},
        "bob": {("news today", "http://n/")},
    },
    HeldItem.PAIRS: {
        "ann": {("weather", "news today"), ("news today", "cats")},
        "bob": {("weather", "news today")},
    },
    HeldItem.SESSIONS: {
        "ann": {(("weather", "news today"),), (("weather", "news today", "cats"),)},
        "bob": {(("weather", "news today"),)},
    },
}


def log_of(path: Path, rows: list[tuple[str, str, int, str | None]]) -> Path:
    columns = [
        [user for user, *_ in rows],
        [query for _, query, *_ in rows],
        [START + timedelta(minutes=minute) for _, _, minute, _ in rows],
        [1 if url else None for *_, url in rows],
        [url for *_, url in rows],
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, SCHEMA, strict=True)]
    pq.write_table(pa.table(arrays, schema=SCHEMA), path)
    return path


def test_every_kind_is_held_by_those_who_did_it(tmp_path: Path) -> None:
    path = log_of(tmp_path / "log.parquet", ROWS)
    with open_engine(threads=1) as engine:
        log = engine.log(path)
        counted = read_held(engine, log, tuple(HeldItem))
        holdings = counted.holdings
        assert holdings.starts.size - 1 == 3, "users are the same people in all kinds"
        names: dict[int, tuple[HeldItem, tuple[object, ...]]] = {}
        for kind in HeldItem:
            items = np.arange(holdings.kinds)
            items = items[counted.of_kind(kind.value, items)]
            table = counted.keys(kind.value, items)
            assert tuple(table.column_names) == HELD_COLUMNS[kind]
            for item, row in zip(items.tolist(), table.to_pylist(), strict=True):
                key = tuple(tuple(v) if isinstance(v, list) else v for v in row.values())
                names[item] = (kind, key)
        found = []
        for user in range(3):
            own = holdings.items[holdings.starts[user] : holdings.starts[user + 1]]
            assert len(set(own.tolist())) == own.size, "each pair once"
            found.append({names[item] for item in own.tolist()})
    expected = [
        {(kind, key) for kind, users in EXPECTED.items() for key in users.get(user, ())}
        for user in ("ann", "bob", "eve")
    ]
    assert sorted(map(sorted, found), key=repr) == sorted(map(sorted, expected), key=repr)


@pytest.mark.parametrize("keys_only", [True, False])
def test_a_release_of_all_kinds_shows_counts_near_the_truth(keys_only: bool, tmp_path: Path) -> None:
    """At ε = 20 with 400 users of the same four searches, each kind's counts are within six deviations."""
    rows = []
    for number in range(400):
        rows += [(f"u{number}", query, minute, url) for user, query, minute, url in ROWS if user == "ann"]
    path = log_of(tmp_path / "log.parquet", rows)
    mechanism = Adaptive(epsilon=20.0, delta=1e-6, items=tuple(HeldItem), keys_only=keys_only)
    with open_engine(threads=1) as engine:
        tables = run(mechanism, engine, engine.log(path), OperatingSystemRandomness())
    assert list(tables) == [kind.value for kind in HeldItem]
    for kind in HeldItem:
        table = tables[kind.value]
        expected = set(EXPECTED[kind]["ann"])
        keys = table.select(list(HELD_COLUMNS[kind])).to_pylist()
        assert {
            tuple(tuple(v) if isinstance(v, list) else v for v in row.values()) for row in keys
        } == expected
        if keys_only:
            assert table.column_names == list(HELD_COLUMNS[kind])
        else:
            counts, deviations = (table.column(name).to_numpy() for name in ("count", "deviation"))
            assert (np.abs(counts - 400) < 6 * deviations + 20).all()
            assert list(counts) == sorted(counts, reverse=True)


def test_parameters_are_checked() -> None:
    with pytest.raises(ParameterError, match="delta"):
        Adaptive(epsilon=1.0, delta=0.0).plan()
    with pytest.raises(ParameterError, match="epsilon"):
        Adaptive().plan()
    with pytest.raises(ParameterError, match="each once"):
        Adaptive(epsilon=1.0, delta=1e-6, items=("queries", "queries"))
    with pytest.raises(ParameterError, match="together, or neither"):
        Adaptive(at_epsilon=1.0)
    planned = Adaptive(epsilon=1.0, delta=1e-6).plan()
    given = Adaptive(at_epsilon=1.0, at_delta=1e-6)
    assert planned.guarantee == given.plan().guarantee
    assert planned.given == given == Adaptive.from_dict(planned.to_dict())


def test_words_are_counted_and_a_public_list_has_its_keys_once(tmp_path: Path) -> None:
    """Urls are no words; a listed key is there whether held or not, among keywords if it is one word."""
    kinds = (HeldItem.QUERIES, HeldItem.KEYWORDS, HeldItem.CLICKS, HeldItem.SESSIONS)
    with open_engine(threads=1) as engine:
        log = engine.log(log_of(tmp_path / "log.parquet", ROWS))
        counted = read_held(engine, log, kinds, pa.array(["cats", "moon landing", "tea"]))
        holdings, found = counted.holdings, {}
        assert holdings.words is not None and holdings.listed is not None
        every = np.arange(holdings.kinds)
        for kind in kinds:
            items = every[counted.of_kind(kind.value, every)]
            keys = [tuple(map(str, row.values())) for row in counted.keys(kind.value, items).to_pylist()]
            assert len(set(keys)) == len(keys), "each key once"
            numbers = zip(holdings.words[items].tolist(), holdings.listed[items].tolist(), strict=True)
            found[kind.value] = dict(zip(keys, numbers, strict=True))
    assert found["queries"] == {
        ("weather",): (1, False),
        ("news today",): (2, False),
        ("cats",): (1, True),
        ("moon landing",): (2, True),
        ("tea",): (1, True),
    }
    listed = {key for key, (words, public) in found["keywords"].items() if public}
    assert listed == {("cats",), ("tea",)} and {words for words, _ in found["keywords"].values()} == {1}
    assert found["clicks"][("news today", "http://n/")] == (2, False)
    assert found["sessions"][("['weather', 'news today', 'cats']",)] == (4, False)


def test_a_list_taken_from_the_log_is_refused(tmp_path: Path) -> None:
    rows = [(f"u{number}", f"own words {number}", number, None) for number in range(150)]
    path = log_of(tmp_path / "log.parquet", rows)
    own = tmp_path / "list.txt"
    own.write_text("# origin: our log\n" + "\n".join(query for _, query, *_ in rows))
    plan = Adaptive(epsilon=1.0, delta=1e-6, public_list=str(own)).plan()
    with open_engine(threads=1) as engine, pytest.raises(InputError, match="taken from the log"):
        plan.admit(engine, engine.log(path))
    with pytest.raises(ParameterError, match="digest alone"):
        Adaptive.from_dict(plan.to_dict()).plan().check()
    assert Adaptive.from_dict(plan.to_dict()).plan().guarantee == plan.guarantee
