"""The embedded engine over the real WordNet corpus."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import IntegrityError
from tacit.retrieval import Document, EmbeddedEngine
from tacit.world import index_folder, wordnet_corpus, wordnet_engine


def titles(query: str, k: int = 5) -> list[str]:
    return [wordnet_corpus()[hit.document].title for hit in wordnet_engine().search(query, k)]


def test_every_synset_is_a_document_found_by_its_words() -> None:
    assert len(wordnet_engine()) == len(wordnet_corpus()) == 82_115
    assert "coffee, java" in titles("java")
    assert titles("golden eagle")[0].startswith("golden eagle")


def test_plurals_and_possessives_do_not_matter() -> None:
    assert titles("eagles") == titles("eagle") == titles("eagle's")


@given(st.text(max_size=40))
def test_no_query_is_syntax(query: str) -> None:
    hits = wordnet_engine().search(query, 3)
    assert len(hits) <= 3
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


@pytest.mark.parametrize("query", ["", "  ", "?!", '"'])
def test_a_query_without_words_finds_nothing(query: str) -> None:
    assert wordnet_engine().search(query) == []


def test_a_document_is_found_again_by_its_url() -> None:
    corpus = wordnet_corpus()
    for number in range(0, len(corpus), 997):
        assert corpus.number_of(corpus[number].url) == number
    assert corpus.number_of("https://elsewhere.example/dog.n.01") is None
    assert corpus.number_of("https://wordnet.example/nothing") is None


def test_documents_must_be_numbered_without_gaps(tmp_path) -> None:
    with pytest.raises(IntegrityError, match="document 7 came where 0"):
        EmbeddedEngine.build(tmp_path, [Document(7, "t", "x", "u", 0)])


def test_a_broken_index_says_how_to_mend_it(tmp_path) -> None:
    EmbeddedEngine.build(tmp_path, [Document(0, "title", "text", "u", 0)])
    (tmp_path / "meta.json").write_text("{}")
    with pytest.raises(IntegrityError, match="build it again"):
        EmbeddedEngine(tmp_path)


def test_a_damaged_cache_mends_itself(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path))
    folder = index_folder()
    folder.mkdir()
    (folder / "meta.json").write_text("{}")
    assert len(wordnet_engine.__wrapped__()) == 82_115
    assert len(EmbeddedEngine(folder)) == 82_115
