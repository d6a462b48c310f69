"""Groups of words that a service runs on, for comparison: who is in which group, and rankings.

The rules for newcomers, for people who leave, and why groups are never made anew: docs/guarantees/groups.md.
"""

import hashlib
import json
import math
import secrets
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn

from tacit.errors import InputError, ParameterError
from tacit.files import atomic_directory, check_output_folder
from tacit.groups.bundling import MOST_USERS, Bundler, Bundling
from tacit.groups.criterion import Criterion, Representative
from tacit.groups.report import report
from tacit.groups.service import Groups, People, ProgressBar, Result
from tacit.groups.store import FILE, MARKS, WAITING, GroupsStore, Place
from tacit.text import words

BATCH, POOL = 20, 100
"""How many newcomers make a batch, and how many must wait before batches are dealt."""
FAKES, MOST_TERMS = 5, 20
"""How many members of a batch may be an attacker's, and how many terms a member may bring to it."""


def brought(
    people: Collection[set[str]], criterion: Criterion, holders: Mapping[str, int]
) -> dict[str, float]:
    """Choose the terms that a batch may show, with their shares.

    Whoever the fakes are, at most p of the others hold a term; one of others holds it, or it took
    ``fewest_in_group`` of the fakes' terms to bring it; and fakes alone do not make it common.
    """
    counts = Counter(chain.from_iterable(people))
    fewest, most = max(criterion.fewest_holders, FAKES + 2), len(people) - FAKES
    may = {term for term, n in counts.items() if n / most <= criterion.p and holders[term] >= fewest}
    ranked = sorted(may, key=lambda term: (-counts[term], term))
    each = Counter(chain.from_iterable([t for t in ranked if t in held][:MOST_TERMS] for held in people))
    kept = sorted(term for term, n in each.items() if n >= criterion.fewest_in_group)
    return {term: float(f"{counts[term] / len(people):.6g}") for term in kept}


def still_shown(
    shown: Representative, people: Collection[set[str]], criterion: Criterion, fakes: int = 0
) -> Representative | None:
    """Choose what a group may go on showing when only these members are left; None where it must dissolve.

    Terms above p are withdrawn. The others keep the weights they had, **held by those who stay or not**: a
    weight that moved, or a term that went, when somebody left would tell what that person held. Terms above p
    among those who stay are terms that the one who left did not hold. Of a batch, so many of the members may
    be fakes, and so many of the terms theirs alone: p holds among the others.
    """
    real = len(people) - fakes
    if real < criterion.fewest_members:
        return None
    kept = {
        term: weight
        for term, weight in shown.terms.items()
        if sum(term in held for held in people) / real <= criterion.p
    }
    theirs = len(kept) - fakes * MOST_TERMS // criterion.fewest_in_group
    if theirs <= 0 or any(len(held & kept.keys()) / theirs > criterion.p for held in people):
        return None
    return replace(shown, terms=kept)


def batches(waiting: Iterable[str], key: bytes) -> Iterator[list[str]]:
    """Deal newcomers into whole batches in the order of a keyed hash of their names."""
    order = sorted(waiting, key=lambda user: hashlib.blake2b(user.encode(), key=key).digest())
    return (order[begin : begin + BATCH] for begin in range(0, len(order) - BATCH + 1, BATCH))


_EVIDENCE = 12.0
_CALM = 10.0


def rank_by_interest(
    interests: Mapping[str, float], results: Sequence[Result], query: str = ""
) -> list[Result]:
    """The same results in another order; equal ones in the order they came."""
    asked = frozenset(words(query))
    length = math.sqrt(math.fsum(weight * weight for weight in interests.values()))

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
        self._criterion = Bundler(**self._store.meta("settings")).rule_of_release

    def _summary(self) -> str:
        return f"Groups at p = {self._criterion.p:g}: {len(self):,} users in {self.count_groups():,} groups"

    def _notes(self) -> tuple[str, ...]:
        return ("No term that is shown links to a member more surely.",)

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
        return shown

    def representatives(self) -> Iterator[Representative]:
        with self._lock:
            yield from list(self._store.all_shown())

    def members(self, group: int) -> list[str]:
        """The users who count in a group: for the operator's eyes only."""
        with self._lock:
            return list(self._store.members(group))

    def rerank(self, user: str, results: Sequence[Result], query: str = "") -> list[Result]:
        with self._lock:
            place = self._store.place(user)
            if place is None or place.group is None:
                return list(results)
            return rank_by_interest(self.representative(place.group).terms, results, query)

    def _leave(self, place: Place) -> None:
        if place.group is not None:
            self._settle(self.representative(place.group))

    def _settle(self, shown: Representative) -> None:
        """Let a group show what it may of this, or dissolve."""
        fakes = FAKES if shown.group >= MOST_USERS else 0
        rest = still_shown(shown, self._store.members(shown.group).values(), self._criterion, fakes)
        if rest is None:
            self._store.dissolve(shown.group)
        else:
            self._store.show(rest)

    def _put(self, profiles: Mapping[str, Mapping[str, float]]) -> None:
        store = self._store
        if self._criterion.kind != "strict":
            problem = "groups by the paper's criterion take in nobody: a newcomer in them has no guarantee."
            raise ParameterError(problem, "Make cohorts, which take newcomers at once.")
        store.add((user, WAITING, terms) for user, terms in profiles.items())
        waiting = store.members(WAITING)
        if len(waiting) < POOL:
            return
        holders = Counter(chain.from_iterable(terms for *_, terms in store.everybody()))
        for batch in batches(waiting, secrets.token_bytes(32)):
            people = [waiting[user] for user in batch]
            shown = brought(people, self._criterion, holders)
            self._settle(Representative(store.seat(batch), len(batch), shown))

    def rebundle(self, *_: object, **__: object) -> NoReturn:
        """Refuse: whoever compares two bundlings of the same people sees what is common to their groups."""
        raise ParameterError(
            "groups of words are stable: made anew, they would tell what is common to a person's groups.",
            "Make cohorts, whose generations are charged to a ledger.",
        )

    update = rebundle


def make_bundles(
    profiles: People, folder: Path, bundler: Bundler, *, force: bool, progress: ProgressBar, **reading: Any
) -> None:
    """Bundle profiles, attack the groups, and write the folder, whole or not at all."""
    from tacit.groups.reading import people_in  # DuckDB takes a moment to load

    people, _, _ = people_in(profiles, progress, **reading)
    with progress("Bundling", total=len(people), unit="users") as shown:
        bundling = bundler.fit(people, *([shown.advance] if shown else []))
    measured = json.dumps(report(bundling, seed=bundler.seed), indent=2, allow_nan=False)
    check_output_folder(folder, force=force, marks=MARKS)
    with atomic_directory(folder, replace=force) as temporary:
        (temporary / "report.json").write_text(measured + "\n", encoding="utf-8")
        (temporary / "operator").mkdir(mode=0o700)
        fill(temporary / "operator" / FILE, bundling, bundler).close()
        with Bundles(temporary) as made:
            made.publish()


def fill(path: Path, bundling: Bundling, bundler: Bundler) -> GroupsStore:
    """Write the operator's file of a bundling; gives the open store."""
    people, labels = bundling.profiles, bundling.labels.tolist()
    store = GroupsStore.create(path, {"settings": asdict(bundler)})
    with store.transaction():
        for shown in bundling.representatives:
            store.show(shown)
        store.add((u, labels[row], people.profile(row)) for row, u in enumerate(people.users))
    return store
