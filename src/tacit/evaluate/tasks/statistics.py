"""Item set generation and ranking: how much of the log's histograms a release keeps (paper 004, section IV).

For keywords, queries, clicks and pairs of queries, against the histogram of the original log in users:

- ``kept``: the share of the log's different items that were released;
- ``missing mass``: the share of the log's (user, item) occurrences whose items were not released;
- ``invented``: the share of released items that nobody had (noise on public keys brings some);
- ``total variation``: half the sum of differences between the two histograms, each scaled to 1;
- ``rank correlation``: Spearman's, over the items that both have.

Earlier work measured this as utility. The tasks beside it say whether it is. The headline is the ``shared
mass`` of queries: one minus the total variation, with the public list of words beside the release in the
proportion that serves best (how much of a log was released is not told, so that this is an upper bound).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from scipy import stats

from tacit.evaluate.data import CountedLog, LogPart, ReleasedData
from tacit.evaluate.public import word_shares
from tacit.evaluate.task import Measured, Measures, Task

_KEYS = {
    "keywords": ("keyword",),
    "queries": ("query",),
    "clicks": ("query", "url"),
    "steps": ("query", "next_query"),
}
_LEAST_RANKED = 3
_PARTS = np.linspace(0, 1, 21)
"""Which part of the searches the release is taken to tell; the public list tells the others."""


class Statistics(Task):
    """Item set generation and ranking. The test part plays no role."""

    name = "statistics"
    title = "statistics"
    description = "how much of the log's histogram of queries is there"
    unit = "fold of the users"
    nothing = "a public list of words by their frequency"
    headline = "queries: shared mass"

    def against(self, original: CountedLog, test: LogPart) -> StatisticsTrial:
        del test
        return StatisticsTrial(original)


class StatisticsTrial:
    """The original histograms."""

    def __init__(self, original: CountedLog) -> None:
        self._original = {kind: original.tables[kind] for kind in _KEYS}

    def measure(self, released: ReleasedData) -> Measures:
        """Each figure for each kind of item; a kind that the release does not have is all missing."""
        found: dict[str, Measured] = {}
        for kind, keys in _KEYS.items():
            table = _released_table(released, kind)
            for name, value in compare_histograms(self._original[kind], table, keys).items():
                found[f"{'pairs' if kind == 'steps' else kind}: {name}"] = Measured(np.array([value]))
        found[Statistics.headline] = Measured(np.array([self._shared(released)]))
        return found

    def _shared(self, released: ReleasedData) -> float:
        """The part of the log's histogram of queries that is told, by the release and the public list."""
        table = self._original["queries"]
        true = np.asarray(table.column("count")).astype(np.float64)
        counts = dict(zip(released.queries.texts.to_pylist(), released.query_counts.tolist(), strict=True))
        told, public, listed = (
            max(sum(counts.values()), 1.0),
            word_shares(),
            table.column("query").to_pylist(),
        )
        shown = np.array([counts.get(query, 0.0) / told for query in listed])
        behind = np.array([public.get(query, 0.0) for query in listed])
        mixed = (np.minimum(true / true.sum(), w * shown + (1 - w) * behind).sum() for w in _PARTS)
        return float(max(mixed)) if len(true) else float("nan")


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
