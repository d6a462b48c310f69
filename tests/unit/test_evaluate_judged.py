"""TREC's sessions, qrels and runs, of our own making: read as written, and judged as pytrec_eval judges."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
import pytrec_eval
from tests.evaluate_log import part, release
from typer.testing import CliRunner

import tacit
from tacit import InputError, ParameterError
from tacit.commands import application
from tacit.evaluate import ReleasedData
from tacit.evaluate.judged import (
    Judged,
    Judgments,
    ShownList,
    is_session_file,
    load_judgments,
    log_of_sessions,
    read_qrels,
    read_run,
    read_sessions,
    reranked,
)
from tacit.evaluate.tasks.judged_adhoc import JudgedAdhoc
from tacit.evaluate.tasks.judged_sessions import JudgedSessions

TOPICS, USERS, PAGES = 4, 40, 6


def page(topic: int, number: int) -> str:
    return f"clueweb12-{topic:04d}wb-{number:02d}"


def write_track(folder: Path) -> tuple[Path, Path]:
    """Forty users, a session each: two queries of a topic with six results, the fifth of them clicked."""
    sessions = []
    for number in range(1, USERS + 1):
        topic = number % TOPICS + 1
        interactions = []
        for step, words in enumerate((f"topic {topic}", f"topic {topic} &c"), start=1):
            order = [*range(step - 1, PAGES), *range(step - 1)]  # the second list begins one later
            results = "".join(
                f'<result rank="{rank}"><url>http://x/{topic}/{which}</url>'
                f"<clueweb12id>{page(topic, which)}</clueweb12id><title>t</title><snippet/></result>"
                for rank, which in enumerate(order, start=1)
            )
            click = f"<rank>{order.index(4) + 1}</rank>" + f"<docno>{page(topic, 4)}</docno>" * (number % 2)
            interactions.append(
                f'<interaction num="{step}" starttime="{12.5 * step}"><query> {words} </query>'
                f"<results>{results}</results>"
                f'<clicked><click num="1" starttime="20" endtime="30">{click}</click></clicked></interaction>'
            )
        sessions.append(
            f'<session num="{number}" starttime="0" userid="u{number}"><topic num="{topic}"><desc>d</desc>'
            f"</topic>{''.join(interactions)}<currentquery starttime='60'><query>Topic {topic} now</query>"
            "</currentquery></session>"
        )
    track = folder / "sessiontrack2013.xml"
    track.write_text(f"<?xml version='1.0'?><sessiontrack2013>{''.join(sessions)}</sessiontrack2013>")
    qrels = folder / "qrels.txt"
    graded = {4: 3, 5: 1, 0: 0, 1: -2}
    qrels.write_text(
        "".join(f"{t} 0 {page(t, n)} {g}\n" for t in range(1, TOPICS + 1) for n, g in graded.items())
    )
    return track, qrels


def by_pytrec(lists: list[list[str]], topics: list[str], qrels: dict[str, dict[str, int]]) -> np.ndarray:
    """nDCG@10 of each list."""
    evaluator = pytrec_eval.RelevanceEvaluator(
        {str(n): qrels[topic] for n, topic in enumerate(topics)}, {"ndcg_cut_10"}
    )
    run = {str(n): {doc: 100.0 - place for place, doc in enumerate(each)} for n, each in enumerate(lists)}
    found = evaluator.evaluate(run)
    return np.array([found[str(n)]["ndcg_cut_10"] for n in range(len(lists))])


def test_sessions_are_read_and_are_a_log(tmp_path: Path) -> None:
    track, _ = write_track(tmp_path)
    assert is_session_file(track)
    sessions = read_sessions(track)
    first = sessions[0]
    assert len(sessions) == USERS
    assert (first.name, first.topic, first.owner, first.current) == ("1", "2", "u1", "topic 2 now")
    assert [shown.query for shown in first.lists] == ["topic 2", "topic 2 &c"]  # a bare & is read as one
    assert first.lists[1].documents == tuple(page(2, n) for n in (1, 2, 3, 4, 5, 0))
    assert [shown.clicked for shown in first.lists] == [(4,), (3,)]
    log_of_sessions(sessions, tmp_path / "log.parquet")
    records = pq.read_table(tmp_path / "log.parquet").to_pylist()
    assert len(records) == 2 * USERS
    assert (records[0]["user"], records[0]["query"], records[0]["rank"]) == ("u1", "topic 2", 5)
    assert records[0]["url"] == page(2, 4)
    assert (records[1]["time"] - records[0]["time"]).total_seconds() == 12.5


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (  # 2011 and 2012: times of the day, ClueWeb09, a click by its rank, neither user nor topic number
            '<session num="7" starttime="10:25:16.1"><topic><desc>d</desc></topic>'
            '<interaction num="1" starttime="10:25:16.1"><query>q</query><results>'
            '<result rank="1"><url>u</url>'
            "<clueweb09id>cw-1</clueweb09id></result></results><clicked><click num='1'><rank>1</rank></click>"
            "</clicked></interaction><currentquery>now</currentquery></session>",
            ("7", "7", "session 7", ("cw-1",), (0,), "now"),
        ),
        (  # no results element, no rank, no document number
            '<session num="8" userid="u"><topic num="3"/><interaction><query>q</query>'
            "<result><url>u</url></result>"
            "<result><url>v</url></result></interaction></session>",
            ("8", "3", "u", ("u", "v"), (), ""),
        ),
    ],
)
def test_other_years_are_read(tmp_path: Path, body: str, expected: tuple[object, ...]) -> None:
    track = tmp_path / "sessions.xml.gz"
    with gzip.open(track, "wt") as file:
        file.write(f"<sessiontrack2011>{body}</sessiontrack2011>")
    [found] = read_sessions(track)
    [shown] = found.lists
    assert (found.name, found.topic, found.owner, shown.documents, shown.clicked, found.current) == expected


def test_lists_are_reranked_by_hand() -> None:
    shown = ShownList("q", ("a", "b", "c"))
    assert reranked(shown, {}) == ["a", "b", "c"]
    # a 20/2 = 10, b 20/3 + 4 = 10.67; x, which the list lacks, is fourth: 20/5 + 7 = 11
    assert reranked(shown, {"q": {"b": 4.0, "x": 7.0}, "other": {"c": 99.0}}) == ["x", "b", "a", "c"]


def test_a_document_that_a_list_lacks_stands_after_it() -> None:
    # x is fourth: 20/5 + 5.8 = 9.8, below a with 20/2 = 10
    assert reranked(ShownList("q", ("a", "b", "c")), {"q": {"x": 5.8}}) == ["a", "x", "b", "c"]


def test_the_last_query_of_a_session_counts_most(tmp_path: Path) -> None:
    lists = (ShownList("one", ("a",)), ShownList("two", ("b",)))
    unit = Judged("1", "1", "somebody", lists, True)
    trial = JudgedSessions(Judgments((unit,), {"1": {"a": 1, "b": 0}})).against(part(), part())
    measured = trial.measure(ReleasedData({}))[JudgedSessions.headline].values
    assert measured.tolist() == pytest.approx([1 / np.log2(3)])  # b, shown last, comes before a


def test_a_grade_below_0_counts_as_0(tmp_path: Path) -> None:
    (tmp_path / "qrels").write_text("1 0 a -2\n1 0 b 1\n1 1 b 2\n1 2 b 0\n")
    assert read_qrels(tmp_path / "qrels") == {"1": {"a": 0, "b": 2}}  # of several, by subtopic, the highest


def test_numbers_are_pytrec_evals(tmp_path: Path) -> None:
    track, grades = write_track(tmp_path)
    judgments, qrels = load_judgments(track, grades), {t: dict(g) for t, g in read_qrels(grades).items()}
    nobody = part()
    units = [(unit, shown) for unit in judgments.units for shown in unit.lists]
    topics = [unit.topic for unit, _ in units]
    adhoc = JudgedAdhoc(judgments).against(nobody, nobody)
    alone = adhoc.measure(ReleasedData({}))[JudgedAdhoc.headline].values
    assert alone == pytest.approx(by_pytrec([list(shown.documents) for _, shown in units], topics, qrels))
    data = release(clicks={("topic 1", page(1, 4)): 30, ("topic 1", "elsewhere"): 50})
    clicks = {"topic 1": {page(1, 4): 30.0, "elsewhere": 50.0}}
    found = adhoc.measure(data)[JudgedAdhoc.headline].values
    assert found == pytest.approx(by_pytrec([reranked(shown, clicks) for _, shown in units], topics, qrels))
    assert found.mean() > alone.mean()
    sessions = JudgedSessions(judgments).against(nobody, nobody)
    merged = []
    for unit in judgments.units:
        scores: dict[str, float] = {}
        for shown, weight in zip(unit.lists, (0.92, 1.0), strict=True):
            for place, document in enumerate(shown.documents, start=1):
                scores[document] = scores.get(document, 0.0) + weight / place
        merged.append(sorted(scores, key=lambda doc: (-scores[doc], doc)))
    measured = sessions.measure(ReleasedData({}))[JudgedSessions.headline].values
    assert measured == pytest.approx(by_pytrec(merged, [u.topic for u in judgments.units], qrels))
    assert sessions.owners.tolist() == [
        int(np.searchsorted(sorted(u.owner for u in judgments.units), unit.owner)) for unit in judgments.units
    ]


COLLECTIONS = """
from typing import NamedTuple
class GenericQuery(NamedTuple):
    query_id: str
    text: str
