"""Some users' records, from nothing to an Arrow batch: the unit of work.

A block depends only on the seed and on which users it holds, so blocks can be made in any order by any
number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.searchlog import SCHEMA
from tacit.world.corpus import wordnet_corpus
from tacit.world.synth.clicks import choose_clicks
from tacit.world.synth.interests import draw_interests
from tacit.world.synth.lexicon import World, load_world
from tacit.world.synth.queries import PAUSE
from tacit.world.synth.results import load_results
from tacit.world.synth.sessions import histories
from tacit.world.synth.spelling import spell, spelled_column
from tacit.world.synth.timing import BEGINNING, schedule, week_rhythm

__all__ = ["UserBlock", "Factory", "user_names"]

_BEGINNING_US = int(np.datetime64(BEGINNING, "us").astype(np.int64))


@dataclass(frozen=True)
class UserBlock:
    """The records of consecutive users and what lies behind them."""

    first_user: int
    log: pa.RecordBatch
    """The records, in the schema of a search log."""
    bounds: npt.NDArray[np.int64]
    """Where each user's submissions begin among ``rows``, and the end."""
    rows: npt.NDArray[np.int32]
    """The submissions; columns as in :mod:`tacit.world.synth.queries`."""
    of_row: npt.NDArray[np.int64]
    """The submission of each record."""
    hashes: npt.NDArray[np.uint64]
    """A 64-bit hash of each submission's text."""
    interests: npt.NDArray[np.int32]
    sensitive: npt.NDArray[np.int8]

    @property
    def users(self) -> int:
        """How many users."""
        return len(self.bounds) - 1

    @property
    def records(self) -> int:
        """How many records."""
        return len(self.of_row)


def user_names(first: int, count: int) -> pa.Array:
    """The ids of users: their numbers, padded so that text order is number order."""
    return pa.array([f"u{number:07d}" for number in range(first, first + count)], pa.string())


@cache
def _urls() -> pa.Array:
    return pa.array([document.url for document in wordnet_corpus()], pa.string())


class Factory:
    """Makes blocks; one for a whole log, shared by its threads."""

    def __init__(self, seed: int, weeks: int, sensitive_share: float, world: World | None = None) -> None:
        self.seed, self.weeks, self.sensitive_share = seed, weeks, sensitive_share
        self.world = world or load_world()
        self.results = load_results()
        self._rhythm = week_rhythm()

    def make(self, first_user: int, quotas: npt.NDArray[np.int64]) -> UserBlock:
        """The block of the users from ``first_user`` on, who make ``quotas`` records."""
        lexicon, seed = self.world.lexicon, self.seed
        interests, sensitive = draw_interests(
            seed, first_user, len(quotas), self.world.interests, self.sensitive_share
        )
        rows, bounds = histories(seed, first_user, quotas, interests, lexicon, self.results, self.weeks)
        seconds = schedule(
            seed, first_user, bounds, np.ascontiguousarray(rows[:, PAUSE]), self._rhythm, self.weeks
        )
        of_row, rank, document = choose_clicks(
            seed, first_user, rows, bounds, lexicon.base, self.results, lexicon.end
        )
        written, begins, hashes = spell(rows, self.world.spelling)
        user_of_row = np.repeat(np.arange(len(quotas)), np.diff(bounds))
        clicked = rank > 0
        log = pa.RecordBatch.from_arrays(
            [
                user_names(first_user, len(quotas)).take(pa.array(user_of_row[of_row])),
                spelled_column(written, begins).take(pa.array(of_row)),
                pa.array(_BEGINNING_US + seconds[of_row] * 1_000_000).cast(pa.timestamp("us")),
                pa.array(rank, pa.int32(), mask=~clicked),
                _urls().take(pa.array(document, pa.int32(), mask=~clicked)),
            ],
            schema=SCHEMA,
        )
        return UserBlock(first_user, log, bounds, rows, of_row, hashes, interests, sensitive)
