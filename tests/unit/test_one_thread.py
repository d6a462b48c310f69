"""Work in one thread: in order, never two pieces at once, errors told, given-up work left out."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from tacit.web.search import OneThread


def test_work_is_done_in_order_and_never_two_pieces_at_once() -> None:
    done: list[int] = []
    under_way = threading.Semaphore(1)

    def work(number: int) -> int:
        assert under_way.acquire(blocking=False)
        time.sleep(0.002)
        done.append(number)
        under_way.release()
        return number * 2

    async def main() -> list[int]:
        thread = OneThread("test")
        try:
            return await asyncio.gather(*(thread.do(work, number) for number in range(20)))
        finally:
            thread.close()

    assert asyncio.run(main()) == [2 * number for number in range(20)]
    assert done == list(range(20))


def test_what_work_raises_is_raised_to_whoever_asked_and_to_nobody_else() -> None:
    async def main() -> tuple[object, object]:
        thread = OneThread("test")
        try:
            return tuple(  # type: ignore[return-value]
                await asyncio.gather(thread.do(int, "x"), thread.do(int, "7"), return_exceptions=True)
            )
        finally:
            thread.close()

    failed, made = asyncio.run(main())
    assert isinstance(failed, ValueError)
    assert made == 7


class Panic(BaseException):
    """As compiled code raises it: no Exception."""


@pytest.mark.parametrize(
    ("thrown", "told"), [(Panic, Panic), (MemoryError, MemoryError), (StopIteration, RuntimeError)]
)
def test_whatever_work_raises_the_next_is_done(
    thrown: type[BaseException], told: type[BaseException]
) -> None:
    def work() -> None:
        raise thrown

    async def main() -> int:
        thread = OneThread("test")
        try:
            async with asyncio.timeout(5):
                with pytest.raises(told):
                    await thread.do(work)
                return await thread.do(int, "7")
        finally:
            thread.close()

    assert asyncio.run(main()) == 7


def test_work_whose_loop_is_gone_does_not_end_the_thread() -> None:
    begun, let_go = threading.Event(), threading.Event()

    def first() -> None:
        begun.set()
        let_go.wait(5)

    async def leave(thread: OneThread) -> None:
        task = asyncio.create_task(thread.do(first))
        await asyncio.to_thread(begun.wait, 5)
        task.cancel()

    async def seven(thread: OneThread) -> int:
        async with asyncio.timeout(5):
            return await thread.do(int, "7")

    thread = OneThread("test")
    asyncio.run(leave(thread))
    let_go.set()
    assert asyncio.run(seven(thread)) == 7
    thread.close()


def test_work_that_nobody_waits_for_any_more_is_not_begun() -> None:
    begun: list[str] = []
    let_go = threading.Event()

    def first() -> None:
        begun.append("first")
        let_go.wait(5)

    async def main() -> None:
        thread = OneThread("test")
        one = asyncio.create_task(thread.do(first))
        given_up = asyncio.create_task(thread.do(begun.append, "given up"))
        last = asyncio.create_task(thread.do(begun.append, "last"))
        await asyncio.sleep(0.05)
        given_up.cancel()
        one.cancel()  # under way: it goes on, and its outcome is dropped
        with pytest.raises(asyncio.CancelledError):
            await given_up
        let_go.set()
        await last
        thread.close()

    asyncio.run(main())
    assert begun == ["first", "last"]


def test_closing_waits_for_what_was_asked_before() -> None:
    done: list[int] = []

    async def main() -> None:
        thread = OneThread("test")
        waiting = [asyncio.ensure_future(thread.do(done.append, number)) for number in range(5)]
        await asyncio.sleep(0)
        thread.close()
        await asyncio.gather(*waiting)

    asyncio.run(main())
    assert done == [0, 1, 2, 3, 4]
