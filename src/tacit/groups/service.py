"""Groups that a service runs on: whatever they are made of, they are asked in the same way.

- **cohorts** (the default): places among public cohorts, whose words are under differential privacy
  (:mod:`tacit.groups.cohort_service`);
- **strict** and **paper**: groups of similar people that show words of theirs, for comparison; newcomers come
  to strict ones in random batches (:mod:`tacit.groups.bundles`).
"""

import json
import shutil
import tempfile
import threading
import weakref
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from tacit.display import Displayed
from tacit.errors import InputError, ParameterError
from tacit.files import check_output_folder
from tacit.groups.bundling import Bundler
from tacit.groups.criterion import CRITERIA, Representative
from tacit.groups.profiles import Profiles, check_period, newcomers_terms
from tacit.groups.store import FILE, MARKS, Place, Store, write_lines
from tacit.groups.words import Generation
from tacit.privacy.ledger.ledger import Ledger
from tacit.validation import place

Result = TypeVar("Result", bound=Mapping[str, Any])
People = str | Path | Profiles | Mapping[str, Mapping[str, float]]
ProgressBar = Callable[..., AbstractContextManager[Any]]

_WORDS_ONLY = {"augment": 1, "fewest_holders": 2, "fewest_in_group": 3}
_COHORTS_ONLY = {"epsilon": None, "clicks": None, "ledger": None, "budget_epsilon": None, "strength": None}


