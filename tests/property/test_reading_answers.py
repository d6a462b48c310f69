"""Short cuts in reading what engines answer give what the long way gives."""

from __future__ import annotations

import html
import re
from urllib.parse import urlsplit

from hypothesis import example, given
from hypothesis import strategies as st

from tacit.web.engines.interface import clean_result, plain_text
from tacit.web.rules import without_tracking
from tacit.web.search import canonical_address

_UNSEEN = "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]"

texts = st.lists(
    st.one_of(
        st.characters(codec="utf-8"),
        st.sampled_from(
            [" ", "  ", "\t\n", "\u00a0", "\u2003", "\x1c", "\x85", "\u202e", "\u200b", "\ufeff"]
        ),
        st.sampled_from(
            ["<b>", "</b>", "<", ">", "&amp;", "&lt;i&gt;", "&#8238;", "&nbsp;", "&#x20;", "word"]
        ),
    ),
    max_size=30,
).map("".join)

hosts = st.just("") | st.sampled_from(
    "a.example www.a.example A.Example a.example:80 a.example:8080 a.example:x a.example: u@a.example "
    "[::1] [ b\u00fccher.example a\u2100b.example a_b.example - www.".split()
)
tails = st.lists(
    st.sampled_from(
        ["/", "//", "x", "?", "#", "&", "=", "utm_source=1", "%20", " ", "\n", "\u00e9", "@", ":"]
    ),
    max_size=8,
).map("".join)
schemes = st.sampled_from(["http://", "https://", "HTTP://", "ftp://", "javascript:", "http:/", "//", ""])
addresses = st.builds(lambda *parts: "".join(parts), schemes, hosts, tails)


@given(texts, st.integers(2, 40))
@example("a\u202eb", 10)
def test_text_is_made_plain_as_by_one_step_after_another(marked: str, longest: int) -> None:
    text = html.unescape(re.sub(r"<[^<>]{0,1000}>", "", marked[: 8 * longest]))
    text = re.sub(r"\s+", " ", re.sub(_UNSEEN, "", text)).strip()
    expected = text if len(text) <= longest else text[: longest - 1].rstrip() + "…"
    assert plain_text(marked, longest) == expected


def test_every_unseen_character_counts_as_not_printable() -> None:
    unseen = [chr(code) for code in range(0x110000) if re.fullmatch(_UNSEEN, chr(code))]
    assert unseen
    assert not any(letter.isprintable() for letter in unseen)


@given(addresses)
@example("https://a.example/x?y#z")
def test_an_address_is_read_as_by_taking_it_apart(address: str) -> None:
    result = clean_result(address, "", "")
    stripped = address.strip()
    try:
        parts = urlsplit(stripped)
        host, port = parts.hostname, parts.port
    except ValueError:
        assert result is None
        return
    fit = parts.scheme in {"http", "https"} and bool(host) and not re.search("[\x00-\x20]", stripped)
    assert (result is not None) == fit
    if result is not None:
        assert (result.url, result.title) == (stripped, host)
        shown = f":{port}" if port not in {None, 80, 443} else ""
        bare = (host or "").removeprefix("www.")
        assert canonical_address(result.url) == f"{bare}{shown}{parts.path.rstrip('/')}?{parts.query}"
        if not parts.query:
            assert without_tracking(result.url) == result.url