class Judgment(NamedTuple):
    query_id: str
    doc_id: str
    relevance: int
class Scored(NamedTuple):
    query_id: str
    doc_id: str
    score: float
class Tiny:
    has_queries = has_qrels = has_scoreddocs = lambda self: True
    queries_iter = lambda self: iter([GenericQuery("1", "Java  Coffee"), GenericQuery("2", "tea")])
    qrels_iter = lambda self: iter([
        Judgment("1", "d1", 1), Judgment("1", "d2", 3), Judgment("1", "d2", 0), Judgment("2", "d9", -2)])
    scoreddocs_iter = lambda self: iter([
        Scored("1", "d1", 0.9), Scored("1", "d2", 0.5), Scored("2", "d9", 1.0)])
class Link(NamedTuple):
    query_id: str
    doc_id: str
class Links(Tiny):
    queries_iter = lambda self: iter([Link("1", "d1")])
class Documents:
    has_queries = has_qrels = has_scoreddocs = lambda self: False
class Away(Tiny):
    def qrels_iter(self):
        raise RuntimeError("All download sources failed", "https://data.example/qrels")
def load(name):
    return {"own/tiny": Tiny, "own/documents": Documents, "own/away": Away, "own/links": Links}[name]()
"""
"""What ir_datasets 0.6.3 has of a collection."""


def test_a_collection_that_ir_datasets_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ir_datasets.py").write_text(COLLECTIONS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "ir_datasets", raising=False)
    judgments = load_judgments("own/tiny")
    assert judgments.qrels == {"1": {"d1": 1, "d2": 3}, "2": {"d9": 0}}  # of two grades the highest
    assert [(u.lists[0].query, u.lists[0].documents) for u in judgments.units] == [
        ("java coffee", ("d1", "d2")),
        ("tea", ("d9",)),
    ]
    trial = JudgedAdhoc(judgments).against(part(), part())
    qrels = {topic: dict(grades) for topic, grades in judgments.qrels.items()}
    for clicks, lists in (({}, [["d1", "d2"], ["d9"]]), ({("java coffee", "d2"): 9}, [["d2", "d1"], ["d9"]])):
        found = trial.measure(release(clicks=clicks))[JudgedAdhoc.headline].values
        assert found == pytest.approx(by_pytrec(lists, ["1", "2"], qrels))
    for name, said in (
        ("own/documents", "own/documents of ir_datasets has no queries"),
        ("own/links", "own/links of ir_datasets has no queries in words"),
        ("own/away", "could not get own/away: RuntimeError"),
        ("own/unknown", "ir_datasets knows no such name"),
    ):
        with pytest.raises(InputError, match=said) as refused:
            load_judgments(name)
        assert "https" not in str(refused.value)
    monkeypatch.delitem(sys.modules, "ir_datasets")


def test_each_session_is_tested_with_its_user_alone(tmp_path: Path) -> None:
    track, grades = write_track(tmp_path)
    judgments = load_judgments(track, grades)
    parts = [judgments.of_fold(fold, 3, 0) for fold in range(3)]
    assert sorted(u.name for part_ in parts for u in part_.units) == sorted(u.name for u in judgments.units)
    assert all(part_.units for part_ in parts) and len({part_.digest for part_ in parts}) == 3


def test_topics_with_a_run(tmp_path: Path) -> None:
    (tmp_path / "topics.tsv").write_text("1\tJava Coffee\n2\ttea\n")
    (tmp_path / "qrels").write_text("1 0 d1 1\n1 0 d2 2\n2 0 d9 1\n")
    (tmp_path / "run").write_text("1 Q0 d1 1 0.5 x\n1 Q0 d2 2 0.9 x\n1 Q0 d3 3 0.5 x\n")
    assert read_run(tmp_path / "run") == {"1": ["d2", "d3", "d1"]}  # by score; of equals the last first
    judgments = load_judgments(tmp_path / "topics.tsv", tmp_path / "qrels", tmp_path / "run")
    [unit] = judgments.units  # tea has no list
    (tmp_path / "run").write_text("1 Q0 d1 1 .5e1 x\n1 Q0 d2 2 nan x\n")
    with pytest.raises(InputError, match="run, line 2: the score must be a number"):
        read_run(tmp_path / "run")
    assert (unit.lists[0].query, unit.lists[0].documents) == ("java coffee", ("d2", "d3", "d1"))


@pytest.mark.parametrize(
    "text",
    [
        "<top>\n<num> Number: 301 \n<title> Topic: Organized Crime\n\n<desc> Description: \nx\n</top>\n"
        "<top>\n<num> Number: 302\n<title> Polio &amp; more\n</top>",
        '<webtrack2009><topic number="301" type="ambiguous"><query>organized crime</query>'
        "<description>x</description></topic><topic number='302'><query>polio &amp; more</query></topic>"
        "</webtrack2009>",
        "\ufeff301\torganized crime\r\n302\tPolio &  more\r\n",
    ],
)
def test_topics_in_trecs_own_forms(tmp_path: Path, text: str) -> None:
    (tmp_path / "topics").write_text(text, encoding="utf-8")
    (tmp_path / "qrels").write_text("301 0 d1 1\n302 0 d2 2\n")
    (tmp_path / "run").write_text("301 Q0 d1 1 0.5 x\n302 Q0 d1 1 0.9 x\n")
    units = load_judgments(tmp_path / "topics", tmp_path / "qrels", tmp_path / "run").units
    assert [(u.name, u.lists[0].query) for u in units] == [
        ("301", "organized crime"),
        ("302", "polio & more"),
    ]
    (tmp_path / "topics").write_text("<top><title>a title alone</top>")
    with pytest.raises(InputError, match="topic 1 of topics has no number"):
        load_judgments(tmp_path / "topics", tmp_path / "qrels", tmp_path / "run")


@pytest.mark.parametrize(
    ("qrels", "said"),
    [
        ("1 0 d1\n", "line 1 has 3 columns; 4 are expected"),
        ("\n1 0 d1 good\n", "line 2: the grade must be a whole number"),
        ("1 0 d1 10000000000\n", "line 1: the grade must be a whole number below 10,000"),
        ("", "holds no judgment"),
        ("99 0 d1 1\n", "none of 40 topics has both a list .*: 40 have a list, 0 a judgment"),
    ],
)
def test_what_cannot_be_read_is_refused_by_its_line(tmp_path: Path, qrels: str, said: str) -> None:
    track, _ = write_track(tmp_path)
    (tmp_path / "bad").write_text(qrels)
    with pytest.raises(InputError, match=said):
        load_judgments(track, tmp_path / "bad")


def test_what_is_no_track_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.xml").write_text("<sessiontrack><session num='1'>")
    with pytest.raises(InputError, match="no well-formed XML: no element found at line 1"):
        read_sessions(tmp_path / "a.xml")
    (tmp_path / "b.xml").write_text("<!DOCTYPE x [<!ENTITY a 'b'>]><session/>")
    with pytest.raises(InputError, match="declares entities"):
        read_sessions(tmp_path / "b.xml")
    (tmp_path / "c.xml").write_text("<sessions/>")
    with pytest.raises(InputError, match="no element named session"):
        read_sessions(tmp_path / "c.xml")
    with pytest.raises(InputError, match="ir_datasets"):
        load_judgments("no-such/collection")
    with pytest.raises(ParameterError, match="judgments need topics"):
        tacit.evaluate_release(_log(tmp_path), qrels=tmp_path / "a.xml")
    with pytest.raises(ParameterError, match="needs judgments"):
        tacit.evaluate_release(_log(tmp_path), tasks=["judged-adhoc"])


def _log(folder: Path) -> Path:
    pq.write_table(
        part(("ann", 0, "java", 1, "A"), ("bob", 0, "java", 1, "A")).records, folder / "log.parquet"
    )
    return folder / "log.parquet"


def test_a_track_is_evaluated_end_to_end(tmp_path: Path) -> None:
    track, grades = write_track(tmp_path)
    command = [
        "evaluate",
        "release",
        str(track),
        "--qrels",
        str(grades),
        "-o",
        str(tmp_path / "report"),
        "--json",
    ]
    options = ["-m", "zealous", "--epsilon", "50", "--folds", "2", "--draws", "2", "--workers", "1"]
    options += ["-t", "judged-adhoc", "-t", "judged-sessions"]
    done = CliRunner().invoke(application(), [*command, *options])
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    adhoc = found["tasks"]["judged-adhoc"]
    assert adhoc["units"] == 2 * USERS and found["tasks"]["judged-sessions"]["units"] == USERS
    units = [(u, s) for u in load_judgments(track, grades).units for s in u.lists]
    qrels = {t: dict(g) for t, g in read_qrels(grades).items()}
    lists = [list(shown.documents) for _, shown in units]
    assert adhoc["nothing"] == pytest.approx(
        by_pytrec(lists, [u.topic for u, _ in units], qrels).mean(), rel=1e-14
    )
    assert adhoc["original"] > adhoc["nothing"]  # everybody clicked the best page
    assert found["advice"].startswith("With 40 people: ad-hoc search judged by people ")