class Groups(Displayed):
    """The groups in a folder that ``tacit group`` made. Use it as a context manager, or close it.

    Safe for threads; changes made by other processes are seen. Made by :meth:`bundle` and :meth:`open`.

    Args:
        folder: where they are.
        store: the open store of the folder.
    """

    def __init__(self, folder: Path, store: Store) -> None:
        self.folder = folder
        self._file = store
        self._lock = threading.RLock()

    @classmethod
    def open(cls, folder: str | Path) -> "Groups":
        """Open a folder of groups; fast, whatever its size."""
        from tacit.groups.bundles import Bundles
        from tacit.groups.cohort_service import CohortGroups

        path = Path(folder) / "operator" / FILE
        with Store(path) as store:
            kind = store.meta("kind")
        return CohortGroups(Path(folder)) if kind == "cohorts" else Bundles(Path(folder))

    @classmethod
    def bundle(
        cls,
        profiles: People,
        to: str | Path | None = None,
        *,
        criterion: str | None = None,
        epsilon: float | None = None,
        delta: float = 1e-6,
        clicks: str | Path | None = None,
        vote_epsilon: float = 0.25,
        strength: float | None = None,
        ledger: Ledger | str | Path | None = None,
        budget_epsilon: float | None = None,
        budget_delta: float = 1e-5,
        p: float | None = None,
        fewest_holders: int = 2,
        fewest_in_group: int = 3,
        augment: int = 1,
        seed: int = 0,
        scrub: bool = True,
        since: datetime | None = None,
        until: datetime | None = None,
        engine: str | None = None,
        force: bool = False,
        progress: ProgressBar = lambda *_, **__: nullcontext(),
    ) -> "Groups":
        """Put people into groups whose profiles serve them in place of their own.

        ::

            groups = tacit.Groups.bundle("log.parquet", "groups", epsilon=2, budget_epsilon=8)
            groups.rerank("217", results, query="java")

        Args:
            profiles: a search log (Parquet), a file of profiles (JSON lines), or ``{user: {term: weight}}``.
            to: the folder to make; a private temporary one, removed with the groups, unless given.
            criterion: ``cohorts`` (places among public cohorts; the default), or for comparison groups of
                words, the default where ``p`` is given: ``strict`` (p for every term and member) or ``paper``
                (an average, no guarantee).
            epsilon: ε of the words that cohorts show, for one generation; no words are shown unless given.
                Fixed by you beforehand, never by the number of people; of fewer than about 1,000 people a
                handful of the commonest words is all that passes the noise at ε = 2.
            delta: δ of these words.
            clicks: past requests as JSON lines (``user``, ``query``, ``results`` and the places ``clicked``),
                by which people vote for the strength of ranking.
            vote_epsilon: ε of that vote.
            strength: λ where nobody votes: 0 is the engine's order, 12 the strongest; 2 unless given.
            ledger: the population's ledger, charged before any noise is drawn; where it is known, or beside
                the file of ``profiles``, unless given.
            budget_epsilon: open the ledger, if there is none, with this ε for all that is ever released.
            budget_delta: δ of that budget.
            p: the most sure an attacker may be that a member holds a shown term, in (0, 1); 0.4 for groups of
                words unless given.
            fewest_holders: show only terms that so many users of the population hold (strict only).
            fewest_in_group: show only terms that so many members of the group hold (strict only).
            augment: steps of WordNet hypernyms added before users are compared, 0 for synonyms only (groups
                of words only).
            seed: of groups of words, and of the attackers in the report.
            scrub: drop queries of a log that hold an e-mail address or a personal number.
            since: only records of a log from this time on (UTC).
            until: only records of a log before this time (UTC).
            engine: a Spark master that counts a log; DuckDB on this machine unless given.
            force: replace the groups that are in the folder ``to``.
            progress: shows progress, as :func:`tacit.terminal.progress` does.

        Raises:
            InfeasibleError: where no grouping was found that meets the criterion; nothing was written then.
            BudgetError: where the words or the vote do not fit the ledger's budget; nothing was drawn then.
        """
        from tacit.engines import chosen_engine
        from tacit.groups.bundles import make_bundles
        from tacit.groups.cohort_service import make_cohorts

        asked = dict(locals())
        kind = criterion or ("cohorts" if p is None else "strict")
        if kind not in ("cohorts", *CRITERIA):
            raise ParameterError.outside("criterion", repr(kind), f"one of cohorts, {', '.join(CRITERIA)}")
        _refuse_of_the_other(kind, asked)
        period = (since, until)
        check_period(period)
        path = Path(profiles) if isinstance(profiles, str | Path) else None
        if to is not None:
            to = place("to", to)
            check_output_folder(to, force=force, marks=MARKS, inputs=[path] if path else [])
        folder = Path(to) if to is not None else Path(tempfile.mkdtemp(prefix="tacit-groups-")) / "groups"
        reading: dict[str, Any] = {"scrub": scrub, "period": period, "progress": progress}
        reading["engine"] = chosen_engine(engine)
        if kind == "cohorts":
            make_cohorts(
                profiles,
                folder,
                Generation(epsilon, delta, vote_epsilon if clicks is not None else None),
                clicks,
                strength=strength,
                ledger=ledger,
                budget=(budget_epsilon, budget_delta),
                seed=seed,
                force=force,
                **reading,
            )
        else:
            bundler = Bundler(
                p=0.4 if p is None else p,
                criterion=kind,
                augment=augment,
                fewest_holders=fewest_holders,
                fewest_in_group=fewest_in_group,
                seed=seed,
            )
            make_bundles(profiles, folder, bundler, force=force, **reading)
        groups = cls.open(folder)
        if to is None:
            weakref.finalize(groups, shutil.rmtree, folder.parent, ignore_errors=True)
        return groups

    @property
    def report(self) -> dict[str, Any]:
        """Measurements from when the groups were made: what attackers learn, with and without them."""
        own = self.folder / "operator" / "report.json"
        path = own if own.exists() else self.folder / "report.json"
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def close(self) -> None:
        with self._lock:
            self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _rows(self) -> list[tuple[str, str]]:
        return [("users", f"{len(self):,}"), ("groups", f"{self.count_groups():,}")]

    def __len__(self) -> int:
        with self._lock:
            return self._file.count_users()

    def __contains__(self, user: object) -> bool:
        return isinstance(user, str) and self.place(user) is not None

    def of(self, user: str) -> int | None:
        """The group that serves this user first; None for people unknown or near to no group."""
        place = self.place(user)
        return place.group if place else None

    @abstractmethod
    def count_groups(self) -> int:
        """Count the groups."""

    @abstractmethod
    def place(self, user: str) -> Place | None:
        """Look up where a user stands; None for somebody unknown."""

    @abstractmethod
    def representative(self, group: int) -> Representative:
        """Show a group's profile."""

    @abstractmethod
    def representatives(self) -> Iterator[Representative]:
        """Show the profile of every group."""

    @abstractmethod
    def rerank(self, user: str, results: Sequence[Result], query: str = "") -> list[Result]:
        """The results in the order of the user's group; as they came for people without one.

        Args:
            results: mappings with ``title`` and ``snippet``; given back as they are, duplicates included.
            query: its words do not count, since all results have them.
        """

    def assign(self, user: str, terms: Mapping[str, float]) -> Place:
        """Take in a newcomer: into cohorts at once, into groups of words when a batch is dealt."""
        return self.assign_all({user: terms})[0]

    def assign_all(
        self,
        newcomers: Mapping[str, Mapping[str, float]],
        advance: Callable[[int], None] = lambda _users: None,
    ) -> list[Place]:
        """Take in several newcomers, all or none; gives where each stands in the end."""
        checked = {user: newcomers_terms(user, terms) for user, terms in newcomers.items()}
        with self._lock, self._file.transaction():
            if any(self.place(user) is not None for user in checked):
                raise InputError("a newcomer is here already.", "Remove the user first.")
            self._put(checked)
            advance(len(checked))
        return [self.place(user) or Place(None) for user in checked]

    @abstractmethod
    def _put(self, profiles: Mapping[str, Mapping[str, float]]) -> None:
        """Take in people whose terms are checked."""

    @abstractmethod
    def update(self, user: str, terms: Mapping[str, float]) -> Place:
        """Replace a user's profile; groups of words are stable, and refuse."""

    def remove(self, user: str) -> None:
        """Erase a person: profile, membership and every trace in the folder's files."""
        with self._lock:
            with self._file.transaction():
                place = self._require(user)
                self._file.delete(user)
                self._leave(place)
            self.publish()

    def _require(self, user: str) -> Place:
        place = self.place(user)
        if place is None:
            raise InputError("there is no such user.", "Look up the user's name first.")
        return place

    def _leave(self, place: Place) -> None:
        """Let whoever is left do without a person who stood there."""

    @abstractmethod
    def rebundle(self, clicks: str | Path | None = None) -> None:
        """Release another generation of words from everybody who is here now, charged to the ledger.

        Args:
            clicks: past requests by which people vote anew; the strength stays as it is unless given.

        Raises:
            ParameterError: for groups of words, which are stable.
        """

    def publish(self) -> None:
        """Write ``representatives.jsonl`` and ``operator/membership.jsonl`` as things stand now."""
        with self._lock:
            every = (vars(shown).items() for shown in self.representatives())
            shown = ({name: value for name, value in each if value not in (None, "")} for each in every)
            write_lines(self.folder / "representatives.jsonl", shown)
            write_lines(self.folder / "operator" / "membership.jsonl", self._file.membership(), mode=0o600)


def _refuse_of_the_other(kind: str, asked: Mapping[str, Any]) -> None:
    """Refuse what was asked for and has no meaning for this kind of groups."""
    foreign = {"p": None, **_WORDS_ONLY} if kind == "cohorts" else _COHORTS_ONLY
    for name, default in foreign.items():
        if asked[name] != default:
            other = "groups of words" if kind == "cohorts" else "cohorts"
            problem = f"`{name}` belongs to {other}, not to `criterion={kind}`."
            raise ParameterError(problem, f"Leave `{name}` out.")
