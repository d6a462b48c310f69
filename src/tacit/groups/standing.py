"""Does a set of people stand as a group, and what of its profile may stay when somebody leaves?

The rules are those of :mod:`tacit.groups.criterion`, applied to a few people at a time: their terms are
renumbered, so that a judgement costs what these people hold and not what everybody does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from tacit.groups.criterion import CompiledCriterion, Criterion, Scratch, released_terms
from tacit.groups.profiles import Rows
from tacit.groups.store import Shown

__all__ = ["stand_together", "still_shown"]

Terms = NDArray[np.int32]
Holders = Callable[[list[int]], NDArray[np.int64]]


def _judge(
    people: Sequence[Terms], criterion: Criterion, common: NDArray[np.bool_], vocabulary: Terms
) -> Terms | None:
    """The terms these people may release together; None where they do not meet the criterion."""
    sizes = np.array([held.size for held in people], np.int64)
    rows = Rows(
        np.concatenate(([0], np.cumsum(sizes))),
        np.searchsorted(vocabulary, np.concatenate(people)).astype(np.int32),
    )
    rule = CompiledCriterion(
        False,
        criterion.p,
        criterion.fewest_members,
        float(sizes.mean()),
        criterion.known_terms,
        criterion.keep,
        criterion.fewest_in_group,
        common,
    )
    width = vocabulary.size
    scratch = Scratch(np.zeros(width, np.int32), np.zeros(width, np.int32), np.zeros(1, np.bool_))
    holds, found = released_terms(np.arange(len(people)), rows, rule, scratch)
    return vocabulary[np.sort(found)] if holds else None


def stand_together(people: Sequence[Terms], criterion: Criterion, holders: Holders) -> Shown | None:
    """What these people show as a group of their own; None where they do not meet the criterion.

    Args:
        people: the terms of each, ascending.
        holders: how many users of the whole population hold each of some terms.
    """
    if len(people) < criterion.fewest_members:
        return None
    vocabulary, counts = np.unique(np.concatenate(people), return_counts=True)
    common = holders(vocabulary.tolist()) >= criterion.fewest_holders
    found = _judge(people, criterion, common, vocabulary)
    if found is None:
        return None
    shares = counts[np.searchsorted(vocabulary, found)] / len(people)
    return Shown(len(people), found, shares.astype(np.float32))


def still_shown(shown: Shown, people: Sequence[Terms], criterion: Criterion) -> Shown | None:
    """What a group may go on showing when only these members are left; None where it must dissolve.

    Terms above p are withdrawn. The others keep the weights they had, **held by those who stay or not**: a
    weight that moved, or a term that went, when somebody left would tell what that person held. Terms above p
    among those who stay are terms that the one who left did not hold.

    With ``known_terms`` this is not enough: that a set B of known terms links t only now tells that the one
    who left held B. So such a group always dissolves, whoever leaves it.
    """
    if len(people) < criterion.fewest_members or criterion.known_terms:
        return None
    vocabulary = np.unique(np.concatenate([*people, shown.terms]))
    counts = np.zeros(vocabulary.size, np.int64)
    for held in people:
        counts[np.searchsorted(vocabulary, held)] += 1
    shares = counts[np.searchsorted(vocabulary, shown.terms)] / len(people)
    kept = shares <= criterion.p
    terms = shown.terms[kept]
    if not terms.size or any(np.isin(held, terms).sum() / terms.size > criterion.p for held in people):
        return None
    return Shown(shown.size, terms, shown.shares[kept])
