"""Results in the order of a group's interests, without forgetting the engine's own.

A result scores the cosine of its words and the group's weighted terms; words of the query do not count. The
score is weighed against the engine's rank, λ·score - ln(rank + κ), so that a result moves up as far as the
evidence goes, and results that the group has nothing to say about stay as the engine has them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from tacit.text import words

__all__ = ["Result", "rank_by_interest"]

Result = TypeVar("Result", bound=Mapping[str, Any])

_EVIDENCE = 12.0
_CALM = 10.0


def rank_by_interest(
    interests: Mapping[str, float], results: Sequence[Result], query: str = ""
) -> list[Result]:
    """The same results in another order; equal ones in the order they came."""
    asked = frozenset(words(query))
    length = math.sqrt(math.fsum(weight * weight for weight in interests.values()))
    if not length:
        return list(results)

    def place(at: int) -> float:
        found = results[at]
        told = frozenset(words(f"{found.get('title') or ''} {found.get('snippet') or ''}")) - asked
        score = sum(interests[word] for word in told if word in interests)
        cosine = score / (length * math.sqrt(len(told))) if score else 0.0
        return math.log(at + 1 + _CALM) - _EVIDENCE * cosine

    return [results[at] for at in sorted(range(len(results)), key=place)]
