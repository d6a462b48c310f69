"""The life of a query: one page about one search, made from what the demo has just computed.

For each of the four guards the page (``templates/story.html``) shows what the other side sees without Tacit
and with it, what an attacker can make of that, and what it costs. Every figure comes from the files that the
commands wrote. Nobody on it is real: the log is synthetic, and the people of the pool are census records.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import duckdb

from tacit.device import Guard
from tacit.files import literal_path
from tacit.groups import Groups
from tacit.pages import render
from tacit.pool.protocol.template import Region, adult_template
from tacit.privacy import Guarantee
from tacit.release.document.words import verdict_on
from tacit.taxonomy import load_wordnet

K, WINDOW = 5, 50.0
"""What the demo's pool promises: so many people within such a window."""

_TOLD = ("tumor", "religion", "sect", "pregnancy", "financial_condition", "indebtedness")
"""Sensitive interests whose queries can stand on a page that anybody may open."""


@dataclass(frozen=True)
class Searcher:
    """One of the log's people, with an ordinary and a sensitive interest."""

    user: str
    searches: int
    records: int
    """Rows of the log: a search with two clicks has two."""
    queries: tuple[str, ...]
    """Distinct queries, the most frequent first."""
    telling: tuple[str, ...]
    """Those behind which the sensitive interest stands."""

    @classmethod
    def of(cls, log: Path, truth: Path) -> Searcher:
        """Find somebody with enough clicks for a profile, and a sensitive interest among theirs."""
        rows = _rows(
            "searcher",
            log=literal_path(log),
            truth=literal_path(truth),
            told=[load_wordnet().synset(f"{name}.n.01") for name in _TOLD],
        )
        words = [row for row in rows if any(letter.isalpha() for letter in row[1])]
        return cls(
            user=rows[0][0],
            searches=sum(row[2] for row in rows),
            records=sum(row[4] for row in rows),
            queries=tuple(row[1] for row in words),
            telling=tuple(row[1] for row in words if row[3]),
        )

    def query_to_follow(self, profile: Path, released: Path) -> str:
        """Choose a query that a single topic goes out with, and a published one if there is."""
        published = {row[0] for row in _released(released)}
        with Guard(profile) as guard:
            told = [query for query in self.queries if len(guard.preview(query).names) == 1]
        return next((query for query in told if query in published), (told or self.queries)[0])


def write_story(demo: Path, person: Searcher, query: str, ran: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write the page into the demo's folder, and return where it is.

    Args:
        demo: the folder, with every step of the demo done.
        person: whose query it is.
        query: the query that is followed.
        ran: the commands that were run, as they were typed, each with its result.
    """

    def made(command: str) -> Mapping[str, Any]:
        return next(found for typed, found in ran.items() if typed.startswith(f"tacit {command} "))

    page = demo / "index.html"
    report = json.loads((demo / "groups/operator/report.json").read_text(encoding="utf-8"))
    written = render(
        "tacit.web",
        "story.html",
        query=query,
        person=person,
        k=K,
        window=f"{WINDOW:g}",
        users=report["users"],
        device=_device(demo / "me.profile", person, query),
        watched=made("audit device")["measured"],
        pool={**_pool(demo / "pool.parquet"), **made("audit pool")["measured"]},
        groups={"cohorts": _cohorts(demo / "groups", person), **report["singled_out"]},
        release=_release(demo / "released", made("release"), person, query),
        attack=made("audit people"),
        cost=made("evaluate")["tasks"].values(),
        profile=demo / "me.profile",
        commands=list(ran),
        made_by={command.split()[1]: command for command in reversed(list(ran))},
    )
    page.write_text(written, encoding="utf-8")
    return page


def _device(profile: Path, person: Searcher, query: str) -> dict[str, Any]:
    """Show what goes out with the query, and with all of the person's queries."""
    with Guard(profile) as guard:
        sent = {each: guard.preview(each).names for each in person.queries}
        sensitive = {topic for concept in guard.concepts() for topic in concept.covers}
    topics = Counter(name for names in sent.values() for name in names)
    return {
        "sent": sent[query],
        "queries": len(sent),
        "alone": sum(not names for names in sent.values()),
        "topics": [name for name, _ in topics.most_common()],
        "sensitive": len(sensitive & topics.keys()),
    }


def _pool(log: Path) -> dict[str, Any]:
    """A search of middling size of its region from somebody whose record nobody shares."""
    record, low, high = _rows("entry", log=literal_path(log))[0]
    values = adult_template().values
    exact, region = values(Region(tuple(record), tuple(record))), values(Region(tuple(low), tuple(high)))
    return {
        "exact": exact,
        "region": {name: region.get(name, "any") for name in exact},
        "as_they_are": sum(region.get(name) == value for name, value in exact.items()),
    }


def _cohorts(folder: Path, person: Searcher) -> list[str]:
    with Groups.open(folder) as groups:
        place = groups.place(person.user)
        return [groups.representative(each).about for each in (place.places if place else ())]


def _release(folder: Path, made: Mapping[str, Any], person: Searcher, query: str) -> dict[str, Any]:
    """The row of the query first, then the most frequent ones; what a reader may become sure of."""
    rows = _released(folder)
    counted = sorted((row for row in rows if row[1]), key=lambda row: (row[0] != query, -row[1]))
    return {
        "rows": len(rows),
        "counted": counted[:6],
        "telling": len({row[0] for row in rows} & set(person.telling)),
        "belief": verdict_on(Guarantee.from_dict(dict(made["guarantee"]))).sentences[0],
    }


def _released(folder: Path) -> list[tuple[Any, ...]]:
    return _rows("released", table=literal_path(folder / "queries.parquet"))


def _rows(question: str, **values: Any) -> list[tuple[Any, ...]]:
    """Ask a question that stands in the folder ``sql``."""
    sql = (resources.files("tacit.web") / "sql" / f"story_{question}.sql").read_text("utf-8")
    with duckdb.connect() as database:
        return list(database.execute(sql, values).fetchall())
