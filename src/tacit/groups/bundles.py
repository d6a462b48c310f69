"""Groups of words that a service runs on, for comparison: who is in which group, and rankings.

They take in nobody: a newcomer in a small group is exposed by two fake accounts beside him. They are stable:
whoever compares two bundlings of the same people sees what is common to a person's groups. People only leave.

**Leaving** deletes the person's profile and membership at once. What the group shows keeps its weights; only
terms that would exceed p among those who stay are withdrawn, which are terms the leaver did not hold. A group
that cannot continue dissolves, and its people are served in the engine's order.

After each step every shown term of every group is held by at most a share p of its members.
"""

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NoReturn

from tacit.errors import InputError, ParameterError
from tacit.files import atomic_directory, check_output_folder
from tacit.groups.bundling import Bundler, Bundling
from tacit.groups.criterion import Criterion
from tacit.groups.report import report
from tacit.groups.representative import Representative
from tacit.groups.service import Groups, People, ProgressBar, Result
from tacit.groups.store import FILE, MARKS, GroupsStore, Place, write_lines
from tacit.text import words


def still_shown(
    shown: Representative, people: Collection[set[str]], criterion: Criterion
) -> Representative | None:
    """Choose what a group may go on showing when only these members are left; None where it must dissolve.

    Terms above p are withdrawn. The others keep the weights they had, **held by those who stay or not**: a
    weight that moved, or a term that went, when somebody left would tell what that person held. Terms above p
    among those who stay are terms that the one who left did not hold.
    """
    if len(people) < criterion.fewest_members:
        return None
    kept = {
        term: weight
        for term, weight in shown.terms.items()
        if sum(term in held for held in people) / len(people) <= criterion.p
    }
    if not kept or any(len(held & kept.keys()) / len(kept) > criterion.p for held in people):
        return None
    return replace(shown, terms=kept)


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
        self._criterion = Bundler(**self._store.meta("settings")).rule_of_release
        self._shown: dict[int, dict[str, float]] = {}
        self._version = self._store.version()

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
            return rank_by_interest(self._interests(place.group), results, query)

    def _interests(self, group: int) -> dict[str, float]:
        """A group's terms with their weights, remembered until the file changes."""
        version = self._store.version()
        if version != self._version:
            self._version = version
            self._shown.clear()
        if group not in self._shown:
            self._shown[group] = self.representative(group).terms
        return self._shown[group]

    def remove(self, user: str) -> None:
        with self._lock:
            with self._store.transaction():
                place = self._store.place(user)
                if place is None:
                    raise InputError("there is no such user.", "Look up the user's name first.")
                self._store.delete(user)
                if place.group is not None:
                    shown, staying = self.representative(place.group), self._store.members(place.group)
                    rest = still_shown(shown, staying.values(), self._criterion)
                    if rest is None:
                        self._store.dissolve(place.group)
                    elif rest != shown:
                        self._store.show(rest)
                self._shown.clear()
            self.publish()

    def publish(self) -> None:
        with self._lock:
            write_files(self._store, self.folder)

    def assign_all(self, *_: object, **__: object) -> NoReturn:
        """Refuse: two fake accounts beside a newcomer would expose what is new in their group."""
        raise ParameterError(
            "groups of words are for comparison, and take in nobody: fake accounts would expose a newcomer.",
            "Make cohorts, which take newcomers at once.",
        )

    update = assign_all

    def rebundle(self, clicks: str | Path | None = None) -> NoReturn:  # noqa: ARG002
        """Refuse: whoever compares two bundlings of the same people sees what is common to their groups."""
        raise ParameterError(
            "groups of words are stable: made anew, they would tell what is common to a person's groups.",
            "Make cohorts, whose generations are charged to a ledger.",
        )


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
        with fill(temporary / "operator" / FILE, bundling, bundler) as store:
            write_files(store, temporary)


def fill(path: Path, bundling: Bundling, bundler: Bundler) -> GroupsStore:
    """Write the operator's file of a bundling; gives the open store."""
    people, labels = bundling.profiles, bundling.labels.tolist()
    store = GroupsStore.create(path, {"settings": asdict(bundler)})
    with store.transaction():
        for shown in bundling.representatives:
            store.show(shown)
        store.add((u, labels[row], people.profile(row)) for row, u in enumerate(people.users))
    return store


def write_files(store: GroupsStore, folder: Path) -> None:
    """Write both files of lines anew, each whole or not at all."""
    groups = (asdict(shown) for shown in store.all_shown())
    for_all = ({name: shown[name] for name in ("group", "members", "terms")} for shown in groups)
    write_lines(folder / "representatives.jsonl", for_all)
    # In the order of names: the order of the input, or of the bundling, is nobody's business.
    rows = ({"user": user, "group": at.group} for user, at, _ in store.everybody())
    write_lines(folder / "operator" / "membership.jsonl", rows, mode=0o600)
