"""Rule S, case by case: what may go out, when, and what the gateway logs."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tacit import InputError
from tacit.pool.protocol.counting import (
    Batch,
    QueryCounter,
    Refuse,
    Rules,
    Why,
    next_period,
)
from tacit.pool.protocol.gateway import Elsewhere, GatewayLog, Late, Logged, Unreadable
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
        self.pool.open_period(1)

    def log(self, batch: Batch, now: float) -> Logged | Late | Unreadable:
        places = [place for place, item in enumerate(batch.items) if item.ticket in self.bad]

        def write(time: float) -> None:
            self.entries.extend((time, item.ticket, item.node) for item in batch.items)

        return self.gateway.take(batch.number, batch.session, batch.deadline, places, now, write)  # type: ignore[return-value]

    def run(self, actions: tuple[object, ...], now: float) -> None:
        """Carry out actions with a gateway that answers at once."""
        for action in actions:
            if isinstance(action, Batch):
                self.sent.append(action)
                self.run(self.pool.answered(action.number, self.log(action, now), now), now)
            else:
                assert isinstance(action, Refuse)
                self.refused.append(action)

    def ask(self, person: str, leaf: int, now: float, period: int = 1) -> None:
        ticket = f"{person} at {now}"
        self.run(self.pool.deposit(ticket, f"{person} in {period}", period, leaf, now), now)

    def warm(self, now: float) -> None:
        """Let the pool learn the gateway's session, by a batch that cannot be read."""
        for number in range(self.rules.k):
            self.bad.add(f"nobody {number} at {now}")
            self.ask(f"nobody {number}", 4, now)

    def times(self) -> list[float]:
        return [time for time, _, _ in self.entries]


def test_the_first_k_wait_for_each_other_and_leave_in_one_batch() -> None:
    driven = Driven()
    driven.ask("a", 2, 0.0)
    driven.ask("c", 3, 5.0)
    assert not driven.sent
    driven.ask("b", 4, 9.0)
    items = driven.sent[-1].items
    assert len(items) == 3 and {item.node for item in items} == {0}
    assert [item.ticket for item in items] == sorted(item.ticket for item in items)  # tells no order
    assert driven.times() == [9.0] * 3


def test_then_a_query_goes_out_at_once_until_the_window_is_over() -> None:
    driven = Driven()
    for person, leaf in (("a", 2), ("b", 3), ("c", 4)):
        driven.ask(person, leaf, 1.0)
    driven.ask("d", 2, 101.0)
    assert driven.times()[-1] == 101.0
    driven.ask("e", 2, 101.5)  # only d and e themselves are left
    assert driven.times()[-1] == 101.0


def test_what_is_held_given_up_or_on_its_way_counts_for_nobody() -> None:
    driven = Driven()
    driven.ask("a", 2, 0.0)
    driven.ask("b", 2, 0.0)
    driven.pool.gave_up("b at 0.0")
    driven.ask("c", 2, 1.0)
    assert not driven.sent  # b has gone, and is not sent
    (first,) = driven.pool.deposit("d at 2", "d in 1", 1, 2, 2.0)
    assert isinstance(first, Batch) and len(first.items) == 3
    assert driven.pool.deposit("e at 2", "e in 1", 1, 2, 2.0) == ()  # three are on their way, none is logged
    driven.run((first,), 3.0)
    assert sorted(ticket for _, ticket, _ in driven.entries) == ["a at 0.0", "c at 1.0", "d at 2", "e at 2"]


def test_a_client_that_is_not_heard_of_is_not_sent_and_told_so() -> None:
    driven = Driven()
    driven.pool = QueryCounter(TREE, Rules(3, 100.0, slack=0.0, alive=10.0))
    driven.pool.open_period(1)
    driven.ask("a", 2, 0.0)
    driven.ask("b", 2, 0.0)
    assert driven.pool.polled("b at 0.0", 9.0) and not driven.pool.polled("unknown", 9.0)
    driven.ask("c", 2, 12.0)
    assert not driven.sent
    assert driven.pool.tick(12.0) == (Refuse("a at 0.0", Why.GONE),)
    driven.ask("d", 2, 12.0)
    assert sorted(ticket for _, ticket, _ in driven.entries) == ["b at 0.0", "c at 12.0", "d at 12.0"]


