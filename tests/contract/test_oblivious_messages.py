"""Binary HTTP and sealed messages: read or refused whole, of one length, opened once, never alike."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import InputError
from tacit.pool.channel import oblivious
from tacit.pool.channel.oblivious import BinaryRequest, BinaryResponse, GatewayKey, seal_request


@given(st.binary(max_size=80))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for read in (oblivious.read_request, oblivious.read_response):
        try:
            found = read(data)
        except InputError:
            continue
        assert read(found.to_bytes()) == found


tokens = st.binary(min_size=1, max_size=20)
names = st.from_regex(rb"\A[a-z][a-z0-9-]{0,10}\Z").filter(
    lambda name: name not in (b"te", b"upgrade", b"connection")
)


@given(
    tokens, tokens, st.lists(st.tuples(names, st.binary(max_size=70)), max_size=4), st.binary(max_size=300)
)
def test_requests_come_back_as_they_were(
    method: bytes, path: bytes, fields: list[tuple[bytes, bytes]], content: bytes
) -> None:
    request = BinaryRequest(method, b"https", b"a.example", path, tuple(fields), content)
    assert oblivious.read_request(request.to_bytes()) == request
    assert oblivious.read_request(request.to_bytes(1_024)) == request
    assert len(request.to_bytes(1_024)) == 1_024


def test_all_messages_have_one_length_and_no_two_are_alike() -> None:
    key = GatewayKey().configuration
    texts = [b"a", b"a", b"a much longer question than the others"]
    sealed = [
        seal_request(key, BinaryRequest(b"POST", b"https", b"", b"/deposit", (), text).to_bytes(512))
        for text in texts
    ]
    assert len({len(each.data) for each in sealed}) == 1
    assert len({each.data[7:] for each in sealed}) == 3
    with pytest.raises(InputError, match="not sealed for this request"):
        sealed[0].open_response(bytes(64))
    with pytest.raises(oblivious.OversizeError, match="must fit into 512 bytes; found"):
        BinaryResponse(200, (), bytes(600)).to_bytes(512)


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("message/ohttp-req", "message/ohttp-req"),
        ("Message/OHTTP-Req", "message/ohttp-req"),
        ("message/ohttp-req ; charset=x", "message/ohttp-req"),
        ("", ""),
    ],
)
def test_the_case_of_a_media_type_means_nothing(said: str, meant: str) -> None:
    assert oblivious.media_type({"content-type": said}) == meant
