"""Judgments that people made: sessions of TREC, topics, qrels and runs in the standard formats, ir_datasets.

Clicks favour the list that was clicked; judgments do not. The XML of the TREC Session track is a log too:
documents are its urls, and where a session has no user, it is one of its own.

A list that was shown, or that a run has for a topic, is reranked by released clicks on its query, as
:class:`~tacit.evaluate.public.EngineLists` does it, but of these lists all documents are known.
"""

from __future__ import annotations

import gzip
import hashlib
import html
import importlib.util
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import ir_measures
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from ir_measures import AP, P, nDCG

from tacit.errors import InputError
from tacit.evaluate.data import ReleasedData, fold_of_records
from tacit.evaluate.public import TRUST
from tacit.evaluate.task import Measured, Measures, Task
from tacit.searchlog import SCHEMA
from tacit.text import normalise

MEASURES = {"nDCG@10": nDCG @ 10, "MAP": AP @ 1000, "P@10": P @ 10}
_DEEP = 1000
_BARE = re.compile(r"&(?!(?:#\d+|#x[0-9a-fA-F]+|\w+);)")
_TOPIC = re.compile(r"<top(?:ic)?\b([^>]*)>(.*?)(?=</top|<top|\Z)", re.DOTALL | re.IGNORECASE)
_SCORE = r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?"
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")

Qrels = Mapping[str, Mapping[str, int]]
"""By topic the grade of each document."""


@dataclass(frozen=True)
class ShownList:
    """A query, and the documents listed for it, best first; of these the places that were clicked."""

    query: str
    documents: tuple[str, ...]
    clicked: tuple[int, ...] = ()
    seconds: float = 0.0


@dataclass(frozen=True)
class Judged:
    """One topic, or one session: lists in the order of its queries.

    Args:
        name: of the session, or of the topic, as a run calls it.
        topic: as the qrels call it.
        owner: the user, by whom a fold is told.
        lists: with documents; a query without a list is not among them.
        session: whether they are the queries of one session.
        current: the query that the session ends with.
    """

    name: str
    topic: str
    owner: str
    lists: tuple[ShownList, ...]
    session: bool = True
    current: str = ""


@dataclass(frozen=True, repr=False)
class Judgments:
    """Topics or sessions with judgments."""

    units: tuple[Judged, ...]
    qrels: Qrels

    def __repr__(self) -> str:
        return f"Judgments({len(self.units):,} of {len(self.qrels):,} topics)"

    def of_fold(self, fold: int, folds: int, seed: int) -> Judgments:
        """The part whose owners are tested in a fold, by the hash that splits the users of a log."""
        part = fold_of_records(pa.chunked_array([[unit.owner for unit in self.units]]), folds, seed)
        return replace(self, units=tuple(u for u, f in zip(self.units, part, strict=True) if f == fold))

    @property
    def digest(self) -> str:
        """Tells them from others."""
        return hashlib.sha256(repr((self.units, sorted(self.qrels.items()))).encode()).hexdigest()


def is_session_file(path: Path) -> bool:
    """Whether a file begins as the track's XML does."""
    if path.suffix == ".parquet" or not path.is_file():
        return False
    with _opened(path) as file:
        return "<session" in file.read(4096)


