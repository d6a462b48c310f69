"""The service's gateway: it opens the texts of a batch, logs them whole or not at all, and asks the engine.

The pool sends batches, signed: for each query a node of the tree and a sealed text. The engine gets each text
with the node's region in words, as ``person``, and never a leaf, a token or an address; the answer goes back
sealed for the device that asked. :mod:`tacit.pool.protocol.gateway` has the rule of logging.
"""

import asyncio
import base64
import json
import secrets
import threading
import time
import zlib
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict
from multiprocessing.managers import BaseManager, RemoteError
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.bodies import read_body
from tacit.errors import InputError
from tacit.pool.channel import oblivious
from tacit.pool.channel.join import Announcement, Identity, JoinFile, address, is_signed
from tacit.pool.protocol.gateway import Answer, GatewayLog, Logged
from tacit.pool.protocol.template import Template
from tacit.pool.server.front import HEADERS, KeyRing, digest_of, opened_with, public_keys, server

LARGEST_BATCH = 64 << 20
_SECONDS = 20.0
_ASKED_AT_ONCE = 32
_KEPT_ANSWERS = 64 << 20
_LONGEST_QUERY = 2_000
_CALLS = 20
"""Tries, a tenth of a second apart, to reach the process with the state: a dead one is replaced in less."""


class GatewayState(KeyRing):
    """State that all workers of a gateway share: its keys, the log's rule, and answers to ask for again."""

    def __init__(self, window: float) -> None:
        super().__init__()
        self._log = GatewayLog(window=window)
        self._taking = threading.Lock()
        self._answers: dict[str, list[bytes]] = {}
        self._bytes = 0

    def take(
        self,
        batch: tuple[str, str, float],
        unreadable: Sequence[int],
        seen: Sequence[tuple[int, bytes]],
        now: float,
    ) -> tuple[Answer, bool]:
        """Log a batch (its number, session and deadline), or say why not; and whether it was logged just now.

        A text that was logged in another batch cannot be read a second time. One batch at a time: each worker
        calls from a thread of its own.
        """
        written = list[float]()
        with self._taking:
            repeated = [place for place, (at, digest) in enumerate(seen) if self.knows(at, digest)]
            answer = self._log.take(*batch, [*unreadable, *repeated], now, written.append)
            for identifier, digest in seen if written else ():
                self.note(identifier, digest)
        return answer, bool(written)

    def keep(self, number: str, answers: list[bytes]) -> None:
        """Keep the answers to a batch, for a repeat, while there can be one and there is room."""
        with self._taking:
            self._answers[number] = answers
            self._bytes += sum(map(len, answers))
            while (oldest := next(iter(self._answers))) != number:
                if self._log.remembers(oldest) and self._bytes <= _KEPT_ANSWERS:
                    break
                self._bytes -= sum(map(len, self._answers.pop(oldest)))

    def kept(self, number: str) -> list[bytes] | None:
        """The answers to a batch that was logged before."""
        return self._answers.get(number)


class _Door(BaseManager):
    """The way into the process that holds the state."""


_Door.register("state")


class SharedState:
    """A gateway's state in a process of its own, for several workers; each calls it as if it were theirs.

    Where that process died and another took its place, all that was remembered is gone: keys and session are
    new, so nothing that was sealed or counted before is taken.
    """

    def __init__(self, folder: Path, window: float) -> None:
        self._address, self._key, self._window = str(folder / "state"), secrets.token_bytes(32), window
        self._state: Any = None

    def hold(self) -> None:
        """Hold the state, in this process, until it ends."""
        state = GatewayState(self._window)
        Path(self._address).unlink(missing_ok=True)
        _Door.register("state", lambda: state)
        _Door(self._address, self._key).get_server().serve_forever()

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*given: Any) -> Any:
            for pause in (0.1,) * _CALLS + (None,):
                try:
                    if self._state is None:
                        door = _Door(self._address, self._key)
                        door.connect()
                        self._state = door.state()  # type: ignore[attr-defined]
                    return getattr(self._state, name)(*given)
                except (OSError, EOFError, RemoteError):
                    self._state = None
                    if pause is None:
                        raise
                    time.sleep(pause)
            raise AssertionError

        return call


def _question(template: Template, opened: bytes) -> dict[str, Any]:
    """Read what a sealed text asks the engine."""
    unpack = zlib.decompressobj()
    packed = oblivious.read_request(opened).content
    try:
        asked = json.loads(unpack.decompress(packed, 64 * oblivious.QUERY_SIZE))  # no honest text is longer
    except (zlib.error, ValueError, RecursionError):
        asked = None
    if not isinstance(asked, dict) or unpack.unconsumed_tail:
        raise InputError("a sealed text must be a JSON object.")
    query, named = asked.get("query"), asked.setdefault("named", [])
    if not isinstance(query, str) or len(query) > _LONGEST_QUERY:
        raise InputError(f"a sealed text must have a query of {_LONGEST_QUERY:,} characters at most.")
    known = isinstance(named, list) and all(name in template.names for name in named)
    if not known or len(named) > len(template.names):
        raise InputError("a sealed text names attributes that the template does not have.")
    return asked


