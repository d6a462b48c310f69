"""Broken mechanisms that an audit must catch, each with the check that does: an auditor who is never seen to
find anything proves nothing.

Each is what somebody might write in good faith, made by weakening the real code while it runs
(docs/reference/commands/audit.md). None of it is reachable from a release.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.audit.bounds import ALARM
from tacit.audit.checks import exact_checks, instead
from tacit.audit.found import Deadline
from tacit.audit.neighbours import count_pairs
from tacit.audit.release import attack
from tacit.audit.replicas import Outputs, Replicas, agreement
from tacit.engines import open_engine
from tacit.privacy.accounting.events import Composed
from tacit.privacy.noise import samplers
from tacit.privacy.noise.randomness import OperatingSystemRandomness, RandomSource
from tacit.release import analysis, contribution, execution
from tacit.release.mechanism import Mechanism
from tacit.release.mechanisms import adaptive_holdings, zealous_counting
from tacit.release.mechanisms.adaptive import Adaptive
from tacit.release.mechanisms.click import NO_SET, Click, ClickMode
from tacit.release.mechanisms.topics import Topics
from tacit.release.mechanisms.zealous import Zealous
from tacit.release.schedule import Schedule

ONE_ITEM = Zealous(epsilon=1.0)
TEN_ITEMS = Zealous(epsilon=1.0, per_user=10)
SEVERAL = Zealous(epsilon=1.0, per_user=3)
LOOSE = Zealous(epsilon=1.0, delta=0.01)
FIVE = Zealous(noise=1.0, threshold_1=5, threshold_2=12, delta=0.01)
PRINTED = Zealous(noise=2.0, threshold_2=15, neighbours="replace")  # type: ignore[arg-type]
"""δ = (m/2)·exp(ε(1 - τ'/m)) is printed as 10⁻⁶ for τ' = 14.1; the noise keeps that with 28."""
REPLACED = Zealous(epsilon=1.0, neighbours="replace")  # type: ignore[arg-type]
CLICKS = Click(
    mode=ClickMode.APPROXIMATE,
    domain=NO_SET,
    queries_per_user=2,
    clicks_per_user=1,
    transitions=False,
    noise=4.0,
    threshold=60,
    noise_counts=4.0,
)
COMPARED = replace(CLICKS, same_counts=True, noise_counts=None)
ROUNDS, ONCE = Adaptive(epsilon=1.0, per_user=20), Adaptive(epsilon=1.0, per_user=1)
KEYS_ONLY = Adaptive(epsilon=4.0, per_user=20, keys_only=True)

Weakening = Callable[[], AbstractContextManager[Any]]


@dataclass(frozen=True)
class Broken:
    """A mechanism, what is done wrong, and what must notice it.

    Args:
        name: what is wrong.
        asked: the mechanism that is claimed.
        check: an exact check, ``sampled``, or ``replicas``.
        weakened: makes the real code do it while the block runs.
        pair: the neighbouring logs on which it is sampled.
        weeks: "" for a single release; of two that are seen together, ``both`` have the person or the
            ``last`` alone.
        runs: of either log, where it is sampled.
    """

    name: str
    asked: Mechanism
    check: str
    weakened: Weakening
    pair: str = "crowd"
    weeks: str = ""
    runs: int = 2_048


def executing(change: Callable[[Schedule], Schedule]) -> Weakening:
    """Another schedule is carried out than the one that is charged."""
    real = execution.execute
    return lambda: instead(execute=lambda schedule, *rest: real(change(schedule), *rest))


def with_scales(factor: float) -> Callable[[Schedule], Schedule]:
    """Give all noise of the parts another scale."""

    def change(schedule: Schedule) -> Schedule:
        for each in schedule:
            if each.noise is not None:
                noise = replace(each.noise, scale=each.noise.scale * factor)
                schedule = schedule.having(each.table, noise=noise)
        return schedule

    return change


def lower(by: int) -> Weakening:
    """Thresholds are lower."""
    return executing(lambda s: s.having(s.parts[0].table, least=(s.parts[0].least or 0) - by))


def claiming(change: Callable[[Schedule], Schedule]) -> Weakening:
    """Guarantee and charge are those of another schedule than the one that is carried out."""
    guarantee, event = analysis.guarantee_of, analysis.event_of
    return lambda: instead(
        analysis, guarantee_of=lambda s: guarantee(change(s)), event_of=lambda s: event(change(s))
    )


def drawing(draw: Callable[[Callable[..., Any], Any, int, RandomSource], Any]) -> Weakening:
    """Noise of parts is drawn otherwise, given the real sampler."""
    real = execution.draw
    return lambda: instead(draw=lambda noise, size, source: draw(real, noise, size, source))


def one_more(name: str, place: int, room: Any = contribution) -> Weakening:
    """Let one record more pass than the bound on a person's records allows."""
    real = getattr(room, name)

    def generous(*given: Any) -> Any:
        return real(*(each + 1 if n == place else each for n, each in enumerate(given)))

    return lambda: instead(room, **{name: generous})


@contextmanager
def used_again() -> Iterator[None]:
    """The noise of the draw before: of the comparison for a fresh count, of last week for this week."""
    before: list[Any] = []
    real = execution.draw

    def draw(noise: Any, size: int, source: RandomSource) -> Any:
        if not before or len(before[-1]) < size:
            before.append(real(noise, size, source))
        return before[-1][:size]

    with instead(draw=draw):
        yield


@contextmanager
def drawn_while_counting() -> Iterator[None]:
    """Noise meets the counts before the ledger is charged."""
    kind = type(ONE_ITEM.plan())
    real = kind.take_in

    def take_in(*given: Any) -> Any:
        execution.with_noise(np.zeros(1, np.int64), np.zeros(1, np.int64))
        return real(*given)

    with instead(kind, take_in=take_in):
        yield


@contextmanager
def limit_of_true_norms() -> Iterator[None]:
    """The limit of norms in the count is the largest norm of the log, not a number of the schedule."""
    tally = execution.take_tally

    def take(schedule: Any, holdings: Any, found: Any, source: Any) -> Any:
        longest = int(np.diff(holdings.starts).max())
        with instead(limit_of=lambda weights: int(weights.max() * longest)):
            return tally(schedule, holdings, found, source)

    with instead(take_tally=take):
        yield


def finding(name: str, change: Callable[[Any], Any]) -> Weakening:
    """Items are found by another selection than the one that is charged."""
    real = getattr(execution, name)
    return lambda: instead(**{name: lambda selection, *rest: real(change(selection), *rest)})


def _sooner(selection: Any) -> Any:
    """The last threshold is lower by a step."""
    last = selection.rounds[-1]
    lower = replace(last, threshold=last.threshold - last.coefficient)
    return replace(selection, rounds=(*selection.rounds[:-1], lower))


def _without_bound(scale: float, upward: float, most: int, *rest: Any) -> Any:
    """Noise that is too large is not drawn again."""
    del most
    return samplers.capped_laplace(scale, upward, 1 << 40, *rest)


def counted_twice() -> AbstractContextManager[None]:
    """Count an item again each time it is asked again."""
    real = adaptive_holdings._grouped

    def twice(*given: Any) -> Any:
        held = real(*given)
        return replace(held, starts=2 * held.starts, items=np.repeat(held.items, 2))

    return instead(adaptive_holdings, _grouped=twice)


def _float_noise(real: Any, noise: Any, size: int, source: RandomSource) -> Any:
    """Laplace noise by the logarithm of a float."""
    del real
    uniform = source.words(size).astype(float) / 2.0**64 - 0.5
    return -noise.scale * np.sign(uniform) * np.log1p(-2 * np.abs(uniform) + 1e-300)


_EVENT = analysis.event_of


def _half_charged(schedule: Schedule) -> Composed:
    parts: Any = _EVENT(schedule)
    return Composed(tuple(replace(e, scale=2 * e.scale) if hasattr(e, "scale") else e for e in parts.parts))


def _half_of_all_rounds(schedule: Schedule) -> Schedule:
    selection: Any = schedule.selection
    rounds = tuple(replace(step, sigma=step.sigma // 2) for step in selection.rounds)
    return replace(schedule, selection=replace(selection, rounds=rounds))


BROKEN: tuple[Broken, ...] = (
    Broken("one noise for all keys of a release", SEVERAL, "replicas",
           drawing(lambda real, noise, size, source: np.repeat(real(noise, 1, source), size))),
    Broken("clicked urls without a threshold", CLICKS, "compares_as_analysed",
           executing(lambda s: s.having("clicks", least=-999))),
    Broken("exact counts under an ε", ONE_ITEM, "sampled",
           drawing(lambda *given: np.zeros(given[2], np.int64)), runs=256),
    Broken("adaptive: the norm limit from true norms", ROUNDS, "moves_as_stated", limit_of_true_norms),
    Broken("the same noise in two weekly releases", ONE_ITEM, "sampled", used_again, weeks="last", runs=512),
    Broken("half the noise", ONE_ITEM, "draws_as_analysed", executing(with_scales(0.5))),
    Broken("half the noise, by sampling alone", ONE_ITEM, "sampled", executing(with_scales(0.5)), runs=4_096),
    Broken("a first threshold of 5 that is not charged", FIVE, "diverges_as_claimed",
           claiming(lambda s: s.having("queries", minimum=1))),
    Broken("two releases under one charge", ONE_ITEM, "sampled", nullcontext, weeks="both", runs=8_192),
    Broken("a bound off by one, m = 1", ONE_ITEM, "adds_as_analysed",
           one_more("count_queries", 1, zealous_counting)),
    Broken("a bound off by one, m = 10", TEN_ITEMS, "adds_as_analysed",
           one_more("count_queries", 1, zealous_counting)),
    Broken("a table that is not charged", COMPARED, "diverges_as_claimed",
           claiming(lambda s: replace(s, parts=s.parts[:1]))),
    Broken("float noise, published with its decimals", ONE_ITEM, "draws_as_analysed", drawing(_float_noise)),
    Broken("float noise, rounded", ONE_ITEM, "draws_as_analysed",
           drawing(lambda *given: np.rint(_float_noise(*given)).astype(np.int64))),
    Broken("10% less noise", ONE_ITEM, "diverges_as_claimed", executing(with_scales(0.9))),
    Broken("a threshold lower by 1, at δ = 0.01", LOOSE, "compares_as_analysed", lower(1)),
    Broken("a threshold lower by 1, at δ = 1e-6", ONE_ITEM, "compares_as_analysed", lower(1)),
    Broken("replaced users charged as added ones", REPLACED, "diverges_as_claimed",
           claiming(with_scales(2))),
    Broken("ZEALOUS with the printed threshold, users replaced", PRINTED, "diverges_as_claimed",
           claiming(lambda s: s.having("queries", least=28))),
    # Of our own:
    Broken("fresh counts that use the noise of the comparison again", CLICKS, "draws_as_analysed",
           used_again),
    Broken("clicks shown without their query", CLICKS, "shows_as_analysed",
           executing(lambda s: s.having("clicks", within=()))),
    Broken("noise drawn before the ledger is charged", ONE_ITEM, "charges_as_claimed", drawn_while_counting),
    Broken("the ledger charged for half of it", SEVERAL, "charges_as_claimed",
           lambda: instead(analysis, event_of=_half_charged)),
    Broken("topics: two levels charged as one", Topics(epsilon=1.0), "adds_as_analysed",
           lambda: instead(Topics, counts_per_user=property(lambda asked: asked.per_user))),
    Broken("adaptive: half the noise of all rounds", ROUNDS, "widths_as_stated",
           executing(_half_of_all_rounds)),
    Broken("adaptive: all items of a user take part", ROUNDS, "moves_as_stated",
           lambda: instead(cut_to=lambda holdings, *_: holdings)),
    Broken("adaptive: a threshold lower by a step", ROUNDS, "finds_as_stated", finding("find", _sooner)),
    Broken("adaptive: a single count shown one user early", ONCE, "finds_as_stated",
           finding("count_once", lambda s: replace(s, least=s.least - 1))),
    Broken("adaptive: noise of a single count without its bound", ONCE, "widths_as_stated",
           lambda: instead(capped_laplace=_without_bound)),
    Broken("adaptive: counts that are not charged", ROUNDS, "composes_as_claimed",
           claiming(lambda s: replace(s, selection=replace(s.selection, tally=None)))),  # type: ignore[type-var]
    Broken("adaptive: an item counted each time it is asked", ROUNDS, "holds_as_counted", counted_twice),
    Broken("noise of one sign", ONE_ITEM, "draws_as_analysed",
           drawing(lambda real, *given: abs(real(*given)))),
    Broken("random bits that come again", ONE_ITEM, "bits_are_fresh",
           lambda: instead(OperatingSystemRandomness, bits=lambda _, size: bytes(size))),
    Broken("adaptive: half the noise of a single count", ONCE, "widths_as_stated",
           executing(lambda s: replace(s, selection=replace(s.selection, scale=s.selection.scale / 2)))),  # type: ignore
    Broken("adaptive: half the noise of all rounds, by sampling alone", KEYS_ONLY, "sampled",
           executing(_half_of_all_rounds), "", runs=20_000),
)  # fmt: skip


@dataclass(frozen=True)
class Weekly(Replicas):
    """Two releases of a log that are seen together."""

    weeks: str = "both"

    def keys(self) -> list[Any]:
        """Those of either week."""
        return 2 * super().keys()

    def runs(self, log: int, runs: int, source: RandomSource) -> Outputs:
        """Both weeks side by side."""
        once = Replicas(self.plan, self.counted)
        return np.hstack([once.runs(week, runs, source) for week in (log * (self.weeks == "both"), log)])


def caught(broken: Broken, sound: bool = False) -> bool:
    """Whether the named check notices; ``sound`` leaves the code as it is, and nothing may be noticed."""
    source = OperatingSystemRandomness()
    with nullcontext() if sound else broken.weakened():
        plan = broken.asked.plan()
        with open_engine(threads=1) as engine:
            one = broken.pair and broken.check in ("sampled", "replicas", "adds_as_analysed")
            pairs = list(count_pairs(plan, engine, [broken.pair] if one else []))
        if broken.check not in ("sampled", "replicas"):
            found = list(exact_checks(plan, pairs, [broken.check]))
            return bool(found) and not all(check.holds for check in found)
        replicas = Replicas(plan, pairs[0 if broken.pair else -1])
        if broken.check == "replicas":
            return min(agreement(replicas, source)) < 1e-9
        if not broken.weeks or (sound and broken.weeks == "both"):
            return attack(replicas, broken.runs, source).alarm > plan.epsilon
        seen = attack(Weekly(plan, pairs[0], broken.weeks), broken.runs, source).seen
        return seen.epsilon(plan.delta, ALARM) > plan.epsilon * (1 + (broken.weeks == "last"))


def gallery(report: Callable[[str], object] = str, seconds: float | None = None) -> Iterator[dict[str, Any]]:
    """Run every broken mechanism against the check that must catch it; None where time is up."""
    deadline = Deadline.after(seconds)
    for broken in BROKEN:
        report(broken.name)
        notices = None if deadline.passed else caught(broken)
        yield {"name": broken.name, "check": broken.check, "caught": notices}
