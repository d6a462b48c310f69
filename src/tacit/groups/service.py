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

from __future__ import annotations

import json
import math
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.display import Displayed
from tacit.errors import InputError
from tacit.files import check_output_folder
from tacit.groups.bundling import Bundler
from tacit.groups.criterion import Criterion
from tacit.groups.loops.judging import released_terms
from tacit.groups.loops.knowledge import Rows, Scratch
from tacit.groups.profiles import Profiles, check_reading, newcomers_terms
from tacit.groups.report import report
from tacit.groups.representative import Representative
from tacit.groups.store import (
    FILE,
    MARKS,
    NOWHERE,
    GroupsStore,
    Place,
    Shown,
    fill,
    named_terms,
    stored_profiles,
    write_files,
    write_groups,
)
from tacit.text import words

_BESIDE = 256


class NearestGroups:
    """An index over what groups show."""

    def __init__(self, groups: Iterable[tuple[int, Shown]]) -> None:
        self._beside: dict[int, tuple[NDArray[np.int32], NDArray[np.float32]]] = {}
        listed = list(groups)
        self._numbers = np.array([group for group, _ in listed], np.int64)
        self._alive = np.ones(len(listed))
        offsets = np.cumsum([0, *(shown.terms.size for _, shown in listed)])
        terms = np.concatenate([np.empty(0, np.int32), *(shown.terms for _, shown in listed)])
        weights = np.concatenate([np.empty(0, np.float32), *(_unit(shown.shares) for _, shown in listed)])
        shape = (len(listed), int(terms.max(initial=-1)) + 1)
        self._by_term = sparse.csr_array((weights, terms, offsets), shape=shape).tocsc()

    def add(self, group: int, shown: Shown) -> bool:
        """Take in a group; False when the index should be made anew."""
        self._beside[group] = (shown.terms, _unit(shown.shares))
        return len(self._beside) <= _BESIDE

    def drop(self, group: int) -> None:
        """A group is no more."""
        self._beside.pop(group, None)
        self._alive[self._numbers == group] = 0

    def nearest(self, terms: NDArray[np.int32], weights: NDArray[np.float32]) -> int | None:
        """The group of the largest cosine; None where no group shows any of these terms."""
        inside = terms < self._by_term.shape[1]
        scores = self._alive * (self._by_term[:, terms[inside]] @ weights[inside])
        best, score = None, 0.0
        if scores.size and scores.max() > 0:
            best, score = int(self._numbers[scores.argmax()]), float(scores.max())
        for group, (held_terms, shares) in self._beside.items():
            _, mine, theirs = np.intersect1d(terms, held_terms, assume_unique=True, return_indices=True)
            found = float(weights[mine] @ shares[theirs])
            if found > score:
                best, score = group, found
        return best


def _unit(shares: NDArray[np.float32]) -> NDArray[np.float32]:
    length = float(np.sqrt(np.square(shares, dtype=np.float64).sum()))
    return shares / np.float32(length) if length else shares


Terms = NDArray[np.int32]
Holders = Callable[[list[int]], NDArray[np.int64]]


def stand_together(people: Sequence[Terms], criterion: Criterion, holders: Holders) -> Shown | None:
    """What these people show as a group of their own; None where they do not meet the criterion.

    Args:
        people: the terms of each, ascending.
        holders: how many users of the whole population hold each of some terms.
    """
    sizes = np.array([held.size for held in people], np.int64)
    if sizes.size < criterion.fewest_members:
        return None
    vocabulary, columns, counts = np.unique(np.concatenate(people), return_inverse=True, return_counts=True)
    rows = Rows(np.concatenate(([0], np.cumsum(sizes))), columns.astype(np.int32))
    # Strictly, also where the first groups met the paper's criterion: p holds for what newcomers show.
    rule = criterion.compiled(float(sizes.mean()), holders(vocabulary.tolist()))._replace(paper=False)
    holds, found = released_terms(np.arange(sizes.size), rows, rule, Scratch.of(vocabulary.size))
    if not holds:
        return None
    found.sort()
    return Shown(sizes.size, vocabulary[found], (counts[found] / sizes.size).astype(np.float32))


def still_shown(shown: Shown, people: Sequence[Terms], criterion: Criterion) -> Shown | None:
    """What a group may go on showing when only these members are left; None where it must dissolve.

    Terms above p are withdrawn. The others keep the weights they had, **held by those who stay or not**: a
    weight that moved, or a term that went, when somebody left would tell what that person held. Terms above p
    among those who stay are terms that the one who left did not hold.

    With ``known_terms`` this is not enough: that a set B of known terms links t only now tells that the one
    who left held B. So such a group always dissolves, whoever leaves it.
    """
    if len(people) < criterion.fewest_members or criterion.known_terms:
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


