"""The exact optimum of Problem 1 by dynamic programming, to hold the greedy algorithms against.

The objective decomposes over the tree: PG is a sum over leaves and shadows, TS depends only on where
the tree is cut above the query's least common ancestor, and risk is built from the children's by sums
and maxima. So of all ways to generalise the subtree of a topic only those matter that no other way
beats in both risk and PG: its front. What couples siblings is their common shadow, whose divergence
depends on the mass and prior of *all* that is hidden; a partial solution over some of the children
therefore carries both, and is discarded only when another is better for every completion.

Three facts keep the fronts short: topics that add no risk are always kept (Theorem 2), so only topics
at or above sensitive ones are decided on; risks above the bound are dropped at once; and the safe
comparison below. The problem is NP-hard (Theorem 1), so some inputs still take exponential time: beyond
``limit`` partial solutions this says so instead of running on.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tacit.device.generalise.algorithms import evaluate
from tacit.device.loops.kernels import divergence, risk_layer, shadows
from tacit.device.profile.user import Flags, Floats, Integers, SeedProfile
from tacit.errors import InputError


@dataclass(frozen=True, slots=True)
class _Partial:
    """A choice for some children of a topic: what it costs, what it keeps, what it hides."""

    risk: float
    value: float
    hidden_mass: float
    hidden_prior: float
    chain: _Chain | None


@dataclass(frozen=True, slots=True)
class _Option:
    """One undominated way to generalise a topic's subtree, the topic itself kept."""

    risk: float
    value: float
    chain: _Chain | None


@dataclass(frozen=True, slots=True)
class _Chain:
    """The choices that led somewhere, last first: a child and its option (None: the child is cut)."""

    child: int
    option: _Option | None
    before: _Chain | None


@dataclass
class _Problem:
    seed: SeedProfile
    delta: float
    limit: int
    children: list[list[int]]
    free: Flags
    full_layer: Floats
    full_share: Floats
    shadow_mass: Floats
    shadow_prior: Floats
    on_chain: set[int]
    """Topics at or above the least common ancestor, where TS is decided."""
    fronts: dict[int, list[_Option]] = field(default_factory=dict)

    def within(self, risk: float) -> bool:
        """Whether a partial risk may still meet the bound, give or take the rounding of sums."""
        return risk <= self.delta * self.seed.wealth * (1 + 1e-12)


def optimal(seed: SeedProfile, delta: float, *, limit: int = 20_000) -> tuple[Flags, Integers, Floats]:
    """The topics of a profile with the highest discriminating power under risk <= delta.

    Gives the same triple as the greedy algorithms; the cuts are listed from the top, their losses as 0
    (no order of cutting is implied).

    Raises:
        InputError: more than ``limit`` partial solutions would have to be held at once.
    """
    problem = _prepare(seed, delta, limit)
    kept = np.zeros(len(seed), np.bool_)
    kept[0] = True
    if problem.free[0] or evaluate(seed).risk <= delta:
        kept[:] = True
    else:
        for topic in range(len(seed) - 1, -1, -1):
            if not problem.free[topic]:
                problem.fronts[topic] = _front(problem, topic)
        _mark_best(problem, kept)
    cuts = np.array([t for t in range(1, len(seed)) if not kept[t] and kept[seed.parent[t]]], dtype=np.int32)
    return kept, cuts, np.zeros(len(cuts))


def _prepare(seed: SeedProfile, delta: float, limit: int) -> _Problem:
    kept, layer, below = np.ones(len(seed), np.bool_), np.empty(len(seed)), np.empty(len(seed))
    risk_layer(seed.parent, seed.cost, kept, layer, below)
    shadow_mass, shadow_prior = np.empty(len(seed)), np.empty(len(seed))
    shadows(seed.parent, seed.prior, seed.mass, np.ones(len(seed), np.bool_), shadow_mass, shadow_prior)
    share = np.array([divergence(m, p) for m, p in zip(shadow_mass, shadow_prior, strict=True)])
    children: list[list[int]] = [[] for _ in range(len(seed))]
    for topic in range(len(seed) - 1, 0, -1):
        share[seed.parent[topic]] += share[topic]
        children[seed.parent[topic]].append(topic)
    on_chain = set()
    above = seed.lca
    while above >= 0:
        on_chain.add(above)
        above = int(seed.parent[above])
    free = layer <= 0.0
    return _Problem(seed, delta, limit, children, free, layer, share, shadow_mass, shadow_prior, on_chain)


def _front(problem: _Problem, topic: int) -> list[_Option]:
    """All undominated ways to generalise the subtree of ``topic``, by rising risk and value."""
    seed = problem.seed
    free = [child for child in problem.children[topic] if problem.free[child]]
    risky = [child for child in problem.children[topic] if not problem.free[child]]
    partials = [
        _Partial(
            risk=sum(problem.full_layer[child] for child in free),
            value=sum(problem.full_share[child] for child in free),
            hidden_mass=problem.shadow_mass[topic],
            hidden_prior=problem.shadow_prior[topic],
            chain=None,
        )
    ]
    for done, child in enumerate(risky, start=1):
        partials = _undominated(_extend(problem, partials, child), seed, risky[done:])
        if len(partials) > problem.limit:
            raise InputError(
                f"the exact optimum needs more than {problem.limit:,} partial solutions here.",
                "Use the algorithm greedy-ratio, or protect fewer topics under the same parent.",
            )
    options = [_finish(problem, topic, partial) for partial in partials]
    options = [option for option in options if problem.within(option.risk)]
    return _rising(options)


