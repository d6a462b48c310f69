"""Attackers of groups: who compares what is shown, who brings fake accounts, who tests the noise.

**The observer** sees every representative after each step and lays whatever moved to the person whose step
it was; the terms of a group that vanishes are guessed to be the leaver's. Against groups whose profiles are
computed anew at each step this is nearly always right. **The test of the noise** guesses from one noisy
count whether a person marked a pair. :func:`audit_groups` sets all of them on a copy of a folder:
docs/reference/commands/audit.md.
"""

import math
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr

from tacit.audit.bounds import ALARM, Scores, at_least, proves
from tacit.audit.canaries import spill
from tacit.audit.found import Deadline, GuardAudit, bar, table
from tacit.audit.neighbours import count_pairs
from tacit.audit.replicas import Replicas, learned_score
from tacit.engines import open_engine
from tacit.groups.bundling import Bundler
from tacit.groups.cohorts import load_cohorts
from tacit.groups.report import GENERATIONS, fake_accounts
from tacit.groups.service import Groups
from tacit.groups.store import FILE, CohortStore, GroupsStore, Place, Store
from tacit.groups.words import MOST_WORDS, SHOWN_ABOVE, UNIT, Generation
from tacit.privacy.ledger import Ledger
from tacit.privacy.noise.randomness import OperatingSystemRandomness, RandomSource
from tacit.release.mechanism import Mechanism, Plan, plan_of
from tacit.validation import flag, place, whole

Shown = Mapping[int, Mapping[str, float]]


@dataclass(frozen=True)
class Learnt:
    """What the observer got right over many steps.

    Attributes:
        steps: how many people came or went.
        guesses: how many times a term was laid to a person.
        right: the share of guesses that are right; 0 where there were none.
        people: the share of steps with a right guess.
        terms: the share of the people's terms that were guessed.
        vanished: how many terms of vanished groups were laid to who left.
        vanished_right: the share of these guesses that are right; 0 where there were none.
    """

    steps: int
    guesses: int
    right: float
    people: float
    terms: float
    vanished: int
    vanished_right: float


class Observer:
    """Watches representatives, one step at a time."""

    def __init__(self, before: Shown) -> None:
        self._seen, self._count = before, Counter[str]()

    @staticmethod
    def look(groups: Groups) -> Shown:
        """Everything that is shown now."""
        return {shown.group: shown.terms for shown in groups.representatives()}

    def step(self, after: Shown, holds: Iterable[str]) -> None:
        """Compute the loss where one person who ``holds`` these terms came or went."""
        own = set(holds)
        laid = {
            term
            for group in self._seen.keys() & after.keys()
            for term in self._seen[group].keys() | after[group].keys()
            if self._seen[group].get(term) != after[group].get(term)
        }
        right = len(laid & own)
        self._count.update(steps=1, guesses=len(laid), right=right, people=int(right > 0), held=len(own))
        for group in self._seen.keys() - after.keys():
            gone = self._seen[group].keys()
            self._count.update(vanished=len(gone), vanished_right=len(gone & own))
        self._seen = after

    def learnt(self) -> Learnt:
        """Add up the loss of all steps."""
        count = self._count

        def share(part: str, whole: str) -> float:
            return count[part] / count[whole] if count[whole] else 0.0

        shares = share("right", "guesses"), share("people", "steps"), share("right", "held")
        vanished = count["vanished"], share("vanished_right", "vanished")
        return Learnt(count["steps"], count["guesses"], *shares, *vanished)


