"""A service on cohorts: places of people, one told per request, and generations of private words.

Kept of a person are three numbers and at most 50 pairs of a cohort and a public word: no query, no
profile. Whoever comes, goes or changes moves nobody else, and nothing that is shown: words are those of the
last generation, under differential privacy, until :meth:`CohortGroups.rebundle` releases another. Every
generation and every vote is charged to the population's ledger before any noise is drawn; people are read and
noise is drawn outside of any lock on the file, so that requests are answered meanwhile.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit.errors import InputError, ParameterError
from tacit.files import atomic_directory, atomic_file
from tacit.groups.cohorts import Cohorts, Standing, load_cohorts, order_of
from tacit.groups.criterion import Representative
from tacit.groups.profiles import Profiles, newcomers_terms
from tacit.groups.report import cohort_report
from tacit.groups.service import Groups, People, ProgressBar, Result
from tacit.groups.store import FILE, CohortStore, Place
from tacit.groups.words import STRENGTHS, Generation, Words
from tacit.privacy.accounting.composition import CompositionRule
from tacit.privacy.guarantee import Neighbours
from tacit.privacy.ledger.ledger import Ledger, budget_of
from tacit.privacy.ledger.register import open_ledger, open_unbound
from tacit.privacy.noise.randomness import OperatingSystemRandomness, RandomSource
from tacit.validation import place, real

DEFAULT_STRENGTH = 2.0
_VOTE = 0.25


class CohortGroups(Groups):
    """Cohorts in a folder; see :class:`Groups`."""

    def __init__(self, folder: Path) -> None:
        self._store = CohortStore(folder / "operator" / FILE)
        super().__init__(folder, self._store)
        self._cohorts = load_cohorts()
        self._version = -1
        self._words: dict[int, dict[int, float]] = {}
        self._strength = 0.0

    def _summary(self) -> str:
        return f"Cohorts: {len(self):,} users in {len(self._cohorts)} cohorts"

    def _notes(self) -> tuple[str, ...]:
        return ("A request tells one of a person's three cohorts; their words are differentially private.",)

    def count_groups(self) -> int:
        return len(self._cohorts)

    def place(self, user: str) -> Place | None:
        with self._lock:
            found = self._store.person(user)
        return Place(next(iter(found.places), None), found.places) if found else None

    def name(self, group: int) -> str:
        """Name what a cohort is about."""
        if not 0 <= group < len(self._cohorts):
            raise InputError(f"there is no group {group}.", "Ask `of(user)` for a user's group.")
        return self._cohorts.names[group]

    def representative(self, group: int) -> Representative:
        """Show the words of the last generation with their noisy counts."""
        name = self.name(group)
        with self._lock:
            shown = self._shown().get(group, {})
        named = {self._cohorts.table.words[word]: count for word, count in shown.items()}
        return Representative(group, None, named, name)

    def representatives(self) -> Iterator[Representative]:
        return (self.representative(group) for group in range(len(self._cohorts)))

    def told(self, user: str, results: Sequence[Mapping[str, Any]], query: str = "") -> int | None:
        """The one of the user's cohorts that a request with these results is told; None for no place."""
        with self._lock:
            place = self.place(user)
            return self._cohorts.told(place.places if place else (), self._shown(), results, query)[0]

    def rerank(self, user: str, results: Sequence[Result], query: str = "") -> list[Result]:
        with self._lock:
            place, shown = self.place(user), self._shown()
            strength = self._strength
        _, scores, gate = self._cohorts.told(place.places if place else (), shown, results, query)
        return [results[place] for place in order_of(scores, gate, strength)]

    def _shown(self) -> dict[int, dict[int, float]]:
        """The words of each cohort, remembered until the file changes."""
        version = self._store.version()
        if version != self._version:
            self._words = stored_words(self._store)
            self._strength, self._version = float(self._store.meta("strength")), version
        return self._words

    def update(self, user: str, terms: Mapping[str, float]) -> Place:
        """Replace a user's profile; counts from the next generation on."""
        checked = newcomers_terms(user, terms)
        with self._lock, self._store.transaction():
            self._require(user)
            self._put({user: checked})
        return self.place(user) or Place(None)

    def _put(self, profiles: Mapping[str, Mapping[str, float]]) -> None:
        if profiles:
            evidence = Profiles.from_mappings(profiles)
            people = self._cohorts.people(evidence, bytes.fromhex(self._store.meta("key")))
            self._store.add(zip(evidence.users, people, strict=True))

    def rebundle(self, clicks: str | Path | None = None) -> None:
        with self._lock:
            settings = dict(self._store.meta("generation"))
            place = self._store.meta("ledger")
        vote = settings["vote_epsilon"] or _VOTE if clicks is not None else None
        generation = Generation(settings["epsilon"], settings["delta"], vote)
        if generation.event is None or place is None:
            raise ParameterError(
                "these cohorts show no words, or have no ledger for a vote: nothing can be released anew.",
                "Make them with `epsilon` to show words, or with `clicks` to vote.",
            )
        with CohortStore(self._store.path) as store:  # a connection of its own: others are answered meanwhile
            release(store, generation, clicks, Ledger.open(place))
        self.publish()


