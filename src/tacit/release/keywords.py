"""Keywords of a query, as an expression: what :func:`tacit.text.words` cuts, without stop words."""

from __future__ import annotations

from typing import Any

from tacit.text import STOP_WORDS

__all__ = ["keywords_of"]


def keywords_of(log: Any) -> Any:
    """A row for each keyword of each record: (user, time, keyword).

    Words are letters, digits and underscores, with apostrophes inside. It is a function of one record.
    """
    text = log["query"].lower().replace("’", "'")
    text = text.re_replace(r"[^\p{L}\p{N}_']+", " ").re_replace(r"''+", " ")
    text = text.re_replace(r"(^| )'", " ").re_replace(r"'( |$)", " ")
    cut = log.select("user", "time", keyword=text.split(" ").unnest())
    return cut.filter((cut.keyword != "") & cut.keyword.notin(sorted(STOP_WORDS)))