def lower_bound(generation: Generation, draws: int = 100_000, source: RandomSource | None = None) -> float:
    """The ε of a generation's words that draws prove at its δ, of a person whose only pair has all weight."""
    chosen, measured = (_noisy(generation, draws // 2, source) for _ in range(2))
    return proves(chosen, measured, generation.delta)


def _noisy(generation: Generation, draws: int, source: RandomSource | None) -> Scores:
    """Counts without the person and with."""
    bits = source if source is not None else OperatingSystemRandomness()
    without, having = (generation.noisy(np.full(draws, weight, np.int64), bits) for weight in (0, UNIT))
    return without.astype(float), having.astype(float)


def proved_together(
    plan: Plan[Any], generation: Generation, runs: int, source: RandomSource
) -> tuple[float, float, float]:
    """Bound what one attacker proves who has a release and the words of the groups.

    The person's presence moves both; likelihoods of the one, learned from runs, and of the other add.

    Returns:
        The ε that is proved at the δ of both together, that δ, and the ε that both promise together.
    """
    with open_engine(threads=1) as engine:
        pairs = list(count_pairs(plan, engine))
    replicas = Replicas(plan, pairs[0 if plan.schedule.selection is None else -1])
    half, delta = runs // 2, plan.delta + generation.delta
    learned = learned_score(*(replicas.runs(log, half, source) for log in (0, 1)))

    def scores() -> Scores:
        words = _noisy(generation, half, source)
        without, having = (
            learned(replicas.runs(log, half, source)) + words[log] * UNIT / generation.sigma**2
            for log in (0, 1)
        )
        return without, having

    return proves(scores(), scores(), delta), delta, plan.epsilon + (generation.epsilon or 0.0)


@dataclass(frozen=True)
class _Attack:
    """A copy of a folder, what its report says, and how hard to try."""

    folder: Path
    made: Mapping[str, Any]
    rng: np.random.Generator
    steps: int
    draws: int
    deadline: Deadline
    release: Plan[Any] | None
    source: RandomSource
    report: Callable[[str], object]

    def walk(self, people: Mapping[str, Sequence[str]]) -> tuple[Learnt, dict[str, Place | None]]:
        """Let people go, and into cohorts come again under other names: what an observer learns."""
        self.report("people who come and go")
        with Groups.open(self.folder) as groups:
            watching = Observer(Observer.look(groups))
            names = sorted(user for user in people if people[user])
            leavers = [names[n] for n in self.rng.permutation(len(names))[: self.steps // 2]]
            for step, user in enumerate(leavers):
                if self.deadline.passed:
                    leavers = leavers[:step]
                    break
                groups.remove(user)
                watching.step(Observer.look(groups), people[user])
                if self.made["criterion"] == "cohorts":
                    groups.assign(f"tacit-audit-{step}", dict.fromkeys(people[user], 1.0))
                    watching.step(Observer.look(groups), people[user])
            return watching.learnt(), {user: groups.place(user) for user in people.keys() - set(leavers)}

    def told_apart(self, generation: Generation, times: int) -> tuple[int, int]:
        """Right guesses, of how many, whether so many generations hold a person's only pair."""
        number, line = (1000 if self.deadline.passed else self.draws // 4), times * UNIT / 2
        right = 0
        for weight in (UNIT, 0):
            drawn = generation.noisy(np.full(number * times, weight, np.int64), self.source)
            right += int(((drawn.reshape(number, times).sum(axis=1) > line) == bool(weight)).sum())
        return right, 2 * number


def audit_groups(
    folder: str | Path,
    *,
    steps: int = 60,
    draws: int = 100_000,
    release: Mechanism | Plan[Any] | None = None,
    seed: int = 0,
    seconds: float | None = None,
    synthetic: bool = False,
    source: RandomSource | None = None,
    report: Callable[[str], object] = str,
) -> GuardAudit:
    """Attack the groups of a folder, which is only read: what they show, who comes and goes, and the noise.

    Args:
        steps: how many people come and go in a copy, half of each; ``seed`` chooses them.
        draws: of the noise on one count, with a person and without, from ``source``.
        release: of the same people, which the attacker has too.
        seconds: let fewer people come and go, and draw less, where these would take longer.
        synthetic: you vouch that nobody real is in the groups: the result may be shown.
    """
    original, source = place("folder", folder), source or OperatingSystemRandomness()
    rng, limits = np.random.default_rng(seed), (whole("steps", steps, 2), whole("draws", draws, 1000))
    deadline, plan = Deadline.after(seconds), None if release is None else plan_of(release)
    with Groups.open(original) as groups:
        made = groups.report
    with tempfile.TemporaryDirectory(dir=spill(), prefix="tacit-audit-") as scratch:
        (copy := Path(scratch) / "operator").mkdir(mode=0o700)
        with Store(original / "operator" / FILE) as kept, closing(sqlite3.connect(copy / FILE)) as other:
            kept.connection.backup(other)
        attack = _cohorts if made["criterion"] == "cohorts" else _words
        parts = attack(_Attack(Path(scratch), made, rng, *limits, deadline, plan, source, report))
    if told := made["singled_out"]:
        columns = {"knows": "Knows words from", "known_terms": "Known terms", "right": "Names another"}
        columns |= {"without": "Without the groups", "gain": "Gain"}
        caption = "As measured when the groups were made: only the gain is theirs."
        parts["tables"].insert(0, table("The language attacker", made["language"], columns, (1,), caption))
        parts["measured"]["language"] = made["language"]
        gained = f"{told['by_language']:.1%}, without the groups for {told['without']:.1%}"
        parts["sentence"] += f" Anyone who knows one term of a person names another for {gained}."
    return GuardAudit(audit="groups", sensitive=not flag("synthetic", synthetic), **parts)


def _cohorts(attack: _Attack) -> dict[str, Any]:
    cohorts = load_cohorts()
    with CohortStore(attack.folder / "operator" / FILE) as store:
        people, ledger, times = dict(store.people()), store.meta("ledger"), store.meta("generations")
        generation, shown = Generation(**store.meta("generation")), store.meta("words")
    texts = cohorts.table.words
    learnt, others = attack.walk({u: [texts[word] for _, word in each.keys] for u, each in people.items()})
    moved = sum(now is None or now.places != people[user].places for user, now in others.items())
    wrong = sum(not 0 <= each < len(cohorts) for person in people.values() for each in person.places)
    domain, counts = set(cohorts.domain.tolist()), [n for each in shown.values() for n in each.values()]
    told = sum(int(word) not in domain for each in shown.values() for word in each)
    changes = f"{learnt.guesses:,} changes in {learnt.steps} steps"
    held = [
        ("Nobody else moves when a person comes or goes.", not moved, f"{moved:,} of {len(others):,} people"),
        ("Nothing that is shown moves.", not learnt.guesses, changes),
        ("No place and no shown word is sensitive.", not wrong + told, f"{wrong:,} places, {told:,} words"),
    ]
    parts: dict[str, Any] = {
        "about": f"{len(people):,} people in {attack.made['in_use']} of {len(cohorts)} public cohorts.",
        "claim": "places depend on nobody else, and none is sensitive; no words of people are shown.",
        "held": held,
        "sentence": f"{learnt.steps} people came or went, and nothing moved.",
        "measured": {"observer": asdict(learnt)},
        "tables": [],
        "not_claimed": (
            "that the told cohort is private: at most 6 bits a request; three of them are nearly a name.",
            "that a service cannot probe, by results of its choice, which cohorts somebody has.",
        ),
    }
    if not generation.epsilon:
        held.append(("No words of people are shown.", not counts, f"{len(counts):,} words"))
        return parts
    attack.report("the noise on words")
    proved, least = lower_bound(generation, attack.draws, attack.source), SHOWN_ABOVE * generation.sigma
    low, many = sum(n <= math.floor(least) for n in counts), sum(len(e) > MOST_WORDS for e in shown.values())
    charges = [e for e in Ledger.open(ledger).state().entries if e.purpose.startswith("words of cohorts")]
    paid = sum(e.guarantee.epsilon >= generation.epsilon for e in charges)
    threshold = f"Shown words passed the threshold of {float(least):,.0f}, at most {MOST_WORDS} a cohort."
    held += [
        ("What draws prove of ε is not above it.", proved <= generation.epsilon, f"ε ≥ {proved:.3f}"),
        (threshold, not low + many, f"{low:,} words below, {many:,} cohorts above"),
        ("Each generation was charged to the ledger.", paid >= times, f"{paid} of {times}"),
    ]
    if attack.release is not None:
        attack.report("one attacker with the release and the groups")
        both, delta, promised = proved_together(attack.release, generation, attack.draws, attack.source)
        says = f"With a release ({attack.release.title}) nothing above ε = {promised:g} at δ = {delta:.2g}."
        held.append((says, both <= promised, f"ε ≥ {both:.3f}"))
    rows, fakes = [], []
    for number in sorted({*GENERATIONS, times}):
        right, guesses = attack.told_apart(generation, number)
        worst = float(ndtr(math.sqrt(number) * generation.mu / 2))
        holds, label = at_least(right, guesses, ALARM) <= worst, f"{number} generation{'s' * (number > 1)}"
        held.append((f"Taking part in {label}: told at most {worst:.1%}.", holds, f"{right:,}/{guesses:,}"))
        rows.append(bar(label, right, guesses, None, bad=not holds) | {"worst": 100 * worst})
        named = fake_accounts(list(people.values()), generation, number, int(attack.rng.integers(2**31)))
        fakes.append(dict(zip(("generations", "right", "without"), (number, *named), strict=True)))
    columns = {"generations": "Generations", "right": "Names a word", "without": "By popularity alone"}
    return parts | {
        "claim": f"words of one generation are (ε, δ)-differentially private, ε = {generation.epsilon:g}, "
        f"δ = {generation.delta:g}; places depend on nobody else, and none is sensitive.",
        "sentence": f"ε ≥ {proved:.3g} is shown, {generation.epsilon:g} promised. {parts['sentence']}",
        "measured": parts["measured"] | {"epsilon": proved, "fake_accounts": fakes},
        "figure": {"question": "Did this person take part in the words?"},
        "rows": rows,
        "tables": [table("All other accounts are fake", fakes, columns, ())],
    }


def _words(attack: _Attack) -> dict[str, Any]:
    linked = owned = 0.0
    with GroupsStore(attack.folder / "operator" / FILE) as store:
        rule = Bundler(**store.meta("settings")).rule_of_release
        people = {user: sorted(held) for user, _, held in store.everybody()}
        for shown in store.all_shown():
            members = store.members(shown.group).values()
            own = np.array([[term in held for term in shown.terms] for held in members])
            linked, owned = (max(most, float(own.mean(n).max())) for n, most in enumerate((linked, owned)))
    learnt, _ = attack.walk(people)
    right = round(learnt.right * learnt.guesses)
    claim = f"to one who takes words as independent, no shown term is a member's more surely than {rule.p:g}."
    held, measured = [], {"linked": linked, "owned": owned, "observer": asdict(learnt)}
    changes = f"{right:,} of {learnt.guesses:,} in {learnt.steps} steps"
    if rule.kind == "strict":
        held = [
            ("No shown term is linked to a member above p.", linked <= rule.p, f"{linked:.3f}"),
            ("No member holds more than a share p of what is shown.", owned <= rule.p, f"{owned:.3f}"),
            ("No change that is shown is a term of who came or went.", not right, changes),
        ]
    return {
        "about": f"{len(people):,} people in {attack.made['groups']:,} groups.",
        "claim": claim if held else "nothing, for the paper's criterion bounds an average.",
        "held": held,
        "sentence": f"Linked at most {linked:.2f}, p = {rule.p:g}; rightly laid to a person: {changes}.",
        "measured": measured,
        "tables": [],
        "not_claimed": (
            "anything about an attacker who knows which words go together: p promises nothing against him.",
            f"what vanished groups tell: {learnt.vanished_right:.0%} of {learnt.vanished:,} guesses right.",
        ),
    }
