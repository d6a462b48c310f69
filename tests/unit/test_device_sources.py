"""Where profiles come from, and that building is incremental."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit import InputError
from tacit.device import (
    OnlineProfiler,
    ProfileStore,
    Repository,
    SourceDocument,
    browsing_history,
    build_profile,
    clicked_documents,
    wordnet_repository,
)
from tacit.device.profile.repository import taxonomy_repository
from tacit.errors import LogError
from tacit.searchlog import SCHEMA
from tacit.taxonomy import TopicTree


@pytest.fixture(scope="module")
def wordnet() -> Repository:
    return wordnet_repository()


def click_log(path: Path, rows: list[tuple[str, str, str | None]]) -> Path:
    table = pa.table(
        {
            "user": [user for user, _, _ in rows],
            "query": [query for _, query, _ in rows],
            "time": [datetime(2026, 1, 1, 12, minute) for minute in range(len(rows))],
            "rank": [None if url is None else 1 for _, _, url in rows],
            "url": [url for _, _, url in rows],
        },
        schema=SCHEMA,
    )
    pq.write_table(table, path)
    return path


def test_clicks_are_filed_where_they_belong_and_counted_once(wordnet: Repository, tmp_path: Path) -> None:
    synset = wordnet.corpus.wordnet.synset  # type: ignore[attr-defined]
    site = "https://wordnet.example/"
    rows: list[tuple[str, str, str | None]] = [
        ("a", "java", f"{site}java.n.01"),
        ("a", "java", None),
        ("a", "java", f"{site}coffee.n.01"),
        ("a", "java", f"{site}coffee.n.01"),
        ("a", "java", "https://elsewhere.example/"),
        ("b", "java", f"{site}java.n.03"),
    ]
    log = click_log(tmp_path / "log.parquet", rows)
    with ProfileStore.create(tmp_path / "p", wordnet.tree) as store:
        report = build_profile(store, wordnet, clicked_documents(log, "a", wordnet.text_behind))
        assert (report.filed, report.known, report.unplaced) == (3, 0, 0)
        documents = store.profile().documents
        assert sum(documents.values()) == pytest.approx(3)
        assert max(documents, key=lambda topic: documents[topic]) == synset("coffee.n.01")
        assert documents[synset("java.n.01")] > 0.2
        again = build_profile(store, wordnet, clicked_documents(log, "a", wordnet.text_behind))
        assert (again.filed, again.known) == (0, 3)
        more = build_profile(store, wordnet, clicked_documents(log, "b", wordnet.text_behind))
        assert more.filed == 1
        assert store.profile().support[0] == pytest.approx(4)


def test_a_log_of_several_users_needs_a_name_and_never_tells_one(tmp_path: Path) -> None:
    log = click_log(tmp_path / "log.parquet", [("anna", "x", "u"), ("bert", "y", "u")])
    with pytest.raises(LogError, match="2 users") as several:
        next(clicked_documents(log, None, lambda _: "text"))
    with pytest.raises(LogError, match="no clicks of that user") as nobody:
        next(clicked_documents(log, "carla", lambda _: "text"))
    assert "anna" not in str(several.value)
    assert "carla" not in str(nobody.value)


def test_histories_are_read_from_csv(wordnet: Repository, tmp_path: Path) -> None:
    pages = [
        {"url": "https://a.example/", "title": "Golden eagle", "text": "large eagle of mountainous regions"},
        {
            "url": "https://b.example/",
            "title": "Compiler",
            "text": "a program that decodes instructions of a language",
        },
    ]
    lines = [",".join(page.values()) for page in pages]
    (tmp_path / "h.csv").write_text("url,title,text\n" + "\n".join(lines) + "\n")
    first = list(browsing_history(tmp_path / "h.csv"))
    with ProfileStore.create(tmp_path / "p", wordnet.tree) as store:
        assert build_profile(store, wordnet, first).filed == 2
        named = {wordnet.tree.names[topic] for topic in store.profile().documents}
    assert "golden_eagle.n.01" in named


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("x.csv", "secret,b\n1,2\n", "needs the columns url and title"),
        ("x.pdf", "secret", "of no known kind"),
    ],
)
def test_unusable_histories_say_where(tmp_path: Path, name: str, content: str, problem: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(InputError, match=problem) as caught:
        list(browsing_history(tmp_path / name))
    assert "secret" not in str(caught.value)


def test_an_interruption_loses_only_the_batch_at_hand(wordnet: Repository, tmp_path: Path) -> None:
    def pages() -> list[SourceDocument]:
        return [SourceDocument(str(i), "", None, "large bird of prey", "eagle") for i in range(1500)]

    def breaking() -> Iterator[SourceDocument]:
        for number, page in enumerate(pages()):
            if number == 1200:
                raise KeyboardInterrupt
            yield page

    with ProfileStore.create(tmp_path / "p", wordnet.tree) as store:
        with pytest.raises(KeyboardInterrupt):
            build_profile(store, wordnet, breaking())
        assert store.profile().support[0] == pytest.approx(1000)
        report = build_profile(store, wordnet, pages())
        assert (report.filed, report.known) == (500, 1000)
        assert store.profile().support[0] == pytest.approx(1500)


def test_any_taxonomy_serves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    tree = TopicTree.from_paths(
        [(("Arts", "Music", "Jazz"), 3), (("Arts", "Film"), 2), (("Science", "Physics"), 4)]
    )
    repository = taxonomy_repository(tree)
    with ProfileStore.create(tmp_path / "p", tree) as store:
        page = SourceDocument("1", "", None, "an evening of jazz music", "jazz")
        build_profile(store, repository, [page])
        profile = store.profile()
    documents = profile.documents
    assert max(documents, key=lambda topic: documents[topic]) == tree.find("Top/Arts/Music/Jazz")
    profiler = OnlineProfiler(repository, profile, distinct=2.0)
    result = profiler.profile_query("music")
    assert result.personalised
    assert taxonomy_repository(tree).engine.search("jazz", 1)  # from the cached index
