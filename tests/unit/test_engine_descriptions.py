"""Each kind of engine: what it is asked, how its answer is read, how it carries a profile."""

from __future__ import annotations

import json
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import anyio
import pytest
from tests.local_server import http_answer, local_server

from tacit import InputError
from tacit.web.engines.catalogue import DescribedEngine, parse_engine, upstream_of
from tacit.web.engines.client import EngineClient
from tacit.web.engines.interface import Answer, Carriage, EngineDescription, SearchResult, Wanted
from tacit.web.search import canonical_address, fuse

TOLD = ("entity.n.01", "entity.n.01/beverage.n.01")

MEDIAWIKI = {  # the shape of action=query&list=search&formatversion=2
    "batchcomplete": True,
    "query": {
        "searchinfo": {"totalhits": 2},
        "search": [
            {"ns": 0, "title": "Java", "pageid": 69336, "snippet": "an <b>island</b> &amp; sea"},
            {"ns": 0, "title": "Java coffee", "pageid": 2178467, "snippet": "Coffee from the island"},
        ],
    },
}  # fmt: skip
OPENSEARCH = {  # the shape of GET index/_search
    "took": 3,
    "hits": {
        "total": {"value": 1, "relation": "eq"},
        "hits": [{"_id": "1", "_source": {"url": "https://a.example/1", "title": "One", "text": "t"}}],
    },
}  # fmt: skip


async def unrecorded(_origin: str, _wire: bytes) -> None:
    return None


def answered(kind: str, path: str, body: str, carriage: str | None = None) -> tuple[bytes, Answer]:
    """The request that a real server got from an engine of that kind, and what was read from its answer."""
    with local_server(lambda *_: http_answer(body)) as server:
        data: dict[str, object] = {"kind": kind, "address": server.address + path}
        if carriage:
            data["carries"] = carriage
        file = Path(f"/proc/self/fd/{_json_file(data)}")
        engine = parse_engine(str(file))

        async def run() -> Answer:
            courier = EngineClient()
            upstream = upstream_of(engine)
            try:
                return await courier.ask(engine, upstream, upstream.request("java & tea", TOLD), unrecorded)
            finally:
                await courier.close()

        answer = anyio.run(run)
        return server.requests[0], answer


def _json_file(data: dict[str, object]) -> int:
    import os

    handle = os.memfd_create("engine")
    os.write(handle, json.dumps(data).encode())
    return handle


def target(request: bytes) -> dict[str, list[str]]:
    return parse_qs(urlsplit(request.split(b" ")[1].decode()).query)


def test_everybody_sends_the_same_few_headers_and_those_that_limiters_ask_for() -> None:
    """SearXNG's limiter wants text/html among what is accepted, gzip, a language, and an open connection."""
    request = upstream_of(EngineDescription("a", "searxng", "http://a.example:8888")).request("tea")
    assert request.headers == (
        ("Host", "a.example:8888"),
        ("User-Agent", "tacit"),
        ("Accept", "application/json, text/html, */*"),
        ("Accept-Language", "*"),
        ("Accept-Encoding", "gzip"),
    )


def test_mediawiki() -> None:
    request, answer = answered("mediawiki", "/w", json.dumps(MEDIAWIKI))
    assert request.startswith(b"GET /w/api.php?action=query&list=search&")
    assert target(request)["srsearch"] == ["java & tea"]
    assert answer.problem == ""
    assert [result.title for result in answer.results] == ["Java", "Java coffee"]
    assert answer.results[0].url.endswith("/w/index.php?curid=69336")
    assert answer.results[0].snippet == "an island & sea"


def test_a_description_with_a_body_is_asked_by_post() -> None:
    asked = {"size": "{count}", "from": "{offset}", "query": {"match": {"text": "{query}"}}}
    fields = {"title": "_source.title", "link": "_source.url", "snippet": "_source.text"}
    upstream = DescribedEngine(
        "http://127.0.0.1:1/pages/_search",
        Carriage.NOTHING,
        {"body": asked, "results": "hits.hits", **fields},
    )
    request = upstream.request("java & tea", (), Wanted(page=2))
    assert (request.method, request.target) == ("POST", "/pages/_search")
    assert json.loads(request.body) == {"size": 50, "from": 50, "query": {"match": {"text": "java & tea"}}}
    assert upstream.read(OPENSEARCH)[0] == [SearchResult("https://a.example/1", "One", "t")]


def test_words_of_exposed_topics_expand_the_query_only_where_that_was_chosen() -> None:
    found = json.dumps({"results": []})
    assert target(answered("searxng", "", found)[0])["q"] == ["java & tea"]
    assert target(answered("searxng", "", found, "expansion")[0])["q"] == ["java & tea beverage"]


