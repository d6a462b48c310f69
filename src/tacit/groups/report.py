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

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import InputError
from tacit.groups.bundling import Bundling
from tacit.groups.loops.similarity import mark_kept, pairs_within, similarity_to_group

_BATCH = 32
_NEGLIGIBLE = 1e-15


@dataclass(frozen=True)
class Attack:
    """What attackers with so many known terms believe, over sampled victims.

    Attributes:
        known_terms: |V_b|.
        victims: how many users were attacked (those with more terms than that).
        own_group: mean probability given to the victim's own group.
        belief_max, belief_mean: eq. 3; the largest over all victims and terms, and the mean over the
            victims' own released terms that the attacker did not know.
        belief_quantiles: of each victim's largest belief: median, 90 %, 99 %.
        belief_above_p: the share of victims about whom eq. 3 is above p for a term of theirs (none under the
            strict criterion).
        change_max: eq. 1; the largest over all victims and terms.
        informed_max, informed_mean: n_{V_b + t} / n_{V_b}, the largest and the mean over victims of
            each victim's largest.
        informed_above_p: the share of victims about whom the informed attacker is more than p sure of
            a released term.
    """

    known_terms: int
    victims: int
    own_group: float
    belief_max: float
    belief_mean: float
    belief_quantiles: tuple[float, float, float]
    belief_above_p: float
    change_max: float
    informed_max: float
    informed_mean: float
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
            return Attack(known_terms, 0, 0.0, 0.0, 0.0, (0.0, 0.0, 0.0), 0.0, 0.0, 0.0, 0.0, 0.0)
        known = []
        for user in chosen:
            held = profiles.terms[profiles.held(user)]
            known.append(randomness.choice(held, known_terms, replace=False))
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
        bundling = self._bundling
        largest, own_terms, changed, own_group = [], [], [], []
        for begin in range(0, victims.size, _BATCH):
            batch = range(begin, min(begin + _BATCH, victims.size))
            posterior = np.array([self._posterior(known[index]) for index in batch])
            belief, change = self._beliefs(posterior)
            for line, index in enumerate(batch):
                belief[line, known[index]] = 0
                change[line, known[index]] = -1
                largest.append(belief[line].max())
                changed.append(change[line].max())
                own_group.append(posterior[line, bundling.labels[victims[index]]])
                own_terms.append(belief[line, _own_unknown(bundling, int(victims[index]), known[index])])
        informed = np.array(
            [_informed(bundling, int(v), b) for v, b in zip(victims, known, strict=True)], dtype=np.float64
        )
        own = np.concatenate(own_terms)
        median, most, nearly_all = np.quantile(largest, (0.5, 0.9, 0.99)).tolist()
        return Attack(
            known_terms,
            int(victims.size),
            float(np.mean(own_group)),
            float(np.max(largest)),
            float(own.mean()) if own.size else 0.0,
            (median, most, nearly_all),
            float(np.mean([(beliefs > bundling.criterion.p).any() for beliefs in own_terms])),
            float(np.max(changed)),
            float(informed.max()),
            float(informed.mean()),
            float((informed > bundling.criterion.p).mean()),
        )


def _own_unknown(bundling: Bundling, victim: int, known: NDArray[np.int32]) -> NDArray[np.int32]:
    """The victim's terms that the group releases and the attacker does not know."""
    profiles, released = bundling.profiles, bundling.released
    group = bundling.labels[victim]
    held = profiles.terms[profiles.held(victim)]
    shown = released.terms[released.held(group)]
    return np.setdiff1d(np.intersect1d(held, shown), known)


def _informed(bundling: Bundling, victim: int, known: NDArray[np.int32]) -> float:
    """The largest n_{B+t} / n_B over released terms t not in B, inside the victim's group."""
    profiles, released = bundling.profiles, bundling.released
    group = int(bundling.labels[victim])
    rows = [profiles.terms[profiles.held(member)] for member in bundling.members[group]]
    matching = [row for row in rows if np.isin(known, row).all()]
    shown = released.terms[released.held(group)]
    terms, together = np.unique(np.concatenate(matching), return_counts=True)
    open_terms = np.isin(terms, shown) & ~np.isin(terms, known)
    return float(together[open_terms].max() / len(matching)) if open_terms.any() else 0.0


_GROUPS = 2000
_PAIRS = 45
_TWO_SIDED_95 = 1.959964


@dataclass(frozen=True)
class WeightAttack:
    """What "same weight, same person" gets right.

    Attributes:
        exclusive: only pairs that share their weight with no third term of the group.
        guesses: how many pairs were guessed.
        right: the share of guesses in which one member holds both terms.
        right_interval: of that share, with 95 % confidence (Wilson).
        chance: the share right when weights are ignored.
        users: the share of users in the attacked groups about whom a guess is right.
        singled_out: the same where the attacker may be more than p sure of his guesses, and surer than by
            chance; otherwise 0.
    """

    exclusive: bool
    guesses: int
    right: float
    right_interval: tuple[float, float]
    chance: float
    users: float
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

    def pairs(self, exclusive: bool, randomness: np.random.Generator) -> Iterator[tuple[int, int]]:
        """Pairs of terms of equal weight; a sample of them where many terms share one."""
        _, bucket = np.unique(self.weights, return_inverse=True)
        for members in np.split(np.argsort(bucket, kind="stable"), np.cumsum(np.bincount(bucket))[:-1]):
            if members.size < 2 or (exclusive and members.size > 2):
                continue
            if members.size * (members.size - 1) // 2 <= _PAIRS:
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


