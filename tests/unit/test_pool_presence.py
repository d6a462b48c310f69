"""Matching presence: two lists, of addresses and of what the pool sees, are linked by when each occurs.

The pool that was handed records by those who asked, from their addresses, linked nearly everybody whose
record is unique. The machine gets no address; with the relay's list beside it, an address leads to a leaf.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest

from tacit.pool.protocol.counting import Actions, QueryCounter
from tacit.pool.protocol.population import adult
from tacit.pool.protocol.tree import Tree
from tacit.pool.simulation.traffic import QueryStream, SimulationSetting, draw_stream, simulate

EPOCH = 59.0
K = 30


def linked(addresses: dict[int, set[int]], seen: dict[object, set[int]]) -> dict[int, object]:
    """Each address whose epochs are those of exactly one thing that was seen, and that thing."""
    by_epochs = defaultdict(list)
    for thing, epochs in seen.items():
        by_epochs[frozenset(epochs)].append(thing)
    found = {address: by_epochs[frozenset(epochs)] for address, epochs in addresses.items()}
    return {address: things[0] for address, things in found.items() if len(things) == 1}


def hour(people: int, seed: int = 1) -> tuple[SimulationSetting, QueryStream, dict[int, set[int]]]:
    """An hour of queries, one a minute each, and the epochs in which each address sent something."""
    setting = SimulationSetting(k=K, window=120.0, people=people, every=60.0, windows=29, seed=seed)
    stream = draw_stream(setting, adult(), np.random.default_rng(seed))
    addresses = defaultdict(set)
    for time, person in zip(stream.time.tolist(), stream.asker.tolist(), strict=True):
        addresses[person].add(int(time // EPOCH))
    return setting, stream, addresses


@pytest.mark.parametrize(("people", "least"), [(200, 0.9), (2_000, 0.7)])
def test_the_old_topology_links_addresses_to_records(people: int, least: float) -> None:
    """Records opened each epoch beside the addresses that sent them: what one operator used to see."""
    _, stream, addresses = hour(people)
    records = [tuple(row) for row in stream.records.tolist()]
    seen = defaultdict(set)
    for person, epochs in addresses.items():
        seen[records[person]] |= epochs
    found = linked(addresses, dict(seen))
    right = sum(records[address] == record for address, record in found.items())
    assert right / people >= least and right == len(found)


def test_the_pool_sees_no_address_and_with_the_relay_no_more_than_a_leaf(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    setting, stream, addresses = hour(200)
    view: list[tuple[float, str, int]] = []
    deposit = QueryCounter.deposit

    def watched(self: QueryCounter, ticket: str, token: str, period: int, leaf: int, now: float) -> Actions:
        view.append((now, token, leaf))
        trees.append(self.tree)
        return deposit(self, ticket, token, period, leaf, now)

    trees: list[Tree] = []
    monkeypatch.setattr(QueryCounter, "deposit", watched)
    simulate(setting, adult())
    tokens, leaves = defaultdict(set), defaultdict(set)
    for time, token, leaf in view:
        tokens[token].add(int(time // EPOCH))
        leaves[leaf].add(int(time // EPOCH))
    # Alone, the pool has tokens of one period and leaves; presence over the hour is that of no token or leaf.
    assert linked(addresses, dict(tokens)) == {} and linked(addresses, dict(leaves)) == {}
    # With the relay's times, an address leads to its leaf, and a guess inside it is right for one in m.
    leaf_of = trees[0].leaves_of(stream.records)
    sizes = np.bincount(leaf_of)[leaf_of]
    assert sizes.min() >= K and (1 / sizes).max() <= 1 / K
