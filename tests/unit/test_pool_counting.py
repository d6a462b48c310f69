"""Rule S, case by case: what may go out, when, and what the gateway logs."""

from __future__ import annotations

import json

import pytest

from tacit.errors import InputError
from tacit.pool.protocol.counting import (
    Batch,
    PeriodMemory,
    QueryCounter,
    Refuse,
    Rules,
    Send,
    Why,
    next_period,
)
from tacit.pool.protocol.gateway import GatewayLog, Late, Logged, Unreadable
from tacit.pool.protocol.template import parse_template
from tacit.pool.protocol.tree import Tree

TEMPLATE = parse_template({"attribute": [{"name": "age", "low": 0, "high": 7}]})
TREE = Tree(TEMPLATE, ((0, 3), (0, 1), None, None, None))
"""Root 0; its halves 1 and 4; 1 is cut into 2 and 3. The leaves are 2, 3 and 4."""


class Driven:
    """A pool and a gateway, and what the gateway logged: (time, ticket, node)."""

    def __init__(self, k: int = 3, window: float = 100.0, **rules: float) -> None:
        self.rules = Rules(k, window, slack=0.0, alive=1e9, **rules)  # type: ignore[arg-type]
        self.pool = QueryCounter(TREE, self.rules)
        self.gateway = GatewayLog()
        self.entries: list[tuple[float, str, int]] = []
        self.refused: list[Refuse] = []
        self.sent: list[Batch] = []
        self.bad: set[str] = set()
        self.pool.open_period(1, 0.0)

    def log(self, batch: Batch, now: float) -> Logged | Late | Unreadable:
        places = [place for place, item in enumerate(batch.items) if item.ticket in self.bad]

        def write(time: float) -> None:
            self.entries.extend((time, item.ticket, item.node) for item in batch.items)

        return self.gateway.take(batch.number, batch.session, batch.deadline, places, now, write)  # type: ignore[return-value]

    def run(self, actions: tuple[object, ...], now: float) -> None:
        """Carry out actions with a gateway that answers at once."""
        for action in actions:
            if isinstance(action, Send):
                self.sent.append(action.batch)
                self.run(self.pool.answered(action.batch.number, self.log(action.batch, now), now), now)
            else:
                assert isinstance(action, Refuse)
                self.refused.append(action)

    def ask(self, person: str, leaf: int, now: float, period: int = 1) -> None:
        ticket = f"{person} at {now}"
        self.run(self.pool.deposit(ticket, f"{person} in {period}", period, leaf, now), now)

    def times(self) -> list[float]:
        return [time for time, _, _ in self.entries]


def test_the_first_k_wait_for_each_other_and_leave_in_one_batch() -> None:
    driven = Driven()
    driven.ask("a", 2, 0.0)
    driven.ask("b", 3, 5.0)
    assert not driven.sent
    driven.ask("c", 4, 9.0)
    assert len(driven.sent[-1].items) == 3 and {item.node for item in driven.sent[-1].items} == {0}
    assert driven.times() == [9.0] * 3


def test_then_a_query_goes_out_at_once_until_the_window_is_over() -> None:
    driven = Driven()
    for person, leaf in (("a", 2), ("b", 3), ("c", 4)):
        driven.ask(person, leaf, 1.0)
    driven.ask("d", 2, 101.0)
    assert driven.times()[-1] == 101.0
    driven.ask("e", 2, 101.5)  # only d and e themselves are left
    assert driven.times()[-1] == 101.0


def test_a_period_is_never_numbered_twice() -> None:
    assert next_period(7, 1_000.0, 100.0) == 10
    assert next_period(12, 0.0, 100.0) == 13
    memory = PeriodMemory().accept(4, "one").accept(4, "one").accept(6, "two")
    for number, key in ((5, "three"), (6, "three")):
        with pytest.raises(InputError):
            memory.accept(number, key)
    with pytest.raises(InputError):
        Driven().pool.open_period(1, 0.0)


def test_the_state_can_be_stored_between_any_two_inputs() -> None:
    driven = Driven()
    for number, (person, leaf) in enumerate((("a", 2), ("b", 3), ("c", 4), ("d", 2), ("e", 3))):
        stored = json.loads(json.dumps(driven.pool.as_dict()))
        driven.pool = QueryCounter.from_dict(TREE, driven.rules, stored)
        assert driven.pool.as_dict() == stored
        driven.ask(person, leaf, float(number))
    assert driven.times() == [2.0, 2.0, 2.0, 3.0, 4.0]


def test_a_token_is_bound_to_its_first_leaf() -> None:
    driven = Driven()
    driven.ask("a", 2, 0.0)
    driven.ask("a", 3, 1.0)
    assert driven.refused == [Refuse("a at 1.0", Why.LEAF)]
