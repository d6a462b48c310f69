"""A Tacit search server (``tacit engine serve``): it takes the generalised profile and personalises."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from tacit.web.upstreams.answer import SearchResult, clean_result
from tacit.web.upstreams.engine import RESULTS_ASKED, Carriage, Exposed
from tacit.web.upstreams.wire import Outgoing, outgoing_request

__all__ = ["TacitServer"]


@dataclass(frozen=True)
class TacitServer:
    """A server of this project, by its address."""

    address: str
    carriage: Carriage = Carriage.PROFILE

    def request(self, query: str, told: Exposed) -> Outgoing:
        """Query and profile in the body, where they do not end up in a server's log of addresses."""
        message: dict[str, Any] = {"query": query, "count": RESULTS_ASKED}
        if self.carriage is Carriage.PROFILE and told.topics:
            message["topics"] = list(told.topics)
            if told.preferences:
                message["preferences"] = dict(told.preferences)
        body = json.dumps(message, ensure_ascii=False).encode()
        return outgoing_request("POST", self.address.rstrip("/") + "/search", None, body, "application/json")

    def read(self, body: bytes, content_type: str) -> list[SearchResult]:
        """The results in the server's order, with their places before it personalised."""
        del content_type
        try:
            found = json.loads(body)["results"]
            rows = [
                (row["url"], row.get("title"), row.get("content"), row.get("plain_place")) for row in found
            ]
        except (KeyError, TypeError, AttributeError, UnicodeDecodeError, RecursionError) as error:
            raise ValueError("not the answer of a Tacit search server") from error
        cleaned = [clean_result(*row) for row in rows[: 4 * RESULTS_ASKED]]
        return [result for result in cleaned if result is not None]
