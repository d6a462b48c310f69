"""Item set generation and ranking: how much of the log's histograms a release keeps (paper 004, section IV).

For keywords, queries, clicks and pairs of queries, against the histogram of the original log in users:

- ``kept``: the share of the log's different items that were released;
- ``missing mass``: the share of the log's (user, item) occurrences whose items were not released;
- ``invented``: the share of released items that nobody had (noise on public keys brings some);
- ``total variation``: half the sum of differences between the two histograms, each scaled to 1;
- ``rank correlation``: Spearman's, over the items that both have.

Earlier work measured this as utility. The tasks beside it say whether it is.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import stats

from tacit.evaluate.data import KINDS, CountedLog, LogPart, ReleasedData
from tacit.evaluate.task import Measured, Measures
from tacit.evaluate.tasks.statistics import Statistics, StatisticsTrial

_KEYS = {
    "keywords": ("keyword",),
    "queries": ("query",),
    "clicks": ("query", "url"),
    "steps": ("query", "next_query"),
}
_LEAST_RANKED = 3


class ThesisStatistics(Statistics):
    """Item set generation and ranking. The test part plays no role."""

    name = "thesis-statistics"
    reads = tuple(KINDS.values())

    def against(self, original: CountedLog, test: LogPart) -> ThesisStatisticsTrial:
        """Only the original matters."""
        del test
        return ThesisStatisticsTrial(original)


class ThesisStatisticsTrial(StatisticsTrial):
    """The original histograms."""

    def measure(self, released: ReleasedData) -> Measures:
        """Each figure for each kind of item; a kind that the release does not have is all missing."""
        found: dict[str, Measured] = dict(super().measure(released))
        for kind, columns in _KEYS.items():
            table = _released_table(released, kind)
            for name, value in compare_histograms(self._original.tables[kind], table, columns).items():
                found[f"{'pairs' if kind == 'steps' else kind}: {name}"] = Measured(np.array([value]))
        return found


def _released_table(released: ReleasedData, kind: str) -> pa.Table | None:
    """A table of a kind; words from queries, and steps from sequences, where there is no table of them."""
    if kind in released.tables:
        return released.tables[kind]
    if kind == "keywords" and released.rows:
        counts = released.keywords
        return pa.table(
            {
                "keyword": pa.array(list(counts), pa.string()),
                "count": pa.array(list(counts.values()), pa.float64()),  # of no word, null would be its type
            }
        )
    if kind == "steps" and len(released.steps):
        steps = released.steps
        return pa.table(
            {
                "query": released.queries.take(steps.row),
                "next_query": released.queries.take(steps.column),
                "count": pa.array(steps.weight),
            }
        )
    return None


def compare_histograms(
    original: pa.Table, released: pa.Table | None, keys: tuple[str, ...]
) -> Mapping[str, float]:
    """The five figures; NaN where there is nothing to compare."""
    if released is None:
        released = original.slice(0, 0)
    columns = [*keys, "count"]
    original, released = (
        pa.table([table.column(name) for name in columns], names=columns) for table in (original, released)
    )
    both = original.rename_columns([*keys, "true"]).join(
        released.rename_columns([*keys, "shown"]), list(keys), join_type="full outer"
    )
    true, shown = (_filled(both.column(name)) for name in ("true", "shown"))
    there, listed = true > 0, shown > 0
    total, sum_shown = true.sum(), shown.sum()
    common = there & listed
    ranked = (
        float(stats.spearmanr(true[common], shown[common]).statistic)
        if np.unique(true[common]).size >= 2
        and np.unique(shown[common]).size >= 2
        and common.sum() >= _LEAST_RANKED
        else float("nan")
    )
    return {
        "kept": _share(common.sum(), there.sum()),
        "missing mass": _share(true[~listed].sum(), total),
        "invented": _share((listed & ~there).sum(), listed.sum()),
        "total variation": float(np.abs(true / total - shown / sum_shown).sum() / 2)
        if total and sum_shown
        else float("nan"),
        "rank correlation": ranked,
    }


def _share(part: float, whole: float) -> float:
    return float(part / whole) if whole else float("nan")


def _filled(column: pa.ChunkedArray) -> NDArray[np.float64]:
    return np.asarray(pc.fill_null(column.cast(pa.float64()), 0.0))