def test_who_leaves_while_a_batch_is_on_its_way_is_not_sent_again() -> None:
    driven = Driven()
    driven.ask("a", 2, 0.0)
    driven.ask("b", 2, 0.0)
    (send,) = driven.pool.deposit("c at 0", "c in 1", 1, 2, 0.0)
    assert isinstance(send, Batch)
    driven.pool.gave_up("a at 0.0")
    driven.pool.polled("a at 0.0", 1.0)  # a word that came late brings nobody back
    assert driven.pool.lost(send.number, 1.0) == (Refuse("a at 0.0", Why.GONE),)
    driven.ask("d", 2, 1.0)
    assert sorted(ticket for _, ticket, _ in driven.entries) == ["b at 0.0", "c at 0", "d at 1.0"]


def test_a_lost_answer_and_a_late_repeat_count_from_the_first_time() -> None:
    """Entries logged at 1 whose answer comes at 200 with time 1: nobody may lean on them at 215."""
    driven = Driven()
    driven.warm(0.0)
    for person in "abc":
        actions = driven.pool.deposit(person, f"{person} in 1", 1, 2, 0.5)
    (send,) = actions
    assert isinstance(send, Batch)
    first = driven.log(send, 1.0)
    assert isinstance(first, Logged) and first.time == 1.0 and len(driven.entries) == 3
    again = driven.log(send, 60.0)
    assert again == first and len(driven.entries) == 3
    driven.run(driven.pool.answered(send.number, again, 60.0), 60.0)
    driven.ask("d", 2, 115.0)
    assert len(driven.entries) == 3


def test_a_pool_whose_clock_stands_still_is_refused_by_the_gateway() -> None:
    driven = Driven()
    for person in "abc":
        driven.ask(person, 2, 0.0)
    (send,) = driven.pool.deposit("d", "d in 1", 1, 2, 0.0)  # the pool still believes it is 0
    assert isinstance(send, Batch) and send.deadline == 100.0
    answer = driven.log(send, 100.1)
    assert isinstance(answer, Late) and len(driven.entries) == 3
    assert driven.pool.answered(send.number, answer, 0.0) == ()  # held: the pool has learnt the time
    driven.run(driven.pool.deposit("e", "e in 1", 1, 2, 0.0), 100.1)
    driven.run(driven.pool.deposit("f", "f in 1", 1, 2, 0.0), 100.1)
    assert driven.times() == [0.0] * 3 + [100.1] * 3


def test_the_deadline_is_the_oldest_time_that_was_counted_and_the_window() -> None:
    driven = Driven()
    for number, person in enumerate("abcde"):
        driven.ask(person, 2, float(number))  # a, b, c at 2; d at 3; e at 4
    assert driven.times() == [2.0, 2.0, 2.0, 3.0, 4.0]
    driven.ask("f", 2, 50.0)
    assert driven.sent[-1].deadline == 103.0  # f counts itself, e and d
    driven.ask("f", 2, 60.0)
    assert driven.sent[-1].deadline == 103.0  # f again is nobody new


def test_answers_in_another_order_than_the_log_do_not_make_entries_younger() -> None:
    """Entries are dropped by their own times: an old one that was acknowledged last is still old."""
    driven = Driven(k=2)
    driven.warm(0.0)
    driven.ask("a", 2, 0.0)
    driven.ask("b", 2, 0.0)
    sends = [
        driven.pool.deposit(f"late {number}", f"{person} in 1", 1, 2, 1.0)[0]
        for number, person in enumerate("cdc")
    ]
    answers = [driven.log(send, 1.0 + 30 * number) for number, send in enumerate(sends)]  # type: ignore[union-attr]
    for send, answer in reversed(list(zip(sends, answers, strict=True))):  # logged at 1, 31, 61
        driven.run(driven.pool.answered(send.number, answer, 62.0), 62.0)  # type: ignore[union-attr]
    driven.run(driven.pool.tick(140.0), 140.0)
    driven.ask("f", 2, 150.0)
    assert driven.times()[-1] == 150.0 and driven.sent[-1].deadline == 161.0
    driven.ask("g", 4, 200.0)
    assert driven.times()[-1] == 200.0 and driven.sent[-1].deadline == 250.0


