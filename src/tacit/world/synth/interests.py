"""What people are interested in: subtrees of WordNet, some of them sensitive.

Each user has one to six interests, the first of them the strongest. A share of users (a parameter of
the log) has one or two **sensitive** interests among them: illness, drugs, faith, sexuality, crime,
debt and the like, what a person would not want to be known for. Ordinary interests neither lie inside
a sensitive topic nor contain one, so that the ground truth is clean: a user without sensitive interests
meets such a topic by chance alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from tacit.compiled import compiled
from tacit.taxonomy import WordNet
from tacit.world.synth.randomness import State, below, pick, stream, uniform

__all__ = ["MOST_INTERESTS", "SENSITIVE_TOPICS", "Interests", "choose_interests", "draw_interests"]

SENSITIVE_TOPICS = (
    "disease.n.01",
    "mental_disorder.n.01",
    "tumor.n.01",
    "religion.n.01",
    "sexual_activity.n.01",
    "crime.n.01",
    "drug_of_abuse.n.01",
    "narcotic.n.01",
    "financial_condition.n.01",
    "indebtedness.n.01",
    "gambling.n.01",
    "sect.n.01",
    "pregnancy.n.01",
    "depression.n.01",
    "abortion.n.01",
    "venereal_disease.n.01",
    "addiction.n.01",
    "homosexuality.n.01",
    "suicide.n.01",
)
"""Most frequent first."""

MOST_INTERESTS = 6
_SMALLEST, _LARGEST, _SHALLOWEST = 15, 350, 4
_WHO = 1


class Interests(NamedTuple):
    """The topics a user may be interested in, with cumulative popularity (from 0 to 1)."""

    ordinary: npt.NDArray[np.int32]
    ordinary_weight: npt.NDArray[np.float64]
    sensitive: npt.NDArray[np.int32]
    sensitive_weight: npt.NDArray[np.float64]


def _cumulative(size: int, exponent: float) -> npt.NDArray[np.float64]:
    weight = (np.arange(size) + 3.0) ** -exponent
    return np.concatenate(([0.0], np.cumsum(weight) / weight.sum()))


def choose_interests(wordnet: WordNet) -> Interests:
    """Subtrees of a size that a person can be interested in, the best supported the most popular."""
    tree = wordnet.tree
    size = tree.end - np.arange(len(tree), dtype=np.int32)
    fits = (size >= _SMALLEST) & (size <= _LARGEST) & (tree.depth >= _SHALLOWEST)
    sensitive = np.array([wordnet.synset(name) for name in SENSITIVE_TOPICS], np.int32)
    for topic in sensitive:
        fits[topic : tree.end[topic]] = False
        fits[tree.ancestors(int(topic))] = False
    ordinary = np.flatnonzero(fits).astype(np.int32)
    # Things are searched for more than abstractions of the same support.
    things = ordinary < tree.end[wordnet.synset("physical_entity.n.01")]
    appeal = tree.support[ordinary] * np.where(things, 1.0, 0.25)
    ordinary = ordinary[np.argsort(-appeal, kind="stable")]
    return Interests(ordinary, _cumulative(len(ordinary), 0.7), sensitive, _cumulative(len(sensitive), 0.7))


@compiled
def _choose(state: State, topics: npt.NDArray[np.int32], weight: npt.NDArray[np.float64]) -> int:
    return int(topics[pick(weight, 0, len(topics), uniform(state))])


@compiled
def draw_interests(
    seed: int, first_user: int, users: int, pool: Interests, sensitive_share: float
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int8]]:
    """Each user's interests, strongest first (-1 fills the row), and how many of them are sensitive.

    Sensitive interests take a random place among the others: they need not be the strongest.
    """
    interests = np.full((users, MOST_INTERESTS), -1, np.int32)
    sensitive = np.zeros(users, np.int8)
    state = np.empty(1, np.uint64)
    for user in range(users):
        stream(state, seed, first_user + user, _WHO)
        secrets = 0
        if uniform(state) < sensitive_share:
            secrets = 1 + (uniform(state) < 0.2)
        count = 1
        while count < MOST_INTERESTS and uniform(state) < 0.66:
            count += 1
        count = max(count, secrets)
        for place in range(count):
            interests[user, place] = _choose(state, pool.ordinary, pool.ordinary_weight)
        for _ in range(secrets):
            interests[user, below(state, count)] = _choose(state, pool.sensitive, pool.sensitive_weight)
        for place in range(count):
            for topic in pool.sensitive:
                if interests[user, place] == topic:
                    sensitive[user] += 1
    return interests, sensitive