def attack_weights(bundling: Bundling, *, exclusive: bool = True, seed: int = 0) -> WeightAttack:
    """Guess "same weight, same person" over the groups (a random 2,000 of them where there are more)."""
    randomness = np.random.default_rng([seed, int(exclusive)])
    chosen = randomness.permutation(len(bundling.released))[:_GROUPS]
    attacked = int(bundling.sizes[chosen].sum())
    guesses, right, by_chance, touched = 0, 0, 0, set[int]()
    for group in chosen.tolist():
        seen = _Group(bundling, group)
        for pair in seen.pairs(exclusive, randomness):
            guesses += 1
            both = seen.owners[pair[0]] & seen.owners[pair[1]]
            left, other = seen.without_weights(pair, randomness)
            right += bool(both)
            by_chance += bool(seen.owners[left] & seen.owners[other])
            touched |= both
    interval, chance = _wilson(right, guesses), by_chance / guesses if guesses else 0.0
    sure = interval[0] > max(chance, bundling.criterion.p)
    return WeightAttack(
        exclusive,
        guesses,
        right / guesses if guesses else 0.0,
        interval,
        chance,
        len(touched) / attacked,
        len(touched) / attacked if sure else 0.0,
    )


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
        histogram: how many (group, term) pairs lie in [0, 0.1), [0.1, 0.2), ... [0.9, 1].
        above_p: the share of pairs with more than p (0 under the strict criterion).
        owned_max: the largest share of its group's released terms that one member holds.
        insider_max: the largest n_t / (n - 1), what a member who does not hold t computes.
        withheld_max: the largest n_t / n among withheld terms: what the absence of a term can betray
            to somebody who knows that a member holds it.
    """

    p: float
    max: float
    mean: float
    quantiles: dict[str, float]
    histogram: list[int]
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
    weight_attackers: list[WeightAttack]
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
    weights = [attack_weights(bundling, exclusive=exclusive, seed=seed) for exclusive in (True, False)]
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
        _linkability(bundling),
        attacks,
        weights,
        _information(bundling),
    )


def _singled_out(attacks: list[Attack], weights: list[WeightAttack]) -> SingledOut:
    released = max(
        *(attack.belief_above_p for attack in attacks), *(attack.singled_out for attack in weights)
    )
    known = next(attack.informed_above_p for attack in attacks if attack.known_terms == 1)
    return SingledOut(released, known, max(released, known) > _HIGH)


def _linkability(bundling: Bundling) -> Linkability:
    released, p = bundling.released, bundling.criterion.p
    shown = np.diff(released.offsets)
    size_of = np.repeat(bundling.sizes, shown)
    share = released.holders / size_of
    insider = np.minimum(released.holders / np.maximum(size_of - 1, 1), 1.0)
    kept = _kept(bundling)
    owned, withheld = _owned_and_withheld(bundling, kept)
    return Linkability(
        p,
        float(share.max()),
        float(share.mean()),
        {f"{q:g}": float(np.quantile(share, q)) for q in (0.5, 0.9, 0.99)},
        np.histogram(share, bins=10, range=(0, 1))[0].tolist(),
        float((share > p).mean()),
        float(bundling.profiles.sizes.mean() / shown.min()),
        owned,
        float(insider.max()),
        withheld,
    )


def _kept(bundling: Bundling) -> NDArray[np.bool_]:
    """For every posting: does the user's group release the term?"""
    return mark_kept(
        bundling.labels,
        bundling.profiles.offsets,
        bundling.profiles.terms,
        bundling.released.offsets,
        bundling.released.terms,
    )


def _owned_and_withheld(bundling: Bundling, kept: NDArray[np.bool_]) -> tuple[float, float]:
    """The largest share a member owns of the released terms; the largest n_t / n of a withheld term."""
    profiles = bundling.profiles
    shown = np.diff(bundling.released.offsets)
    owned = np.add.reduceat(kept, profiles.offsets[:-1], dtype=np.int64) / shown[bundling.labels]
    if kept.all():
        return float(owned.max()), 0.0
    user = np.repeat(np.arange(len(profiles)), profiles.sizes)[~kept]
    pair = bundling.labels[user].astype(np.int64) * len(profiles.vocabulary) + profiles.terms[~kept]
    pairs, holders = np.unique(pair, return_counts=True)
    return float(owned.max()), float((holders / bundling.sizes[pairs // len(profiles.vocabulary)]).max())


def _information(bundling: Bundling) -> Information:
    profiles, released = bundling.profiles, bundling.released
    kept = _kept(bundling)
    weights = profiles.weights.astype(np.float64)
    return Information(
        float(kept.mean()),
        float(weights[kept].sum() / weights.sum()),
        float(1 - released.terms.size / released.distinct.sum()),
        similarity_to_group(
            bundling.labels,
            profiles.offsets,
            profiles.terms,
            profiles.weights,
            released.offsets,
            released.terms,
            released.weights,
        ),
        similarity_within(bundling),
    )


def similarity_within(bundling: Bundling) -> float:
    """Mean eq. 4 over all pairs of members of the same group."""
    vectors = bundling.vectors
    members = np.argsort(bundling.labels, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(bundling.sizes)))
    sums = np.zeros(vectors.width, np.float64)
    return pairs_within(offsets, members, vectors.offsets, vectors.features, vectors.weights, sums)
