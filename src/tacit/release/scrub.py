"""Scrubbing: drop records whose own text looks like it names somebody (:mod:`tacit.text.sensitive`).

Whether a record is dropped depends on that record alone, so a user's history is still a function of the
user's own records and the sensitivity of every histogram is unchanged: scrubbing costs no ε and grants
none. It is a second line behind the guarantee, and no proof: a name written out passes.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from tacit.release.engines import Engine
from tacit.text import SUSPECT, Sensitive, sensitive_patterns

__all__ = ["scrubbed"]


def scrubbed(engine: Engine, log: Any) -> Any:
    """The log without records whose query has a sensitive pattern, or whose url has an e-mail address.

    Urls are full of long numbers that name articles and products; only addresses are looked for there.
    """
    for column, suspect, names_somebody in (
        ("query", _suspect_query, sensitive_patterns),
        ("url", _suspect_url, _addressed),
    ):
        # The verdict on a text must not depend on the records it stands in: one user could otherwise have
        # the records of others dropped. So a column is searched, judged and filtered by itself.
        found = engine.batches(log.filter(suspect(log[column])).select(column).distinct())
        bad = [text for batch in found for text in batch.column(0).to_pylist() if names_somebody(text)]
        if bad:
            log = log.anti_join(engine.load(pa.table({column: pa.array(bad, pa.string())})), column)
    return log


def _suspect_query(queries: Any) -> Any:
    return queries.re_search(SUSPECT)


def _suspect_url(urls: Any) -> Any:
    return urls.contains("@") | urls.contains("%40")


def _addressed(url: str) -> bool:
    return Sensitive.EMAIL in sensitive_patterns(url.replace("%40", "@"))
