"""The report on a bundling: sizes, linkability against p, what attackers still learn, information kept.

Every figure is an aggregate; the report names no user and no term.

**The Bayesian attacker** of eq. 1 to 3 knows a set V_b of the victim's terms, sees every group's released
terms with n_t and n, and knows how popular each term is in the whole population (f_t). Terms are taken as
independent given the group, as the paper does. For a group G_i and a term t,

- P(t in V | V in G_i) is n_t / n where G_i releases t; where it does not, nobody holds t or it was withheld,
  and the attacker can do no better than a_t, the rate at which t is held in all groups that do not release
  it;
- P(V in G_i | V_b, G) is proportional to n_i times the product of those rates over V_b;
- the **belief** is eq. 3: the sum over groups that release t of P(V in G_i | V_b, G) n_t / n;
- the **change** is eq. 1: the same sum over all groups, less the prior f_t.

**The informed attacker** knows the victim's group and, of every member, which terms go together (the
operator's file without names): the belief is n_{V_b + t} / n_{V_b} inside the group. The two agree only if t
is independent of V_b.

**The attacker by weights**: the paper's weights are sums, or largest values, of what a few members weigh a
term. A number that few sums give marks a person: where two terms of a group carry the same rare weight, one
member is likely to hold both. Chance is the same guess without the weights: one term of the pair is exchanged
for another of the same group that equally many members hold. Under the default weights, which are n_t/n,
nothing beyond chance is learnt by construction, and measured all the same.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import InputError
from tacit.groups.bundling import Bundling

_BATCH = 32
_NEGLIGIBLE = 1e-15


@dataclass(frozen=True)
class Attack:
    """What attackers with so many known terms believe, over sampled victims.

    Attributes:
        known_terms: |V_b|.
        victims: how many users were attacked (those with more terms than that).
        belief_max, belief_mean: eq. 3; the largest over all victims and terms, and the mean over the
            victims' own released terms that the attacker did not know.
        belief_above_p: the share of victims about whom eq. 3 is above p for a term of theirs (none under the
            strict criterion).
        change_max: eq. 1; the largest over all victims and terms.
        informed_max: n_{V_b + t} / n_{V_b}, the largest over all victims.
        informed_above_p: the share of victims about whom the informed attacker is more than p sure of
            a released term.
    """

    known_terms: int
    victims: int
    belief_max: float
    belief_mean: float
    belief_above_p: float
    change_max: float
    informed_max: float
    informed_above_p: float


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What one attacker believes.

    Attributes:
        groups: P(V in G_i | V_b, G) for every group.
        belief: eq. 3 for every term of the vocabulary.
        change: eq. 1 for every term of the vocabulary.
    """

    groups: NDArray[np.float64]
    belief: NDArray[np.float64]
    change: NDArray[np.float64]


