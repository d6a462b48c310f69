"""The audit of a release mechanism with its parameters: what is exact first, then what sampling can show.

Exact checks find small faults that no sampling ever does; sampling finds gross ones that nobody thought to
check. Of either kind, a fault is a leak above the claim. What is done where δ is too small:
docs/reference/commands/audit.md.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tacit.audit.bounds import ALARM, SHOWN, Seen, best_line, measure
from tacit.audit.checks import ExactCheck, exact_checks, failures
from tacit.audit.found import Deadline, GuardAudit, share, table
from tacit.audit.neighbours import CountedPair, count_pairs
from tacit.audit.replicas import Outputs, Replicas, agreement, learned_score, scores_of
from tacit.audit.series import series_checks
from tacit.engines import open_engine
from tacit.errors import TacitError
from tacit.privacy.noise.randomness import OperatingSystemRandomness, RandomSource
from tacit.release.mechanism import Mechanism, Plan, plan_of
from tacit.release.parameters import GIVEN, StatedSet
from tacit.release.schedule import ONE, AdaptiveRounds
from tacit.validation import whole

RUNS, ROUNDS_RUNS = 100_000, 4_000_000
"""Of rounds a run is whether one item is found, which takes a microsecond."""
_PILOT = 2_000
_DISAGREE = 1e-9
_CLEARLY = 0.05
"""Another event is taken in the place of the likelihood ratio where it is better by more than chance."""
_CHOICE = 1e-4
"""An event is chosen with this confidence: a rare one that was lucky would not be seen so often again."""
_REACHED, _SAMPLED = 0.01, 1e-4
"""The δ that is sampled in the place of one below this."""
_COLUMNS = {
    "pair": "Neighbouring logs",
    "delta": "planned for δ",
    "event": "What is looked at",
    "epsilon": "ε at δ, at least",
    "curve": "whole curve, at least",
    "noticeable": "would notice ε above",
}
_CAPTION = (
    f"With {1 - SHOWN:.0%} confidence; an audit fails at one in a million. One log has a person more, whose "
    "items all others have (crowd), none (alone), just too few to be shown (straddler), or so many (holders)."
)
_PUBLIC = {"taxonomy": "people", "domain": "wordnet", "surfaced": "wordnet", "public_list": "words"}
"""Bundled public sets, in the place of those that a manifest has by their digest alone."""


@dataclass(frozen=True)
class Attempt:
    """One pair of logs, attacked with the best event that was found on half of the runs.

    Args:
        pair: the neighbouring logs.
        delta: for which the mechanism was planned.
        event: what the attacker looks at, and the line.
        seen: how often it occurred on the other half of the runs.
        epsilon: at least so much at this δ; right for all pairs together with 95% confidence.
        curve: the same against the whole claimed curve.
        alarm: the larger of both with the confidence at which an audit fails, for all pairs together.
        noticeable: had the noise been so weak as to allow this ε, the audit would have failed, by half.
    """

    pair: str
    delta: float
    event: str
    seen: Seen
    epsilon: float
    curve: float
    alarm: float
    noticeable: float


def audit_release(
    plan: Mechanism | Plan[Any],
    *,
    runs: int | None = None,
    seconds: float | None = None,
    source: RandomSource | None = None,
    report: Callable[[str], object] = str,
) -> GuardAudit:
    """Attack a mechanism with its parameters; no log is needed and nothing is charged.

    Args:
        runs: of each log of a pair; :data:`RUNS` unless given, of rounds :data:`ROUNDS_RUNS`.
        seconds: make fewer runs where these would take longer.
        source: of the noise; the operating system's randomness unless a test gives another.
    """
    deadline, drawn = Deadline.after(seconds), source or OperatingSystemRandomness()
    settled, notes = executable(plan_of(plan))
    rounds = isinstance(settled.schedule.selection, AdaptiveRounds)
    runs = whole("runs", runs, 64) if runs is not None else ROUNDS_RUNS if rounds else RUNS
    settled.check()
    if settled.schedule.series is not None:
        report("streams of weeks")
        said = "Streams are those of a series planned at δ = 0.02, through the same code."
        return _found(settled, list(series_checks(settled, drawn)), [said])
    loose, agree = loosened(settled), (1.0, 1.0)
    checks, attacks = list[ExactCheck](), [list[Attempt](), list[Attempt]()]
    with failures(checks, but=(TacitError,)), open_engine(threads=1) as engine:
        report("counting neighbouring logs")
        pairs = [list(count_pairs(each, engine)) if each else [] for each in (settled, loose)]
        report("exact checks")
        checks.extend(exact_checks(settled, pairs[0]))
        tried = [list(_attacked(settled, pairs[0])), list(_attacked(loose, pairs[1])) if loose else []]
        agree = agreement(tried[0][0], drawn) if tried[0] else agree
        left = sum(map(len, tried))
        for made, replicas in zip(attacks, tried, strict=True):
            for each in replicas:
                time_left = None if seconds is None else max(0.5, deadline.left) / left
                made.append(attack(each, runs, drawn, time_left, report, len(replicas)))
                left -= 1
    notes += notes_on(settled, loose)
    return _found(settled, checks, notes, attacks[0], agree, None if loose is None else (loose, attacks[1]))


def _found(
    plan: Plan[Any],
    checks: Sequence[ExactCheck],
    notes: Sequence[str],
    attacks: Sequence[Attempt] = (),
    agree: tuple[float, float] = (1.0, 1.0),
    loosened: tuple[Plan[Any], Sequence[Attempt]] | None = None,
) -> GuardAudit:
    """Gather what was found; ``agree``: p-values of replicas being like separate runs, and independent."""
    tried = [*attacks, *(loosened[1] if loosened else ())]
    private, epsilon = plan.mechanism.private, plan.epsilon
    held = [(f"{check.says}.", check.holds, check.found) for check in checks]
    if attacks:
        said = f"p = {agree[0]:.2g} and {agree[1]:.2g}"
        held.append(("Runs are like separate ones, and independent.", min(agree) >= _DISAGREE, said))
    held += [
        (
            f"{each.pair}, δ = {each.delta:.2g}: no more is proved than is promised.",
            each.alarm <= epsilon,
            f"ε ≥ {each.epsilon:.3f}, on the curve {each.curve:.3f}"
            + f"; ε above {each.noticeable:.2f} would be noticed" * math.isfinite(each.noticeable),
        )
        for each in tried
        if private
    ]
    measured = _measured(attacks)
    most = max(measured["epsilon"], measured["curve"])
    shown = f"nothing above ε = {most:.3g} could be shown" if attacks else "every check holds"
    sentence = f"Tried hard: {shown}; {epsilon:.3g} is promised."
    if not private:
        sentence = "No ε is claimed: whoever plants accounts learns whether a person asked."
    listed = [{name: _finite(value) for name, value in asdict(each).items()} for each in tried]
    rows: list[dict[str, Any]] = []
    for each in tried:
        row = {"label": f"{each.pair}, δ = {each.delta:.2g}", "worst": share(epsilon) if private else None}
        row |= {"bad": not private or each.alarm > epsilon}
        rows.append(row | dict.fromkeys(("share", "low", "high"), share(max(each.epsilon, each.curve))))
    claimed = {"epsilon": _finite(epsilon), "delta": plan.delta, "neighbours": plan.neighbours.value}
    other = loosened and {
        "claimed": {"epsilon": _finite(loosened[0].epsilon), "delta": loosened[0].delta},
        "measured": _measured(loosened[1]),
    }
    return GuardAudit(
        audit="release",
        about=f"{plan.title}, attacked through the real code; {measured['runs']:,} measuring runs of each of "
        "two neighbouring logs.",
        claim=f"{plan.guarantee}.",
        held=held,
        sentence=sentence,
        measured=measured,
        rows=rows,
        tables=[table("Attacks", listed, _COLUMNS, (1, 3), _CAPTION)] if listed else [],
        sensitive=False,
        figure={"title": f"Audit of {plan.name}", "question": "Was this person in the log?"}
        | {"measured": "at least, proved by this attack"},
        notes=notes,
        more={"mechanism": plan.name, "parameters": plan.to_dict(), "claimed": claimed, "loosened": other}
        | {"checks": [asdict(check) for check in checks], "attacks": listed, "notes": list(notes)}
        | {"replicas": {"agree": agree[0], "independent": agree[1]}},
    )


def _measured(attacks: Sequence[Attempt]) -> dict[str, Any]:
    return {
        "epsilon": max((each.epsilon for each in attacks), default=0.0),
        "curve": max((each.curve for each in attacks), default=0.0),
        "confidence": 1 - SHOWN,
        "noticeable": _finite(min((each.noticeable for each in attacks), default=0.0)),
        "runs": max((each.seen.runs for each in attacks), default=0),
    }


def _finite(value: Any) -> Any:
    return value if not isinstance(value, float) or np.isfinite(value) else None


def executable(plan: Plan[Any]) -> tuple[Plan[Any], list[str]]:
    """The plan, with bundled public sets for those that it knows by digest alone, and what that means."""
    stated = {
        each.name: value.name
        for each in fields(plan.mechanism)
        if isinstance(value := getattr(plan.mechanism, each.name), StatedSet)
    }
    if not stated:
        return plan, []
    made = replace(plan.mechanism, **{name: _PUBLIC[name] for name in stated}).plan()
    return made, [
        f"The manifest has its {name} {given} by digest alone: attacked with the bundled {_PUBLIC[name]}, on "
        "which the guarantee does not depend."
        for name, given in stated.items()
        if given != _PUBLIC[name]
    ]


def loosened(plan: Plan[Any]) -> Plan[Any] | None:
    """The same mechanism planned for the same ε at a δ that can be sampled; None where it can be."""
    if not (0 < plan.delta < _SAMPLED and plan.mechanism.private):
        return None
    given = {each.name: each.default for each in fields(plan.mechanism) if each.metadata["panel"] == GIVEN}
    asked = given | {"epsilon": plan.epsilon, "delta": _REACHED}
    try:
        made: Plan[Any] = replace(plan.mechanism, **asked).plan()
    except TacitError:  # parameters that were given fit no plan
        return None
    return made


def notes_on(plan: Plan[Any], loose: Plan[Any] | None) -> list[str]:
    """List what a reader must know about these figures."""
    found = []
    if 0 < plan.delta < _SAMPLED and plan.mechanism.private:
        planned = f" Planned again at δ = {loose.delta:.3g}, and sampled there too." if loose else ""
        found.append(
            f"δ = {plan.delta:.3g} is out of reach of sampling, for everybody: the exact checks carry it."
            + planned
        )
    selection = plan.schedule.selection
    if isinstance(selection, AdaptiveRounds):
        mu = plan.event.mu  # type: ignore[attr-defined]
        share = sum((ONE / step.sigma) ** 2 for step in selection.rounds) ** 0.5 / mu
        found.append(
            "Whether an item is found is computed from the numbers of the rounds alone, which have "
            f"{share:.3f} of the charged μ: against the whole curve nobody can show more than {share:.3f}·ε."
        )
        if selection.tally is not None:
            found[-1] += (
                f" The counts have {ONE / selection.tally.sigma / mu:.3f} beside it (shares of μ add as "
                "squares): exact checks alone look at them, for their limit is over all users."
            )
    return found


def _attacked(plan: Plan[Any], pairs: Sequence[CountedPair]) -> Iterator[Replicas]:
    """The pairs that are worth sampling: δ itself only where it can be sampled."""
    rare = plan.delta < _SAMPLED and plan.mechanism.private
    for counted in pairs:
        if rare and counted.name in ("alone", "straddler", "first threshold"):
            continue
        if counted.holdings is not None or any(counted.differing().values()):
            yield Replicas(plan, counted)


def attack(
    replicas: Replicas,
    runs: int,
    source: RandomSource,
    seconds: float | None = None,
    report: Callable[[str], object] = str,
    pairs: int = 1,
) -> Attempt:
    """Choose the event on half of the runs, and measure it on the others.

    Of rounds all that is looked at is whether an item is found: there is nothing to choose, and all measure.
    Of several ``pairs`` each bound is wrong with a smaller chance, so that the largest holds (Bonferroni).
    """
    plan, half = replicas.plan, runs // 2
    if seconds is not None:
        begun = time.monotonic()
        pilot = min(half, _PILOT)
        replicas.runs(1, pilot, source)
        speed = pilot / max(1e-6, time.monotonic() - begun)
        half = max(32, min(half, int(seconds * speed / 6)))
    report(f"{replicas.counted.name}: {2 * half:,} runs of either log")
    if isinstance(plan.schedule.selection, AdaptiveRounds):
        without, having = (
            int(np.isfinite(replicas.runs(log, 2 * half, source)).any(axis=1).sum()) for log in (0, 1)
        )
        event, at_delta = "found or not", Seen(having, without, 2 * half)
        on_curve = at_delta
    else:
        event, at_delta, on_curve = _chosen(replicas, half, source)
    shown, alarmed, private = SHOWN / pairs, ALARM / (2 * pairs), plan.mechanism.private
    epsilon, alarm = (at_delta.epsilon(plan.delta, alpha) for alpha in (shown, alarmed))
    curve = on_curve.curve(plan.event, shown) if private else epsilon
    if private:
        alarm = max(alarm, on_curve.curve(plan.event, alarmed))
    noticeable = plan.epsilon**2 / alarm if alarm else math.inf
    return Attempt(replicas.counted.name, plan.delta, event, at_delta, epsilon, curve, alarm, noticeable)


def _chosen(replicas: Replicas, half: int, source: RandomSource) -> tuple[str, Seen, Seen]:
    """Choose the best events, at the claimed δ and against the curve, with how often each was seen."""
    first = tuple(replicas.runs(log, half, source) for log in (0, 1))
    chosen: dict[str, tuple[float, str, float, bool]] = {}

    def worth(seen: Seen) -> float:
        return seen.epsilon(replicas.plan.delta, _CHOICE)

    def apart(seen: Seen) -> float:
        p, q = seen.rates(_CHOICE)
        return float(ndtri(max(p, 1e-12)) - ndtri(min(q, 1 - 1e-12)))

    # Learned on a quarter of the runs: its line is chosen on the next one.
    learned = learned_score(*(each[: half // 2] for each in first))

    def scores(outputs: Outputs, of: slice = slice(None)) -> dict[str, NDArray[np.float64]]:
        return dict(scores_of(replicas, outputs)) | {"learned ratio": learned(outputs[of])}

    scored = [scores(each, slice(half // 2, None)) for each in first]
    for name in scored[0]:
        for kind, value in (("epsilon", worth), ("curve", apart)):
            line, above, found = best_line((scored[0][name], scored[1][name]), value)
            if kind not in chosen or found > chosen[kind][0] + _CLEARLY:
                chosen[kind] = (found, name, line, above)
    second = [scores(replicas.runs(log, half, source)) for log in (0, 1)]

    at_delta, on_curve = (
        measure(line, above, (second[0][name], second[1][name])) for _, name, line, above in chosen.values()
    )
    _, name, line, above = chosen["epsilon"]
    return f"{name} {'at least' if above else 'below'} {line:.4g}", at_delta, on_curve