Result = TypeVar("Result", bound=Mapping[str, Any])

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


class Groups(Displayed):
    """The groups in a folder that ``tacit group`` made. Use it as a context manager, or close it.

    Safe for threads; changes made by other processes are seen. Made by :meth:`bundle` and :meth:`open`.

    Args:
        folder: where they are.
        store: the open store of the folder.
    """

    def __init__(self, folder: Path, store: GroupsStore) -> None:
        self.folder = folder
        self._store = store
        self._lock = threading.RLock()
        self._bundler = Bundler(**store.meta("settings"))
        self._criterion = self._bundler.rule_of_release
        self._index: NearestGroups | None = None
        self._shown: dict[int, dict[str, float]] = {}
        self._version = store.version()

    @classmethod
    def open(cls, folder: str | Path) -> Groups:
        """Open a folder of groups; fast, whatever its size."""
        return cls(Path(folder), GroupsStore(Path(folder) / "operator" / FILE))

    @classmethod
    def bundle(
        cls,
        profiles: str | Path | Profiles | Mapping[str, Mapping[str, float]],
        to: str | Path | None = None,
        *,
        p: float = 0.4,
        criterion: str = "strict",
        known_terms: int = 0,
        fewest_holders: int = 2,
        fewest_in_group: int = 1,
        augment: int | None = 1,
        representative: str = "share",
        seed: int = 0,
        weights: str = "count",
        max_terms: int | None = None,
        scrub: bool = True,
        since: datetime | None = None,
        until: datetime | None = None,
        force: bool = False,
        progress: Callable[..., AbstractContextManager[Any]] = lambda *_, **__: nullcontext(),
    ) -> Groups:
        """Bundle user profiles into groups: no term shown links to a member with more than probability p.

        ::

            groups = tacit.Groups.bundle("log.parquet", "groups", p=0.4)
            groups.rerank("217", results, query="java")

        Args:
            profiles: a search log (Parquet), a file of profiles (JSON lines), or ``{user: {term: weight}}``.
            to: the folder to make; a private temporary one, removed with the groups, unless given.
            p: the most sure an attacker may be that a member holds a shown term, in (0, 1).
            criterion: ``strict`` (p for every term and member) or ``paper`` (an average, no guarantee).
            known_terms: how many of a member's terms the attacker may know already (strict only).
            fewest_holders: show only terms that so many users of the population hold (strict only).
            fewest_in_group: show only terms that so many members of the group hold (strict only).
            augment: steps of WordNet hypernyms added before users are compared, 0 for synonyms only; None
                compares words as they are.
            representative: the weights of shown terms: ``share`` of the members who hold it, or the paper's
                ``centroid`` or ``union``, which tell more.
            seed: the same seed and population give the same groups.
            weights: of a user's terms in a log: ``count``, ``binary`` or ``tf-idf``.
            max_terms: keep at most so many terms of each user of a log, the heaviest.
            scrub: drop queries of a log that hold an e-mail address or a personal number.
            since: only records of a log from this time on (UTC).
            until: only records of a log before this time (UTC).
            force: replace the groups that are in the folder ``to``.
            progress: shows progress, as :func:`tacit.terminal.progress` does.

        Raises:
            InfeasibleError: where no grouping was found that meets the criterion; nothing was written then.
        """
        bundler = Bundler(
            p=p,
            criterion=criterion,
            known_terms=known_terms,
            augment=augment,
            fewest_holders=fewest_holders,
            fewest_in_group=fewest_in_group,
            representative=representative,
            seed=seed,
        )
        period = (since, until)
        check_reading(weights, max_terms, period)
        if to is not None:
            inputs = [profiles] if isinstance(profiles, str | Path) else []
            check_output_folder(to, force=force, marks=MARKS, inputs=inputs)
        people = _people(profiles, progress, weights=weights, max_terms=max_terms, scrub=scrub, period=period)
        with progress("Bundling", total=len(people), unit="users") as shown:
            bundling = bundler.fit(people, *([shown.advance] if shown else []))
        folder = Path(to) if to is not None else Path(tempfile.mkdtemp(prefix="tacit-groups-")) / "groups"
        write_groups(bundling, bundler, report(bundling, seed=seed), folder, replace=force)
        groups = cls.open(folder)
        if to is None:
            weakref.finalize(groups, shutil.rmtree, folder.parent, ignore_errors=True)
        return groups

    @property
    def report(self) -> dict[str, Any]:
        """What was measured when the groups were made: linkability, attackers, information kept."""
        found: dict[str, Any] = json.loads((self.folder / "report.json").read_text(encoding="utf-8"))
        return found

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._store.close()

    def __enter__(self) -> Groups:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _summary(self) -> str:
        return f"Groups at p = {self._criterion.p:g}: {len(self):,} users in {self.count_groups():,} groups"

    def _rows(self) -> list[tuple[str, str]]:
        return [("users", f"{len(self):,}"), ("groups", f"{self.count_groups():,}")]

    def _notes(self) -> tuple[str, ...]:
        return ("No term that is shown links to a member more surely.",)

    def __len__(self) -> int:
        with self._lock:
            return self._store.count_users()

    def __contains__(self, user: object) -> bool:
        with self._lock:
            return isinstance(user, str) and self._store.place(user) is not None

    # Asking

    def count_groups(self) -> int:
        """How many groups there are."""
        with self._lock:
            return self._store.count_groups()

    def of(self, user: str) -> int | None:
        """The group whose profile serves this user; None for people unknown or near to no group."""
        place = self.place(user)
        return place.group if place else None

    def place(self, user: str) -> Place | None:
        """The same, with whether the user counts in the group; None for somebody unknown."""
        with self._lock:
            return self._store.place(user)

    def representative(self, group: int) -> Representative:
        """What a group shows."""
        with self._lock:
            shown = self._store.shown(group)
            if shown is None:
                raise InputError(f"there is no group {group}.", "Ask `of(user)` for a user's group.")
            return Representative(group, shown.size, self._named(shown))

    def representatives(self) -> Iterator[Representative]:
        """What every group shows."""
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
        """The results in the order of the user's group; as they came for people without one.

        Args:
            results: mappings with ``title`` and ``snippet``; given back as they are, duplicates included.
            query: its words do not count, since all results have them.
        """
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

    def assign(self, user: str, terms: Mapping[str, float]) -> Place:
        """Take in a newcomer with a profile of weighted terms."""
        return self.assign_all({user: terms})[0]

    def assign_all(
        self,
        newcomers: Mapping[str, Mapping[str, float]],
        advance: Callable[[int], None] = lambda _users: None,
    ) -> list[Place]:
        """Take in several newcomers, all or none; gives where each stands in the end."""
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
        """Replace a user's profile: the user leaves, and joins again as a newcomer."""
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
        """Erase a person: profile, membership and every trace in the folder's files."""
        with self._lock:
            with self._changing():
                self._leave(user)
                terms, _ = self._store.profile(user)
                self._store.delete(user)
                shown = np.concatenate([held.terms for _, held in self._store.all_shown()] or [terms[:0]])
                self._store.forget_unused_terms(terms.tolist(), np.unique(shown).tolist())
            self.publish()

    def publish(self) -> None:
        """Write ``representatives.jsonl`` and ``operator/membership.jsonl`` as things stand now."""
        with self._lock:
            write_files(self._store, self.folder)

    def rebundle(self, advance: Callable[[int], None] = lambda _users: None) -> None:
        """Bundle everybody anew, guests included; changes wait meanwhile.

        Raises:
            InfeasibleError: where no grouping was found; nothing has changed then.
        """
        with self._lock, self._changing():
            bundling = self._bundler.fit(stored_profiles(self._store), advance)
            first = self._store.next_group()
            self._store.clear()
            fill(self._store, bundling, first)
            self._index = None
        self.publish()

    def _seat(self, user: str) -> None:
        """Make a user a guest, then let the guests of that group stand on their own if they can."""
        store = self._store
        group = self._nearest().nearest(*store.profile(user))
        store.put([user], group, member=False)
        if store.rests(user):
            return
        guests = store.waiting(group)
        formed = stand_together(list(guests.values()), self._criterion, store.holders)
        if formed is not None:
            number = store.form(formed)
            store.put(guests, number, member=True)
            if not self._nearest().add(number, formed):
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
        self._nearest().drop(place.group)
        store.put(homeless, NOWHERE, member=False)
        store.dissolve(place.group)
        for other in homeless:
            self._seat(other)

    def _nearest(self) -> NearestGroups:
        if self._index is None:
            self._index = NearestGroups(self._store.all_shown())
        return self._index

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


def _people(
    profiles: str | Path | Profiles | Mapping[str, Mapping[str, float]],
    progress: Callable[..., AbstractContextManager[Any]],
    **of_log: Any,
) -> Profiles:
    """Read profiles from whatever was given; a Parquet file is a log, other files are JSON lines."""
    if isinstance(profiles, Profiles):
        return profiles
    if isinstance(profiles, Mapping):
        return Profiles.from_mappings(profiles)
    from tacit.groups.reading import profiles_from_log, read_profiles  # DuckDB takes a moment to load
    from tacit.searchlog.schema import begins_as_parquet

    path = Path(profiles)
    if not begins_as_parquet(path):
        return read_profiles(path)
    with progress("Reading", unit="queries") as shown:
        return profiles_from_log(path, **of_log, **({"advance": shown.advance} if shown else {}))