def _opened(path: Path) -> Any:
    return (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8-sig", errors="replace")


def read_sessions(path: Path) -> list[Judged]:
    """Read the XML of the TREC Session track."""
    with _opened(path) as file:
        text = _BARE.sub("&amp;", _UNPRINTABLE.sub("", file.read()))
    if "<!ENTITY" in text:
        raise InputError(f"{path.name} declares entities, which the track's files do not.")
    try:
        root = ElementTree.fromstring(text)
    except ElementTree.ParseError as error:
        raise InputError(
            f"{path.name} is no well-formed XML: {error.msg.split(':')[0]} at line {error.position[0]}."
        ) from error
    found = [_session(element, place) for place, element in enumerate(root.iter("session"), start=1)]
    if not found:
        problem = f"{path.name} has no element named session."
        raise InputError(problem, "Give a file of the TREC Session track.")
    return found


def _session(element: ElementTree.Element, place: int) -> Judged:
    number = element.get("num") or str(place)
    topic = element.find("topic")
    named = (topic.get("num") if topic is not None else None) or element.get("topic") or number
    lists = []
    for interaction in element.iter("interaction"):
        query = normalise(_text(interaction, "query"))
        listed = [_result(each, rank) for rank, each in enumerate(interaction.iter("result"), start=1)]
        listed = sorted((rank, document) for rank, document in listed if document)
        documents = tuple(dict.fromkeys(document for _, document in listed))
        ranks = dict(listed)
        clicked = [_clicked(each, ranks) for each in interaction.iter("click")]
        places = sorted({documents.index(each) for each in clicked if each in documents})
        if query and documents:
            lists.append(ShownList(query, documents, tuple(places), _seconds(interaction.get("starttime"))))
    current = element.find("currentquery")
    asked = "" if current is None else _text(current, "query") or (current.text or "")
    owner = element.get("userid") or element.get("user") or f"session {number}"
    return Judged(number, named, owner, tuple(lists), True, normalise(asked))


def _text(element: ElementTree.Element, tag: str) -> str:
    return " ".join((element.findtext(tag) or "").split())


def _result(element: ElementTree.Element, place: int) -> tuple[int, str]:
    """Rank and document: its number in ClueWeb or elsewhere, or its address."""
    rank = element.get("rank") or _text(element, "rank")
    named = (
        (child.text or "").strip()
        for child in element
        if child.tag in ("docno", "docid", "id") or re.fullmatch(r"clueweb\d*_?id", child.tag)
    )
    document = next((text for text in named if text), "") or _text(element, "url")
    return int(rank) if rank.isdigit() else place, document


def _clicked(element: ElementTree.Element, ranks: Mapping[int, str]) -> str:
    named = _text(element, "docno") or _text(element, "docid")
    rank = _text(element, "rank")
    return named or (ranks.get(int(rank), "") if rank.isdigit() else "")


def _seconds(time: str | None) -> float:
    """Parse a time of day (10:25:16.09) or a number of seconds; 0 where neither is there."""
    try:
        parts = [float(part) for part in (time or "0").split(":")]
    except ValueError:
        return 0.0
    return float(sum(part * 60.0**place for place, part in enumerate(reversed(parts))))


def log_of_sessions(sessions: Sequence[Judged], path: Path) -> None:
    """Write the sessions as a search log: a day each, so that no two are taken for one."""
    rows = []
    for day, session in enumerate(sessions):
        begun = datetime(2011, 1, 1) + timedelta(days=day)
        first = session.lists[0].seconds if session.lists else 0.0
        for step, shown in enumerate(session.lists):
            time = begun + timedelta(seconds=max(step, min(shown.seconds - first, 3600.0 + step)))
            clicks: list[int | None] = [*shown.clicked] or [None]
            for place in clicks:
                rank = None if place is None else place + 1
                url = None if place is None else shown.documents[place]
                rows.append((session.owner, shown.query, time, rank, url))
    columns = [pa.array([row[n] for row in rows], field.type) for n, field in enumerate(SCHEMA)]
    pq.write_table(pa.table(columns, schema=SCHEMA), path)


def read_qrels(path: Path) -> Qrels:
    """Read judgments; below 0 (spam, in the track) counts as 0, and of several (by subtopic) the highest."""
    found: dict[str, dict[str, int]] = {}
    for number, parts in _lines(path, 4, "topic, anything, document and grade"):
        if not re.fullmatch(r"-?\d{1,4}", parts[3]):  # trec_eval counts up to the highest
            raise InputError(f"{path.name}, line {number}: the grade must be a whole number below 10,000.")
        _grade(found, parts[0], parts[2], int(parts[3]))
    if not found:
        raise InputError(f"{path.name} holds no judgment.")
    return found


def _grade(found: dict[str, dict[str, int]], topic: str, document: str, grade: int) -> None:
    grades = found.setdefault(topic, {})
    grades[document] = max(0, grade, grades.get(document, 0))


def read_run(path: Path) -> dict[str, list[str]]:
    """Read a run: documents by falling score, as trec_eval has them (of equals the last in the alphabet)."""
    found: dict[str, list[tuple[float, str]]] = {}
    for number, parts in _lines(path, 6, "topic, Q0, document, rank, score and name"):
        if not re.fullmatch(_SCORE, parts[4]):
            raise InputError(f"{path.name}, line {number}: the score must be a number.")
        found.setdefault(parts[0], []).append((float(parts[4]), parts[2]))
    return {topic: [doc for _, doc in sorted(listed, reverse=True)] for topic, listed in found.items()}


def _lines(path: Path, columns: int, what: str) -> Iterator[tuple[int, list[str]]]:
    if not path.is_file():
        raise InputError(f"the file {path} does not exist.")
    with _opened(path) as file:
        for number, line in enumerate(file, start=1):
            parts = line.split()
            if len(parts) not in (0, columns):
                raise InputError(
                    f"{path.name}, line {number} has {len(parts)} columns; {columns} are expected: {what}."
                )
            if parts:
                yield number, parts


def read_topics(path: Path) -> list[Judged]:
    """Read topics: a number, a tab and a query in each line, or the elements that TREC's tracks use."""
    with _opened(path) as file:
        text = file.read()
    found = []
    for number, line in enumerate([] if _TOPIC.search(text) else text.splitlines(), start=1):
        name, tab, query = line.partition("\t")
        if not tab and line.strip():
            problem = f"{path.name}, line {number}: a topic is a number, a tab and a query."
            raise InputError(problem, "TREC's own files, with an element for each topic, are read too.")
        if line.strip():
            found.append(_topic(name, query))
    for element in _TOPIC.finditer(text):
        name = re.search(r"<num>\s*(?:Number:)?\s*([^\s<]+)", element[2]) or re.search(
            r"""(?:number|num|id)\s*=\s*["']?([^"'\s>]+)""", element[1]
        )
        asked = re.search(r"<(query|title)>\s*(?:Topic:)?([^<]*)", element[2], re.IGNORECASE)
        if name is None or asked is None:
            raise InputError(f"topic {len(found) + 1} of {path.name} has no number, or no query or title.")
        found.append(_topic(name[1], html.unescape(asked[2])))
    return found


def _topic(name: str, query: str) -> Judged:
    return Judged(name.strip(), name.strip(), f"topic {name.strip()}", (), False, normalise(query))


def load_judgments(
    topics: str | Path, qrels: str | Path | None = None, run: str | Path | None = None
) -> Judgments:
    """Bring topics, judgments and lists together.

    Args:
        topics: a file of the TREC Session track, a file of topics, or a name that ir_datasets knows.
        qrels: judgments; those of ir_datasets unless given.
        run: the engine's lists for topics, or for sessions' current queries.
    """
    path = Path(topics)
    lists = read_run(Path(run)) if run is not None else {}
    if path.is_file():
        units = read_sessions(path) if is_session_file(path) else read_topics(path)
        if qrels is None:
            raise InputError("topics need judgments.", "Give them as `qrels`.")
        grades = read_qrels(Path(qrels))
    else:
        units, own, scored = _of_ir_datasets(str(topics))
        grades, lists = (read_qrels(Path(qrels)) if qrels is not None else own), lists or scored
    by_topic = any(unit.topic in grades and unit.topic != unit.name for unit in units)
    found = []
    for unit in units:
        topic = unit.topic if by_topic or unit.topic in grades else unit.name
        more = (ShownList(unit.current, tuple(lists[unit.name])),) if lists.get(unit.name) else ()
        if topic in grades and (unit.lists or more):
            found.append(replace(unit, topic=topic, lists=unit.lists + more))
    if not found:
        listed = sum(bool(unit.lists or lists.get(unit.name)) for unit in units)
        judged = sum(unit.topic in grades or unit.name in grades for unit in units)
        raise InputError(
            f"none of {len(units):,} topics has both a list of results and a judgment: {listed:,} have a "
            f"list, {judged:,} a judgment.",
            "Give lists as `run`, and the judgments of these topics as `qrels`.",
        )
    return Judgments(tuple(found), grades)


def _of_ir_datasets(name: str) -> tuple[list[Judged], Qrels, dict[str, list[str]]]:
    if importlib.util.find_spec("ir_datasets") is None:
        problem = f"{name} is no file, and ir_datasets, which may know the name, is not installed."
        raise InputError(problem, "Give the file of topics or sessions, or install ir-datasets.")
    try:
        source = importlib.import_module("ir_datasets").load(name)
        asked = source.queries_iter() if source.has_queries() else ()
        units = [unit for unit in (_topic(q.query_id, _words(q)) for q in asked) if unit.current]
        grades: dict[str, dict[str, int]] = {}
        for each in source.qrels_iter() if source.has_qrels() else ():
            _grade(grades, each.query_id, each.doc_id, int(each.relevance))
        scored: dict[str, list[tuple[float, str]]] = {}
        for each in source.scoreddocs_iter() if source.has_scoreddocs() else ():
            scored.setdefault(each.query_id, []).append((float(each.score), each.doc_id))
    except KeyError as error:
        raise InputError(f"{name} is no file, and ir_datasets knows no such name.") from error
    except (OSError, RuntimeError, ValueError, ImportError) as error:
        remedy = "It downloads what is not on the disk; fetch it where there is a network, or give files."
        raise InputError(f"ir_datasets could not get {name}: {type(error).__name__}.", remedy) from error
    if not units:
        raise InputError(f"{name} of ir_datasets has no queries in words.", "Name one of its parts that has.")
    return units, grades, {q: [doc for _, doc in sorted(s, reverse=True)] for q, s in scored.items()}


def _words(query: Any) -> str:
    """The text of a query of ir_datasets, whatever its fields are."""
    if hasattr(query, "default_text"):
        return str(query.default_text())
    return str(getattr(query, "text", None) or getattr(query, "title", ""))


class JudgedTask(Task):
    """A task on judged topics or sessions.

    Args:
        judgments: those of this fold.
    """

    headline = "engine and clicks: nDCG@10"
    reads = ("clicks",)
    judged = True

    def __init__(self, judgments: Judgments) -> None:
        self._judgments = judgments


class JudgedTrial:
    """Lists of judged topics, reranked by released clicks and merged."""

    def __init__(
        self, judgments: Judgments, units: Sequence[tuple[Judged, Sequence[ShownList]]], discount: float
    ) -> None:
        self._units, self._discount = units, discount
        owners = {name: number for number, name in enumerate(sorted({unit.owner for unit, _ in units}))}
        self.owners = np.array([owners[unit.owner] for unit, _ in units], np.int64)
        topics = {unit.topic for unit, _ in units}
        self._qrels = {topic: dict(grades) for topic, grades in judgments.qrels.items() if topic in topics}

    def measure(self, released: ReleasedData) -> Measures:
        """Compute each measure for each topic or session, by ir-measures."""
        clicks = _clicks_by_query(released)
        run: dict[str, dict[str, float]] = {}
        qrels: dict[str, dict[str, int]] = {}
        for number, (unit, lists) in enumerate(self._units):
            merged = self._merged(lists, clicks)
            # falling scores that no rounding brings together, so that the order is this one
            run[str(number)] = {doc: float(len(merged) - place) for place, doc in enumerate(merged)}
            qrels[str(number)] = self._qrels[unit.topic]
        values = {name: np.zeros(len(self._units)) for name in MEASURES}
        named = {measure: name for name, measure in MEASURES.items()}
        for metric in ir_measures.iter_calc(list(MEASURES.values()), qrels, run) if run else ():
            values[named[metric.measure]][int(metric.query_id)] = metric.value
        return {f"engine and clicks: {name}": Measured(found) for name, found in values.items()}

    def _merged(self, lists: Sequence[ShownList], clicks: Mapping[str, Mapping[str, float]]) -> list[str]:
        """Merge lists of documents: a document scores one over its place in each, the last query most."""
        if len(lists) == 1:
            return reranked(lists[0], clicks)[:_DEEP]
        scores: dict[str, float] = {}
        for after, shown in enumerate(reversed(lists)):
            for place, document in enumerate(reranked(shown, clicks), start=1):
                scores[document] = scores.get(document, 0.0) + self._discount**after / place
        return sorted(scores, key=lambda document: (-scores[document], document))[:_DEEP]


def reranked(shown: ShownList, clicks: Mapping[str, Mapping[str, float]]) -> list[str]:
    """A list by its order and released clicks; documents that it lacks follow it unless clicks lift them."""
    counts = clicks.get(shown.query, {})
    beyond = [document for document in counts if document not in shown.documents]
    place = {document: rank for rank, document in enumerate(shown.documents, start=1)}
    place |= dict.fromkeys(beyond, len(shown.documents) + 1)
    score = {document: counts.get(document, 0.0) + TRUST / (rank + 1) for document, rank in place.items()}
    return sorted(place, key=lambda document: (-score[document], place[document], document))


def _clicks_by_query(released: ReleasedData) -> dict[str, dict[str, float]]:
    clicks = released.clicks
    found: dict[str, dict[str, float]] = {}
    for query, url, count in zip(
        released.queries.take(clicks.row).to_pylist(),
        released.urls.take(clicks.column).to_pylist(),
        clicks.weight.tolist(),
        strict=True,
    ):
        found.setdefault(query, {})[url] = count
    return found
