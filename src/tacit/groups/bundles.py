"""Groups that a service runs on: who is in which group, newcomers, leavers, and rankings.

**Joining changes nothing that is shown.** A newcomer is a *guest* of the nearest group: served by what that
group shows from the first request on, and not counted in it. When the guests of a group meet the criterion
among themselves they become a group of their own. So whoever compares what is shown before and after sees
whole groups appear, each of which met the criterion when it was formed, and never one person's difference.

**Leaving** deletes the person's profile and membership at once. What the group shows keeps its weights; only
terms that would exceed p among those who stay are withdrawn, which are terms the leaver did not hold. A group
that cannot continue dissolves, and its people are guests again. ``rebundle`` makes all groups anew.

**Nobody is counted in two groups between two bundlings.** Whoever was counted and left, changed or saw
the group dissolve rests: served as a guest, counted in no new group. Else whoever compares the group that
went with one that came would see whose terms are missing, or who is in both.

After each step every shown term of every group is held by at most a share p of its members.
"""

import hashlib
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import InputError, ParameterError
from tacit.groups.bundling import Bundler
from tacit.groups.criterion import Criterion
from tacit.groups.profiles import newcomers_terms
from tacit.groups.report import report
from tacit.groups.representative import Representative
from tacit.groups.service import Groups, People, ProgressBar, Result
from tacit.groups.store import (
    FILE,
    NOWHERE,
    GroupsStore,
    Place,
    Shown,
    named_terms,
    write_files,
    write_groups,
)
from tacit.text import words


class NearestGroups:
    """An index over what groups show."""

    def __init__(self, groups: Iterable[tuple[int, Shown]]) -> None:
        listed = list(groups)
        self._numbers = [group for group, _ in listed]
        offsets = np.cumsum([0, *(shown.terms.size for _, shown in listed)])
        terms = np.concatenate([np.empty(0, np.int32), *(shown.terms for _, shown in listed)])
        weights = np.concatenate([np.empty(0, np.float32), *(_unit(shown.shares) for _, shown in listed)])
        shape = (len(listed), int(terms.max(initial=-1)) + 1)
        self._by_term = sparse.csr_array((weights, terms, offsets), shape=shape).tocsc()

    def nearest(self, terms: NDArray[np.int32], weights: NDArray[np.float32]) -> int | None:
        """Find the group of the largest cosine; None where no group shows any of these terms."""
        inside = terms < self._by_term.shape[1]
        scores = self._by_term[:, terms[inside]] @ weights[inside]
        return self._numbers[scores.argmax()] if scores.size and scores.max() > 0 else None


def _unit(shares: NDArray[np.float32]) -> NDArray[np.float32]:
    length = float(np.sqrt(np.square(shares, dtype=np.float64).sum()))
    return shares / np.float32(length) if length else shares


Terms = NDArray[np.int32]
Holders = Callable[[list[int]], NDArray[np.int64]]

BATCH = 20
"""How many newcomers make a group of their own."""
WAITING = 5 * BATCH
"""So many must wait before batches are drawn: fakes among them are then spread over several."""
FAKES = 5
"""So many members of a batch may be an attacker's."""
MOST_TERMS = 20
"""So many terms of a member, at most, count in a batch."""


def batches(waiting: Iterable[str], key: bytes) -> Iterator[list[str]]:
    """Newcomers in random batches, by a keyed hash of their names: nobody can choose who is beside whom."""
    order = sorted(waiting, key=lambda user: hashlib.blake2b(user.encode(), key=key, digest_size=16).digest())
    return (order[begin : begin + BATCH] for begin in range(0, len(order) - BATCH + 1, BATCH))


def stand_together(people: Sequence[Terms], criterion: Criterion, holders: Holders) -> Shown | None:
    """Choose what newcomers show as a group of their own; None where they do not meet the criterion.

    Up to :data:`FAKES` of them may be an attacker's. With f ≤ s fakes the real holders of a term are at
    most p·(n - s) ≤ p·(n - f); and since a shown term has g members who bring it, at most s·L/g of them are
    the fakes' alone: p holds for the real members among themselves. A shown term has s + 2 holders in the
    population, so that fakes cannot lend the second one.

    Args:
        people: the terms of each, of which at most :data:`MOST_TERMS` count.
        holders: how many users of the whole population hold each of some terms.
    """
    counted = [held[:MOST_TERMS] for held in people]
    vocabulary, counts = np.unique(np.concatenate(counted), return_counts=True)
    everybody = np.bincount(
        np.searchsorted(vocabulary, np.concatenate([np.intersect1d(held, vocabulary) for held in people])),
        minlength=vocabulary.size,
    )
    least = max(criterion.fewest_holders, FAKES + 2)
    kept = (counts >= criterion.fewest_in_group) & (everybody <= criterion.p * (len(people) - FAKES))
    kept &= holders(vocabulary.tolist()) >= least
    shown = vocabulary[kept]
    theirs = FAKES * MOST_TERMS // criterion.fewest_in_group
    most = criterion.p * (shown.size - theirs)
    if not shown.size or any(np.isin(held, shown).sum() > most for held in people):
        return None
    return Shown(len(people), shown, (everybody[kept] / len(people)).astype(np.float32))


