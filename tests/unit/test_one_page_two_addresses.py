"""A page that an engine names under two addresses is one result, the same in every order."""

from __future__ import annotations

from pathlib import Path

import anyio

from tacit import Guard
from tacit.web.engines.catalogue import parse_engine
from tacit.web.engines.interface import Answer, SearchResult
from tacit.web.rules import Action, RuleBook
from tacit.web.search import Choices, SearchService, fuse
from tacit.web.state import PageState, SentRequests, Settings
from tacit.web.suggestions import Suggestions

TWICE = [
    SearchResult("https://a.example/page", "secure", "", 3),
    SearchResult("https://b.example/", "another", "", 2),
    SearchResult("http://www.a.example/page/", "plain", "", 1),
]


def test_both_orders_lead_to_the_same_address() -> None:
    answers = [Answer("one", tuple(TWICE))]
    personal, plain = fuse(answers), fuse(answers, unpersonalised=True)
    assert [one.result.title for one in personal] == ["secure", "another"]
    assert [(one.result.title, one.ranks["one"]) for one in plain] == [("secure", 1), ("another", 2)]


def test_a_rule_that_fits_one_of_the_addresses_only_does_not_break_the_page(tmp_path: Path) -> None:
    with Guard(tmp_path / "p") as guard:
        state = PageState(tmp_path / "p")
        sent, suggestions = SentRequests(state), Suggestions(state, (), None)
        desk = SearchService(guard, sent, suggestions, lambda _query: TWICE)
        for pattern, left in (("www.a.example", 2), ("a.example", 1)):
            rules = RuleBook({pattern: Action.BLOCK})
            page = anyio.run(desk.search, "tea", Choices([parse_engine("embedded")], rules, Settings()))
            assert len(page.personal) == len(page.plain) == left
        state.close()
