"""How many rows a release can be expected to publish, before anything is spent, from public figures alone.

A look at the log's own counts before the charge would itself be a release. So the mechanism counts the
synthetic log (users of AOL's shape, :mod:`tacit.world.synth`), made once and kept in the cache. In a log of
fewer users, an item that c of its users have keeps each of them with the same chance: its number of users is
binomial. In a log of more, it is taken to grow in proportion. For items of one user that is far too high:
most of them are rarer than that, and ten times as many would pass a low threshold. So a log is never judged
by one of less than a third of its size, but for those of more than 300,000 users, of which the figure is
called rough. The expected number of rows is the sum over items of the chance that the number plus the noise
reaches the threshold. What depends on another table (clicks and transitions of selected queries) is counted
as if the query were selected. An adaptive release, whose rounds steer each other, is carried out on the
synthetic log instead (:mod:`tacit.release.mechanisms.adaptive_release`).

It speaks of logs like AOL's of three months: a log of another kind, or of one week, has other counts.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tacit.errors import InfeasibleError, ParameterError
from tacit.files import atomic_file, cache_directory
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.engines import open_engine
from tacit.release.mechanism import Mechanism
from tacit.release.schedule import Keys, NoiseKind, Part

WORLDS = (10_000, 100_000)
"""Users of the synthetic logs that are counted: the smallest that reaches far enough."""
REACH = 3
"""Numbers are scaled up by this factor at most, if there is a world that allows it."""
_SEED = 2006
_LARGE = 1_000


def is_rough(users: int) -> bool:
    """Whether a log of so many users is judged by one that is much smaller."""
    return users > REACH * WORLDS[-1]


def _world_for(users: int) -> int:
    """The size of the synthetic log by which one of so many users is judged."""
    return next((size for size in WORLDS if users <= REACH * size), WORLDS[-1])


def _world(size: int, report: Callable[[str], object]) -> Path:
    """The synthetic log of so many users, made when it is first needed."""
    from tacit.world.synth import SyntheticLog

    path = cache_directory() / f"expectation-{size}-{_SEED}-1.parquet"
    if not path.exists():
        report(f"making a synthetic log of {size:,} users to estimate from (once)")
        with atomic_file(path) as temporary:
            SyntheticLog(size, seed=_SEED).write(temporary)
    return path


def _passes(part: Part, counted: npt.NDArray[np.int64], share: float) -> npt.NDArray[np.float64]:
    """The chance that a key which so many users of the synthetic log have is published of ``share`` times
    as many.
    """
    from scipy import stats

    found = np.zeros(len(counted))
    for place, count in enumerate(counted.tolist()):
        if share >= 1:
            users, chance = np.array([round(count * share)]), np.ones(1)
        else:
            users = np.arange(count + 1)
            if count > _LARGE:  # far from the mean nothing is likely
                reach = 12 * math.sqrt(count * share) + 30
                users = np.arange(
                    max(0, int(count * share - reach)), min(count, int(count * share + reach)) + 1
                )
            chance = stats.binom.pmf(users, count, share)
        found[place] = float((chance * _published(part, users)).sum())
    return found


def _published(part: Part, users: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The chance that a key of exactly so many users is published."""
    least = part.least if part.least is not None else part.minimum
    occurring = users >= max(part.minimum, 1)
    if part.noise is None or part.noise.scale == 0:
        return (occurring & (users >= least)).astype(float)
    a, over = math.exp(-1 / part.noise.scale), (least - users).astype(float)
    upper = a ** np.maximum(over, 0) / (1 + a)  # P[noise >= over], for over > 0
    return np.where(occurring, np.where(over > 0, upper, 1 - a ** np.maximum(1 - over, 0) / (1 + a)), 0.0)


def expected_rows(
    mechanism: Mechanism[Any], users: int, report: Callable[[str], object] = str
) -> dict[str, float] | None:
    """By table, how many rows to expect of a log with so many users; None where that cannot be said."""
    if users < 1:
        raise ParameterError.outside("users", users, "at least 1")
    schedule = mechanism.schedule()
    kinds = {noise.kind for noise in schedule.noises()}
    if not kinds <= {NoiseKind.LAPLACE}:
        return None
    rows = {}
    size = _world_for(users)
    with open_engine() as engine:
        counting = mechanism.count(engine, engine.log(_world(size, report)))
        foreseen = mechanism.foresee(counting, users / size, OperatingSystemRandomness())
        if foreseen is not None:
            return foreseen
        if any(part.table not in counting for part in schedule):
            return None
        for part in schedule:
            kept = counting[part.table]
            if part.keys is Keys.PUBLIC and part.least is None:  # all keys, whatever their counts
                rows[part.table] = float(engine.table(kept.aggregate(keys=kept.count()))["keys"][0].as_py())
                continue
            spectrum = engine.table(kept.group_by("count").aggregate(keys=kept.count()))
            counted = np.asarray(spectrum.column("count")).astype(np.int64)
            passing = _passes(part, counted, users / size)
            rows[part.table] = float((passing * np.asarray(spectrum.column("keys"))).sum())
    return rows


def refuse_if_empty(expected: dict[str, float] | None, mechanism: Mechanism[Any], users: int) -> None:
    """Refuse a release of which next to nothing can be expected: less than one row in all."""
    if expected is None or sum(expected.values()) >= 1:
        return
    raise InfeasibleError(
        f"next to nothing can be expected: {sum(expected.values()):.2g} rows of a log of {users:,}"
        f" users. Nothing was charged.",
        f"More users, a larger epsilon or delta, fewer tables or `tacit plan {mechanism.name} --users"
        f" {users}` with other"
        " parameters would give more; `even_if_empty=True` goes on all the same.",
    )
