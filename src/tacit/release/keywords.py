"""Keywords of a query, as an expression: what :func:`tacit.text.words` cuts, without stop words."""

from __future__ import annotations

from typing import Any

import ibis

from tacit.text import STOP_WORDS

__all__ = ["keywords_of"]


def keywords_of(log: Any) -> Any:
    """A row for each keyword of each record: (user, time, keyword).

    Words are letters, digits and underscores, with apostrophes inside. It is a function of one record.
    """
    query = log["query"]
    text = query.lower().replace("’", "'").re_replace(r"[^\p{L}\p{N}_']+", " ")
    text = text.re_replace(r"''+", " ").re_replace(r"(^| )'", " ").re_replace(r"'( |$)", " ")
    # Most queries are plain words already, and a look is cheaper than four replacements.
    text = ibis.ifelse(query.re_search("[^a-z0-9 ]"), text, query)
    cut = log.select("user", "time", keyword=text.split(" ").unnest())
    return cut.filter((cut.keyword != "") & cut.keyword.notin(sorted(STOP_WORDS)))
