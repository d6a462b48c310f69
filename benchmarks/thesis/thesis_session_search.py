"""Session search from a release alone: a random walk on clicks and later queries (thesis 002, eq. 4.12)."""

from __future__ import annotations

import numpy as np

from tacit.evaluate.data import KINDS, CountedLog, LogPart, ReleasedData, add_up, ranges
from tacit.evaluate.task import Measures, ranked_by
from tacit.evaluate.tasks.session_search import DISCOUNT, SessionSearch, SessionSearchTrial

from .thesis_adhoc import NEGLIGIBLE, STEPS, rank_urls, transition_matrix

_LISTED, _A_QUERY = 10, 20


class ThesisSessionSearch(SessionSearch):
    """Session search.

    Args:
        discount: γ.
        steps: how far the walks go.
        negligible: probabilities below which the walks stop.
    """

    name = "thesis-session-search"
    reads = tuple(KINDS.values())

    def __init__(
        self, discount: float = DISCOUNT, steps: int = STEPS, negligible: float = NEGLIGIBLE
    ) -> None:
        super().__init__(discount)
        self._steps, self._negligible = steps, negligible

    def against(self, original: CountedLog, test: LogPart) -> ThesisSessionSearchTrial:
        """Only the test part matters."""
        del original
        return ThesisSessionSearchTrial(test, self._discount, self._steps, self._negligible)


class ThesisSessionSearchTrial(SessionSearchTrial):
    """Test sessions with their queries and clicked urls."""

    def __init__(self, test: LogPart, discount: float, steps: int, negligible: float) -> None:
        super().__init__(test, discount)
        self._steps, self._negligible = steps, negligible

    def measure(self, released: ReleasedData) -> Measures:
        """The engine's lists reranked, and the walk."""
        found = super().measure(released)
        matrix = transition_matrix(released, queries="follows", back=True)
        numbers = released.queries.find(self._test.queries.texts)
        asked = numbers[self._query]
        distinct, which = np.unique(asked[asked >= 0], return_inverse=True)
        listed = rank_urls(
            released, matrix, distinct, _A_QUERY, steps=self._steps, negligible=self._negligible
        )
        begins = np.searchsorted(listed.unit, np.arange(len(distinct) + 1))
        row, source = ranges(begins[which], np.diff(begins)[which])
        score = self._weight[asked >= 0][row] / listed.place[source]
        total = add_up(self._unit[asked >= 0][row], listed.item[source], score)
        ranked = ranked_by(total.row, total.column, total.weight, _LISTED)
        judged = self._judged(ranked, released.urls.find_or_add(self._test.urls.texts))
        return found | {f"random walk: {name}": measured for name, measured in judged.items()}
