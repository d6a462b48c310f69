"""Contribution bounding: how much of a user's history takes part in a release.

Everything here depends on one user's own records and on public constants, never on a count over users:
that is what keeps the sensitivity of the histograms at the bound. The choice is deterministic, with ties
fully ordered: by time, then by the text of what is chosen. Choosing by frequency counts the user's own
records, and changes nothing about this: whoever is added or removed adds or removes at most the bound.

A **search** is a query at a time (its clicks are records of the same user, query and time). A **click** is
a url clicked for a search. A **step** leads from a search to the next different query of the same session.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from typing import Any

import ibis

from tacit.release.parameters import Choice, Item
from tacit.searchlog.sessions import SESSION_GAP, sensible_time
from tacit.text import STOP_WORDS

_GAP = ibis.interval(microseconds=SESSION_GAP // timedelta(microseconds=1))


def _by_time(time: Any, choice: Choice) -> Any:
    return time.desc() if choice is Choice.LAST else time


def _chosen(table: Any, limit: int, choice: Choice, keys: Sequence[str], ties: Sequence[str]) -> Any:
    """Select at most ``limit`` rows per user: by time, or those whose keys the user has most.

    Ties are ordered by time and by the columns ``ties``.
    """
    if choice is Choice.FREQUENT:
        same = ibis.window(group_by=[table.user, *(table[key] for key in keys)])
        table = table.mutate(had=table.count().over(same))
    often = [table.had.desc()] if choice is Choice.FREQUENT else []
    order = [*often, _by_time(table.time, choice), *(table[name] for name in ties)]
    chosen = _upto(table, limit, ["user"], order)
    return chosen.drop("had") if choice is Choice.FREQUENT else chosen


def _upto(table: Any, limit: int, group: Sequence[str], order: Sequence[Any]) -> Any:
    """The first ``limit`` rows of each group in this order."""
    place = ibis.row_number().over(ibis.window(group_by=[table[name] for name in group], order_by=order))
    ranked = table.mutate(place=place)
    return ranked.filter(ranked.place < limit).drop("place")


def searches_of(log: Any) -> Any:
    """Select each search once: (user, time, query), and its session where the log has been cut."""
    return log.select("user", "time", "query", *_session(log)).distinct()


def _session(table: Any) -> list[str]:
    """The column with the number of a record's session, where histories were cut before."""
    return [name for name in table.columns if name == "session"]


def clicks_of(log: Any) -> Any:
    """Select each click once: (user, time, query, url)."""
    return log.filter(log.url.notnull()).select("user", "time", "query", "url").distinct()


def _history(table: Any) -> Any:
    """A user's records in order."""
    return ibis.window(group_by=table.user, order_by=[table.time, table["query"]])


def steps_of(searches: Any) -> Any:
    """Consecutive different queries of a session: (user, time of the first, query, next_query).

    The next search is of the same session iff no more than the usual gap lies between
    (:mod:`tacit.searchlog.sessions`), so no session has to be numbered; unless they were numbered before.
    """
    history = _history(searches)
    if _session(searches):
        stepped = searches.mutate(
            next_query=searches["query"].lead().over(history),
            next_session=searches["session"].lead().over(history),
        )
        same = (stepped.next_session == stepped["session"]).fill_null(False)
        return stepped.filter(same & (stepped.next_query != stepped["query"])).drop("next_session", "session")
    stepped = searches.mutate(
        next_query=searches["query"].lead().over(history), next_time=searches.time.lead().over(history)
    )
    soon = sensible_time(stepped.next_time) <= sensible_time(stepped.time) + _GAP
    soon = stepped.next_time.notnull() & soon
    return stepped.filter(soon & (stepped.next_query != stepped["query"])).drop("next_time")


def bounded_items(items: Any, keys: Sequence[str], limit: int, choice: Choice) -> Any:
    """Select at most ``limit`` distinct items per user: (user, keys).

    An item counts from the first (or last) time the user had it; ties go by the item's text. By frequency,
    those of which the user has most records come first, ties by time and text.
    """
    return bounded_within(items, ("user",), keys, limit, choice)