def _extend(problem: _Problem, partials: list[_Partial], child: int) -> list[_Partial]:
    """Every partial solution with every choice for one more child: cut, or one of its options."""
    seed = problem.seed
    extended = []
    for old in partials:
        cut = _Chain(child, None, old.chain)
        extended.append(
            _Partial(
                old.risk,
                old.value,
                old.hidden_mass + seed.mass[child],
                old.hidden_prior + seed.prior[child],
                cut,
            )
        )
        for option in problem.fronts[child]:
            extended.append(
                _Partial(
                    old.risk + option.risk,
                    old.value + option.value,
                    old.hidden_mass,
                    old.hidden_prior,
                    _Chain(child, option, old.chain),
                )
            )
    return [new for new in extended if problem.within(new.risk)]


def _finish(problem: _Problem, topic: int, partial: _Partial) -> _Option:
    """Close a topic: add its shadow's divergence, its own cost, and TS where it is decided here."""
    seed = problem.seed
    value = partial.value + divergence(partial.hidden_mass, partial.hidden_prior)
    if topic in problem.on_chain:
        below = [child for child in problem.children[topic] if child in problem.on_chain]
        if not below or _is_cut(partial.chain, below[0]):
            value -= math.log(seed.prior[topic])
        elif problem.free[below[0]]:
            value -= math.log(seed.prior[seed.lca])
    return _Option(max(float(seed.cost[topic]), partial.risk), value, partial.chain)


def _is_cut(chain: _Chain | None, child: int) -> bool:
    while chain is not None:
        if chain.child == child:
            return chain.option is None
        chain = chain.before
    return False


def _rising(options: list[_Option]) -> list[_Option]:
    front: list[_Option] = []
    for option in sorted(options, key=lambda option: (option.risk, -option.value)):
        if not front or option.value > front[-1].value:
            front.append(option)
    return front


def _undominated(partials: list[_Partial], seed: SeedProfile, remaining: list[int]) -> list[_Partial]:
    """Drop partial solutions that another one beats whatever is decided for the remaining children.

    With hidden mass and prior a = (m, p), the shadow finally adds f(a + z) with f(m, p) = m ln(m/p) and
    z what is still to be hidden. f is convex, so f(b+z) - f(a+z) <= grad f(b+z) . (b-a), which depends
    on z only through the ratio of b+z; that ratio lies between the smallest and largest ratio among b
    and the remaining children. A beats B if its risk is no higher and its value leads by that bound.
    """
    ordered = sorted(partials, key=lambda partial: (partial.risk, -partial.value))
    if len(ordered) < 2:
        return ordered
    values = np.array([partial.value for partial in ordered])
    masses = np.array([partial.hidden_mass for partial in ordered])
    priors = np.array([partial.hidden_prior for partial in ordered])
    ratios = [seed.mass[child] / seed.prior[child] for child in remaining]
    kept: list[int] = []
    for place in range(len(ordered)):
        rivals = np.array(kept, np.intp)
        mass, prior = masses[place], priors[place]
        own = [mass / prior] if prior > 0 else []
        low, high = min([*ratios, *own], default=1.0), max([*ratios, *own], default=1.0)
        lead = _largest_lead(mass - masses[rivals], prior - priors[rivals], low, high)
        if not np.any(values[rivals] - values[place] >= lead):
            kept.append(place)
    return [ordered[place] for place in kept]


def _largest_lead(more_mass: Floats, more_prior: Floats, low: float, high: float) -> Floats:
    """max over the ratio r in [low, high] of more_mass (ln r + 1) - r more_prior."""

    def at(ratio: Floats | float) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore"):
            lead = more_mass * (np.log(ratio) + 1.0) - ratio * more_prior
        return np.where(more_mass == 0.0, -ratio * more_prior, lead)

    with np.errstate(divide="ignore", invalid="ignore"):
        peak = np.clip(np.nan_to_num(more_mass / more_prior, nan=low), low, high)
    best: Floats = np.maximum(np.maximum(at(low), at(high)), at(np.where(peak > 0, peak, high)))
    return best


def _mark_best(problem: _Problem, kept: Flags) -> None:
    """Keep the most valuable option whose risk, added up in the order of the definition, is acceptable."""
    seed = problem.seed
    for option in reversed(problem.fronts[0]):
        kept[:] = False
        _mark(problem, 0, option, kept)
        if evaluate(seed, kept).risk <= problem.delta:
            return
    kept[1:] = False


def _mark(problem: _Problem, topic: int, option: _Option, kept: Flags) -> None:
    """Keep what an option keeps."""
    kept[topic] = True
    for child in problem.children[topic]:
        if problem.free[child]:
            _mark_all(problem, child, kept)
    chain = option.chain
    while chain is not None:
        if chain.option is not None:
            _mark(problem, chain.child, chain.option, kept)
        chain = chain.before


def _mark_all(problem: _Problem, topic: int, kept: Flags) -> None:
    kept[topic] = True
    for child in problem.children[topic]:
        _mark_all(problem, child, kept)
