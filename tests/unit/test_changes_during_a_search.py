"""A search that was under way when something changed is not given again for the same query."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from tacit import Guard
from tacit.web.engines.catalogue import parse_engine
from tacit.web.engines.interface import SearchResult
from tacit.web.rules import RuleBook
from tacit.web.search import Choices, SearchService
from tacit.web.state import PageState, SentRequests, Settings
from tacit.web.suggestions import Suggestions


@pytest.mark.parametrize("changed", [True, False])
def test_a_page_made_before_a_change_is_not_found_after_it(tmp_path: Path, changed: bool) -> None:
    with Guard(tmp_path / "p") as guard:
        state = PageState(tmp_path / "p")

        def local(_query: str) -> list[SearchResult]:
            if changed:
                desk.forget_pages()  # as when a rule is added while the engine is asked
            return [SearchResult("https://a.example/", "a title", "a text")]

        desk = SearchService(guard, SentRequests(state), Suggestions(state, (), None), local)
        choices = Choices([parse_engine("embedded")], RuleBook({}), Settings())
        page = anyio.run(desk.search, "tea", choices)
        assert desk.page(page.key) is page  # its links work
        assert desk.known("tea") is (None if changed else page)
        state.close()