def bounded_within(items: Any, group: Sequence[str], keys: Sequence[str], limit: int, choice: Choice) -> Any:
    """The same, within each group of a user's records: (group, keys). ``group`` begins with the user."""
    latest = choice is Choice.LAST
    when = items.time.max() if latest else items.time.min()
    distinct = items.group_by([*group, *keys]).aggregate(time=when, had=items.count())
    often = [distinct.had.desc()] if choice is Choice.FREQUENT else []
    order = [*often, _by_time(distinct.time, choice), *(distinct[key] for key in keys)]
    return _upto(distinct, limit, group, order).drop("time", "had")


def counts_of(items: Any, keys: Sequence[str]) -> Any:
    """Count how many rows there are of each key: (keys, count)."""
    return items.group_by(list(keys)).aggregate(count=items.count())


def bounded_searches(log: Any, limit: int, choice: Choice) -> Any:
    """Select at most ``limit`` searches a user (a query asked twice is two): (user, time, query)."""
    searches = searches_of(log)
    return _chosen(searches, limit, choice, ["query"], ["query"])


def bounded_clicks(clicks: Any, limit: int, choice: Choice) -> Any:
    """Select at most ``limit`` clicks per user: (user, time, query, url)."""
    return _chosen(clicks, limit, choice, ["query", "url"], ["query", "url"])


def bounded_sessions(searches: Any, sessions: int, queries: int, choice: Choice) -> Any:
    """Select at most ``sessions`` sessions per user, each cut to its first ``queries`` queries.

    A query repeated at once (another page of results, another click) is one query of the session; sessions
    of a single query do not take part. Columns: user, query_1 … query_n, null after the session's end.
    """
    history = _history(searches)
    seen = searches.mutate(
        before=searches["query"].lag().over(history), before_time=searches.time.lag().over(history)
    )
    if _session(searches):
        seen = seen.mutate(before_session=searches["session"].lag().over(history))
        begins = seen.before_session != seen["session"]
    else:
        paused = sensible_time(seen.time) > sensible_time(seen.before_time) + _GAP
        begins = seen.before_time.isnull() | paused
    seen = seen.mutate(begins=begins.fill_null(True))
    changed = seen.filter(seen.begins | (seen.before != seen["query"])).select(
        "user", "time", "query", "begins"
    )
    # From the search that begins a session, the next ones follow until one begins another.
    history = _history(changed)
    ahead = {f"query_{i + 1}": changed["query"].lead(i).over(history) for i in range(1, queries)}
    ends = {f"begins_{i + 1}": changed.begins.lead(i).over(history) for i in range(1, queries)}
    wide = changed.rename(query_1="query").mutate(**ahead, **ends)
    inside: Any = ibis.literal(True)
    for i in range(2, queries + 1):
        inside = inside & ~wide[f"begins_{i}"].fill_null(True)
        wide = wide.mutate(**{f"query_{i}": ibis.ifelse(inside, wide[f"query_{i}"], ibis.null("string"))})
    wide = wide.filter(wide.begins & wide.query_2.notnull())
    names = [f"query_{i + 1}" for i in range(queries)]
    return _chosen(wide, sessions, choice, names, []).select("user", *names)


def keywords_of(log: Any) -> Any:
    """A row for each keyword of each record: (user, time, keyword).

    Words are letters, digits and underscores, with apostrophes inside. It is a function of one record.
    """
    query = log["query"]
    # Engines differ in the two letters whose small form is two characters, or depends on those around it.
    text = (
        query.replace("İ", "i")
        .replace("Σ", "σ")
        .lower()
        .replace("’", "'")
        .re_replace(r"[^\p{L}\p{N}_']+", " ")
    )
    text = text.re_replace(r"''+", " ").re_replace(r"(^| )'", " ").re_replace(r"'( |$)", " ")
    # Most queries are plain words already, and a look is cheaper than four replacements.
    text = ibis.ifelse(query.re_search("[^a-z0-9 ]"), text, query)
    cut = log.select("user", "time", keyword=text.split(" ").unnest())
    return cut.filter((cut.keyword != "") & cut.keyword.notin(sorted(STOP_WORDS)))


_ITEMS: Mapping[Item, Callable[[Any], Any]] = {
    Item.KEYWORDS: keywords_of,
    Item.QUERIES: lambda log: log,
    Item.CLICKS: lambda log: log.filter(log.url.notnull()),
    Item.PAIRS: lambda log: steps_of(searches_of(log)),
}


def items_of(log: Any, item: Item) -> Any:
    """Select all items of a log, with repetitions: user, time, the key columns, maybe others."""
    return _ITEMS[item](log)