def test_a_gateway_set_back_or_started_anew_makes_the_pool_forget() -> None:
    for anew in (False, True):
        driven = Driven()
        for person in "abcd":
            driven.ask(person, 2, 1_000.0)
        if anew:
            driven.gateway = GatewayLog()
        driven.ask("e", 2, 1_010.0 if anew else 500.0)
        assert len(driven.entries) == 4 and len(driven.sent) == 4
        session = driven.gateway.session
        for person in "fg":
            driven.ask(person, 2, 1_011.0 if anew else 501.0)
        assert len(driven.entries) == 7 and driven.gateway.session == session


def test_an_answer_of_a_session_that_is_over_counts_for_nothing() -> None:
    driven = Driven()
    for person in "abc":
        driven.ask(person, 2, 0.0)
    (old,) = driven.pool.deposit("d", "d in 1", 1, 2, 1.0)
    assert isinstance(old, Batch)
    late = driven.log(old, 1.0)
    driven.gateway = GatewayLog()
    driven.ask("e", 2, 2.0)
    assert len(driven.entries) == 4  # e was refused: the new session has none of them
    driven.run(driven.pool.answered(old.number, late, 3.0), 3.0)
    driven.ask("f", 2, 3.0)
    assert {ticket for _, ticket, _ in driven.entries[4:]} == {"d", "e at 2.0", "f at 3.0"}


def test_one_unreadable_deposit_blocks_nobody() -> None:
    driven = Driven()
    driven.bad = {"b at 0.0"}
    for person in "abc":
        driven.ask(person, 2, 0.0)
    assert driven.refused == [Refuse("b at 0.0", Why.UNREADABLE)] and not driven.entries
    driven.ask("d", 2, 1.0)
    assert sorted(ticket for _, ticket, _ in driven.entries) == ["a at 0.0", "c at 0.0", "d at 1.0"]


def test_people_of_two_periods_are_not_added_up() -> None:
    driven = Driven()
    for person, time in zip("abcab", (0.0, 0.0, 0.0, 50.0, 50.0), strict=True):
        driven.ask(person, 2, time)
    driven.run(driven.pool.open_period(2), 60.0)
    driven.ask("a", 2, 99.0, period=2)  # three of the last period are enough
    assert driven.times() == [0.0] * 3 + [50.0, 50.0, 99.0]
    driven.ask("b", 2, 110.0, period=2)
    assert driven.times()[-1] == 99.0  # a and b in either period: two people, with four tokens
    assert driven.sent[-1].period == 1 and set(driven.sent[-1].people) == {f"{each} in 1" for each in "abc"}
    driven.ask("c", 2, 111.0, period=2)
    assert driven.sent[-1].period == 2 and set(driven.sent[-1].people) == {f"{each} in 2" for each in "abc"}
    assert driven.times()[-2:] == [111.0, 111.0]


def test_a_new_period_ends_what_is_held_and_refuses_old_tokens() -> None:
    driven = Driven()
    driven.ask("a", 2, 0.0)
    (send,) = [*driven.pool.deposit("b", "b in 1", 1, 2, 0.0), *driven.pool.deposit("c", "c in 1", 1, 2, 0.0)]
    assert isinstance(send, Batch)
    assert driven.pool.open_period(2) == ()
    driven.ask("d", 2, 1.0)
    assert driven.refused == [Refuse("d at 1.0", Why.PERIOD)]
    assert driven.pool.lost(send.number, 2.0) == tuple(
        Refuse(ticket, Why.PERIOD) for ticket in ("a at 0.0", "b", "c")
    )
    driven.ask("e", 2, 3.0, period=2)
    driven.run(driven.pool.open_period(3), 4.0)
    assert driven.refused[-1] == Refuse("e at 3.0", Why.PERIOD)


