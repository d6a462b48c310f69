"""Compiled loops over users' feature vectors: candidates of a term, similarities, sketches."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.compiled import compiled
from tacit.groups.loops.judging import Rows


@compiled
def scale_rows(offsets: NDArray[np.int64], weights: NDArray[np.float32]) -> None:
    for row in range(offsets.size - 1):
        square = 0.0
        for at in range(offsets[row], offsets[row + 1]):
            square += weights[at] * weights[at]
        if square > 0:
            length = np.float32(math.sqrt(square))
            for at in range(offsets[row], offsets[row + 1]):
                weights[at] /= length


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


@compiled
def add_features(
    rows: Rows,
    weights: NDArray[np.float32],
    chosen: NDArray[np.int32],
    path_features: NDArray[np.int32],
    width: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Replace each posting by the features of its path; count first, so that memory is exact."""
    users = rows.offsets.size - 1
    seen = np.full(width, -1, np.int64)
    offsets = np.zeros(users + 1, np.int64)
    for row in range(users):
        distinct = 0
        for at in range(rows.offsets[row], rows.offsets[row + 1]):
            for feature in path_features[chosen[at]]:
                if feature >= 0 and seen[feature] != row:
                    seen[feature] = row
                    distinct += 1
        offsets[row + 1] = offsets[row] + distinct
    features = np.empty(offsets[users], np.int32)
    sums = np.empty(offsets[users], np.float32)
    place = np.full(width, -1, np.int64)
    for row in range(users):
        end = offsets[row]
        for at in range(rows.offsets[row], rows.offsets[row + 1]):
            for feature in path_features[chosen[at]]:
                if feature < 0:
                    continue
                if place[feature] < offsets[row]:
                    place[feature] = end
                    features[end] = feature
                    sums[end] = 0
                    end += 1
                sums[place[feature]] += weights[at]
    return offsets, features, sums


@compiled
def fill_sketches(
    order: NDArray[np.int64],
    offsets: NDArray[np.int64],
    features: NDArray[np.int32],
    weights: NDArray[np.float32],
    coordinate: NDArray[np.int32],
    factor: NDArray[np.float32],
    sketches: NDArray[np.float32],
) -> None:
    for place in range(order.size):
        sketch = sketches[place]
        for at in range(offsets[order[place]], offsets[order[place] + 1]):
            feature = features[at]
            sketch[coordinate[feature]] += weights[at] * factor[feature]
        square = np.float32(0)
        for value in sketch:
            square += value * value
        if square > 0:
            sketch /= np.float32(math.sqrt(square))


@compiled
def mark_kept(
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


@compiled
def similarity_to_group(
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


@compiled
def pairs_within(
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
