"""The life of a query: one page about one search, made from what the demo has just computed.

At each of the four guards the page (``templates/story.html``) sets what the other side sees without Tacit
beside what it sees with it, then what an attacker makes of it and what it costs. Every figure comes from the
files that the commands wrote. Nobody on the page is real: the log is synthetic, the pool's people are public
census records.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from tacit.device import Guard
from tacit.files import literal_path
from tacit.groups import Groups
from tacit.pages import render
from tacit.pool import Region, verify_log
from tacit.pool.protocol.template import named_template
from tacit.privacy import Guarantee
from tacit.release.document.words import verdict_on

K, WINDOW = 5, 50.0
"""What the demo's pool promises: so many people within such a window."""


@dataclass(frozen=True)
class Searcher:
    """One of the log's people, with an ordinary and a sensitive interest."""

    user: str
    searches: int
    queries: tuple[str, ...]
    """Distinct queries, the most frequent first."""
    telling: tuple[str, ...]
    """Those behind which the sensitive interest stands."""

    @classmethod
    def of(cls, log: Path, truth: Path) -> Searcher:
        """Find somebody with enough clicks for a profile, and a sensitive interest among theirs."""
        rows = _rows(
            """
            WITH people AS (
                SELECT "user", interests[list_position(sensitive, true)] AS private, behind
                FROM read_parquet($truth, hive_partitioning=false)
                WHERE list_contains(sensitive, true) AND list_contains(sensitive, false)
            ), records AS (
                SELECT "user", query, url,
                       row_number() OVER (PARTITION BY "user" ORDER BY file_row_number) AS place
                FROM read_parquet($log, hive_partitioning=false, file_row_number=true)
            ), chosen AS (
                SELECT "user" FROM people JOIN records USING ("user")
                GROUP BY ALL HAVING count(url) BETWEEN 50 AND 300 ORDER BY count(url) DESC, "user" LIMIT 1
            )
            SELECT "user", query, count(*), bool_or(coalesce(behind[place] = private, false))
            FROM records JOIN people USING ("user") JOIN chosen USING ("user")
            GROUP BY ALL ORDER BY 3 DESC, query
            """,
            log=literal_path(log),
            truth=literal_path(truth),
        )
        words = [row for row in rows if any(letter.isalpha() for letter in row[1])]
        return cls(
            user=rows[0][0],
            searches=sum(row[2] for row in rows),
            queries=tuple(row[1] for row in words),
            telling=tuple(row[1] for row in words if row[3]),
        )

    def query_to_follow(self, profile: Path, released: Path) -> str:
        """Choose a query that a single topic goes out with, and a published one if there is."""
        published = {row[0] for row in _released(released)}
        with Guard(profile) as guard:
            told = [query for query in self.queries if len(guard.preview(query).names) == 1]
        return next((query for query in told if query in published), (told or self.queries)[0])


def write_story(demo: Path, person: Searcher, query: str, commands: Sequence[str]) -> Path:
    """Write the page into the demo's folder, and return where it is.

    Args:
        demo: the folder, with every step of the demo done.
        person: whose query it is.
        query: the query that is followed.
        commands: the commands that were run, as they were typed.
    """
    page = demo / "index.html"
    written = render(
        "tacit.web",
        "story.html",
        query=query,
        person=person,
        k=K,
        users=_json(demo / "groups/operator/report.json")["users"],
        device=_device(demo / "me.profile", person, query),
        pool=_pool(demo / "pool.parquet"),
        groups=_groups(demo / "groups", person),
        release=_release(demo / "released", person, query),
        cost=_json(demo / "evaluation/results.json"),
        profile=demo / "me.profile",
        commands=commands,
        made_by={command.split()[1]: command for command in commands},
    )
    page.write_text(written, encoding="utf-8")
    return page


def _device(profile: Path, person: Searcher, query: str) -> dict[str, Any]:
    """What goes out with the query, and with all of the person's queries."""
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
    record, low, high, unique, entries = _rows(
        """
        WITH entries AS (SELECT *, count(DISTINCT sender) OVER (PARTITION BY record) AS alike
                         FROM read_parquet($log, hive_partitioning=false)),
             sized AS (SELECT *, list_sum([ln(high[i] - low[i] + 1) for i in range(1, len(low) + 1)]) AS size
                       FROM entries WHERE guarded AND alike = 1)
        SELECT record, low, high, (SELECT avg((alike = 1)::int) FROM entries), (SELECT count(*) FROM entries)
        FROM sized ORDER BY abs(size - (SELECT median(size) FROM sized)), time LIMIT 1
        """,
        log=literal_path(log),
    )[0]
    values = named_template("adult").values
    exact, region = values(Region(tuple(record), tuple(record))), values(Region(tuple(low), tuple(high)))
    return {
        "exact": exact,
        "region": {name: region.get(name, "any") for name in exact},
        "as_they_are": sum(region.get(name) == value for name, value in exact.items()),
        "unique": unique,
        "entries": entries,
        "found": verify_log(log, K, WINDOW),
    }


def _groups(folder: Path, person: Searcher) -> dict[str, Any]:
    with Groups.open(folder) as groups:
        place = groups.place(person.user)
        cohorts = [groups.representative(each).about for each in (place.places if place else ())]
    return {"cohorts": cohorts, **_json(folder / "operator/report.json")["singled_out"]}


def _release(folder: Path, person: Searcher, query: str) -> dict[str, Any]:
    """The row of the query first, then the most frequent ones; what a reader may become sure of."""
    rows = _released(folder)
    guarantee = Guarantee.from_dict(_json(folder / "manifest.json")["guarantee"])
    counted = sorted((row for row in rows if row[1]), key=lambda row: (row[0] != query, -row[1]))
    return {
        "rows": len(rows),
        "counted": counted[:6],
        "telling": len({row[0] for row in rows} & set(person.telling)),
        "belief": verdict_on(guarantee).sentences[0],
    }


def _released(folder: Path) -> list[tuple[Any, ...]]:
    table = literal_path(folder / "queries.parquet")
    return _rows(
        "SELECT query, count, deviation FROM read_parquet($table, hive_partitioning=false)", table=table
    )


def _json(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8")))


def _rows(sql: str, **values: Any) -> list[tuple[Any, ...]]:
    with duckdb.connect() as database:
        return list(database.execute(sql, values).fetchall())