def packed_answer(answer: Mapping[str, Any]) -> bytes:
    """The answer in the size that all have; results that do not fit are left out, from the last."""
    said = dict(answer)
    while True:
        content = zlib.compress(json.dumps(said).encode(), 9)
        try:
            return oblivious.BinaryResponse(200, (), content).to_bytes(oblivious.ANSWER_SIZE)
        except oblivious.OversizeError:
            results = said.get("results")
            if not isinstance(results, list) or not results:
                said = {name: said[name] for name in ("node", "time") if name in said}
                said |= {"status": 502, "error": "the engine's answer is too long"}
            else:
                said["results"] = results[: len(results) * 3 // 4]
                said["cut"] = True


class Gateway:
    """One worker of a service's gateway, which asks the search at the address ``engine``.

    Several workers share one ``state``; ``clock`` gives seconds since 1970.
    """

    def __init__(
        self,
        join: JoinFile,
        identity: Identity,
        engine: str,
        *,
        state: GatewayState | SharedState | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if identity.public != join.identities["gateway"]:
            raise InputError("this is not the identity that the join file names for its gateway.")
        self.join, self.identity, self.clock = join, identity, clock
        self.engine = address("engine", engine)
        self.state = state or GatewayState(join.rules.window)
        self._client = oblivious.http_client(transport, _SECONDS)
        self._turn = asyncio.Semaphore(_ASKED_AT_ONCE)
        self._person = [join.template.words(region) for region in join.tree.regions]

    async def keys(self, _request: Request) -> Response:
        """The key to seal texts for, drawn at this start and signed by the gateway's identity."""
        said = Announcement("gateway", self.join.digest, public_keys(self.state.held()))
        return JSONResponse(said.as_dict(self.identity), headers=HEADERS)

    async def batch(self, request: Request) -> Response:
        """A batch of queries from the pool, signed by it: logged whole or not at all."""
        body = await read_body(request, LARGEST_BATCH)
        if not is_signed(self.join.identities["pool"], body, request.headers.get("tacit-signature")):
            return JSONResponse({"error": "only the pool sends batches"}, 401, HEADERS)
        try:
            given = json.loads(body)
            number, session, deadline = str(given["number"]), str(given["session"]), float(given["deadline"])
            nodes = [int(item["node"]) for item in given["items"]]
            sealed = [str(item["sealed"]) for item in given["items"]]
            if not all(0 <= node < len(self.join.tree) for node in nodes):
                raise ValueError
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InputError("a batch has a number, a session, a deadline and items.") from error
        answer, answers = await self._take((number, session, deadline), nodes, sealed)
        said = {"answer": type(answer).__name__, **asdict(answer)}
        said["answers"] = [base64.b64encode(each).decode() for each in answers]
        return JSONResponse(said, headers=HEADERS)

    async def _take(
        self, batch: tuple[str, str, float], nodes: list[int], sealed: list[str]
    ) -> tuple[Answer, list[bytes]]:
        held = self.state.held()
        opened: list[tuple[oblivious.OpenedRequest, dict[str, Any]]] = []
        seen: list[tuple[int, bytes]] = []
        unreadable: list[int] = []
        for place, text in enumerate(sealed):
            try:
                message = base64.b64decode(text)
                found = opened_with(held, message)
                opened.append((found, _question(self.join.template, found.data)))
                seen.append((message[0], digest_of(found)))
            except (InputError, ValueError):
                unreadable.append(place)
        if unreadable:
            seen.clear()  # its places are those of the batch
        answer, fresh = self.state.take(batch, unreadable, seen, self.clock())
        if not isinstance(answer, Logged):
            return answer, []
        if not fresh:
            return answer, await self._kept(batch[0])
        asking = [self._ask(*each, node, answer.time) for each, node in zip(opened, nodes, strict=True)]
        answers = list(await asyncio.gather(*asking))
        self.state.keep(batch[0], answers)
        return answer, answers

    async def _kept(self, number: str) -> list[bytes]:
        """The answers to a batch that came before, which may still be under way; none if they are gone."""
        for _ in range(int(_SECONDS / 0.1)):
            answers = self.state.kept(number)
            if answers is not None:
                return answers
            await asyncio.sleep(0.1)
        return []

    async def _ask(
        self, opened: oblivious.OpenedRequest, asked: dict[str, Any], node: int, moment: float
    ) -> bytes:
        """Ask the engine under the node's region."""
        person, names = self._person[node], asked.pop("named")
        words = self.join.template.values(self.join.tree.regions[node])
        asked["query"] = " ".join([asked["query"], *(words[name] for name in names)])
        asked["person"] = person  # whatever came: only the pool says what may be known
        try:  # whoever has no turn in time must not cost the whole batch its answers
            async with asyncio.timeout(_SECONDS), self._turn:
                answer = await self._client.post(self.engine, json=asked)
            found = json.loads(answer.content, parse_constant=lambda _: None)  # NaN is no JSON
            said = (found if isinstance(found, dict) else {}) | {"status": answer.status_code}
        except (httpx.HTTPError, TimeoutError, ValueError, RecursionError) as error:
            said = {"status": 502, "error": f"the engine does not answer ({type(error).__name__})"}
        return opened.seal_response(packed_answer(said | {"node": node, "time": moment}))

    def app(self) -> Starlette:
        """The ASGI application."""

        async def lifespan(_app: Starlette) -> AsyncIterator[None]:
            async with self._client:
                yield

        routes = [Route("/keys", self.keys, methods=["GET"]), Route("/batch", self.batch, methods=["POST"])]
        return server("Tacit service gateway", routes, lifespan=lifespan)
