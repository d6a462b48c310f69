"""Bodies of requests are read within limits of length, of time, and of how many come at a time."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest

from tacit import bodies


class Endless:
    """A request whose body begins, and never ends."""

    async def stream(self) -> AsyncIterator[bytes]:
        yield b"half"
        await asyncio.Event().wait()


class Whole:
    def __init__(self, body: bytes) -> None:
        self.body = body

    async def stream(self) -> AsyncIterator[bytes]:
        yield self.body


def test_a_body_must_come_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0 < bodies._SECONDS <= 30
    monkeypatch.setattr(bodies, "_SECONDS", 0.01)

    async def work() -> None:
        with pytest.raises(bodies.TooSlowError):
            await asyncio.wait_for(bodies.read_body(Endless(), 100), 20.0)

    asyncio.run(work())
    assert not bodies._READING


def test_one_body_too_many_ends_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bodies, "_AT_A_TIME", 2)

    async def work() -> None:
        reading = [asyncio.create_task(bodies.read_body(Endless(), 100)) for _ in range(3)]
        done, waiting = await asyncio.wait(reading, timeout=20.0, return_when=asyncio.FIRST_COMPLETED)
        assert done == {reading[0]} and isinstance(reading[0].exception(), bodies.TooSlowError)
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(work())


def test_long_bodies_together_end_the_oldest(monkeypatch: pytest.MonkeyPatch) -> None:
    """Strangers can send a gateway many batches of the greatest length before it sees who sent them."""
    monkeypatch.setattr(bodies, "_BYTES_AT_A_TIME", 10)  # each of these has four

    async def work() -> None:
        reading = [asyncio.create_task(bodies.read_body(Endless(), 100)) for _ in range(4)]
        done, waiting = await asyncio.wait(reading, timeout=0.5)
        assert done == set(reading[:2])
        assert {type(task.exception()) for task in done} == {bodies.TooSlowError}
        for task in waiting:
            task.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)

    asyncio.run(work())
    assert not bodies._READING


def test_a_body_has_a_length() -> None:
    assert asyncio.run(bodies.read_body(Whole(b"12345"), 5)) == b"12345"
    with pytest.raises(bodies.TooLongError):
        asyncio.run(bodies.read_body(Whole(b"123456"), 5))
