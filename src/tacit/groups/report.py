"""The report on a bundling: sizes, actual linkability against p, attackers, information kept.

Every figure is an aggregate; the report names no user and no term.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.compiled import compiled
from tacit.groups.attacker import Attack, Attacker
from tacit.groups.bundler import Bundling
from tacit.groups.weight_attacker import WeightAttack, attack_weights

__all__ = [
    "KNOWN_TERMS",
    "Information",
    "Linkability",
    "Report",
    "SingledOut",
    "report",
    "similarity_within",
]

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
    return _mark_kept(
        bundling.labels,
        bundling.profiles.offsets,
        bundling.profiles.terms,
        bundling.released.offsets,
        bundling.released.terms,
    )


@compiled
def _mark_kept(
    labels: NDArray[np.int32],
    offsets: NDArray[np.int64],
    terms: NDArray[np.int32],
    released_offsets: NDArray[np.int64],
    released_terms: NDArray[np.int32],
) -> NDArray[np.bool_]:
    """Both lists ascend, so one walk along the two compares them."""
    kept = np.zeros(terms.size, np.bool_)
    for user in range(labels.size):
        at = released_offsets[labels[user]]
        end = released_offsets[labels[user] + 1]
        for posting in range(offsets[user], offsets[user + 1]):
            while at < end and released_terms[at] < terms[posting]:
                at += 1
            kept[posting] = at < end and released_terms[at] == terms[posting]
    return kept


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
        _similarity_to_group(
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


@compiled
def _similarity_to_group(
    labels: NDArray[np.int32],
    offsets: NDArray[np.int64],
    terms: NDArray[np.int32],
    weights: NDArray[np.float32],
    released_offsets: NDArray[np.int64],
    released_terms: NDArray[np.int32],
    released_weights: NDArray[np.float32],
) -> float:
    total = 0.0
    for user in range(labels.size):
        begin, end = released_offsets[labels[user]], released_offsets[labels[user] + 1]
        length = np.float64(0)
        for at in range(begin, end):
            length += released_weights[at] * released_weights[at]
        own, dot, at = np.float64(0), np.float64(0), begin
        for posting in range(offsets[user], offsets[user + 1]):
            own += weights[posting] * weights[posting]
            while at < end and released_terms[at] < terms[posting]:
                at += 1
            if at < end and released_terms[at] == terms[posting]:
                dot += weights[posting] * released_weights[at]
        if own > 0 and length > 0:
            total += dot / np.sqrt(own * length)
    return total / labels.size


def similarity_within(bundling: Bundling) -> float:
    """Mean eq. 4 over all pairs of members of the same group."""
    vectors = bundling.vectors
    members = np.argsort(bundling.labels, kind="stable")
    offsets = np.concatenate(([0], np.cumsum(bundling.sizes)))
    sums = np.zeros(vectors.width, np.float64)
    return _pairs_within(offsets, members, vectors.offsets, vectors.features, vectors.weights, sums)


@compiled
def _pairs_within(
    group_offsets: NDArray[np.int64],
    members: NDArray[np.int64],
    offsets: NDArray[np.int64],
    features: NDArray[np.int32],
    weights: NDArray[np.float32],
    sums: NDArray[np.float64],
) -> float:
    """The square of a group's sum of unit vectors is n plus twice the sum over its pairs."""
    total, pairs = 0.0, 0.0
    for group in range(group_offsets.size - 1):
        inside = members[group_offsets[group] : group_offsets[group + 1]]
        before, after = 0.0, 0.0
        for member in inside:
            for at in range(offsets[member], offsets[member + 1]):
                sums[features[at]] += weights[at]
                before += weights[at] * weights[at]
        for member in inside:
            for at in range(offsets[member], offsets[member + 1]):
                after += sums[features[at]] * sums[features[at]]
                sums[features[at]] = 0
        total += (after - before) / 2
        pairs += inside.size * (inside.size - 1) / 2
    return total / pairs if pairs > 0 else 1.0
