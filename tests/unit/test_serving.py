"""The sockets that pages and engines are served on."""

from __future__ import annotations

import asyncio
import socket

import pytest

from tacit.errors import InputError
from tacit.web.serving import bound_socket


def test_answers_do_not_wait_for_more_to_send() -> None:
    """Otherwise an answer in two parts is held back for 40 ms on a connection that is used again."""

    async def accepted() -> int:
        found: asyncio.Future[int] = asyncio.get_running_loop().create_future()

        async def answer(_reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            connection = writer.get_extra_info("socket")
            found.set_result(connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        opened = bound_socket("127.0.0.1", 0)
        async with await asyncio.start_server(answer, sock=opened):
            _, writer = await asyncio.open_connection(*opened.getsockname())
            try:
                return await asyncio.wait_for(found, 10)
            finally:
                writer.close()

    assert asyncio.run(accepted()) != 0


def test_a_port_in_use_is_told_with_a_remedy() -> None:
    with bound_socket("127.0.0.1", 0) as opened:
        opened.listen()
        with pytest.raises(InputError, match="Choose another"):
            bound_socket("127.0.0.1", opened.getsockname()[1])