def test_only_entries_under_nodes_that_contain_the_leaf_are_counted() -> None:
    """Condition 1: what was logged under the other half does not match."""
    driven = Driven()
    for number, leaf in enumerate((2, 2, 2, 4, 4, 4)):
        entered(driven, (str(number), leaf, 0.0))
    driven.ask("d", 3, 1.0)
    assert not driven.entries
    driven.ask("e", 4, 1.0)
    assert [ticket for _, ticket, _ in driven.entries] == ["e at 1.0"]


def test_a_region_holds_k_people_who_could_have_sent_the_query() -> None:
    """Condition 2: two of leaf 3 and one who matches them are three, and only two of them live there."""
    driven = Driven()
    for person, leaf in (("a", 4), ("b", 2), ("c", 4)):
        driven.ask(person, leaf, 0.0)
    driven.ask("a", 4, 50.0)
    driven.ask("d", 3, 110.0)
    assert len(driven.entries) == 4
    driven.ask("e", 3, 110.0)
    assert [node for _, _, node in driven.entries[4:]] == [0, 0]


def test_a_node_is_opened_with_headroom_and_closed_below_k() -> None:
    driven = Driven(k=3)  # headroom: 7
    people = [(f"{leaf}.{number}", leaf) for leaf in (2, 4) for number in range(7)]
    for person, leaf in people:
        driven.ask(person, leaf, 0.0)
    driven.ask("new", 2, 1.0)
    assert driven.entries[-1][2] == 1  # both halves of the root hold seven; 3 holds nobody, so 1 stays whole
    for person, leaf in people[:-5]:
        driven.ask(person, leaf, 60.0)
    driven.ask("new", 2, 110.0)
    assert driven.entries[-1][2] == 0 and not driven.pool._cut  # only two of the other half are left
    for person, leaf in people[:-1]:
        driven.ask(person, leaf, 111.0)
    assert {node for _, _, node in driven.entries[-13:]} == {0}  # six are not enough to open it again


def entered(driven: Driven, *people: tuple[str, int, float]) -> None:
    """Count people's entries, each under the person's own leaf."""
    driven.pool._session = driven.gateway.session
    for person, leaf, time in people:
        driven.pool._periods[1].enter(f"{person} in 1", TREE.paths[leaf], leaf, time)


def test_held_queries_leave_as_the_largest_set_that_satisfies_the_rule() -> None:
    driven = Driven(k=4)
    entered(driven, ("p", 2, 0.0), ("q", 2, 0.0), ("r", 4, 50.0), ("s", 4, 50.0))
    driven.ask("d", 2, 60.0)
    driven.ask("g", 3, 60.0)
    assert not driven.entries
    driven.ask("e", 4, 60.0)  # d and e have two who match each, and each other; g has only them
    assert sorted(ticket for _, ticket, _ in driven.entries) == ["d at 60.0", "e at 60.0"]
    assert {node for _, _, node in driven.entries} == {0}
    assert driven.sent[-1].deadline == 100.0  # d counts on p and q


def test_who_leaves_the_set_is_no_longer_counted_in_it() -> None:
    driven = Driven(k=4)
    entered(driven, ("p", 2, 0.0))
    for person, leaf in (("d", 2), ("e", 3), ("g", 4)):
        driven.ask(person, leaf, 1.0)  # d would have four with e and g, who have only three
    assert not driven.entries


def test_what_a_lost_machine_had_sent_counts_no_more() -> None:
    driven = Driven()
    for person in "abc":
        driven.ask(person, 2, 0.0)
    (send,) = driven.pool.deposit("d", "d in 1", 1, 2, 0.0)
    assert isinstance(send, Batch)
    assert driven.pool.people(0.0) == 3
    answer = driven.log(send, 1.0)
    driven.pool = QueryCounter(TREE, driven.rules)
    driven.pool.open_period(2)
    assert driven.pool.people(1.0) == 0
    assert driven.pool.answered(send.number, answer, 1.0) == ()
    driven.ask("e", 2, 1.0, period=2)
    driven.ask("f", 2, 1.0, period=2)
    assert len(driven.entries) == 4
    with pytest.raises(InputError):
        driven.pool.open_period(1)  # the number of a period does not come again


