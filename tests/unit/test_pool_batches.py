"""A relay's keeping of sealed records: who comes late, twice or alone, and a pool that asks too soon."""

from __future__ import annotations

from typing import Any

import pytest

from tacit.errors import InputError, ParameterError
from tacit.pool.protocol.batches import BatchKeeper, SealedMessage, announcement_digest
from tacit.pool.protocol.messages import LONGEST_SEALED, Reply

K, HOLD = 3, 60.0
GROUP, OTHER = announcement_digest("7", 0, "key"), announcement_digest("7", 1, "key")


def sealed(number: int, announcement: str = GROUP, record: str = "") -> SealedMessage:
    return SealedMessage(announcement, f"{number:032x}", record or f"record {number}")


@pytest.fixture
def keeper() -> BatchKeeper:
    return BatchKeeper(K, began=-HOLD, hold=HOLD)


def test_nothing_is_handed_over_before_k_are_there(keeper: BatchKeeper) -> None:
    for number in range(K - 1):
        assert keeper.take(sealed(number), 1.0) is Reply.ACCEPTED
    for number in range(K):
        keeper.take(sealed(number, OTHER), 1.0)
    batches = keeper.hand_over([GROUP, OTHER], 2.0)
    assert {name: sorted(batch) for name, batch in batches.items()} == {
        OTHER: ["record 0", "record 1", "record 2"]
    }


def test_a_pool_that_asks_early_gets_nothing_then_or_later(keeper: BatchKeeper) -> None:
    keeper.take(sealed(1), 1.0)
    assert keeper.hand_over([GROUP], 1.5) == {}
    assert [keeper.take(sealed(number), 2.0) for number in range(2, 9)] == [Reply.GONE] * 7
    assert keeper.hand_over([GROUP], 3.0) == {}


def test_who_comes_late_is_not_in_a_second_batch(keeper: BatchKeeper) -> None:
    for number in range(K):
        keeper.take(sealed(number), 1.0)
    batch = keeper.hand_over([GROUP], 2.0)
    assert keeper.take(sealed(9), 2.5) is Reply.GONE
    assert keeper.hand_over([GROUP], 3.0) == batch  # another worker of the pool asks again


def test_one_token_counts_once_and_its_first_record_stays(keeper: BatchKeeper) -> None:
    keeper.take(sealed(1), 1.0)
    assert [keeper.take(sealed(1, record=f"other {n}"), 1.0) for n in range(5)] == [Reply.REPEATED] * 5
    keeper.take(sealed(2), 1.0)
    assert keeper.hand_over([GROUP], 2.0) == {}  # two people, seven messages


def test_messages_for_different_keys_are_not_one_batch(keeper: BatchKeeper) -> None:
    digests = [announcement_digest("7", 0, f"key {number}") for number in range(10)]
    assert len({*digests, announcement_digest("70", 0, "key 0"), announcement_digest("7", 1, "key 0")}) == 12
    for number, digest in enumerate(digests):
        keeper.take(sealed(number, digest), 1.0)
    assert keeper.hand_over(digests, 2.0) == {}


def test_a_batch_is_shuffled(keeper: BatchKeeper) -> None:
    for number in range(50):
        keeper.take(sealed(number), 1.0)
    batch = keeper.hand_over([GROUP], 2.0)[GROUP]
    came = [f"record {number}" for number in range(50)]
    assert sorted(batch) == sorted(came) and batch != came


def test_after_a_restart_nothing_is_taken_until_old_announcements_are_over() -> None:
    keeper = BatchKeeper(K, began=100.0, hold=HOLD)
    assert keeper.take(sealed(1), 100.0 + HOLD - 0.1) is Reply.GONE
    assert keeper.take(sealed(1), 100.0 + HOLD) is Reply.ACCEPTED


def test_nothing_is_kept_for_longer_than_said(keeper: BatchKeeper) -> None:
    for number in range(K):
        keeper.take(sealed(number), 1.0)
        keeper.take(sealed(number, OTHER), 1.0)
    keeper.hand_over([OTHER], 2.0)
    assert keeper.take(sealed(9, announcement_digest("8", 0, "next")), 1.0 + HOLD) is Reply.ACCEPTED
    assert keeper.hand_over([GROUP], 1.0 + HOLD) == {}
    assert keeper.hand_over([OTHER], 2.0 + HOLD) == {}
    assert "record 0" not in repr(vars(keeper))


def test_a_full_relay_says_so_and_has_room_again() -> None:
    most = K * LONGEST_SEALED
    keeper = BatchKeeper(K, began=-HOLD, hold=HOLD, capacity=most)
    large = "x" * LONGEST_SEALED
    said = [keeper.take(sealed(number, record=large), 1.0) for number in range(K + 1)]
    assert said == [Reply.ACCEPTED] * K + [Reply.FULL]
    assert len(keeper.hand_over([GROUP], 2.0)[GROUP]) == K
    assert keeper.take(sealed(1, OTHER, large), 2.0) is Reply.ACCEPTED
    assert keeper.take(sealed(2, OTHER, large), 1.9 + HOLD) is Reply.ACCEPTED
    assert keeper.take(sealed(3, GROUP[::-1], large), 2.0 + HOLD) is Reply.ACCEPTED  # the first are dropped
    assert keeper.hand_over([OTHER], 2.0 + HOLD) == {}


@pytest.mark.parametrize(
    "change",
    [
        {"version": 2},
        {"announcement": "0"},
        {"announcement": 5},
        {"token": "Thelma Arnold"},
        {"sealed": ""},
        {"sealed": "x" * (LONGEST_SEALED + 1)},
        {"name": "Thelma Arnold"},
    ],
)
def test_what_is_no_message_is_refused_without_an_echo(change: dict[str, Any]) -> None:
    message = sealed(1)
    assert SealedMessage.parse(message.as_dict()) == message
    with pytest.raises(InputError) as refused:
        SealedMessage.parse(message.as_dict() | change)
    assert "Thelma" not in str(refused.value)


@pytest.mark.parametrize("change", [{"least": 1}, {"hold": 0.0}, {"capacity": 10}])
def test_a_keeper_that_promises_nothing_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(ParameterError):
        BatchKeeper(**{"least": K, "began": 0.0} | change)
