"""One ranking from the answers of several engines, by reciprocal rank fusion.

A result gains ``1 / (60 + place)`` from each engine that names it (Cormack, Clarke and Büttcher, SIGIR 2009).
Addresses that differ only in what does not change the page count as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tacit.web.upstreams.answer import USUAL_ADDRESS, Answer, SearchResult

__all__ = ["FusedResult", "canonical_address", "fuse"]

_DAMPING = 60


@dataclass
class FusedResult:
    """A result, and which engines named it at which place."""

    result: SearchResult
    address: str
    """What all addresses of its page have in common."""
    places: dict[str, int] = field(default_factory=dict)

    @property
    def score(self) -> float:
        """The sum of reciprocal ranks."""
        return sum(1 / (_DAMPING + place) for place in self.places.values())


def canonical_address(url: str) -> str:
    """What two addresses of the same page have in common."""
    usual = USUAL_ADDRESS.fullmatch(url)
    if usual is not None:
        host, path, query = usual.groups("")
        return f"{host.removeprefix('www.')}{path.rstrip('/')}?{query}"
    parts = urlsplit(url)
    host = (parts.hostname or "").removeprefix("www.")
    port = f":{parts.port}" if parts.port not in {None, 80, 443} else ""
    return f"{host}{port}{parts.path.rstrip('/')}?{parts.query}"


def fuse(answers: Sequence[Answer], *, unpersonalised: bool = False) -> list[FusedResult]:
    """The results of all answers, best first; ties go to the engine that was named first.

    Args:
        answers: what the engines said.
        unpersonalised: use the places that engines gave before they personalised, where they say them.
    """
    found: dict[str, FusedResult] = {}
    for answer in answers:
        results = [(canonical_address(result.url), result) for result in answer.results]
        for address, result in results:  # the same one of a page's addresses in whatever order
            found.setdefault(address, FusedResult(result, address))
        if unpersonalised:
            results = [one for _, one in sorted(enumerate(results), key=lambda pair: _plain(*pair))]
        for place, (address, _) in enumerate(results, start=1):
            found[address].places.setdefault(answer.engine, place)
    return sorted(found.values(), key=lambda fused: -fused.score)


def _plain(place: int, addressed: tuple[str, SearchResult]) -> int:
    result = addressed[1]
    return result.plain_place if result.plain_place is not None else place + 1