def still_shown(shown: Shown, people: Sequence[Terms], criterion: Criterion) -> Shown | None:
    """Choose what a group may go on showing when only these members are left; None where it must dissolve.

    Terms above p are withdrawn. The others keep the weights they had, **held by those who stay or not**: a
    weight that moved, or a term that went, when somebody left would tell what that person held. Terms above p
    among those who stay are terms that the one who left did not hold.
    """
    if len(people) < criterion.fewest_members:
        return None
    vocabulary = np.unique(np.concatenate([*people, shown.terms]))
    counts = np.zeros(vocabulary.size, np.int64)
    for held in people:
        counts[np.searchsorted(vocabulary, held)] += 1
    shares = counts[np.searchsorted(vocabulary, shown.terms)] / len(people)
    kept = shares <= criterion.p
    terms = shown.terms[kept]
    if not terms.size or any(np.isin(held, terms).sum() / terms.size > criterion.p for held in people):
        return None
    return Shown(shown.size, terms, shown.shares[kept])


_EVIDENCE = 12.0
_CALM = 10.0


def rank_by_interest(
    interests: Mapping[str, float], results: Sequence[Result], query: str = ""
) -> list[Result]:
    """The same results in another order; equal ones in the order they came."""
    asked = frozenset(words(query))
    length = math.sqrt(math.fsum(weight * weight for weight in interests.values()))
    if not length:
        return list(results)

    def place(at: int) -> float:
        found = results[at]
        told = frozenset(words(f"{found.get('title') or ''} {found.get('snippet') or ''}")) - asked
        score = sum(interests[word] for word in told if word in interests)
        cosine = score / (length * math.sqrt(len(told))) if score else 0.0
        return math.log(at + 1 + _CALM) - _EVIDENCE * cosine

    return [results[at] for at in sorted(range(len(results)), key=place)]


