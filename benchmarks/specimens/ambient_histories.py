"""Histories with clicks on one meaning of AMBIENT's ambiguous queries, on another, or on none."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from tacit.evaluate.cases import Ambient, HistoryCase, Page


def history_cases(
    ambient: Ambient, others: Sequence[Page], clicks: int, size: int, *, interest: str = "same", seed: int = 0
) -> Iterator[HistoryCase]:
    """A case for every meaning with enough results.

    Args:
        ambient: queries, results and meanings.
        others: pages to fill histories with, beside other queries' results: half and half; with none, other
            queries' results alone.
        clicks: how many results of the meaning were clicked before.
        size: how many documents the history holds.
        interest: ``same`` (clicks on the meaning), ``other`` (on another meaning of the query) or ``none``.
        seed: for the choice of clicks and of the other pages.
    """
    for query, words in ambient.queries.items():
        elsewhere = [page for key, found in ambient.results.items() if key != query for page in found]
        for meaning in ambient.meanings_of(query):
            choice = random.Random(f"{seed} {clicks} {size} {interest} {meaning}")
            relevant = ambient.meanings[meaning]
            if interest == "other":
                pool = sorted({r for m in ambient.meanings_of(query) for r in ambient.meanings[m]} - relevant)
            else:
                pool = sorted(relevant) if interest == "same" else []
            kept = len(relevant) if interest != "same" else len(relevant) - clicks
            if len(pool) < (clicks if interest != "none" else 0) or kept < 1:
                continue
            clicked = set(choice.sample(pool, clicks)) if interest != "none" else set()
            filled = size - len(clicked)
            near = choice.sample(elsewhere, min(len(elsewhere), filled // 2 if others else filled))
            history = [page for page in ambient.results[query] if page["id"] in clicked]
            history += near + choice.sample(list(others), min(len(others), filled - len(near)))
            left = [page for page in ambient.results[query] if page["id"] not in clicked]
            yield HistoryCase(query, words, meaning, left, history, frozenset(relevant - clicked))
