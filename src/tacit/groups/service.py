"""Groups that a service runs on: who is in which group, newcomers, leavers, and rankings.

**Joining changes nothing that is shown.** A newcomer is a *guest* of the nearest group: served by what that
group shows from the first request on, and not counted in it. When the guests of a group meet the criterion
among themselves they become a group of their own. So whoever compares what is shown before and after sees
whole groups appear, each of which met the criterion when it was formed, and never one person's difference.

**Leaving** deletes the person's profile and membership at once. What the group shows keeps its weights; only
terms that would exceed p among those who stay are withdrawn, which are terms the leaver did not hold. A group
that cannot go on dissolves, and its people are guests again. ``rebundle`` makes all groups anew.

**Nobody is counted in two groups between two bundlings.** Whoever was counted and left, moved, changed or saw
the group dissolve rests: served as a guest, counted in no new group. Else whoever compares the group that
went with one that came would see whose terms are missing, or who is in both.

After each step every shown term of every group is held by at most a share p of its members.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np

from tacit.errors import InputError
from tacit.groups.bundler import Bundler, Bundling
from tacit.groups.nearest import NearestGroups
from tacit.groups.profiles import newcomers_terms
from tacit.groups.ranking import Result, rank_by_interest
from tacit.groups.representative import Representative
from tacit.groups.standing import stand_together, still_shown
from tacit.groups.store import FILE, NOWHERE, GroupsStore, Place, Shown
from tacit.groups.writing import fill, named_terms, stored_profiles, write_files
from tacit.terminal import shown_as_html

__all__ = ["Groups"]


class Groups:
    """The groups in a folder that ``tacit group`` made. Use it as a context manager, or close it.

    Safe for threads; changes made by other processes are seen.
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
        """Open a folder; fast, whatever its size."""
        return cls(Path(folder), GroupsStore(Path(folder) / "operator" / FILE))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            self._store.close()

    def __enter__(self) -> Groups:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Groups({len(self):,} users in {self.count_groups():,} groups, p = {self._criterion.p:g})"

    def _repr_html_(self) -> str:
        counts = [("users", f"{len(self):,}"), ("groups", f"{self.count_groups():,}")]
        return shown_as_html(
            f"Groups at p = {self._criterion.p:g}",
            counts,
            ["No term that is shown links to a member more surely."],
        )

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

    def move(self, user: str, group: int | None = None) -> Place:
        """Let a user leave a group and be a guest of another (the nearest, where none is named)."""
        with self._lock, self._changing():
            if group is not None and self._store.shown(group) is None:
                raise InputError(f"there is no group {group}.", "Ask `of(user)` for a user's group.")
            self._leave(user)
            if group is not None and self._store.shown(group) is None:
                group = None  # it dissolved when the user left it
            self._seat(user, group)
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
        """Bundle everybody anew, guests included; what happens meanwhile is kept.

        Raises:
            InfeasibleError: where no grouping was found; nothing has changed then.
        """
        with self._lock:
            before = {user: self._store.profile(user) for user, _ in self._store.everybody()}
            vocabulary = self._store.vocabulary()
        profiles = stored_profiles(before, vocabulary)
        bundling = self._bundler.fit(profiles, advance)
        with self._lock, self._changing():
            self._replace(bundling, before)
        self.publish()

    def rebundle_in_background(self) -> Future[None]:
        """The same in a thread of its own, with a connection of its own."""

        def work() -> None:
            with Groups.open(self.folder) as groups:
                groups.rebundle()

        pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="rebundle")
        done = pool.submit(work)
        pool.shutdown(wait=False)
        return done

    def _replace(self, bundling: Bundling, before: Mapping[str, Any]) -> None:
        """Put the new groups in place; users who came, went or changed meanwhile leave or join again."""
        store = self._store
        texts = store.vocabulary()
        now = {user: store.profile(user) for user, _ in store.everybody()}
        changed = {
            user
            for user in now.keys() | before.keys()
            if user not in now or user not in before or not np.array_equal(now[user][0], before[user][0])
        }
        first = store.next_group()
        store.clear()
        fill(store, bundling, first)
        self._index = None
        for user in sorted(changed & before.keys()):
            self._leave(user)
            store.delete(user)
        for user in sorted(changed & now.keys()):
            terms, weights = now[user]
            named = zip((texts[term] for term in terms.tolist()), weights.tolist(), strict=True)
            store.add(user, dict(named))
            if user in before:
                store.rest([user])
            self._seat(user)

    def _seat(self, user: str, group: int | None = None) -> None:
        """Make a user a guest, then let the guests of that group stand on their own if they can."""
        store = self._store
        if group is None:
            group = self._nearest().nearest(*store.profile(user))
        store.put([user], group, member=False)
        if store.rests(user) or store.count_waiting(group) < self._criterion.fewest_members:
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

    def _changing(self) -> _Change:
        return _Change(self)


class _Change:
    """A transaction, after which what was remembered of the groups is looked up again."""

    def __init__(self, groups: Groups) -> None:
        self._groups = groups
        self._transaction = groups._store.transaction()

    def __enter__(self) -> None:
        self._transaction.__enter__()
        version = self._groups._store.version()
        if version != self._groups._version:
            self._groups._version, self._groups._index = version, None

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._groups._shown.clear()
        if kind is not None:
            self._groups._index = None
        self._transaction.__exit__(kind, error, trace)
