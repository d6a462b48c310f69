"""What one user can change: the sensitivity that every guarantee rests on, for all logs and histories.

The counts of a log with and without a user differ by no more than the analysis says, in sum and by key; with
scrubbing, periods and both choices of what is taken.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime, timedelta

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.short_forms import click_parameters, session_parameters, zealous_parameters

from tacit.engines import Engine, open_engine
from tacit.release.mechanism import Mechanism
from tacit.release.mechanisms.click import ClickMode
from tacit.release.parameters import Choice
from tacit.release.preparation import Preparation
from tacit.release.public_sets import PublicDomain, PublicUrls
from tacit.searchlog import SCHEMA

START = datetime(2006, 3, 1)
record = st.tuples(
    st.sampled_from(["java", "java island", "coffee", "weather", "mail jane@mail.org", "o'neill's"]),
    st.sampled_from([0, 0, 1, 5, 30, 31, 60, 200]).map(lambda n: START + timedelta(minutes=n)),
    st.sampled_from([None, "http://a", "http://b", "http://c/jane@mail.org"]),
)
histories = st.lists(record, max_size=12)
others = st.dictionaries(st.sampled_from(["u1", "u2", "u3"]), histories, max_size=3)
preparations = st.sampled_from(
    [Preparation(scrub=False), Preparation(), Preparation(START + timedelta(minutes=2))]
)
choices = st.sampled_from(list(Choice))
SETTINGS = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with open_engine(threads=1) as opened:
        yield opened


def counted(engine: Engine, mechanism: Mechanism, log: dict, preparation: Preparation) -> dict[str, Counter]:
    rows = [(user, q, t, None if u is None else 1, u) for user, history in log.items() for q, t, u in history]
    columns = list(zip(*rows, strict=True)) or [()] * 5
    table = pa.table([pa.array(c, f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)
    counting = mechanism.count(engine, preparation.apply(engine.load(table)))
    found = {}
    for name, kept in counting.items():
        rows = engine.table(kept).to_pylist()
        found[name] = Counter(
            {tuple(v for k, v in row.items() if k != "count"): row.get("count", 0) for row in rows}
        )
    return found


def change(engine: Engine, mechanism: Mechanism, log: dict, history: list, preparation: Preparation):
    """By histogram: how much the user adds in sum, and to one key at most. A user never takes away."""
    without = counted(engine, mechanism, log, preparation)
    having = counted(engine, mechanism, {**log, "somebody": history}, preparation)
    moved = {}
    for name in having.keys() - {"domain", "unasked"}:
        added = {key: having[name][key] - without[name][key] for key in having[name] | without[name]}
        assert min(added.values(), default=0) >= 0
        moved[name] = (sum(added.values()), max(added.values(), default=0))
    return moved


@SETTINGS
@given(others, histories, st.integers(1, 4), choices, preparations)
def test_zealous(engine, log, history, m, choice, preparation) -> None:
    mechanism = replace(zealous_parameters(m, 1.0, 1, 1, 4), take=choice).plan()
    for total, largest in change(engine, mechanism, log, history, preparation).values():
        assert total <= m
        assert largest <= 1


@SETTINGS
@given(
    others,
    histories,
    st.integers(2, 4),
    st.integers(1, 3),
    st.sampled_from(list(ClickMode)),
    choices,
    preparations,
)
def test_click(engine, log, history, q_f, c_f, mode, choice, preparation) -> None:
    p = click_parameters(q_f, c_f, 1.0, 1, 1.0, 1.0, 1.0, mode=mode)
    domain = PublicDomain("test", pa.array(["coffee", "java", "unasked"]))
    mechanism = replace(p, domain=domain, surfaced=PublicUrls("test", lambda query: ()), take=choice).plan()
    moved = change(engine, mechanism, log, history, preparation)
    assert moved["queries"][0] <= q_f
    assert moved["clicks"][0] <= c_f
    assert moved["transitions"][0] <= p.steps_per_user


@SETTINGS
@given(others, histories, st.integers(1, 2), st.integers(2, 4), st.booleans(), choices, preparations)
def test_session(engine, log, history, l_s, l_q, once, choice, preparation) -> None:
    p = session_parameters(l_s, l_q, 1.0, 1, 1.0, once, (2, 1.0, 1, 1.0))
    moved = change(engine, replace(p, take=choice).plan(), log, history, preparation)
    assert moved["sessions"][0] <= p.sensitivity
    assert moved["sessions"][1] <= p.largest_move
    assert moved["clicks"][0] <= 2
