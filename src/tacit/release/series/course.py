"""The course of a series in memory: who holds what so far, and a week's rounds and counts carried out on it.

What a user adds in a round is a function of the user's own set, dates, lot and balance and of noisy numbers
of earlier rounds; what happens to an item is a function of its own noisy numbers alone, and of whether
somebody has held it *in any round so far*.

Nothing here decides what may be drawn when: :mod:`tacit.release.series.folder` notes every step in the ledger
first. A step that was noted and not carried out is *left out* for every item, also for those held later.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import ParameterError
from tacit.privacy.noise.randomness import RandomSource
from tacit.release.execution import Holdings, cut_to, noisy_numbers, stepped
from tacit.release.mechanisms.adaptive_holdings import each_once
from tacit.release.schedule import LARGEST_VALUE, ONE, SeriesRounds
from tacit.release.weights import BLOCK, in_blocks, spend

Whole = NDArray[np.int64]

FULL = LARGEST_VALUE << 8
"""The largest weight of an item in a count."""


def _empty(*shape: int, kind: Any = np.int64) -> Any:
    return field(default_factory=lambda: np.zeros(shape or 0, kind))


@dataclass
class Course:
    """All that a series knows between its steps. Secret.

    Items and users have numbers in the order in which they came; ``make_room`` makes room for new ones.
    """

    rounds: SeriesRounds
    week: int = 0  # the one under way, from 1
    step: int = 0  # the last that is over: rounds of a week, then its count, have numbers of their own
    noted: int = 0  # the last step that was noted in the ledger
    carried: int = 0  # rounds carried out since the start, or since the state was lost
    since: int = 0  # the round up to which every allowance is taken as spent,
    counted_since: int = 0  # and the count up to which every balance is
    # of each item: standings in the memories that last, whether somebody has held it, the week in which it
    # was found (0: before the first, -1: not yet), and words
    standings: Whole = _empty(2, 0)  # noqa: RUF009 (a field of its own for every object)
    held: NDArray[np.bool_] = _empty(kind=np.bool_)  # noqa: RUF009
    found: NDArray[np.int8] = _empty(kind=np.int8)  # noqa: RUF009
    words: NDArray[np.uint8] = _empty(kind=np.uint8)  # noqa: RUF009
    # of the last count: its items, the noisy counts in units of FULL, the relative weights that they had, and
    # both of the count before (weight 0: not counted)
    tallied: Whole = _empty()  # noqa: RUF009
    last: Whole = _empty()  # noqa: RUF009
    weights: Whole = _empty()  # noqa: RUF009
    before: Whole = _empty(0, 2)  # noqa: RUF009
    # of each user: saved for rounds, saved for counts
    allowances: Whole = _empty()  # noqa: RUF009
    balances: Whole = _empty()  # noqa: RUF009
    # holdings, in the order of joining: user, item, week; packed pairs since the last count that did not join
    owners: NDArray[np.int32] = _empty(kind=np.int32)  # noqa: RUF009
    items: NDArray[np.int32] = _empty(kind=np.int32)  # noqa: RUF009
    joined: NDArray[np.uint8] = _empty(kind=np.uint8)  # noqa: RUF009
    window: Whole = _empty()  # noqa: RUF009

    @property
    def steps_of_week(self) -> int:
        """Return how many numbers a week takes: its rounds, and one for a count, taken or not."""
        return self.rounds.per_week + 1

    def make_room(self, users: int, words: NDArray[np.uint8]) -> None:
        """Let there be so many users, and items of so many words each; those known keep their numbers.

        Every possible user gains an allowance in every round, so that whoever comes late has saved it all.
        """
        more, items = users - self.allowances.size, words.size - self.held.size
        rounds_gone, counts_gone = self.round_number - self.since, self.count_number - self.counted_since
        self.allowances = np.append(self.allowances, np.full(more, rounds_gone * ONE**2))
        gained = counts_gone * self.rounds.tally.gain if self.rounds.tally else 0
        self.balances = np.append(self.balances, np.full(more, gained))
        self.standings = np.pad(self.standings, ((0, 0), (0, items)))
        self.held = np.pad(self.held, (0, items))
        self.found = np.pad(self.found, (0, items), constant_values=-1)
        self.words = words

    @property
    def round_number(self) -> int:
        """The last round noted, carried out or left out."""
        weeks, rest = divmod(self.step, self.steps_of_week)
        return weeks * self.rounds.per_week + min(rest, self.rounds.per_week)

    @property
    def count_number(self) -> int:
        """The last count noted."""
        return self.step // self.steps_of_week // self.rounds.tally.every if self.rounds.tally else 0

    def ends_with_count(self, week: int) -> bool:
        """Whether the found items are counted in this week."""
        return self.rounds.tally is not None and week % self.rounds.tally.every == 0

    def begin_week(self, pairs: Whole, source: RandomSource) -> None:
        """Take in a week's records: packed pairs of user and item, each once.

        At most ``joining`` items join a user's set, drawn by the user's own lot among those that the user
        does not hold and that are not published. What was drawn is state: nothing refills a place later.
        """
        if self.week >= self.rounds.weeks or self.step // self.steps_of_week != self.week:
            raise ParameterError("this series is not at the beginning of a week.")
        self.week += 1
        if (pairs[1:] < pairs[:-1]).any():
            pairs.sort()
        items = pairs.astype(np.int32)
        known = np.flatnonzero(self.held[items])  # or the item is new to everybody
        looked_up, marks = pairs[known], np.zeros(1 << 24, np.bool_)
        marks[_mark(looked_up >> 32, items[known])] = True
        same = np.flatnonzero(marks[_mark(self.owners, self.items)])  # and few others
        mine = packed(self.owners[same], self.items[same])
        places, free = np.searchsorted(looked_up, mine), self.found[items] < 0
        free[known[places[np.append(looked_up, -1)[places] == mine]]] = False
        new = np.flatnonzero(free).astype(np.int32)
        starts = np.append(0, np.cumsum(np.bincount(pairs[new] >> 32, minlength=self.allowances.size)))
        joining = cut_to(Holdings(starts, new, pairs.size), self.rounds.joining, source).items
        owners, items = (pairs[joining] >> 32).astype(np.int32), items[joining]
        if self.rounds.tally:
            self.window = np.concatenate([self.window, np.delete(pairs, joining)])
        before = self.held.copy()
        self.held[items] = True
        self._catch_up(np.flatnonzero(self.held & ~before), source)
        self.owners = np.concatenate([self.owners, owners])
        self.items = np.concatenate([self.items, items])
        self.joined = np.concatenate([self.joined, np.full(owners.size, self.week, np.uint8)])

    def _catch_up(self, items: Whole, source: RandomSource) -> None:
        """Draw the noise of all rounds that were carried out before anybody held these items.

        Each missed round's own number goes through the same recursion: noise belongs to every item and round.
        """
        for begin in range(0, items.size, BLOCK):
            some = items[begin : begin + BLOCK]
            standings, nothing = np.zeros((2, some.size), np.int64), np.zeros(some.size, np.int64)
            for _ in range(self.carried):
                self._remember(standings, noisy_numbers(nothing, self.rounds.sigma, source))
            self.standings[:, some] = standings

    def _remember(self, standings: Whole, numbers: Whole) -> None:
        """Let standings be those after a round: what each memory keeps, rounded down, and the number."""
        for memory, standing in zip(self.rounds.memories, standings, strict=False):
            standing *= memory
            standing >>= 16
            standing += numbers

    def draw_round(self, source: RandomSource) -> None:
        """Carry out the next round of this week; it was noted before."""
        q = self.round_number + 1
        self.step += 1
        self.allowances, self.found = self.allowances + ONE**2, self.found.copy()
        table, values = self._values(q), np.zeros(self.items.size, np.uint16)

        def weigh(some: slice) -> None:
            own, ages = table[self.items[some]], self.week - self.joined[some].astype(np.int32)
            values[some] = np.maximum(own & 2047, np.where(ages < own >> 22, own >> 11 & 2047, 0))

        in_blocks(weigh, self.items.size)
        numbers, part = np.zeros(self.held.size, np.int64), self.rounds.part
        spend(self.owners, self.items, values, self.allowances, ONE**2, part, -1, numbers)
        numbers = noisy_numbers(numbers, self.rounds.sigma, source)
        looked_at = self.held & (self.found < 0)
        numbers *= looked_at  # the standings of other items are 0, too
        self.carried += 1
        self._remember(self.standings, numbers)
        long, short, none = self.rounds.thresholds[q - 1]
        reached = (self.standings[0] >= long) | (self.standings[1] >= short) | (numbers >= none)
        reached &= looked_at
        self.found[reached] = self.week
        self.standings[:, reached] = 0  # nobody looks at it again

    def _values(self, q: int) -> NDArray[np.int32]:
        """Compute what each item weighs, the least where it is new, and until what age: 11, 11 and 8 bits."""
        weighing = self.rounds.weighing[q - 1]
        by_words = np.array(self.rounds.scores, np.int32)
        by_words = by_words[np.clip(np.arange(256), 1, by_words.size) - 1]
        values = np.zeros(self.held.size, np.int32)

        def weigh(some: slice) -> None:
            scores = by_words[self.words[some]] * (self.held[some] & (self.found[some] < 0))
            long, short = self.standings[:, some]
            steered = np.maximum(stepped(weighing.long, long), stepped(weighing.short, short))
            young = 1 + np.add.reduce([short >= cut for cut in weighing.young], dtype=np.int32)
            values[some] = np.maximum(np.minimum(1, steered * scores), steered * scores >> 3)
            values[some] |= np.maximum(np.minimum(1, scores), weighing.floor * scores >> 3) << 11
            values[some] |= young << 22

        in_blocks(weigh, self.held.size)
        return values

    def start_anew(self, step: int) -> None:
        """Go on from this step of the ledger without what was known: all that was saved is taken as spent.

        This course is empty but for what is published; standings begin at 0, and so does catching up.
        """
        self.week = -(-step // self.steps_of_week)
        self.step, self.noted = self.week * self.steps_of_week, step
        self.since, self.counted_since = self.round_number, self.count_number

    def leave_out(self) -> None:
        """Pass over the next step, which was noted and of which nothing is known: all is taken as spent."""
        self.step += 1
        self.noted = self.step
        if self.step % self.steps_of_week:
            self.allowances = np.zeros_like(self.allowances)
            self.since = self.round_number
        elif self.ends_with_count(self.step // self.steps_of_week):
            self.balances = np.zeros_like(self.balances)
            self.counted_since = self.count_number
            self.window = self.window[:0]

    def draw_count(self, source: RandomSource) -> None:
        """Carry out this week's count of the found items; it was noted before."""
        self.step += 1
        tally = self.rounds.tally
        if tally is None:
            raise ParameterError("this series publishes keys alone.")
        self.balances = self.balances + tally.gain
        chosen = np.flatnonzero(self.found >= 0)
        self.before = np.zeros((chosen.size, 2), np.int64)
        self.before[np.searchsorted(chosen, self.tallied)] = np.stack([self.last, self.weights], axis=1)
        weights = stepped(tally.weighing, self.before[:, 0])
        weights[self.before[:, 1] == 0] = tally.first
        values = np.zeros(self.held.size, np.uint16)
        values[chosen] = weights
        recent = (self.joined > self.week - tally.every) & (self.found[self.items] >= 0)
        asked = self.window[self.found[self.window.astype(np.int32)] >= 0]
        asked = each_once(np.append(asked, packed(self.owners[recent], self.items[recent])))
        owners, items = (asked >> 32).astype(np.int32), asked.astype(np.int32)
        self.window = self.window[:0]
        totals = np.zeros(self.held.size, np.int64)
        spend(owners, items, values[items], self.balances, 1 << 62, 256, 16, totals)
        numbers = noisy_numbers(totals[chosen], tally.sigma, source)
        self.tallied, self.weights = chosen, weights.astype(np.int64)
        self.last = numbers * LARGEST_VALUE // weights

    def compact(self) -> NDArray[np.bool_]:
        """Forget items that nobody has held, if not few, once none waits for a count; return which stay."""
        kept = self.held | (self.found >= 0) | (self.window.size > 0)
        kept |= np.count_nonzero(kept) * 8 >= kept.size * 7  # for the others are numbered and written anew
        if not kept.all():
            numbers = np.cumsum(kept, dtype=np.int32) - 1
            for name in ("standings", "held", "found", "words"):
                setattr(self, name, getattr(self, name)[..., kept])
            self.items, self.tallied = numbers[self.items], numbers[self.tallied].astype(np.int64)
        return kept

    def end_week(self) -> None:
        """End the week; one without a count takes its number all the same."""
        if not self.ends_with_count(self.week):
            self.step += 1

    def erase(self, users: Whole) -> None:
        """Forget what these users hold and asked; balances, standings and what was ever held stay.

        A balance that vanished would make a returning pseudonym look fully saved; a standing or a presence
        that changed would show whose items they were.
        """
        gone = np.zeros(self.allowances.size, np.bool_)
        gone[users] = True
        kept = ~gone[self.owners]
        self.owners, self.items, self.joined = self.owners[kept], self.items[kept], self.joined[kept]
        self.window = self.window[~gone[self.window >> 32]]


def _mark(users: NDArray[Any], items: NDArray[np.int32]) -> NDArray[np.uint32]:
    """Make 24 bits of each user and item."""
    mixed = users.astype(np.uint32) * np.uint32(0x9E3779B1) + items.view(np.uint32) * np.uint32(0x85EBCA77)
    return np.asarray(mixed >> np.uint32(8))


def packed(users: NDArray[Any], items: NDArray[Any]) -> Whole:
    """Pack each user and item into one number."""
    return np.asarray(users.astype(np.int64) << 32 | items.astype(np.int64))


def deviation_of(course: Course, weights: Whole) -> NDArray[np.float64]:
    """Compute the standard deviation of a count's noise, in users, from the relative weight that it had."""
    sigma = course.rounds.tally.sigma if course.rounds.tally else 0
    return np.asarray(sigma / (256.0 * np.maximum(1, weights)))
