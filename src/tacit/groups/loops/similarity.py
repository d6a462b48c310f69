"""Compiled loops over users' feature vectors: candidates of a term, and similarities."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.compiled import compiled
from tacit.groups.loops.judging import Rows


@compiled
def _postings_by_feature(
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    features: NDArray[np.int32],
    local: NDArray[np.int32],
) -> tuple[int, NDArray[np.int64]]:
    """Number the features that occur (into ``local``); give where each one's postings begin."""
    postings = 0
    for row in rows:
        postings += offsets[row + 1] - offsets[row]
    starts = np.zeros(postings + 1, np.int64)
    distinct = 0
    for row in rows:
        for at in range(offsets[row], offsets[row + 1]):
            feature = features[at]
            if local[feature] < 0:
                local[feature] = distinct
                distinct += 1
            starts[local[feature] + 1] += 1
    for feature in range(distinct):
        starts[feature + 1] += starts[feature]
    return distinct, starts


@compiled
def pairwise(
    rows: NDArray[np.int64],
    offsets: NDArray[np.int64],
    features: NDArray[np.int32],
    weights: NDArray[np.float32],
    local: NDArray[np.int32],
) -> NDArray[np.float32]:
    """Walk each row's features through an index that grows row by row, so each pair is met once."""
    distinct, starts = _postings_by_feature(rows, offsets, features, local)
    filled = starts[:distinct].copy()
    posting_row = np.empty(starts[distinct], np.int32)
    posting_weight = np.empty(starts[distinct], np.float32)
    result = np.zeros((rows.size, rows.size), np.float32)
    for index in range(rows.size):
        row = rows[index]
        line = result[index]
        for at in range(offsets[row], offsets[row + 1]):
            feature = local[features[at]]
            weight = weights[at]
            for posting in range(starts[feature], filled[feature]):
                line[posting_row[posting]] += weight * posting_weight[posting]
            line[index] += weight * weight
        for at in range(offsets[row], offsets[row + 1]):
            feature = local[features[at]]
            posting_row[filled[feature]] = index
            posting_weight[filled[feature]] = weights[at]
            filled[feature] += 1
        for other in range(index):
            result[other, index] = line[other]
    return result


class Candidates(NamedTuple):
    """The candidates of every term of a vocabulary, for compiled loops."""

    of_term: NDArray[np.int64]
    """Term v's candidates are ``of_term[v]`` up to ``of_term[v + 1]``."""
    evidence_of: NDArray[np.int64]
    """Candidate c's evidence is ``evidence_of[c]`` up to ``evidence_of[c + 1]``."""
    evidence_term: NDArray[np.int32]
    evidence_weight: NDArray[np.float32]
    """Divided by the length of the candidate's description, so that a sum over the profile ranks as
    the cosine does (the profile's own length is the same for all candidates)."""


@compiled
def choose_candidates(rows: Rows, weights: NDArray[np.float32], candidates: Candidates) -> NDArray[np.int32]:
    chosen = np.empty(rows.terms.size, np.int32)
    context = np.zeros(candidates.of_term.size - 1, np.float32)
    for row in range(rows.offsets.size - 1):
        begin, end = rows.offsets[row], rows.offsets[row + 1]
        for at in range(begin, end):
            context[rows.terms[at]] = weights[at]
        for at in range(begin, end):
            term = rows.terms[at]
            best = candidates.of_term[term]
            most = np.float32(0)
            if candidates.of_term[term + 1] - best > 1:
                for candidate in range(candidates.of_term[term], candidates.of_term[term + 1]):
                    agreement = np.float32(0)
                    for e in range(candidates.evidence_of[candidate], candidates.evidence_of[candidate + 1]):
                        agreement += context[candidates.evidence_term[e]] * candidates.evidence_weight[e]
                    if agreement > most:
                        best, most = candidate, agreement
            chosen[at] = best
        for at in range(begin, end):
            context[rows.terms[at]] = 0
    return chosen
