"""An observer with the pool operator's whole view against real agents: addresses, leaves, tokens, times."""

from __future__ import annotations

import asyncio
import random
import time
from collections import defaultdict
from contextlib import AsyncExitStack
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import pytest
from starlette.requests import Request
from starlette.responses import Response
from tests.pool_parties import SMALL, parties, present

from tacit.pool.protocol.template import Record
from tacit.pool.protocol.tree import Cut, Tree
from tacit.pool.server import front
from tacit.pool.server import pool as pool_module

PEOPLE = 12
HALVES = Tree(SMALL, ((0, 16), None, None))
"""Two leaves of six people each."""
_FROM: ContextVar[str] = ContextVar("from")
Entry = tuple[str, str, int]
"""What the operator sees of a deposit: the address it came from, its token, its leaf."""


@pytest.fixture
def view(monkeypatch: pytest.MonkeyPatch) -> list[Entry]:
    """Everything that the pool operator can see of deposits, as its own code opens them."""
    seen: list[Entry] = []
    take, deposit = front.SealedFront.take, pool_module._Worker.deposit

    async def watched_take(self: Any, request: Request) -> Response:
        _FROM.set("" if request.client is None else request.client.host)
        return await take(self, request)

    async def watched_deposit(self: Any, given: dict[str, Any]) -> dict[str, Any]:
        seen.append((_FROM.get(), given["token"], given["leaf"]))
        return await deposit(self, given)

    monkeypatch.setattr(front.SealedFront, "take", watched_take)
    monkeypatch.setattr(pool_module._Worker, "deposit", watched_deposit)
    return seen


def linked(view: list[Entry]) -> dict[str, int]:
    """The leaf of each address that the view ties to one leaf alone."""
    leaves = defaultdict(set)
    for address, _, leaf in view:
        leaves[address].add(leaf)
    return {address: found.pop() for address, found in leaves.items() if len(found) == 1}


def live(folder: Path, records: list[Record], tree: Tree, **options: Any) -> None:
    """People come and go for some rounds; who asks differs from round to round."""
    chosen = random.Random(4)
    values = [
        {a.name: a.labels[code] for a, code in zip(SMALL.attributes, record, strict=True)}
        for record in records
    ]

    async def work() -> None:
        async with parties(folder, tree=tree, **options) as pool:

            async def one(number: int) -> None:
                async with pool.agent(number + 1, values[number], patience=1.0) as agent:
                    await agent.search("tea")

            for _ in range(4):
                asking = chosen.sample(range(PEOPLE), 8)
                await asyncio.gather(*(one(number) for number in asking), return_exceptions=True)

    asyncio.run(work())


def records() -> list[Record]:
    return [(number * 3, number % 4) for number in range(PEOPLE)]


def everybody_alone() -> Tree:
    """A tree with a leaf for every person: as if exact records travelled."""
    cuts: list[Cut | None] = []
    for number in range(PEOPLE - 1):
        cuts += [(0, number * 3 + 1), None]
    return Tree(SMALL, (*cuts, None))


def test_the_pool_operator_links_no_address(tmp_path: Path, view: list[Entry]) -> None:
    live(tmp_path, records(), HALVES)
    assert len(view) > 20 and {address for address, _, _ in view} == {"relay"}
    assert linked(view) == {}
    assert "10.0.0." not in repr(view)


def test_the_pool_sees_no_token_of_a_period_that_is_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever deposits the last period's token and then the next one's shows that both are one person's."""
    seen: list[tuple[int, int]] = []
    deposit = pool_module._Worker.deposit

    async def watched(self: Any, given: dict[str, Any]) -> dict[str, Any]:
        seen.append((given["period"], (await self.store.standing())["period"]))
        return await deposit(self, given)

    monkeypatch.setattr(pool_module._Worker, "deposit", watched)
    ahead = [0.0]

    async def work() -> None:
        parts = {"clock": lambda: time.time() + ahead[0]}
        async with parties(tmp_path, period=3_600.0, parts=parts) as pool, AsyncExitStack() as running:
            people = [pool.agent(number, {"age": 30, "place": "Redmond"}) for number in range(3)]
            for agent in people:
                await running.enter_async_context(agent)
            for _ in range(3):
                answers = await asyncio.gather(*(agent.search("tea") for agent in people))
                assert all(answer["guarded"] for answer in answers)
                last = await present(people[0])
                ahead[0] += 3_600.0
                while await present(people[0]) == last:
                    await asyncio.sleep(0.05)

    asyncio.run(work())
    assert len({period for period, _ in seen}) == 3
    assert all(period == present for period, present in seen)


def test_pool_and_relay_together_find_a_leaf_and_no_person(tmp_path: Path, view: list[Entry]) -> None:
    """Their views joined: each address with its leaf; inside it a person is one of at least k."""
    tree = HALVES
    live(tmp_path, records(), tree, relay="http://pool.test", keys="http://relay.test/keys")
    found = linked(view)
    assert len(found) == PEOPLE, "whoever runs both sees both: said in words on the channel's page"
    leaves = [tree.leaf_of(record) for record in records()]
    for address, leaf in found.items():
        number = int(address.rpartition(".")[2]) - 1
        assert leaf == leaves[number] and leaves.count(leaf) >= 3


def test_the_attack_finds_records_where_they_travel(tmp_path: Path, view: list[Entry]) -> None:
    """The old topology put back (the operator sees addresses, and records instead of leaves) is caught."""
    tree = everybody_alone()
    live(tmp_path, records(), tree, relay="http://pool.test", keys="http://relay.test/keys")
    leaves = [tree.leaf_of(record) for record in records()]
    right = [
        leaves[int(address.rpartition(".")[2]) - 1] == leaf and leaves.count(leaf) == 1
        for address, leaf in linked(view).items()
    ]
    assert sum(right) >= 0.74 * PEOPLE
