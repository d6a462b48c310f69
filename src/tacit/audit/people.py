"""Would they find you, and did you search for that: people of a log under what is published of it.

**Hashed ids.** Somebody knows a few searches of a person, and looks for the one user who has them all.

**Did you search for that?** A coin is thrown for a rare query of a real person: it is taken out of the
log, or stays. The attacker opens accounts of his own, which ask it too, and looks at the release: k-query
anonymity, then mechanisms at several ε.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from tacit.audit.canaries import Secret, coins, guess, middle_of, spill
from tacit.audit.found import Deadline
from tacit.audit.page import bar, share, table
from tacit.display import Displayed
from tacit.errors import InfeasibleError, ParameterError
from tacit.release.engines import Engine, memory_for, open_engine
from tacit.release.mechanism import Plan
from tacit.release.registry import mechanism_class
from tacit.searchlog import check_log
from tacit.validation import flag, place, real, whole

K = 10
MECHANISMS = ("zealous", "adaptive")
EPSILONS = (1.0, 4.0, 10.0)
_MOST_FOUND = 2_000


@dataclass(frozen=True, repr=False)
class PeopleAudit(Displayed):
    """What an attacker learns about people of a log.

    Args:
        users: of the log.
        synthetic: nobody real is in the log.
        found: for so many known searches, how many people were tried and found by hashed ids, and how many
            further searches of theirs are read then.
        guessed: for each way to publish, right guesses of how many, and the ε that is proved.
        left_out: ways for which there was no time.
    """

    users: int
    synthetic: bool
    found: Sequence[dict[str, Any]]
    guessed: Sequence[dict[str, Any]]
    left_out: Sequence[str] = ()

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        known = self.found[-1]
        exact = next(each for each in self.guessed if each["epsilon"] is None)
        noisy = [each for each in self.guessed if each["epsilon"] is not None]
        most = max((each["right"] / each["guesses"] for each in noisy), default=0.5)
        return (
            f"Who knows {known['known']} searches finds {known['found'] / max(known['tried'], 1):.0%} of "
            f"people behind hashed ids; exact counts give {exact['right']} of {exact['guesses']} secrets "
            f"away; under noise {most:.0%} of guesses were right at most. What ε promises is the worst case."
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        known = self.found[-1]
        rows = [
            bar(
                f"Hashed ids: found by {each['known']} known search{'es' * (each['known'] > 1)}",
                each["found"],
                each["tried"],
                None,
                bad=True,
            )
            for each in self.found
            if each is known and each["tried"]
        ]
        rows += [
            bar(each["label"], each["right"], each["guesses"], each["loss"], bad=each["epsilon"] is None)
            for each in self.guessed
        ]
        return {
            "audit": "people",
            "users": self.users,
            "hashed": list(self.found),
            "guessed": list(self.guessed),
            "left_out": list(self.left_out),
            "rows": rows,
            "verdict": "held",
            "sentence": self.sentence,
            "sensitive": not self.synthetic,
            "page_parts": {
                "title": "Would they find you?",
                "about": f"A log of {self.users:,} people. The first row is how many of 100 are found; in "
                "the others a coin was thrown for a real person's rare query, and guessed from the release.",
                "question": "Did this person search for that?",
                "rows": rows,
                "tables": [
                    table(
                        "Hashed ids",
                        self.found,
                        {
                            "known": "Known searches",
                            "tried": "People tried",
                            "found": "Found",
                            "read": "Further searches read of each",
                        },
                        (),
                    )
                ],
            },
        }

    def _summary(self) -> str:
        return f"People of a log of {self.users:,} users"

    def _heading(self) -> Sequence[str]:
        return "what is published", "right", "of", "at worst"

    def _rows(self) -> list[tuple[str, ...]]:
        rows: list[tuple[str, ...]] = [
            (f"hashed ids, {e['known']} known", f"{e['found']:,}", f"{e['tried']:,}", "no limit")
            for e in self.found
        ]
        for each in self.guessed:
            limit = "no limit" if each["loss"] is None else f"{share(each['loss']):.0f}%"
            rows.append((each["label"], f"{each['right']:,}", f"{each['guesses']:,}", limit))
        return rows

    def _notes(self) -> list[str]:
        kept = [] if self.synthetic else ["As sensitive as the log: nothing of this was charged."]
        kept += [f"No time was left for {each}." for each in self.left_out]
        return [self.sentence, *kept]


def audit_people(
    log: str | Path,
    *,
    known: int = 3,
    people: int = 400,
    epsilons: Sequence[float] = EPSILONS,
    mechanisms: Sequence[str] = MECHANISMS,
    delta: float = 1e-6,
    seed: int = 0,
    seconds: float | None = None,
    synthetic: bool = False,
    threads: int | None = None,
    report: Callable[[str], object] = str,
) -> PeopleAudit:
    """Attack people of a log under hashed ids, exact counts, and each mechanism at several ε.

    Args:
        log: a search log.
        known: how many searches of a person the attacker of hashed ids knows at most.
        people: about how many people is guessed, for each way to publish.
        epsilons: of the mechanisms.
        mechanisms: their names.
        delta: of the mechanisms that have one.
        seed: which people are attacked; coins and noise are never repeatable.
        seconds: leave out mechanisms for which there is no time.
        synthetic: you vouch that nobody real is in the log: the result may be shown.
        threads: how many threads work.
        report: told what is under way.
    """
    path, deadline, left_out = check_log(place("log", log)), Deadline.after(seconds), list[str]()
    number = whole("people", people, 10)
    rng = np.random.default_rng(whole("seed", seed))
    exact: Any = mechanism_class("k-query")
    ways: list[tuple[str, Plan[Any], float | None]] = [
        ("k-query, k = 10, nine planted accounts", exact(k=K).plan(), None)
    ]
    for name in mechanisms:
        if name not in MECHANISMS:
            raise ParameterError.outside("the mechanism", name, "one of " + ", ".join(MECHANISMS))
        for epsilon in sorted((real("epsilon", each) for each in epsilons), reverse=True):
            made: Plan[Any] = mechanism_class(name)(epsilon=epsilon, delta=delta).plan()  # type: ignore[call-arg]
            ways.append((f"{made.title}, ε = {epsilon:g}", made, made.epsilon))
    with open_engine(memory=memory_for(path), threads=threads, spill=spill()) as engine:
        source = engine.log(path)
        report("looking for people behind hashed ids")
        users, found, rare = _hashed(engine, source, whole("known", known, 1), rng)
        if len(rare) < 10:
            raise InfeasibleError(
                f"only {len(rare)} people of this log have a query that nobody else asked.",
                "Name a log of more people.",
            )
        chosen = [rare[n] for n in rng.permutation(len(rare))[:number]]
        at = middle_of(source, engine)
        guessed = []
        for label, plan, proved in ways:
            if proved is not None and deadline.passed:
                left_out.append(label)
                continue
            report(label)
            right = guess(plan, engine, source, chosen, tossed := coins(len(chosen)), at=at, real=True)
            guessed.append(
                {
                    "label": label,
                    "mechanism": plan.name,
                    "epsilon": proved,
                    # The coin changes what a person did, and not who is in the log: a history is replaced.
                    "loss": None if proved is None else plan.guarantee.as_replace().but_for()[0],
                    "right": int(right.sum()),
                    "guesses": len(tossed),
                }
            )
    return PeopleAudit(users, flag("synthetic", synthetic), found, guessed, left_out)


def _hashed(engine: Engine, log: Any, known: int, rng: Any) -> tuple[int, list[dict[str, Any]], list[Secret]]:
    """Users, who is found with one known search to ``known`` of them, and each person's own query if any."""
    pairs = engine.table(log.select("user", "query").distinct())
    encoded = [pc.dictionary_encode(pairs.column(name)).combine_chunks() for name in ("user", "query")]
    user, query = (np.asarray(each.indices) for each in encoded)
    names, texts = (each.dictionary for each in encoded)
    asked = np.bincount(query)
    order = np.argsort(user, kind="stable")
    starts = np.searchsorted(user[order], np.arange(len(names) + 1))
    by_query = np.argsort(query, kind="stable")
    first = np.searchsorted(query[by_query], np.arange(len(texts) + 1))
    found = []
    for number in range(1, known + 1):
        able = np.flatnonzero(np.diff(starts) > number)
        tried = rng.permutation(able)[:_MOST_FOUND]
        hits = read = 0
        for person in tried.tolist():
            own = query[order[starts[person] : starts[person + 1]]]
            told = rng.choice(own, number, replace=False)
            holders = [user[by_query[first[q] : first[q + 1]]] for q in told[np.argsort(asked[told])]]
            left = holders[0]
            for others in holders[1:]:
                left = left[np.isin(left, others)]
            if len(left) == 1:
                hits, read = hits + 1, read + len(own) - number
        mean = round(read / hits, 1) if hits else 0.0
        found.append({"known": number, "tried": len(tried), "found": hits, "read": mean})
    own = rng.permutation(np.flatnonzero(asked[query] == 1))
    _, places = np.unique(user[own], return_index=True)
    rare = [Secret((texts[int(query[own[n]])].as_py(),), names[int(user[own[n]])].as_py()) for n in places]
    return len(names), found, [secret for secret in rare if secret.queries[0] != "-"]
