"""A release of the real Excite log, noise off: exact counts of chosen rows, from a log of 1997."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.drawn import SeededRandomness
from tests.realdata import shared_data
from tests.short_forms import zealous_parameters

from tacit import KQuery
from tacit.engines import open_engine
from tacit.release.mechanism import Mechanism, run
from tacit.release.parameters import Item
from tacit.searchlog import SCHEMA


@pytest.fixture(scope="module")
def excite() -> Path:
    return shared_data("excite-small.log")


def released(path: Path, mechanism: Mechanism) -> dict[str, dict[tuple, int]]:
    import pyarrow as pa

    rows = [line.split("\t") for line in path.read_text(encoding="latin-1").splitlines()]
    stamps = [f"19{t[:2]}-{t[2:4]}-{t[4:6]} {t[6:8]}:{t[8:10]}:{t[10:12]}" for _, t, _ in rows]
    nothing = [None] * len(rows)
    time = pa.array(stamps).cast(pa.timestamp("us"))
    columns = [[u for u, _, _ in rows], [q for _, _, q in rows], time, nothing, nothing]
    arrays = [pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)]
    with open_engine(threads=1) as engine:
        tables = run(mechanism, engine, engine.load(pa.table(arrays, schema=SCHEMA)), SeededRandomness(0))
    return {
        name: {tuple(row.values())[:-1]: row["count"] for row in table.to_pylist()}
        for name, table in tables.items()
    }


def test_what_five_users_asked(excite: Path) -> None:
    found = released(excite, KQuery(k=5, items=(Item.QUERIES, Item.KEYWORDS)))
    by_hand: dict[str, set[str]] = {}
    for line in excite.read_text(encoding="latin-1").splitlines():
        user, _, query = line.split("\t")
        by_hand.setdefault(query, set()).add(user)
    assert found["queries"] == {(q,): len(u) for q, u in by_hand.items() if len(u) >= 5}
    assert found["queries"][("chat",)] >= 5


def test_bounding_takes_away_and_never_adds(excite: Path) -> None:
    whole = released(excite, zealous_parameters(10_000, 0, 1, 1).plan())["queries"]
    bounded = released(excite, zealous_parameters(3, 0, 1, 1).plan())["queries"]
    assert all(count <= whole[key] for key, count in bounded.items())
    assert sum(bounded.values()) < sum(whole.values())
    assert sum(bounded.values()) <= 3 * 891