def _ledger_of(
    ledger: Ledger | str | Path | None, budget: tuple[float | None, float], profiles: Path | None, log: bool
) -> Ledger:
    """Open the population's ledger: that of the log, or the one beside the file of profiles."""
    most = budget_of(*budget, Neighbours.ADD_REMOVE)
    if isinstance(ledger, Ledger):
        return ledger
    ledger = None if ledger is None else place("ledger", ledger)
    rule = CompositionRule.RENYI if budget[1] else CompositionRule.BASIC
    if log and profiles is not None:
        return open_ledger(ledger, profiles, most, composition=rule)
    if ledger is None and profiles is None:
        problem = "profiles that come from no file have no ledger beside them."
        raise ParameterError(problem, "Give `ledger`: what may be spent belongs to the population.")
    return open_unbound(Path(ledger or f"{profiles}.ledger"), most, composition=rule)


def make_cohorts(
    profiles: People,
    folder: Path,
    generation: Generation,
    clicks: str | Path | None,
    *,
    strength: float | None,
    ledger: Ledger | str | Path | None,
    budget: tuple[float | None, float],
    seed: int,
    force: bool,
    progress: ProgressBar,
    **reading: Any,
) -> None:
    """Place everybody, release the first generation where one is asked for, and write the folder."""
    from tacit.groups.reading import people_in

    chosen = DEFAULT_STRENGTH if strength is None else real("strength", strength)
    if not 0 <= chosen <= STRENGTHS[-1]:
        raise ParameterError.outside("strength", chosen, f"from 0 to {STRENGTHS[-1]:g}")
    evidence, path, log = people_in(profiles, progress, **reading, whole_queries=True)
    source, cohorts = OperatingSystemRandomness(), load_cohorts()
    charged = _ledger_of(ledger, budget, path, log) if generation.event is not None else None
    key = source.bits(32)
    with progress("Placing", total=len(evidence), unit="users") as shown:
        people = cohorts.people(evidence, key)
        if shown:
            shown.advance(len(evidence))
    settings: dict[str, Any] = {"kind": "cohorts", "key": key.hex(), "generation": asdict(generation)}
    settings |= {"ledger": str(charged.path.resolve()) if charged else None}
    settings |= {"words": {}, "strength": chosen, "generations": 0}
    with atomic_directory(folder, replace=force) as temporary:
        (temporary / "operator").mkdir(mode=0o700)
        with CohortStore.create(temporary / "operator" / FILE, settings) as store:
            with store.transaction():
                store.add(zip(evidence.users, people, strict=True))
            if charged is not None:
                release(store, generation, clicks, charged)
            with progress("Attacking", unit="victims"):
                shown_words, voted = stored_words(store), store.meta("strength")
                report = cohort_report(evidence, people, shown_words, voted, generation, seed)
            # Its figures are exact, and so for the operator alone.
            with atomic_file(temporary / "operator" / "report.json", mode=0o600) as path:
                path.write_text(json.dumps(report, indent=2, allow_nan=False) + "\n", encoding="utf-8")
        with CohortGroups(temporary) as made:
            made.publish()


