"""Pairs of small logs that differ by one person, and what a release would count of each.

Everything is counted by the mechanism's own ``count``, so that what bounds a person's records is audited too:
the person has more of everything than may count.

- **Crowd**: everybody has what the person has, far above every threshold. Here ε is attained.
- **Alone**: nobody has it. Here δ is attained, at the threshold.
- **Straddler**: as many others as bring a key to the threshold.
- **Holders**: of rounds, as many holders of one item as bring it to where a person decides.
"""

import math
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.engines import Engine
from tacit.privacy import Neighbours
from tacit.release.execution import Holdings
from tacit.release.mechanism import Counting, Plan
from tacit.release.preparation import Preparation
from tacit.release.rounds_analysis import even_chance_at
from tacit.release.schedule import AdaptiveRounds, Part, SingleCount
from tacit.searchlog import SCHEMA

START = datetime(2006, 3, 1)
History = Sequence[tuple[str, int, str | None]]
"""(query, minutes after the beginning, clicked url)."""
Log = Mapping[str, History]
Key = tuple[str | None, ...]
Counted = tuple[int | None, int | None, bool]
"""The counts of a key on both logs, None where it does not occur, and whether it is public."""

SCALES = 12
"""A crowd is so many scales of noise above the threshold: below it a draw falls with chance e^-12."""
_MOST = 48
"""A person has at most so many different items here."""
_WORDS = (
    "beagle violin plumber church hospital weather football recipes cars flights guitar news shoes loan "
    "movies horoscope dentist garden software lottery novel poker wedding insurance university camera puppy"
).split()


@dataclass(frozen=True)
class CountedPair:
    """What is counted of two neighbouring logs, or who holds what in them. Secret in a release.

    Args:
        name: of the pair.
        keys: of each table the keys, and what is counted of each.
        holdings: of both, for a mechanism that selects.
    """

    name: str
    keys: dict[str, dict[Key, Counted]]
    holdings: tuple[Holdings, Holdings] | None = None

    def differing(self) -> dict[str, dict[Key, Counted]]:
        """The keys whose counts differ; all others are drawn alike and tell nothing."""
        return {
            table: {key: found for key, found in keys.items() if found[0] != found[1]}
            for table, keys in self.keys.items()
        }


def log_table(log: Log, start: datetime = START) -> pa.Table:
    """A log as the engine takes it."""
    rows = [
        (user, query, start + timedelta(minutes=minute), None if url is None else 1, url)
        for user, history in log.items()
        for query, minute, url in history
    ]
    columns = [list(column) for column in zip(*rows, strict=True)] if rows else [[]] * 5
    fields = zip(columns, SCHEMA, strict=True)
    return pa.table({each.name: pa.array(column, each.type) for column, each in fields})


def lettered(prefix: str, number: int) -> str:
    """A word of letters, which no scrubbing takes for something else."""
    return prefix + "".join(chr(97 + int(digit)) for digit in str(number))


def _asked(queries: Sequence[str]) -> History:
    """Ask each item twice, one after the other: what is asked again takes the place of what follows."""
    twice = [query for query in queries for _ in range(2)]
    return [(query, n, f"http://{query.replace(' ', '-')}") for n, query in enumerate(twice)]


def history_of(plan: Plan[Any], word: str = "item") -> History:
    """Make the history of a person who exceeds every bound of the plan, repeated where repeats count once."""
    asked: Any = plan.mechanism
    match plan.name:
        case "click":
            limit = min(asked.queries_per_user, _MOST)
            sets = plan.sets  # type: ignore[attr-defined]
            domain, known = getattr(sets["domain"], "queries", None), getattr(sets["surfaced"], "urls", None)
            first = 0 if word == "item" else limit + 1
            names = [lettered(word, n) for n in range(limit + 1)]
            if domain is not None:
                names = domain.slice(first, limit + 1).to_pylist()
            once = plan.schedule.parts[0].contribution.once
            queries = names if once else [names[n % 2] for n in range(limit + 1)]
            number = asked.counted_clicks + 1

            def urls(query: str) -> Sequence[str | None]:
                return (known(query)[:number] or (None,)) if known else [f"http://{n}" for n in range(number)]

            asked_often = [query for query in queries for _ in range(1 + once)]
            return [(q, n, url) for n, q in enumerate(asked_often) for url in urls(q)]
        case "session":
            size, sessions = asked.queries_per_session, min(asked.sessions_per_user, 8)
            return [
                (lettered(word, n * (size + 1) + place), 200 * n + place, f"http://{lettered(word, n)}")
                for n in range(sessions + 1)
                for place in range(size + 1)
            ]
        case "topics":
            return _asked(_on_topics(plan, word))
        case "adaptive":
            return _asked([lettered(word, 0)])
        case _:
            number = min(getattr(asked, "per_user", 3), _MOST) + 2
            return _asked([lettered(word, n) for n in range(number)])


