"""Ranked lists of many units at once, and what ir-measures says of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ir_measures
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.evaluate.log_part import Numbers
from tacit.evaluate.task import Measured

__all__ = ["Ranked", "best_of", "judge", "ranked_by"]


@dataclass(frozen=True, eq=False)
class Ranked:
    """Lists of items by unit: rows in order, within a row the best first.

    Args:
        unit: whose list.
        item: what is listed.
        place: from 1.
    """

    unit: Numbers
    item: Numbers
    place: Numbers


def ranked_by(unit: Numbers, item: Numbers, score: NDArray[np.float64], most: int) -> Ranked:
    """The ``most`` items of each unit with the highest scores; ties by the item's number."""
    order = np.lexsort((item, -score, unit))
    unit, item = unit[order], item[order]
    new = np.ones(len(unit), np.bool_)
    new[1:] = unit[1:] != unit[:-1]
    begins = np.flatnonzero(new)
    place = np.arange(len(unit)) - np.repeat(begins, np.diff(np.append(begins, len(unit)))) + 1
    kept = place <= most
    return Ranked(unit[kept], item[kept], place[kept])


def best_of(scores: sparse.csr_array, most: int) -> Ranked:
    """The best columns of each row of a sparse matrix; what scores 0 is not listed."""
    counts = np.diff(scores.indptr)
    unit = np.repeat(np.arange(scores.shape[0], dtype=np.int64), counts)
    item, score = scores.indices.astype(np.int64), scores.data
    positive = score > 0
    return ranked_by(unit[positive], item[positive], score[positive], most)


def judge(
    ranked: Ranked, relevant: tuple[Numbers, Numbers], units: int, measures: Sequence[Any]
) -> Mapping[Any, Measured]:
    """Each measure for each unit; a unit without a list has no value.

    Args:
        ranked: the lists.
        relevant: unit and item of what is relevant.
        units: how many there are; each must have something relevant.
        measures: of ir-measures.
    """
    values = {measure: np.full(units, np.nan) for measure in measures}
    run: dict[str, dict[str, float]] = {}
    for unit, item, place in zip(
        ranked.unit.tolist(), ranked.item.tolist(), ranked.place.tolist(), strict=True
    ):
        run.setdefault(str(unit), {})[str(item)] = -float(place)
    qrels: dict[str, dict[str, int]] = {}
    for unit, item in zip(relevant[0].tolist(), relevant[1].tolist(), strict=True):
        key = str(unit)
        if key in run:
            qrels.setdefault(key, {})[str(item)] = 1
    if run:
        for metric in ir_measures.iter_calc(list(measures), qrels, run):
            values[metric.measure][int(metric.query_id)] = metric.value
    return {measure: Measured(found) for measure, found in values.items()}