class Bundles(Groups):
    """Groups of words in a folder; see :class:`Groups`."""

    def __init__(self, folder: Path) -> None:
        self._store = GroupsStore(folder / "operator" / FILE)
        super().__init__(folder, self._store)
        self._bundler = Bundler(**self._store.meta("settings"))
        self._criterion = self._bundler.rule_of_release
        self._index: NearestGroups | None = None
        self._shown: dict[int, dict[str, float]] = {}
        self._version = self._store.version()

    def _summary(self) -> str:
        return f"Groups at p = {self._criterion.p:g}: {len(self):,} users in {self.count_groups():,} groups"

    def _notes(self) -> tuple[str, ...]:
        return ("No term that is shown links to a member more surely.",)

    # Asking

    def count_groups(self) -> int:
        with self._lock:
            return self._store.count_groups()

    def place(self, user: str) -> Place | None:
        with self._lock:
            return self._store.place(user)

    def representative(self, group: int) -> Representative:
        with self._lock:
            shown = self._store.shown(group)
            if shown is None:
                raise InputError(f"there is no group {group}.", "Ask `of(user)` for a user's group.")
            return Representative(group, shown.size, self._named(shown))

    def representatives(self) -> Iterator[Representative]:
        with self._lock:
            vocabulary = self._store.vocabulary()
            everything = list(self._store.all_shown())
        for group, shown in everything:
            yield Representative(group, shown.size, named_terms(shown, vocabulary))

    def members(self, group: int) -> list[str]:
        """The users who count in a group: for the operator's eyes only."""
        with self._lock:
            return list(self._store.profiles_of(group, member=True))

    def rerank(self, user: str, results: Sequence[Result], query: str = "") -> list[Result]:
        with self._lock:
            place = self._store.place(user)
            if place is None or place.group is None:
                return list(results)
            return rank_by_interest(self._interests(place.group), results, query)

    def _interests(self, group: int) -> dict[str, float]:
        """A group's terms with their weights, remembered until the file changes."""
        version = self._store.version()
        if version != self._version:
            self._version, self._index = version, None
            self._shown.clear()
        if group not in self._shown:
            shown = self._store.shown(group)
            self._shown[group] = self._named(shown) if shown else {}
        return self._shown[group]

    def _named(self, shown: Shown) -> dict[str, float]:
        return named_terms(shown, self._store.texts(shown.terms.tolist()))

    # Changing

    def assign_all(
        self,
        newcomers: Mapping[str, Mapping[str, float]],
        advance: Callable[[int], None] = lambda _users: None,
    ) -> list[Place]:
        checked = {user: newcomers_terms(user, terms) for user, terms in newcomers.items()}
        with self._lock, self._changing():
            for user in checked:
                if self._store.place(user) is not None:
                    raise InputError("a newcomer is here already.", "Use update to change a profile.")
            for user, terms in checked.items():
                self._store.add(user, terms)
                self._seat(user)
                advance(1)
            return [self._store.place(user) or Place(None, False) for user in checked]

    def update(self, user: str, terms: Mapping[str, float]) -> Place:
        checked = newcomers_terms(user, terms)
        with self._lock, self._changing():
            self._leave(user)
            rests = self._store.rests(user)
            self._store.delete(user)
            self._store.add(user, checked)
            if rests:
                self._store.rest([user])
            self._seat(user)
            return self._store.place(user) or Place(None, False)

    def remove(self, user: str) -> None:
        with self._lock:
            with self._changing():
                self._leave(user)
                terms, _ = self._store.profile(user)
                self._store.delete(user)
                shown = np.concatenate([held.terms for _, held in self._store.all_shown()] or [terms[:0]])
                self._store.forget_unused_terms(terms.tolist(), np.unique(shown).tolist())
            self.publish()

    def publish(self) -> None:
        with self._lock:
            write_files(self._store, self.folder)

    def rebundle(self, clicks: str | Path | None = None) -> NoReturn:  # noqa: ARG002
        """Refuse: whoever compares two bundlings of the same people sees what is common to their groups."""
        raise ParameterError(
            "groups of words are stable: made anew, they would tell what is common to a person's groups.",
            "Let people come and go; or make cohorts, whose generations are charged to a ledger.",
        )

    def _seat(self, user: str) -> None:
        """Make a user a guest of the nearest group, then draw batches if enough newcomers wait."""
        store = self._store
        if self._index is None:
            self._index = NearestGroups(store.all_shown())
        store.put([user], self._index.nearest(*store.profile(user)), member=False)
        waiting = store.waiting()
        if store.rests(user) or len(waiting) < WAITING or len(waiting) % WAITING:
            return
        for batch in batches(waiting, bytes.fromhex(store.meta("key"))):
            formed = stand_together([waiting[each] for each in batch], self._criterion, store.holders)
            if formed is not None:
                store.put(batch, store.form(formed), member=True)
                self._index = None

    def _leave(self, user: str) -> None:
        """Let a user stand nowhere for now; the group the user counted in goes on, or dissolves."""
        store, place = self._store, self._store.place(user)
        if place is None:
            raise InputError("there is no such user.", "Look up the user's name first.")
        store.put([user], NOWHERE, member=False)
        if not place.member or place.group is None:
            return
        store.rest([user])
        shown = store.shown(place.group)
        assert shown is not None
        staying = store.profiles_of(place.group, member=True)
        rest = still_shown(shown, list(staying.values()), self._criterion)
        if rest is not None:
            if rest.terms.size < shown.terms.size:
                store.show(place.group, rest)
                self._index = None
            return
        homeless = [*staying, *store.profiles_of(place.group, member=False)]
        store.rest(staying)
        store.put(homeless, NOWHERE, member=False)
        store.dissolve(place.group)
        self._index = None
        for other in homeless:
            self._seat(other)

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """A transaction, after which what was remembered of the groups is looked up again."""
        with self._store.transaction():
            version = self._store.version()
            if version != self._version:
                self._version, self._index = version, None
            try:
                yield
            except BaseException:
                self._index = None
                raise
            finally:
                self._shown.clear()


def make_bundles(
    profiles: People, folder: Path, bundler: Bundler, *, force: bool, progress: ProgressBar, **reading: Any
) -> None:
    """Bundle profiles, attack the groups, and write the folder."""
    from tacit.groups.reading import people_in  # DuckDB takes a moment to load

    people, _, _ = people_in(profiles, progress, **reading)
    with progress("Bundling", total=len(people), unit="users") as shown:
        bundling = bundler.fit(people, *([shown.advance] if shown else []))
    write_groups(bundling, bundler, report(bundling, seed=bundler.seed), folder, replace=force)