def test_a_tacit_server_gets_the_profile_in_the_body() -> None:
    request, _ = answered("tacit", "", '{"results": []}')
    head, _, body = request.partition(b"\r\n\r\n")
    assert b"java" not in head
    assert json.loads(body) == {
        "query": "java & tea",
        "count": 50,
        "topics": list(TOLD),
    }
    alone = json.loads(answered("tacit", "", '{"results": []}', "nothing")[0].partition(b"\r\n\r\n")[2])
    assert alone == {"query": "java & tea", "count": 50}


def test_a_described_engine(tmp_path: Path) -> None:
    file = tmp_path / "engine.json"
    file.write_text(
        json.dumps(
            {
                "name": "Example",
                "address": "http://127.0.0.1:1/find?words={query}",
                "description": {
                    "results": "data.0.items",
                    "title": "name",
                    "link": "https://a.example/{id}",
                    "snippet": "about.text",
                    "headers": {"Authorization": "Bearer key"},
                },
            }
        )
    )
    engine = parse_engine(str(file))
    upstream = upstream_of(engine)
    request = upstream.request("ä b")
    assert (request.method, request.target) == ("GET", "/find?words=%C3%A4+b")
    assert request.headers[0] == ("Host", "127.0.0.1:1")
    assert ("Authorization", "Bearer key") in request.headers
    body = {"data": [{"items": [{"name": "N", "id": "x/y", "about": {"text": "T"}}]}]}
    assert upstream.read(body)[0] == [SearchResult("https://a.example/x%2Fy", "N", "T")]


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ({"kind": "nonsense"}, "no kind"),
        ({"address": "http://a.example/?q={query}"}, "address of a result"),
        ({"address": "http://a.example/", "description": {"link": "url"}}, "{query}"),
        ({"address": "ftp://a.example/{query}", "description": {"link": "url"}}, "http"),
        ({"address": "http://me:secret@a.example/?q={query}", "description": {"link": "url"}}, "password"),
        ({"kind": "searxng", "address": "http://a.example", "carries": "profile"}, "cannot carry"),
        ({"kind": "searxng", "address": "http://a.example", "timeout": 600}, "timeout"),
        ({"kind": "searxng", "address": "http://a.example", "colour": 1}, "no field"),
        ({"address": "http://a/?q={query}", "description": {"link": "u", "headers": {"Host": "b"}}}, "Host"),
    ],
)  # fmt: skip
def test_a_wrong_description_is_refused_with_the_reason(
    data: dict[str, object], said: str, tmp_path: Path
) -> None:
    file = tmp_path / "engine.json"
    file.write_text(json.dumps(data))
    with pytest.raises(InputError, match=said):
        parse_engine(str(file))


def test_engines_written_in_one_line() -> None:
    engine = parse_engine("searxng=http://127.0.0.1:8888")
    name = "SearXNG at 127.0.0.1:8888"
    assert engine == EngineDescription(name, "searxng", "http://127.0.0.1:8888", Carriage.NOTHING)
    assert parse_engine("searxng=https://searx.example").name == "searx.example"
    assert parse_engine("embedded").carriage is Carriage.HERE
    with pytest.raises(InputError, match="neither"):
        parse_engine("nothing of the kind")


def test_fusion_counts_every_engine_and_joins_addresses_of_one_page() -> None:
    def results(*names: str) -> tuple[SearchResult, ...]:
        return tuple(SearchResult(f"https://{name}.example/", name, "") for name in names)

    one = Answer("one", results("a", "b", "c"))
    two = Answer("two", (SearchResult("http://www.c.example", "c", ""), *results("d")))
    fused = fuse([one, two, Answer("dead", problem="gone")])
    assert [item.result.title for item in fused] == ["c", "a", "b", "d"]
    assert fused[0].ranks == {"one": 3, "two": 1}
    assert canonical_address("https://a.example/x?b=1#part") == canonical_address(
        "http://www.a.example/x/?b=1"
    )


def test_an_engine_whose_results_hold_little_of_the_query_comes_after_one_whose_hold_it() -> None:
    def answer(engine: str, *titles: str) -> Answer:
        return Answer(engine, tuple(SearchResult(f"https://{engine}.example/{t}", t, "") for t in titles))

    entries = answer("dictionary", "espresso, strong black coffee", "machine, a mechanical device", "best")
    pages = answer("web", "The best espresso machines of 2026", "Espresso machine review")
    order = [one.result.title for one in fuse([entries, pages], "best espresso machine")]
    assert order == [one.title for one in (*pages.results, *entries.results)]
    single = [one.result.title for one in fuse([entries, pages], "espresso")]
    assert single[:2] == ["The best espresso machines of 2026", "Espresso machine review"]
    assert fuse([entries], "best espresso machine")[0].result.title == entries.results[0].title


def test_the_unpersonalised_order_is_the_one_a_server_says_it_had() -> None:
    answer = Answer(
        "s", (SearchResult("https://b.example/", "b", "", 2), SearchResult("https://a.example/", "a", "", 1))
    )
    assert [item.result.title for item in fuse([answer])] == ["b", "a"]
    assert [item.result.title for item in fuse([answer], unpersonalised=True)] == ["a", "b"]