def release(
    store: CohortStore,
    generation: Generation,
    clicks: str | Path | None,
    ledger: Ledger,
    source: RandomSource | None = None,
) -> None:
    """Charge a generation, then draw its words and its vote, then put them in their place."""
    source = source if source is not None else OperatingSystemRandomness()
    requests = read_clicks(clicks) if clicks is not None else []
    event = generation.event
    assert event is not None
    ledger.spend(event, "words of cohorts, and a vote for the strength of ranking")
    cohorts = load_cohorts()
    keys = [person.keys for _, person in store.people()]
    words = generation.words(keys, cohorts, source)
    strength = store.meta("strength")
    if generation.vote_epsilon is not None:
        strength = generation.strength(votes_of(store.person, cohorts, words, requests), source)
    with store.transaction():
        store.set_meta("words", words)
        store.set_meta("strength", strength)
        store.set_meta("generations", store.meta("generations") + 1)


@dataclass(frozen=True)
class PastRequest:
    """A past request: what was shown to whom, and the places of the results that were clicked."""

    user: str
    query: str
    results: list[dict[str, Any]]
    clicked: frozenset[int]


def read_clicks(path: str | Path) -> list[PastRequest]:
    """Past requests from JSON lines: ``{"user": …, "query": …, "results": [{…}], "clicked": [0, 3]}``."""
    found = []
    if not Path(path).is_file():
        raise InputError(f"there is no file at {path}.", "Give past requests as JSON lines.")
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").splitlines(), start=1):
        try:
            form = json.loads(line)
            clicked = frozenset(map(int, form["clicked"]))
            results = [dict(result) for result in form["results"]]
            found.append(PastRequest(str(form["user"]), str(form.get("query", "")), results, clicked))
            if not all(0 <= place < len(results) for place in clicked):
                raise ValueError
        except (ValueError, TypeError, KeyError, AttributeError):  # nothing of the line is quoted
            raise InputError(
                f'line {number} is no past request: it lacks "user", "results" or "clicked", or a place '
                "clicked is none of the results.",
                'A line looks like {"user": "17", "query": "java", "results": [{…}], "clicked": [0]}.',
            ) from None
    return found


def votes_of(
    person_of: Callable[[str], Standing | None],
    cohorts: Cohorts,
    words: Words,
    requests: Iterable[PastRequest],
) -> dict[str, float]:
    """Choose each person's vote: the strength that put their clicks highest, the weakest of equals.

    One vote a person, however many requests; a function of that person's requests and of what is shown.
    """
    from tacit.retrieval import average_precision  # loads a search engine

    gained: dict[str, list[list[float]]] = {}
    for request in requests:
        person = person_of(request.user)
        if person is None or not request.clicked:
            continue
        _, scores, gate = cohorts.told(person.places, words, request.results, request.query)
        orders = (order_of(scores, gate, strength) for strength in STRENGTHS)
        precisions = [average_precision(order, request.clicked) for order in orders]
        gained.setdefault(request.user, []).append(precisions)
    return {user: STRENGTHS[int(np.mean(found, axis=0).argmax())] for user, found in gained.items()}


def stored_words(store: CohortStore) -> dict[int, dict[int, float]]:
    """The words of each cohort by number, with their noisy counts."""
    return {int(c): {int(w): n for w, n in found.items()} for c, found in store.meta("words").items()}
