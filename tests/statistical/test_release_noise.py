"""The noise of a release has the scale it claims: real mechanisms, the operating system's randomness.

Each check is a z-test at 6.5 standard errors: it raises a false alarm in at most 1 of 10 billion runs (normal
approximation, at least 1,000 draws). With 30% more or less noise it fails, which is tested too.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime

import numpy as np
import pyarrow as pa
import pytest
from tests.short_forms import click_parameters, session_parameters, zealous_parameters

from tacit import Click, Zealous
from tacit.engines import Engine, open_engine
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.mechanism import Mechanism, run
from tacit.release.mechanisms.click import ClickMode
from tacit.release.public_sets import PublicDomain
from tacit.searchlog import SCHEMA

LIMIT = 6.5
ITEMS, USERS = 4000, 6
START = datetime(2006, 3, 1)


@pytest.fixture(scope="module")
def engine() -> Iterator[Engine]:
    with open_engine(threads=1) as opened:
        yield opened


@pytest.fixture(scope="module")
def log(engine: Engine):
    """Every item is a pair of queries that six users of their own asked in one session."""
    number = np.repeat(np.arange(ITEMS * USERS), 2)
    second = np.tile([0, 1], ITEMS * USERS)
    item = number // USERS
    query = np.char.add(np.char.add("q", item.astype(str)), np.where(second, "b", "a"))
    time = np.datetime64(START, "us") + second.astype("timedelta64[m]").astype("timedelta64[us]")
    nothing = pa.nulls(len(number))
    columns = [pa.array(number.astype(str)), pa.array(query), pa.array(time), nothing, nothing]
    return engine.load(pa.table([c.cast(f.type) for c, f in zip(columns, SCHEMA, strict=True)], SCHEMA.names))


def z_of_scale(noise: np.ndarray, scale: float) -> float:
    """How far the mean magnitude lies from E|X| = 2a/(1-a^2), in standard errors."""
    a = math.exp(-1 / scale)
    mean, square = 2 * a / (1 - a * a), 2 * a / (1 - a) ** 2
    return float((np.abs(noise).mean() - mean) / math.sqrt((square - mean**2) / len(noise)))


def z_of_share(passed: int, tried: int, chance: float) -> float:
    return (passed - tried * chance) / math.sqrt(tried * chance * (1 - chance))


def counts(engine: Engine, mechanism: Mechanism, log, table: str) -> np.ndarray:
    return np.asarray(run(mechanism, engine, log, OperatingSystemRandomness())[table].column("count"))


def zealous(scale: float) -> Zealous:
    return zealous_parameters(1, scale, 1, USERS).plan()


def test_zealous_publishes_the_share_and_the_counts_that_its_noise_gives(engine, log) -> None:
    """6 + X >= 6: P = 1/(1+a); what is published above 6 is geometric, E = a/(1-a)."""
    scale = 4.0
    a = math.exp(-1 / scale)

    def z(published: np.ndarray) -> tuple[float, float]:
        excess = published - USERS
        mean, deviation = a / (1 - a), math.sqrt(a) / (1 - a)
        return (
            z_of_share(len(published), ITEMS, 1 / (1 + a)),
            float((excess.mean() - mean) / (deviation / math.sqrt(len(excess)))),
        )

    assert max(map(abs, z(counts(engine, zealous(scale), log, "queries")))) < LIMIT
    for wrong in (0.7, 1.3):
        assert abs(z(counts(engine, zealous(scale * wrong), log, "queries"))[1]) > LIMIT


def click(scale: float, domain: PublicDomain, pool_probability: float = 1.0, threshold: int = 4) -> Click:
    p = click_parameters(
        1,
        0,
        scale,
        threshold,
        scale,
        scale,
        scale,
        False,
        pool_probability=pool_probability,
        mode=ClickMode.PURE,
    )
    return replace(p, domain=domain).plan()


@pytest.mark.parametrize("pool_probability", [1.0, 0.5])
def test_unasked_queries_of_the_domain_get_noise_too(engine, log, pool_probability: float) -> None:
    """0 + X > 4 selects a^5/(1+a) of those that take part; their fresh counts have the scale stated."""
    scale, size = 3.0, 60_000
    domain = PublicDomain("test", pa.array([f"unasked {n:06d}" for n in range(size)]))
    chance = pool_probability * math.exp(-5 / scale) / (1 + math.exp(-1 / scale))
    published = counts(engine, click(scale, domain, pool_probability), log, "queries")
    assert abs(z_of_share(len(published), size, chance)) < LIMIT
    assert abs(z_of_scale(published, scale)) < LIMIT
    for wrong in (0.7, 1.3):
        published = counts(engine, click(scale * wrong, domain, pool_probability), log, "queries")
        assert abs(z_of_share(len(published), size, chance)) > LIMIT
        assert abs(z_of_scale(published, scale)) > LIMIT


def test_fresh_counts_are_unbiased_and_do_not_depend_on_the_selection(engine, log) -> None:
    """A_Session publishes the counts of selected sequences with new noise: no trace of the threshold."""

    def noise(scale: float) -> np.ndarray:
        p = session_parameters(1, 2, 2.0, USERS, scale, once=True)
        return counts(engine, p.plan(), log, "sessions") - USERS

    scale = 3.0
    found = noise(scale)
    a = math.exp(-1 / 2.0)
    assert abs(z_of_share(len(found), ITEMS, a / (1 + a))) < LIMIT
    assert abs(z_of_scale(found, scale)) < LIMIT
    assert abs(found.mean()) < LIMIT * found.std() / math.sqrt(len(found))
    for wrong in (0.7, 1.3):
        assert abs(z_of_scale(noise(scale * wrong), scale)) > LIMIT


def test_two_runs_draw_different_noise(engine, log) -> None:
    """Equal by chance with probability below 2^-1000."""
    first, second = (run(zealous(4.0), engine, log, OperatingSystemRandomness())["queries"] for _ in range(2))
    assert not first.equals(second)