class Attacker:
    """Sees every group's released terms with n_t and n, and knows how popular each term is."""

    def __init__(self, bundling: Bundling) -> None:
        released, users = bundling.released, len(bundling.profiles)
        terms = len(bundling.profiles.vocabulary)
        size_of = np.repeat(bundling.sizes, np.diff(released.offsets))
        shape = (len(released), terms)
        self._bundling = bundling
        self._column = {term: index for index, term in enumerate(bundling.profiles.vocabulary)}
        self._shares = sparse.csr_array((released.holders / size_of, released.terms, released.offsets), shape)
        self._shares_by_term = self._shares.tocsc()
        holders = np.bincount(bundling.profiles.terms, minlength=terms)
        shown = np.bincount(released.terms, weights=released.holders, minlength=terms)
        present = np.bincount(released.terms, weights=size_of, minlength=terms)
        self._prior = holders / users  # f_t
        self._absent_rate = (holders - shown) / np.maximum(users - present, 1)  # a_t
        self._group_weight = bundling.sizes / users

    def believe(self, known: Sequence[str]) -> Beliefs:
        """Eq. 1 to 3 for known terms of a victim.

        They must be some user's: a set that nobody holds tells of no victim.
        """
        columns = [self._column.get(term, -1) for term in known]
        if -1 in columns:
            raise InputError("nobody holds one of the known terms.", "Give terms of one user's profile.")
        posterior = self._posterior(np.array(columns, np.int32))
        belief, change = self._beliefs(posterior[None, :])
        return Beliefs(posterior, belief[0], change[0])

    def attack(self, known_terms: int, victims: int = 200, seed: int = 0) -> Attack:
        """Attack ``victims`` users drawn at random, each with ``known_terms`` of their terms known."""
        profiles = self._bundling.profiles
        randomness = np.random.default_rng([seed, known_terms])
        order = profiles.canonical_order(seed)  # so that the victims do not depend on the input's order
        candidates = order[profiles.sizes[order] > known_terms]
        chosen = candidates[np.sort(randomness.permutation(candidates.size)[:victims])]
        if not chosen.size:
            return Attack(known_terms, 0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
        held = (profiles.terms[profiles.held(user)] for user in chosen)
        known = [randomness.choice(terms, known_terms, replace=False) for terms in held]
        return self._summary(known_terms, chosen, known)

    def _posterior(self, known: NDArray[np.int32]) -> NDArray[np.float64]:
        """P(V in G_i | V_b, G) for every group."""
        likelihood = self._group_weight.copy()
        for term in known:
            rate = np.full(likelihood.size, self._absent_rate[term])
            held = slice(self._shares_by_term.indptr[term], self._shares_by_term.indptr[term + 1])
            rate[self._shares_by_term.indices[held]] = self._shares_by_term.data[held]
            likelihood *= rate
            likelihood /= likelihood.sum()  # the true group always has a rate above 0
        return likelihood

    def _beliefs(self, posterior: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Eq. 3 and eq. 1 for each attacker (row) and term."""
        # Groups that nobody believes in change nothing that a double could show.
        believed = np.flatnonzero(posterior.max(axis=0) > _NEGLIGIBLE)
        shares = self._shares if believed.size == posterior.shape[1] else self._shares[believed]
        weight = posterior[:, believed].T
        belief = np.asarray((shares.T @ weight).T)
        # A mean of shares is none above the largest, whatever the rounding.
        belief = np.minimum(belief, self._shares.data.max(initial=0.0))
        shown = sparse.csr_array((np.ones_like(shares.data), shares.indices, shares.indptr), shares.shape)
        releasing = np.asarray((shown.T @ weight).T)
        change = belief + (1 - releasing) * self._absent_rate - self._prior
        return belief, change

    def _summary(
        self, known_terms: int, victims: NDArray[np.int64], known: list[NDArray[np.int32]]
    ) -> Attack:
        bundling, profiles, released = self._bundling, self._bundling.profiles, self._bundling.released
        largest, own_terms, changed = [], [], []
        for begin in range(0, victims.size, _BATCH):
            batch = range(begin, min(begin + _BATCH, victims.size))
            belief, change = self._beliefs(np.array([self._posterior(known[index]) for index in batch]))
            for line, index in enumerate(batch):
                belief[line, known[index]] = 0
                change[line, known[index]] = -1
                largest.append(belief[line].max())
                changed.append(change[line].max())
                shown = released.terms[released.held(bundling.labels[victims[index]])]
                own = np.intersect1d(profiles.terms[profiles.held(victims[index])], shown)
                own_terms.append(belief[line, np.setdiff1d(own, known[index])])
        informed = np.array([_informed(bundling, v, b) for v, b in zip(victims, known, strict=True)])
        own = np.concatenate(own_terms)
        return Attack(
            known_terms,
            int(victims.size),
            float(np.max(largest)),
            float(own.mean()) if own.size else 0.0,
            float(np.mean([(beliefs > bundling.criterion.p).any() for beliefs in own_terms])),
            float(np.max(changed)),
            float(informed.max()),
            float((informed > bundling.criterion.p).mean()),
        )


def _informed(bundling: Bundling, victim: int, known: NDArray[np.int32]) -> float:
    """The largest n_{B+t} / n_B over released terms t not in B, inside the victim's group."""
    profiles, released, group = bundling.profiles, bundling.released, bundling.labels[victim]
    rows = [profiles.terms[profiles.held(member)] for member in bundling.members[group]]
    matching = [row for row in rows if np.isin(known, row).all()]
    terms, together = np.unique(np.concatenate(matching), return_counts=True)
    open_terms = np.isin(terms, released.terms[released.held(group)]) & ~np.isin(terms, known)
    return float(together[open_terms].max() / len(matching)) if open_terms.any() else 0.0


_GROUPS = 2000
_PAIRS = 45
_TWO_SIDED_95 = 1.959964


@dataclass(frozen=True)
class WeightAttack:
    """What "same weight, same person" gets right.

    Attributes:
        guesses: how many pairs were guessed.
        right: the share of guesses in which one member holds both terms.
        right_interval: of that share, with 95 % confidence (Wilson).
        chance: the share right when weights are ignored.
        singled_out: the share of users in the attacked groups about whom a guess is right, where the attacker
            may be more than p sure of his guesses, and surer than by chance; otherwise 0.
    """

    guesses: int
    right: float
    right_interval: tuple[float, float]
    chance: float
    singled_out: float


class _Group:
    """One group as the attacker sees it, and who really holds what."""

    def __init__(self, bundling: Bundling, group: int) -> None:
        released, profiles = bundling.released, bundling.profiles
        held = released.held(group)
        self.terms = released.terms[held]
        self.holders = released.holders[held]
        # Compared as they are published: with six digits.
        self.weights = np.array([float(f"{weight:.6g}") for weight in released.weights[held]])
        self.owners: list[set[int]] = [set() for _ in self.terms]
        place = {int(term): index for index, term in enumerate(self.terms)}
        for member in bundling.members[group].tolist():
            for term in profiles.terms[profiles.held(member)].tolist():
                if term in place:
                    self.owners[place[term]].add(member)

    def pairs(self, randomness: np.random.Generator) -> Iterator[tuple[int, int]]:
        """Pairs of terms of equal weight; a sample of them where many terms share one."""
        _, bucket = np.unique(self.weights, return_inverse=True)
        for members in np.split(np.argsort(bucket, kind="stable"), np.cumsum(np.bincount(bucket))[:-1]):
            if math.comb(members.size, 2) <= _PAIRS:
                yield from combinations(members.tolist(), 2)
            else:
                for _ in range(_PAIRS):
                    left, right = randomness.choice(members, 2, replace=False).tolist()
                    yield left, right

    def without_weights(self, pair: tuple[int, int], randomness: np.random.Generator) -> tuple[int, int]:
        """The pair with its second term exchanged for one that equally many hold."""
        alike = np.flatnonzero(self.holders == self.holders[pair[1]])
        alike = alike[alike != pair[0]]
        return pair[0], int(randomness.choice(alike))


def attack_weights(bundling: Bundling, seed: int = 0) -> WeightAttack:
    """Guess "same weight, same person" over the groups (a random 2,000 of them where there are more)."""
    randomness = np.random.default_rng([seed, 0])
    chosen = randomness.permutation(len(bundling.released))[:_GROUPS]
    attacked = int(bundling.sizes[chosen].sum())
    guesses, right, by_chance, touched = 0, 0, 0, set[int]()
    for group in chosen.tolist():
        seen = _Group(bundling, group)
        for pair in seen.pairs(randomness):
            guesses += 1
            both = seen.owners[pair[0]] & seen.owners[pair[1]]
            left, other = seen.without_weights(pair, randomness)
            right += bool(both)
            by_chance += bool(seen.owners[left] & seen.owners[other])
            touched |= both
    interval, chance = _wilson(right, guesses), by_chance / guesses if guesses else 0.0
    sure = interval[0] > max(chance, bundling.criterion.p)
    share = right / guesses if guesses else 0.0
    return WeightAttack(guesses, share, interval, chance, len(touched) / attacked if sure else 0.0)


def _wilson(right: int, guesses: int) -> tuple[float, float]:
    """The interval of a share that never leaves [0, 1]."""
    if not guesses:
        return 0.0, 1.0
    share, square = right / guesses, _TWO_SIDED_95**2
    middle = (share + square / (2 * guesses)) / (1 + square / guesses)
    half = _TWO_SIDED_95 / (1 + square / guesses)
    half *= float(np.sqrt(share * (1 - share) / guesses + square / (4 * guesses * guesses)))
    return max(0.0, middle - half), min(1.0, middle + half)


KNOWN_TERMS = (0, 1, 5, 10)
_MANY = 50_000
_HIGH = 0.05


@dataclass(frozen=True)
class SingledOut:
    """The share of users of whom an attacker is more than p sure of a term he did not know.

    Attributes:
        by_release: by what is released alone: beliefs above p (eq. 3), or guesses from weights that are
            right beyond chance.
        by_knowledge: by one known term, for an attacker who also knows from elsewhere which terms go
            together in the group. p does not bound this one unless known_terms is at least 1.
        high: whether either is above 5 %.
    """

    by_release: float
    by_knowledge: float
    high: bool


@dataclass(frozen=True)
class Linkability:
    """n_t / n over every released term of every group, against p.

    Attributes:
        paper_ratio_max: the largest |U|_avg / |G_i|, which the paper calls linkability. It is a ratio of
            numbers of terms and no probability: above 1 where a group shows fewer terms than the mean user
            holds.
        above_p: the share of pairs with more than p (0 under the strict criterion).
        owned_max: the largest share of its group's released terms that one member holds.
        insider_max: the largest n_t / (n - 1), what a member who does not hold t computes.
        withheld_max: the largest n_t / n among withheld terms: what the absence of a term can betray
            to somebody who knows that a member holds it.
    """

    p: float
    max: float
    mean: float
    above_p: float
    paper_ratio_max: float
    owned_max: float
    insider_max: float
    withheld_max: float


@dataclass(frozen=True)
class Information:
    """What is left of the profiles.

    Attributes:
        terms_kept: the share of (user, term) pairs whose term the user's group releases.
        weight_kept: the same, by weight.
        withheld_terms: the share of (group, distinct term) pairs that are withheld.
        similarity_to_group: mean cosine (eq. 4, original terms) of a user and the representative.
        similarity_within: mean eq. 4 (as compared in bundling) over pairs of members of a group.
    """

    terms_kept: float
    weight_kept: float
    withheld_terms: float
    similarity_to_group: float
    similarity_within: float


@dataclass(frozen=True)
class Report:
    """All figures on a bundling.

    Attributes:
        users: how many are in groups.
        users_without_terms: how many more the source has, who have no usable term and are in no group.
        scrubbed_queries: distinct queries of the source that were passed over as naming somebody.
    """

    users: int
    users_without_terms: int
    scrubbed_queries: int
    groups: int
    smallest: int
    mean_size: float
    largest: int
    criterion: str
    known_terms: int
    fewest_holders: int
    representative: str
    singled_out: SingledOut
    linkability: Linkability
    attackers: list[Attack]
    weight_attacker: WeightAttack
    information: Information

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def report(bundling: Bundling, victims: int | None = None, seed: int = 0) -> Report:
    """Measure a bundling.

    Args:
        victims: how many users to attack for each number of known terms; by default 200, and 50 in
            populations beyond 50,000 users, where each attack takes longer.
    """
    if victims is None:
        victims = 200 if len(bundling.profiles) <= _MANY else 50
    attacker = Attacker(bundling)
    attacks = [attacker.attack(known, victims, seed) for known in KNOWN_TERMS]
    weights = attack_weights(bundling, seed)
    at, kept = _kept(bundling)
    return Report(
        len(bundling.profiles),
        bundling.profiles.without_terms,
        bundling.profiles.scrubbed_queries,
        len(bundling.released),
        int(bundling.sizes.min()),
        float(bundling.sizes.mean()),
        int(bundling.sizes.max()),
        bundling.criterion.kind,
        bundling.criterion.known_terms,
        bundling.criterion.fewest_holders,
        bundling.representative,
        _singled_out(attacks, weights),
        _linkability(bundling, kept),
        attacks,
        weights,
        _information(bundling, at, kept),
    )


def _singled_out(attacks: list[Attack], weights: WeightAttack) -> SingledOut:
    released = max(weights.singled_out, *(attack.belief_above_p for attack in attacks))
    known = next(attack.informed_above_p for attack in attacks if attack.known_terms == 1)
    return SingledOut(released, known, max(released, known) > _HIGH)


def _kept(bundling: Bundling) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """For every posting: where the user's group would release the term, and whether it does."""
    profiles, released = bundling.profiles, bundling.released
    width = len(profiles.vocabulary)
    held = np.repeat(bundling.labels.astype(np.int64), profiles.sizes) * width + profiles.terms
    shown = np.repeat(np.arange(len(released)), np.diff(released.offsets)) * width + released.terms
    at = np.minimum(np.searchsorted(shown, held), shown.size - 1)
    return at, shown[at] == held


def _linkability(bundling: Bundling, kept: NDArray[np.bool_]) -> Linkability:
    profiles, released, p = bundling.profiles, bundling.released, bundling.criterion.p
    shown = np.diff(released.offsets)
    size_of = np.repeat(bundling.sizes, shown)
    share = released.holders / size_of
    owned = np.add.reduceat(kept, profiles.offsets[:-1], dtype=np.int64) / shown[bundling.labels]
    width = len(profiles.vocabulary)
    group = np.repeat(bundling.labels.astype(np.int64), profiles.sizes)[~kept]
    pairs, holders = np.unique(group * width + profiles.terms[~kept], return_counts=True)
    return Linkability(
        p,
        float(share.max()),
        float(share.mean()),
        float((share > p).mean()),
        float(profiles.sizes.mean() / shown.min()),
        float(owned.max()),
        float(np.minimum(released.holders / np.maximum(size_of - 1, 1), 1.0).max()),
        float((holders / bundling.sizes[pairs // width]).max(initial=0.0)),
    )


def _information(bundling: Bundling, at: NDArray[np.int64], kept: NDArray[np.bool_]) -> Information:
    profiles, released = bundling.profiles, bundling.released
    weights, shown = profiles.weights.astype(np.float64), released.weights.astype(np.float64)
    dot, own = (
        np.add.reduceat(weights * other, profiles.offsets[:-1])
        for other in (np.where(kept, shown[at], 0.0), weights)
    )
    length = np.sqrt(own * np.add.reduceat(shown * shown, released.offsets[:-1])[bundling.labels])
    return Information(
        float(kept.mean()),
        float(weights[kept].sum() / weights.sum()),
        float(1 - released.terms.size / released.distinct.sum()),
        float(np.divide(dot, length, out=np.zeros_like(dot), where=length > 0).mean()),
        similarity_within(bundling),
    )


def similarity_within(bundling: Bundling) -> float:
    """Mean eq. 4 over all pairs of members of the same group.

    The square of a group's sum of unit vectors is n plus twice the sum over its pairs.
    """
    sizes, users = bundling.sizes, len(bundling.profiles)
    offsets = np.concatenate(([0], np.cumsum(sizes)))
    belongs = (np.ones(users, np.float32), np.concatenate(bundling.members), offsets)
    sums = sparse.csr_array(belongs, shape=(sizes.size, users)) @ bundling.vectors.matrix()
    squares = [np.einsum("i,i", x, x, dtype=np.float64) for x in (sums.data, bundling.vectors.weights)]
    pairs = (sizes * (sizes - 1)).sum()
    return float((squares[0] - squares[1]) / pairs) if pairs else 1.0
