"""What an attacker still learns: the Bayesian computation of eq. 1 to 3, carried out.

The attacker knows a set V_b of the victim's terms, sees every group's released terms with n_t and n,
and knows how popular each term is in the whole population (f_t). Terms are taken as independent given
the group, as the paper does. For a group G_i and a term t,

- P(t in V | V in G_i) is n_t / n where G_i releases t; where it does not, nobody holds t or it was
  withheld, and the attacker can do no better than a_t, the rate at which t is held in all groups that
  do not release it (which follows from f_t and the release);
- P(V in G_i | V_b, G) is proportional to n_i times the product of those rates over V_b;
- the **belief** is eq. 3: the sum over groups that release t of P(V in G_i | V_b, G) n_t / n;
- the **change** is eq. 1: the same sum over all groups, less the prior f_t.

A second attacker knows the victim's group and, of every member, which terms go together (the operator's
file without names): that one's belief is n_{V_b + t} / n_{V_b} inside the group. The two agree only if
t is independent of V_b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import InputError
from tacit.groups.bundler import Bundling

__all__ = ["Attack", "Attacker", "Beliefs"]

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
            held = profiles.terms[profiles.offsets[user] : profiles.offsets[user + 1]]
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
    held = profiles.terms[profiles.offsets[victim] : profiles.offsets[victim + 1]]
    shown = released.terms[released.offsets[group] : released.offsets[group + 1]]
    return np.setdiff1d(np.intersect1d(held, shown), known)


def _informed(bundling: Bundling, victim: int, known: NDArray[np.int32]) -> float:
    """The largest n_{B+t} / n_B over released terms t not in B, inside the victim's group."""
    profiles, released = bundling.profiles, bundling.released
    group = int(bundling.labels[victim])
    rows = [
        profiles.terms[profiles.offsets[member] : profiles.offsets[member + 1]]
        for member in bundling.members[group]
    ]
    matching = [row for row in rows if np.isin(known, row).all()]
    shown = released.terms[released.offsets[group] : released.offsets[group + 1]]
    terms, together = np.unique(np.concatenate(matching), return_counts=True)
    open_terms = np.isin(terms, shown) & ~np.isin(terms, known)
    return float(together[open_terms].max() / len(matching)) if open_terms.any() else 0.0