def test_what_is_kept_is_bounded() -> None:
    driven = Driven(capacity=4, each=2)
    driven.rules = replace(driven.rules, k=4)
    driven.pool = QueryCounter(TREE, driven.rules)
    driven.pool.open_period(1)
    for time in (0.0, 1.0, 2.0):
        driven.ask("a", 2, time)
    assert driven.refused == [Refuse("a at 2.0", Why.FULL)]
    for person in "bc":
        driven.ask(person, 2, 3.0)
    driven.ask("d", 2, 4.0)
    assert driven.refused[-1] == Refuse("d at 4.0", Why.FULL)
    for ticket in list(driven.pool._tickets):
        driven.pool.gave_up(ticket)
    assert not driven.pool._each
    driven.ask("d", 2, 5.0)
    driven.ask("e", 2, 5.0)  # a fifth token of this period
    assert driven.refused[-1] == Refuse("e at 5.0", Why.FULL)
    driven.ask("nobody", 1, 5.0)
    assert driven.refused[-1] == Refuse("nobody at 5.0", Why.LEAF)


def test_old_entries_take_no_room() -> None:
    driven = Driven(period=1_000.0)
    for number in range(60):
        driven.ask(str(number), (2, 3, 4)[number % 3], 10.0 * number)
        driven.run(driven.pool.tick(10.0 * number), 10.0 * number)
    assert sum(len(recent.order) for recent in driven.pool._periods[1].under.values()) <= 11
    assert len(driven.gateway._logged) <= 12


def test_how_many_are_there_is_told_in_steps_of_k() -> None:
    driven = Driven()
    for number, leaf in enumerate((2, 3, 4, 2, 2)):
        driven.ask(str(number), leaf, 0.0)
    assert driven.pool.people(1.0) == 3 and driven.pool.people(101.0) == 0
    driven.pool.open_period(2)
    assert driven.pool.busiest == {2: 3, 3: 1, 4: 1}
    for person in "ab":
        driven.ask(person, 4, 2.0, period=2)
    driven.pool.open_period(3)
    assert driven.pool.busiest == {2: 3, 3: 1, 4: 2}  # the most of any period


def test_the_gateway_logs_until_the_deadline_once_and_whole() -> None:
    gateway = GatewayLog()
    written: list[float] = []

    def take(name: str, deadline: float, now: float, places: tuple[int, ...] = ()) -> object:
        return gateway.take(name, gateway.session, deadline, places, now, written.append)

    session = gateway.session
    assert take("a", 10.0, 10.0) == Logged(session, 10.0)
    assert take("b", 10.0, 10.1) == Late(session, 10.1)
    assert take("c", float("nan"), 10.1) == take("c", float("inf"), 10.1) == Late(session, 10.1)
    assert take("c", 20.0, 9.8, (1,)) == Unreadable(session, 10.1, (1,))  # a small step back: the clock waits
    assert take("d", 20.0, 9.8) == Logged(session, 10.1) and take("d", 20.0, 15.0) == Logged(session, 10.1)
    assert take("a", 10.0, 15.0) == Late(session, 15.0)  # forgotten, and too late to be logged twice
    assert written == [10.0, 10.1]

    def fail(_: float) -> None:
        raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        gateway.take("e", session, 20.0, (), 16.0, fail)
    assert take("e", 20.0, 17.0) == Logged(session, 17.0)
    answer = gateway.take("f", session, 20.0, (), 12.0, written.append)
    assert answer == Elsewhere(gateway.session, 12.0) and gateway.session != session


def test_a_short_window_keeps_a_tenth_of_itself_in_hand() -> None:
    assert [Rules(window=window).slack for window in (1.0, 5.0, 20.0, 120.0)] == [0.1, 0.5, 2.0, 2.0]


def test_a_period_is_never_numbered_twice() -> None:
    assert next_period(7, 1_000.0, 100.0) == 10
    assert next_period(12, 0.0, 100.0) == 13
    with pytest.raises(InputError):
        Driven().pool.open_period(1)


def test_a_token_is_bound_to_its_first_leaf() -> None:
    driven = Driven()
    driven.ask("a", 2, 0.0)
    driven.ask("a", 3, 1.0)
    assert driven.refused == [Refuse("a at 1.0", Why.LEAF)]
