"""Would they find you, and did you search for that: people of a log under what is published of it.

Who attacks hashed ids, k-query anonymity and mechanisms at several ε, and how:
docs/reference/commands/audit.md.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.audit.canaries import Secret, coins, guess, middle_of, spill
from tacit.audit.found import Deadline, GuardAudit, bar, table
from tacit.engines import Engine, memory_for, open_engine
from tacit.errors import InfeasibleError, ParameterError
from tacit.release.mechanism import Plan
from tacit.release.registry import mechanism_class
from tacit.row_groups import encoded
from tacit.searchlog import check_log
from tacit.validation import flag, place, real, whole

K = 10
MECHANISMS = ("zealous", "adaptive")
EPSILONS = (1.0, 4.0, 10.0)
_MOST_FOUND = 2_000


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
) -> GuardAudit:
    """Attack people of a log under hashed ids, exact counts, and each mechanism at several ε.

    Args:
        known: how many searches of a person the attacker of hashed ids knows at most.
        people: about how many people is guessed, for each way to publish.
        epsilons: of the mechanisms; ``delta`` of those that have one.
        seed: which people are attacked; coins and noise are never repeatable.
        seconds: leave out mechanisms for which there is no time.
        synthetic: you vouch that nobody real is in the log: the result may be shown.
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
            problem = f"only {len(rare)} people of this log have a query that nobody else asked."
            raise InfeasibleError(problem, "Name a log of more people.")
        chosen = [rare[n] for n in rng.permutation(len(rare))[:number]]
        at = middle_of(source, engine)
        guessed: list[dict[str, Any]] = []
        for label, plan, proved in ways:
            if proved is not None and deadline.passed:
                left_out.append(label)
                continue
            report(label)
            right = guess(plan, engine, source, chosen, tossed := coins(len(chosen)), at=at, real=True)
            # The coin changes what a person did, and not who is in the log: a history is replaced.
            loss = None if proved is None else plan.guarantee.as_replace().but_for()[0]
            each = {"label": label, "mechanism": plan.name, "epsilon": proved, "loss": loss}
            guessed.append(each | {"right": int(right.sum()), "guesses": len(tossed)})
    known_most, noisy = found[-1], [e for e in guessed if e["epsilon"] is not None]
    most = max((each["right"] / each["guesses"] for each in noisy), default=0.5)
    rows = [bar(e["label"], e["right"], e["guesses"], e["loss"], bad=e["epsilon"] is None) for e in guessed]
    if known_most["tried"]:
        label = f"Hashed ids: found by {known_most['known']} known searches"
        rows = [bar(label, known_most["found"], known_most["tried"], None, bad=True), *rows]
    columns = {"known": "Known searches", "tried": "People tried", "found": "Found"}
    columns |= {"read": "Further searches read of each"}
    return GuardAudit(
        audit="people",
        claim="ε bounds what is told about anybody; hashed ids and exact counts promise nothing.",
        about=f"A log of {users:,} people. The first row is how many of 100 are found; in the others a coin "
        "was thrown for a real person's rare query, and guessed from the release.",
        held=(),
        sentence=f"Anyone who knows {known_most['known']} searches finds {known_most['found']:,} of "
        f"{known_most['tried']:,} people behind hashed ids; exact counts give {guessed[0]['right']} of "
        f"{guessed[0]['guesses']} secrets away; under noise "
        f"{most:.0%} of guesses were right at most. What ε promises is the worst case.",
        measured={"hashed": found, "guessed": guessed},
        rows=rows,
        tables=[table("Hashed ids", found, columns, ())],
        not_claimed=[f"anything for {each}: no time was left." for each in left_out],
        sensitive=not flag("synthetic", synthetic),
        figure={"title": "Would they find you?", "question": "Did this person search for that?"},
        more={"users": users, "hashed": found, "guessed": guessed, "left_out": left_out},
    )


def _hashed(engine: Engine, log: Any, known: int, rng: Any) -> tuple[int, list[dict[str, Any]], list[Secret]]:
    """Users, who is found with one known search to ``known`` of them, and each person's own query if any."""
    pairs = engine.table(log.select("user", "query").distinct())
    (names, user), (texts, query) = (encoded(pairs.column(name)) for name in ("user", "query"))
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