def _on_topics(plan: Any, word: str) -> list[str]:
    """Queries on different topics of the first level; those of another word on others still."""
    from tacit.release.mechanisms.topics_tree import TOP

    topics = plan.topics
    numbers = _topics_of_words(topics.tree)
    paths = np.column_stack([each.to_numpy() for each in topics.path_table().columns[1:]])
    found: dict[int, str] = {}
    for query, number in zip(_WORDS, numbers.tolist(), strict=True):
        place = topics.place[number] if number >= 0 else TOP
        if place != TOP and paths[place][-1] != TOP:
            found.setdefault(int(paths[place][0]), query)
    queries = list(found.values())
    half = max(1, len(queries) // 2)
    return queries[:half] if word == "item" else queries[half:]


@lru_cache(maxsize=2)
def _topics_of_words(tree: Any) -> Any:
    """The topics of our words, none of which is anybody's."""
    from tacit.release.mechanisms.topics_counting import topics_of_queries

    return topics_of_queries(tree)(_WORDS)


def people_of(plan: Plan[Any]) -> dict[str, int]:
    """Choose how many others each pair has."""
    selection = plan.schedule.selection
    if isinstance(selection, AdaptiveRounds):
        # Rarely found it shows most at (ε, δ), about half of the time most against the whole curve.
        numbers = {round(even_chance_at(selection) * share) for share in (0.55, 0.93)}
        return {f"{n} holders": n for n in sorted(numbers)}
    if isinstance(selection, SingleCount):
        return {"crowd": selection.least + math.ceil(SCALES * selection.scale), "alone": 0}
    if plan.schedule.exact:
        return {"straddler": min(part.minimum for part in plan.schedule) - 1}
    crowd = max(max(p.least or 0, p.minimum) + math.ceil(SCALES * p.scale) + 1 for p in plan.schedule)
    first = plan.schedule.parts[0]
    found = {"crowd": crowd, "alone": 0, "straddler": max(0, (first.least or 2) - 1)}
    return found | ({"first threshold": first.minimum - 1} if first.minimum > 1 else {})


def pairs_of(plan: Plan[Any], only: Sequence[str] = ()) -> Iterator[tuple[str, Log, Log]]:
    """The logs of each pair: without the person, and with; or with another one, where users are replaced.

    Args:
        plan: what is audited.
        only: the pairs wanted; all unless given.
    """
    mine = history_of(plan)
    replacing = plan.neighbours is Neighbours.REPLACE
    other = history_of(plan, "other") if replacing else ()
    for name, number in people_of(plan).items():
        if only and name not in only:
            continue
        others = {f"u{n}": mine for n in range(number)}
        if replacing and name != "alone":
            others |= {f"v{n}": other for n in range(number)}
        yield name, others | ({"somebody": other} if replacing else {}), others | {"somebody": mine}


def taken_in(plan: Plan[Any], engine: Engine, log: Log) -> Counting:
    """Count a log from its file, by the way that a release takes."""
    path = Path(tempfile.mkdtemp(dir=engine.scratch)) / "log.parquet"
    pq.write_table(log_table(log), path)
    return plan.take_in(engine, path, Preparation(scrub=False))


def count_pairs(plan: Plan[Any], engine: Engine, only: Sequence[str] = ()) -> Iterator[CountedPair]:
    """Count each pair by the plan's own code."""
    for name, without, having in pairs_of(plan, only):
        counts = [taken_in(plan, engine, log) for log in (without, having)]
        if plan.schedule.selection is not None:
            first, second = (_held_alone(each["held"].holdings) for each in counts)
            yield CountedPair(name, {}, (first, second))
            continue
        keys: dict[str, dict[Key, Counted]] = {}
        published: dict[str, pa.Table] = {}
        for part in plan.schedule:
            one, two = (_rows(plan, engine, each, part, published) for each in counts)
            keys[part.table] = {
                key: (one.get(key, (None,))[0], two.get(key, (None,))[0], public)
                for key, (_, public) in (one | two).items()
            }
            differing = [key[0] for key, (a, b, _) in keys[part.table].items() if a != b or (a or b)]
            if not part.columns[0].several:
                published[part.table] = pa.table({part.columns[0].name: pa.array(differing, pa.string())})
        yield CountedPair(name, keys)


def _held_alone(holdings: Holdings) -> Holdings:
    """The same without public items that nobody holds, which are drawn alike on both logs."""
    kept, items = np.unique(holdings.items, return_inverse=True)
    words = None if holdings.words is None else holdings.words[kept]
    listed = None if holdings.listed is None else holdings.listed[kept]
    return Holdings(holdings.starts, items.astype(np.int32), kept.size, words, listed)


def _rows(
    plan: Plan[Any], engine: Engine, counting: Any, part: Part, published: dict[str, pa.Table]
) -> dict[Key, tuple[int, bool]]:
    found: dict[Key, tuple[int, bool]] = {}
    for batch in plan.rows(engine, counting, part, published):
        names = [name for name in batch.schema.names if name not in ("count", "public")]
        keys = zip(*(batch.column(name).to_pylist() for name in names), strict=True)
        marks = batch.column("public").to_pylist() if "public" in batch.schema.names else None
        for n, (key, count) in enumerate(zip(keys, batch.column("count").to_pylist(), strict=True)):
            found[key] = (count, part.keys.value == "public" if marks is None else bool(marks[n]))
    return found
