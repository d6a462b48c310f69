"""The audit of a release mechanism with its parameters: what is exact first, then what sampling can show.

Exact checks find small faults that no sampling ever does; sampling finds gross ones that nobody thought to
check. Of either kind, a fault is a leak above the claim.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri

from tacit.audit.bounds import ALARM, SHOWN, Seen, best_line
from tacit.audit.checks import ExactCheck, exact_checks
from tacit.audit.neighbours import CountedPair, count_pairs
from tacit.audit.replicas import Replicas, agreement, scores_of
from tacit.display import Displayed
from tacit.privacy.noise.randomness import OperatingSystemRandomness, RandomSource
from tacit.release.engines import open_engine
from tacit.release.mechanism import Mechanism, Plan, plan_of
from tacit.release.schedule import AdaptiveRounds
from tacit.validation import real, whole

RUNS = 100_000
_PILOT = 2_000
_DISAGREE = 1e-9
_CLEARLY = 0.02
"""Another event is taken in the place of the likelihood ratio where it is better by more than chance."""


@dataclass(frozen=True)
class Attempt:
    """One pair of logs, attacked with the best event that was found on half of the runs.

    Args:
        pair: the neighbouring logs.
        event: what the attacker looks at, and the line.
        seen: how often it occurred on the other half of the runs.
        epsilon: at least so much at the claimed δ, with 95% confidence.
        curve: the same against the whole claimed curve.
        alarm: the larger of both with the confidence at which an audit fails.
        noticeable: had the noise been so weak as to allow this ε, the audit would have failed, by half.
    """

    pair: str
    event: str
    seen: Seen
    epsilon: float
    curve: float
    alarm: float
    noticeable: float


@dataclass(frozen=True, repr=False)
class ReleaseAudit(Displayed):
    """What an audit of a release found."""

    plan: Plan[Any]
    checks: Sequence[ExactCheck]
    attacks: Sequence[Attempt]
    agree: tuple[float, float]
    notes: Sequence[str] = field(default=())

    @property
    def epsilon(self) -> float:
        """At the claimed δ: ε is at least this."""
        return max((attack.epsilon for attack in self.attacks), default=0.0)

    @property
    def curve(self) -> float:
        """Against the whole curve: at least this."""
        return max((attack.curve for attack in self.attacks), default=0.0)

    @property
    def faults(self) -> list[str]:
        """What exceeds the claim."""
        claimed = self.plan.epsilon
        found = [f"{check.name}: {check.found}" for check in self.checks if not check.holds]
        if min(self.agree) < _DISAGREE:
            found.append("replicas: runs of one log are not independent, or differ from separate runs")
        found += [
            f"{attack.pair}: ε is at least {attack.alarm:.3g}, and {claimed:.3g} is claimed"
            for attack in self.attacks
            if attack.alarm > claimed
        ]
        return found

    @property
    def verdict(self) -> str:
        """``held``, or ``broken`` where a leak exceeds the claim."""
        return "broken" if self.faults else "held"

    @property
    def sentence(self) -> str:
        """What was found, in one sentence."""
        if self.faults:
            return f"Broken: {self.faults[0]}."
        if not self.plan.mechanism.private:
            return "No ε is claimed: whoever plants accounts learns whether a person asked."
        shown = max(self.epsilon, self.curve)
        return (
            f"Tried hard: nothing above ε = {shown:.3g} could be shown; {self.plan.epsilon:.3g} is promised."
        )

    def to_dict(self) -> dict[str, Any]:
        """As JSON has it."""
        return {
            "audit": "release",
            "mechanism": self.plan.name,
            "parameters": self.plan.to_dict(),
            "claimed": {
                "epsilon": _finite(self.plan.epsilon),
                "delta": self.plan.delta,
                "neighbours": self.plan.neighbours.value,
            },
            "measured": {
                "epsilon": _finite(self.epsilon),
                "curve": _finite(self.curve),
                "confidence": 1 - SHOWN,
                "noticeable": _finite(min((a.noticeable for a in self.attacks), default=0.0)),
                "runs": max((attack.seen.runs for attack in self.attacks), default=0),
            },
            "verdict": self.verdict,
            "sentence": self.sentence,
            "faults": self.faults,
            "checks": [asdict(check) for check in self.checks],
            "attacks": [
                {name: _finite(value) for name, value in asdict(attack).items()} for attack in self.attacks
            ],
            "replicas": {"agree": self.agree[0], "independent": self.agree[1]},
            "notes": list(self.notes),
        }

    def _summary(self) -> str:
        return f"Audit of {self.plan.title}, {self.plan.guarantee}: {self.verdict}"

    def _heading(self) -> Sequence[str]:
        return "attack", "what was looked at", "runs", "ε at δ", "whole curve", "noticed above"

    def _rows(self) -> list[tuple[str, ...]]:
        return [
            (
                each.pair,
                each.event,
                f"{each.seen.runs:,}",
                f"{each.epsilon:.3f}",
                f"{each.curve:.3f}",
                f"{each.noticeable:.2f}",
            )
            for each in self.attacks
        ]

    def _notes(self) -> Sequence[str]:
        marks = [f"{'holds' if c.holds else 'FAILS'}  {c.says} ({c.found})" for c in self.checks]
        return [*marks, *self.notes, self.sentence]


def _finite(value: Any) -> Any:
    return value if not isinstance(value, float) or np.isfinite(value) else None


def audit_release(
    plan: Mechanism | Plan[Any],
    *,
    runs: int = RUNS,
    seconds: float | None = None,
    source: RandomSource | None = None,
    report: Callable[[str], object] = str,
) -> ReleaseAudit:
    """Attempt a mechanism with its parameters; no log is needed and nothing is charged.

    Args:
        plan: a mechanism, or its plan.
        runs: of each log of a pair; half of them choose the event, the others measure it.
        seconds: make fewer runs where these would take longer.
        source: of the noise; the operating system's randomness unless a test gives another.
        report: told what is under way.
    """
    begun = time.monotonic()
    settled = plan_of(plan)
    runs = whole("runs", runs, 64)
    limit = None if seconds is None else real("seconds", seconds)
    settled.check()
    drawn = source or OperatingSystemRandomness()
    with open_engine(threads=1) as engine:
        report("counting neighbouring logs")
        pairs = list(count_pairs(settled, engine))
    report("exact checks")
    checks = list(exact_checks(settled, pairs))
    attacks, agree = [], (1.0, 1.0)
    found = list(_attacked(settled, pairs))
    for number, replicas in enumerate(found):
        if not number:
            agree = agreement(replicas, drawn)
        left = None
        if limit is not None:
            left = max(0.5, limit - (time.monotonic() - begun)) / (len(found) - number)
        attacks.append(attack(replicas, runs, drawn, left, report))
    return ReleaseAudit(settled, checks, attacks, agree, notes_on(settled))


def notes_on(plan: Plan[Any]) -> list[str]:
    """What a reader must know about these figures."""
    found = []
    if 0 < plan.delta < 1e-4:
        found.append(
            f"δ = {plan.delta:.3g} is out of reach of sampling, for everybody: the exact divergence carries "
            "it."
        )
    selection = plan.schedule.selection
    if isinstance(selection, AdaptiveRounds):
        parts = _shares(plan)
        found.append(
            f"Found or not found can show at most {parts['standing']:.3f} of the charged noise: what it "
            f"depends on has that share of μ. The counts have {parts['counts']:.2f}, numbers that are never "
            f"published {parts['unseen']:.2f} (shares of μ add as squares)."
        )
    return found


def _shares(plan: Plan[Any]) -> dict[str, float]:
    """Of the charged μ, what the standing of an item, the counts, and numbers nobody sees have."""
    from tacit.release.schedule import ONE

    selection: Any = plan.schedule.selection
    mu = plan.event.mu  # type: ignore[attr-defined]
    weight = ONE * sum(step.coefficient for step in selection.rounds)
    width = sum((step.coefficient * step.sigma) ** 2 for step in selection.rounds) ** 0.5
    tally = selection.tally
    counts = ONE / tally.sigma / mu if tally else 0.0
    unseen = (1 - min(1.0, (weight / width / mu) ** 2 + counts**2)) ** 0.5
    return {"standing": weight / width / mu, "counts": counts, "unseen": unseen}


def _attacked(plan: Plan[Any], pairs: Sequence[CountedPair]) -> Iterator[Replicas]:
    """The pairs that are worth sampling: δ itself only where it can be sampled."""
    for counted in pairs:
        if (
            plan.delta < 1e-4
            and counted.name in ("alone", "straddler", "first threshold")
            and plan.mechanism.private
        ):
            continue
        if counted.holdings is not None or any(counted.differing().values()):
            yield Replicas(plan, counted)


def attack(
    replicas: Replicas,
    runs: int,
    source: RandomSource,
    seconds: float | None = None,
    report: Callable[[str], object] = str,
) -> Attempt:
    """Choose the event on half of the runs, and measure it on the others."""
    half = runs // 2
    if seconds is not None:
        begun = time.monotonic()
        pilot = min(half, _PILOT)
        replicas.runs(1, pilot, source)
        speed = pilot / max(1e-6, time.monotonic() - begun)
        half = max(32, min(half, int(seconds * speed / 6)))
    report(f"{replicas.counted.name}: {2 * half:,} runs of either log")
    plan = replicas.plan
    first = tuple(replicas.runs(log, half, source) for log in (0, 1))
    chosen: dict[str, tuple[float, str, float, bool]] = {}

    def worth(seen: Seen) -> float:
        return seen.epsilon(plan.delta, SHOWN)

    def apart(seen: Seen) -> float:
        p, q = seen.rates(SHOWN)
        return float(ndtri(max(p, 1e-12)) - ndtri(min(q, 1 - 1e-12)))

    scored = [dict(scores_of(replicas, each)) for each in first]
    for name in scored[0]:
        for kind, value in (("epsilon", worth), ("curve", apart)):
            line, above, found = best_line((scored[0][name], scored[1][name]), value)
            if kind not in chosen or found > chosen[kind][0] + _CLEARLY:
                chosen[kind] = (found, name, line, above)
    second = [dict(scores_of(replicas, replicas.runs(log, half, source))) for log in (0, 1)]

    def measured(kind: str) -> Seen:
        _, name, line, above = chosen[kind]
        hits = [int((each[name] >= line).sum()) for each in second]
        return Seen(hits[1], hits[0], half) if above else Seen(hits[0], hits[1], half)

    at_delta, on_curve = measured("epsilon"), measured("curve")
    private = plan.mechanism.private
    epsilon = at_delta.epsilon(plan.delta)
    curve = on_curve.curve(plan.event) if private else epsilon
    alarm = at_delta.epsilon(plan.delta, ALARM)
    if private:
        alarm = max(alarm, on_curve.curve(plan.event, ALARM))
    _, name, line, above = chosen["epsilon"]
    event = f"{name} {'at least' if above else 'below'} {line:.4g}"
    noticeable = plan.epsilon**2 / alarm if alarm else math.inf
    return Attempt(replicas.counted.name, event, at_delta, epsilon, curve, alarm, noticeable)
