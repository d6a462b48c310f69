"""Whatever people, networks and clocks do, every logged query matches k people within w (Definition 2)."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from tests.pool_chaos import Chaos, World, judge

from tacit.pool.protocol.counting import Batch
from tacit.pool.protocol.gateway import GatewayLog, Logged
from tacit.pool.protocol.population import adult
from tacit.pool.simulation.traffic import SimulationSetting, simulate
from tacit.pool.simulation.verification import AuditedLog, verify_log


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_no_entry_is_breached_in_worlds_that_misbehave(first: int) -> None:
    entries = 0
    for seed in range(first, first + 10):
        chaos = Chaos(World.draw(seed), 250)
        verdict = judge(chaos.run(), chaos.world.k, chaos.world.window)
        assert verdict.breaches == 0, f"world {seed}: fewer than k people match an entry"
        assert verdict.few == 0, f"world {seed}: fewer than k people could have sent an entry"
        assert chaos.sent_for_nobody == 0, f"world {seed}: a query was sent whose client had gone"
        assert chaos.unproved == 0, f"world {seed}: a batch names others than k people of its region"
        entries += verdict.entries
    assert entries > 800


def brute_force(log: AuditedLog, k: int, window: float) -> int:
    """Entries that fail Definition 2, by comparing each with each."""
    failing = 0
    for record, time in zip(log.record, log.time, strict=True):
        match = ((log.low <= record) & (record <= log.high)).all(axis=1) & (np.abs(log.time - time) <= window)
        failing += len(np.unique(log.sender[match])) < k
    return failing


def test_the_checker_counts_what_comparing_each_with_each_counts() -> None:
    found = []
    for seed in (1, 9, 11, 20, 33):
        log = Chaos(World.draw(seed), 150).run()
        for k, window in ((2, 5.0), (4, 60.0), (9, 400.0)):
            failing = brute_force(log, k, window)
            assert verify_log(log, k, window).identified == failing
            found.append(0 < failing < len(log))
    assert sum(found) >= 4, found  # neither all nor none, in enough cases


def test_the_regions_of_a_person_are_nested_over_a_day() -> None:
    setting = SimulationSetting(
        k=5, window=300.0, people=200, every=600.0, windows=287, stay=14_400.0, away=14_400.0
    )
    log = simulate(setting, adult()).log
    assert log is not None and log.time.max() - log.time.min() > 80_000
    several = 0
    for person in np.unique(log.sender):
        mine = np.unique(np.stack([log.low, log.high], axis=1)[log.sender == person], axis=0)
        volumes = (mine[:, 1] - mine[:, 0] + 1.0).prod(axis=1)
        mine = mine[np.argsort(volumes)]
        for inner, outer in pairwise(mine):
            assert (outer[0] <= inner[0]).all() and (inner[1] <= outer[1]).all()
        several += len(mine) > 1
    assert several > 50


def test_s_accounts_of_one_person_take_no_more_than_s() -> None:
    """Somebody with s accounts, in both periods, leaves k - s others; and this is attained."""
    k, s = 8, 3
    fewest = k
    for seed in range(16):
        world = World.draw(seed)
        chaos = Chaos(replace(world, k=k, people=9, every=world.window, patience=2 * world.window), 150)
        log = chaos.run()
        merged = log.sender.copy()
        merged[merged < s] = 0  # the first s accounts are one person's
        others = AuditedLog(log.time, merged, log.record, log.low, log.high, log.guarded)
        verdict = judge(others, k, chaos.world.window, second=False)
        fewest = min(fewest, verdict.fewest)
        assert verdict.fewest >= k - s + 1  # the one person is among them
    assert fewest == k - s + 1


def test_two_pools_by_mistake_breach_nothing() -> None:
    """Each counts only what it saw logged itself, so a worker that wrongly thinks it leads does no harm."""
    chaos = Chaos(World.draw(9), 1)
    random = np.random.default_rng(4)
    pools = [chaos.new_pool(), chaos.new_pool()]
    gateway, entries = GatewayLog(), []
    for pool in pools:
        pool.open_period(1)
    for number in range(400):
        person, pool = int(random.integers(chaos.world.people)), pools[random.integers(2)]
        waiting = list(
            pool.deposit(f"{number:04d} {person}", str(person), 1, chaos.leaf[person], float(number))
        )
        while waiting:
            action = waiting.pop(0)
            assert isinstance(action, Batch)
            batch = action
            answer = gateway.take(
                batch.number, batch.session, batch.deadline, (), float(number), lambda _: None
            )
            if isinstance(answer, Logged):
                entries += [(answer.time, int(item.ticket.split()[1]), item.node) for item in batch.items]
            waiting += pool.answered(batch.number, answer, float(number))
    chaos.entries = [(time, person, chaos.leaf[person], node) for time, person, node in entries]
    verdict = judge(chaos.log(), chaos.world.k, chaos.world.window)
    assert verdict.entries > 200 and verdict.breaches == 0
