"""What the workers of a pool share: keys, requests seen, a letter box, results, and who drives the machine.

The pool's machine lives in the memory of **one** worker, the driver; the others open sealed requests, check
tokens, and put what came into the letter box. When the driver dies or the store loses everything, another
begins with an empty memory: queries wait, and the promise holds.

Keys and the requests they opened live and die together: a store that lost what it saw has lost its keys too.
"""

import asyncio
import contextlib
import json
import secrets
import time
from importlib import resources
from typing import Any

from tacit.errors import InputError
from tacit.pool.server.front import MOST_SEEN, KeyRing

MOST_LETTERS = 20_000
MOST_RESULTS = 20_000
KEPT = 30.0
"""Seconds for which a result waits for its client."""

_LEASE = 4_000
"""Milliseconds for which a worker drives without saying so again."""


class MemoryStore(KeyRing):
    """A store for one worker."""

    away: tuple[type[Exception], ...] = (OSError,)
    """What is raised where the store is away."""

    def __init__(self) -> None:
        super().__init__()
        self._letters: list[list[Any]] = []
        self._posted = asyncio.Event()
        self._results: dict[str, tuple[float, dict[str, Any]]] = {}
        self._standing: dict[str, Any] | None = None
        self._mark = 0

    async def close(self) -> None:
        """End the connections."""

    async def drives(self, worker: str) -> bool:
        """Return whether this worker drives the machine: the first to ask, as long as it keeps asking."""
        del worker
        return True

    async def post(self, letter: list[Any]) -> bool:
        """Put a letter into the box; False if it is full."""
        if len(self._letters) >= MOST_LETTERS:
            return False
        self._letters.append(letter)
        self._posted.set()
        return True

    async def letters(self, wait: float) -> list[list[Any]]:
        """Take all letters out of the box, after ``wait`` seconds at most."""
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):  # wait_for loses a cancellation that comes with a letter
                await self._posted.wait()
        self._posted.clear()
        found, self._letters = self._letters, []
        return found

    async def settle(self, ticket: str, result: dict[str, Any]) -> None:
        """Keep a result for the client with this ticket."""
        now = time.monotonic()
        self._results.pop(ticket, None)
        self._results[ticket] = (now + KEPT, result)
        while self._results:
            oldest = next(iter(self._results))
            if self._results[oldest][0] > now and len(self._results) <= MOST_RESULTS:
                break
            del self._results[oldest]

    async def open(self, ticket: str) -> None:
        """Give a ticket out: only then can its result be asked for."""
        if ticket not in self._results:
            await self.settle(ticket, {"state": "held"})

    async def settled(self, ticket: str) -> dict[str, Any] | None:
        """Return what there is for a ticket, and keep it a while longer; None if it was never given out."""
        until, result = self._results.pop(ticket, (0.0, None))
        if result is None or until <= time.monotonic():
            return None
        self._results[ticket] = (time.monotonic() + KEPT, result)
        return result

    async def say(self, standing: dict[str, Any]) -> None:
        """Publish where the pool stands."""
        self._standing = standing

    async def standing(self) -> dict[str, Any] | None:
        """Return where the pool stands; None while nobody drives."""
        return self._standing

    async def mark(self, period: int) -> int:
        """Raise the highest period that was used to ``period``; the highest then."""
        self._mark = max(self._mark, period)
        return self._mark


class RedisStore:
    """A store in Redis, which must keep nothing on disk; it does what :class:`MemoryStore` does.

    Pools of different names share a Redis without meeting.
    """

    def __init__(self, url: str, name: str) -> None:
        import redis.asyncio

        try:
            self._redis = redis.asyncio.Redis.from_url(url, decode_responses=True, socket_timeout=5.0)
        except ValueError as error:
            raise InputError("the address of Redis cannot be read.", "Say redis://HOST:PORT/0.") from error
        self.away = (OSError, redis.RedisError)
        self._base = f"tacit:{name}:"
        lua = resources.files("tacit.pool.server") / "lua"
        texts = {name: (lua / f"{name}.lua").read_text("utf-8") for name in ("lead", "seen", "post")}
        self._scripts = {name: self._redis.register_script(text) for name, text in texts.items()}

    async def _run(self, script: str, key: str, *arguments: str | int | bytes) -> Any:
        return await self._scripts[script](keys=[self._base + key], args=list(arguments))

    async def secrets(self) -> list[tuple[int, str]]:
        """Identifier and secret of each key; the first worker that finds none draws one."""
        found = await self._redis.lrange(self._base + "keys", 0, 1)
        if not found:
            await self._run("post", "keys", _fresh_key(secrets.randbelow(256)), 1)
            found = await self._redis.lrange(self._base + "keys", 0, 1)
        pairs = [str(held).split(" ") for held in found]
        return [(int(identifier), secret) for identifier, secret in pairs]

    async def close(self) -> None:
        await self._redis.aclose()

    async def first_time(self, identifier: int, digest: bytes) -> bool:
        following = _fresh_key((identifier + 1) % 256)
        return bool(await self._run("seen", "", identifier, digest.hex(), MOST_SEEN, following))

    async def drives(self, worker: str) -> bool:
        return bool(await self._run("lead", "driver", worker, _LEASE))

    async def post(self, letter: list[Any]) -> bool:
        return bool(await self._run("post", "letters", json.dumps(letter), MOST_LETTERS))

    async def letters(self, wait: float) -> list[list[Any]]:
        begun = time.monotonic()
        while True:
            found = await self._redis.lpop(self._base + "letters", MOST_LETTERS) or []
            if found or time.monotonic() - begun >= wait:
                return [json.loads(str(letter)) for letter in found]
            await asyncio.sleep(0.02)

    async def settle(self, ticket: str, result: dict[str, Any]) -> None:
        await self._redis.set(f"{self._base}result:{ticket}", json.dumps(result), ex=int(KEPT))

    async def open(self, ticket: str) -> None:
        held = json.dumps({"state": "held"})
        await self._redis.set(f"{self._base}result:{ticket}", held, ex=int(KEPT), nx=True)

    async def settled(self, ticket: str) -> dict[str, Any] | None:
        found = await self._redis.getex(f"{self._base}result:{ticket}", ex=int(KEPT))
        return None if found is None else dict(json.loads(found))

    async def say(self, standing: dict[str, Any]) -> None:
        await self._redis.set(self._base + "standing", json.dumps(standing), px=_LEASE)

    async def standing(self) -> dict[str, Any] | None:
        found = await self._redis.get(self._base + "standing")
        return None if found is None else dict(json.loads(found))

    async def mark(self, period: int) -> int:
        await self._redis.zadd(self._base + "period", {"highest": period}, gt=True)
        return int(await self._redis.zscore(self._base + "period", "highest") or 0)


PoolStore = MemoryStore | RedisStore


def _fresh_key(identifier: int) -> str:
    return f"{identifier} {secrets.token_hex(32)}"
