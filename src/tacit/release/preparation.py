"""Which records take part in a release, and which rows are withheld from it: period, sessions, scrubbing.

Requests without words (``-``) are no searches and take no part. They, period and scrubbing keep or drop a
record by that record alone and public constants; sessions are cut by one user's records alone. So none of
them changes a guarantee: a user's history is still a function of the user's own records, and the sensitivity
of every histogram is unchanged.

Scrubbing happens twice. A record whose query plainly holds an address (``@`` and a dot) contributes
nothing, so that its user has room for something else. All patterns (:mod:`tacit.text.sensitive`) are looked
for where it costs nothing, in the keys that are about to be published: dropping rows after selection is
post-processing. So is dropping keys longer than anybody types, and those with invisible characters, which a
reader could not see.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from tacit.errors import ParameterError
from tacit.head_start import ahead
from tacit.release.execution import Tables
from tacit.row_groups import TEXTS, texts_with, work_through
from tacit.searchlog.schema import SCHEMA, WORDLESS
from tacit.searchlog.sessions import BY_PAUSES, SessionCut
from tacit.text import INVISIBLE, SUSPECT, sensitive_patterns, sensitive_url_patterns

LONGEST_KEY = 200
"""Characters of a query, or of a keyword, that is published: AOL's log has few longer ones, and they are
pastes.
"""
LONGEST_URL = 1000
"""Characters of a url that is published."""


def plainly_harmless(log: Any) -> Any:
    """The log without records that plainly hold an address, as an Ibis expression."""
    query = log["query"]
    return log.filter(~(query.contains("@") & query.contains(".")))  # a url need not even be read for this


def withheld(tables: Tables, *, scrub: bool = True) -> Tables:
    """The tables without keys that are too long, hold what nobody sees or, with ``scrub``, name somebody."""
    kept = {}
    for name, table in tables.items():
        good = np.ones(table.num_rows, np.bool_)
        for field in table.schema:
            column = table.column(field.name).combine_chunks()
            if pa.types.is_list(field.type):
                bad = _bad(column.flatten(), field.name, scrub)
                good[np.asarray(pc.list_parent_indices(column))[bad]] = False
            elif pa.types.is_string(field.type):
                good &= ~_bad(column, field.name, scrub)
        kept[name] = table if good.all() else table.filter(pa.array(good))
    return kept


def _bad(texts: Any, column: str, scrub: bool) -> npt.NDArray[np.bool_]:
    """Find which texts are not to be published."""
    longest = LONGEST_URL if column == "url" else LONGEST_KEY
    bad = np.array(pc.fill_null(pc.greater(pc.utf8_length(texts), longest), False))
    bad |= np.asarray(pc.fill_null(pc.match_substring_regex(texts, INVISIBLE), False))
    if not scrub:
        return bad
    suspect = SUSPECT if column != "url" else f"{SUSPECT}|%"
    names_somebody = sensitive_url_patterns if column == "url" else sensitive_patterns
    for place in np.flatnonzero(np.asarray(pc.fill_null(pc.match_substring_regex(texts, suspect), False))):
        if names_somebody(texts[int(place)].as_py()):
            bad[place] = True
    return bad


_NOTHING = pa.schema(
    [(each.name, TEXTS if each.type == pa.string() else each.type) for each in SCHEMA]
).empty_table()


@dataclass(frozen=True)
class Preparation:
    """Which records take part.

    Args:
        since: only records at this time or later (public, chosen without looking at the log).
        until: only records before this time.
        scrub: leave out records that plainly hold an address, and publish no key that looks like it names
            somebody (:mod:`tacit.release.preparation`).
        sessions: how histories are cut into sessions, for pairs, transitions and sequences of queries.
    """

    since: datetime | None = None
    until: datetime | None = None
    scrub: bool = True
    sessions: SessionCut = BY_PAUSES

    def __post_init__(self) -> None:
        if self.since and self.until and self.since >= self.until:
            raise ParameterError.outside("since", self.since.isoformat(), "before `until`")

    def apply(self, log: Any) -> Any:
        """Keep the records of a log, an Ibis expression, that take part."""
        log = log.filter(log["query"] != WORDLESS)
        if self.since is not None:
            log = log.filter(log.time >= self.since)
        if self.until is not None:
            log = log.filter(log.time < self.until)
        log = plainly_harmless(log) if self.scrub else log
        return log if self.sessions == BY_PAUSES else self.sessions.numbered(log)

    def read(self, log: Path, columns: Sequence[str], threads: int | None = None) -> pa.Table:
        """The columns of the same records as they lie in the log's file, where texts are dictionaries."""
        needed = [*columns, "time"] if self.since or self.until else columns
        batches = list(work_through(log, sorted({"query", *needed}), self._of_batch, threads))
        ahead.clear()  # it is read
        return pa.Table.from_batches(batches).select(columns) if batches else _NOTHING.select(columns)

    def _of_batch(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        query = batch.column("query")
        texts = query.dictionary
        bad = np.array(pc.equal(texts, WORDLESS))
        if self.scrub:
            at = texts_with(texts, "@")
            bad[at] |= np.asarray(pc.match_substring(texts.take(pa.array(at)), "."))
        keep = np.ones(batch.num_rows, np.bool_) if not bad.any() else ~bad[np.asarray(query.indices)]
        for edge, stays in ((self.since, pc.greater_equal), (self.until, pc.less)):
            if edge is not None:
                keep &= np.asarray(stays(batch.column("time"), pa.scalar(edge, pa.timestamp("us"))))
        return batch if keep.all() else batch.filter(pa.array(keep))

    def to_dict(self) -> dict[str, Any]:
        return {
            "since": self.since.isoformat() if self.since else None,
            "until": self.until.isoformat() if self.until else None,
            "scrub": self.scrub,
            "sessions": self.sessions.to_dict(),
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Preparation:
        since, until = form["since"], form["until"]
        return cls(
            datetime.fromisoformat(since) if since else None,
            datetime.fromisoformat(until) if until else None,
            form["scrub"],
            SessionCut.from_dict(form["sessions"]) if "sessions" in form else BY_PAUSES,
        )
