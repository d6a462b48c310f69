"""The pool as a server: a relay that counts. It opens leaf and token of each deposit, and never a text.

Sealed inside Oblivious HTTP, a device asks for four things: ``/deposit`` takes a query and answers at once
with its ticket, ``/collect`` asks whether the answer is there, ``/withdraw`` takes a query back, and
``/standing`` says what is promised, which period it is, and how many people ask. When a query goes out is the
machine's decision (:mod:`tacit.pool.protocol.counting`); this module gives it time, letters and a way to the
gateway. If the join file says so, ``/proof`` shows that k people asked (:mod:`tacit.pool.channel.proof`).
"""

import asyncio
import base64
import contextlib
import hashlib
import json
import logging
import secrets
import time
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.errors import InputError, ParameterError
from tacit.files import atomic_file
from tacit.pool.channel import oblivious, tokens
from tacit.pool.channel.join import Announcement, Identity, JoinFile, create_pool, token_challenge
from tacit.pool.channel.proof import AT_ONCE, OFF, Voucher, key_digest, slots
from tacit.pool.protocol import gateway as log
from tacit.pool.protocol.counting import Actions, Batch, QueryCounter, Why, next_period
from tacit.pool.server import front
from tacit.pool.server.store import MemoryStore, PoolStore, RedisStore
from tacit.validation import place

_LOG = logging.getLogger(__name__)
_EVERY = 0.5
"""Seconds between two looks at the clock."""
_SET_BACK = 2.0
"""Seconds by which a clock may be corrected backwards without further ado."""
_TRIES = 3
_PAUSE = 1.0
_GATEWAY_SECONDS = 25.0
_SEALED = oblivious.QUERY_SIZE + 128
_TOKEN, _VOUCHER = 512, 136


class TokenKeys:
    """The issuer's keys by period, as its directory has them; the first key of a period stays."""

    def __init__(self, join: JoinFile, client: httpx.AsyncClient) -> None:
        self._join, self._client = join, client
        self._keys: dict[int, tokens.VerifyingKey] = {}
        self._asked = float("-inf")
        self._turn = asyncio.Lock()

    async def of(self, period: int) -> tokens.VerifyingKey | None:
        """The key of a period; asks the issuer, at most once a second, if it is not known."""
        async with self._turn:
            now = time.monotonic()
            if period not in self._keys and now - self._asked >= _PAUSE:
                self._asked = now
                with contextlib.suppress(httpx.HTTPError, InputError, ValueError):
                    answer = await self._client.get(f"{self._join.issuer}/keys")
                    said = Announcement.parse(answer.json(), "issuer", self._join)
                    found = {at: tokens.VerifyingKey.from_bytes(key) for at, key in said.tokens.items()}
                    self._keys = {at: self._keys.get(at, key) for at, key in found.items()}
        return self._keys.get(period)


def _beside(secret: str | Path, what: str) -> Path:
    """A file of the pool's own, beside that of its identity."""
    return Path(secret).with_name(f"{Path(secret).name}.{what}")


def merge_small_leaves(path: str | Path, secret: str | Path) -> JoinFile:
    """Merge leaves that fewer than 2 k people a day use into their parents, and write the join file anew.

    The pool counted how many used each leaf, in a file beside its secret.
    """
    join, counted = JoinFile.read(path), _beside(secret, "leaves")
    said = json.loads(counted.read_text(encoding="utf-8")) if counted.exists() else {}
    if said.get("tree") != join.tree.digest or not said["before"]:
        problem = f"{counted} holds no whole day of this tree."
        raise InputError(problem, "Serve the pool until two days have begun.")
    people = {int(leaf): max(number, said["today"].get(leaf, 0)) for leaf, number in said["before"].items()}
    made = replace(join, tree=join.tree.merged(people, 2 * join.rules.k))
    made.write(Path(path), Identity.kept(Path(secret)), force=True)
    return made


class Pool:
    """A pool, to be served by any ASGI server.

    ::

        tacit.Pool.create("pool.join", k=30, window=120)     # the join file, and pool.secret beside it
        uvicorn.run(tacit.Pool("pool.join", "pool.secret").app())

    Args:
        join: the join file, or its path.
        secret: the file with the pool's identity, which signed the join file. Beside it are kept the highest
            period that was used, and how many people used each leaf today and the day before.
        redis: where several workers keep what they share; one worker keeps it in memory.
    """

    create = staticmethod(create_pool)

    def __init__(self, join: JoinFile | str | Path, secret: str | Path, *, redis: str | None = None) -> None:
        self.join = join if isinstance(join, JoinFile) else JoinFile.read(join)
        self.identity = Identity.kept(place("secret", secret))
        if self.identity.public != self.join.identities["pool"]:
            raise ParameterError("`secret` is not the identity that signed the join file.", "Name its file.")
        self.mark, self.leaves = _beside(secret, "period"), _beside(secret, "leaves")
        self.redis = redis

    def __repr__(self) -> str:
        rules = self.join.rules
        return f"Pool(k={rules.k}, window={rules.window:g} s, {len(self.join.tree.leaves)} leaves)"

    def app(
        self,
        *,
        store: PoolStore | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
        clock: Callable[[], float] = time.time,
    ) -> Starlette:
        """Make the ASGI application of one worker.

        Args:
            store: what it shares with others; the pool's own unless given.
            transport: how gateway and issuer are reached, in place of the network.
            clock: seconds since 1970.
        """
        own = MemoryStore() if self.redis is None else RedisStore(self.redis, self.join.digest[:16])
        return _Worker(self, store or own, transport, clock).app()


async def _away(_request: Request, _error: Exception) -> Response:
    headers = {"retry-after": "1", **front.HEADERS}
    return JSONResponse({"error": "the pool's store is away"}, 503, headers)


class _Worker:
    """One worker: it opens sealed requests, and drives the machine while it is its turn."""

    def __init__(
        self,
        pool: Pool,
        store: PoolStore,
        transport: httpx.AsyncBaseTransport | None,
        clock: Callable[[], float],
    ) -> None:
        self.join, self.identity, self.store, self.clock = pool.join, pool.identity, store, clock
        self.name = secrets.token_hex(8)
        self._mark, self._leaves = pool.mark, pool.leaves
        self._client = oblivious.http_client(transport, _GATEWAY_SECONDS)
        self._token_keys = None if pool.join.issuer is None else TokenKeys(pool.join, self._client)
        self._counter: QueryCounter | None = None
        self._sealed: dict[str, str] = {}
        self._vouchers: dict[int, dict[str, tuple[int, Voucher]]] = {}
        """By period and token: the leaf, and the latest voucher."""
        self._sending: set[asyncio.Task[None]] = set()
        self._looked = self._ends = float("-inf")
        self._doubted = self._over = False
        token, sealed, ticket = front.base64_of(_TOKEN), front.base64_of(_SEALED), {"ticket": front.NAME}
        deposit = ticket | {"token": token, "period": front.WHOLE, "leaf": front.WHOLE, "sealed": sealed}
        self.endpoints: tuple[front.Endpoint, ...] = (
            front.Endpoint("/deposit", self.deposit, deposit),
            front.Endpoint("/collect", self.collect, ticket),
            front.Endpoint("/withdraw", self.withdraw, ticket),
            front.Endpoint("/standing", self.standing, {}),
        )
        if self.join.proof:
            deposit["voucher"] = front.base64_of(_VOUCHER)
            part = front.Endpoint("/proof", self.proof, ticket | {"part": front.WHOLE})
            self.endpoints = (*self.endpoints, part)
        sizes = oblivious.REQUEST_SIZE, oblivious.REPLY_SIZE
        self._front = front.SealedFront(store, self.endpoints, sizes)

    async def deposit(self, given: dict[str, Any]) -> dict[str, Any]:
        """Take a query in; the ticket asks for its answer."""
        ticket, period = given["ticket"], given["period"]
        standing = await self.store.standing()
        if standing is None or period != standing["period"]:
            return {"state": "refused", "why": Why.PERIOD}
        token = await self._admitted(given["token"], period)
        letter = ["deposit", ticket, token, period, given["leaf"], given["sealed"]]
        if self.join.proof:
            voucher = self._vouched(given)
            if voucher is None:
                return {"state": "refused", "why": Why.CLOCK}
            if await self.store.settled(ticket) is not None:
                letter[0] = "vouched"  # for a query that is held
            letter.append(voucher)
        if not await self.store.post(letter):
            return {"state": "refused", "why": Why.FULL}
        await self.store.open(ticket)
        return {"state": "held"}

    async def _admitted(self, text: str, period: int) -> str:
        """Name a token that was issued for this period; without an issuer, any token will do."""
        token = base64.b64decode(text)
        if self._token_keys is not None:
            key = await self._token_keys.of(period)
            if key is None or not tokens.token_holds(key, token_challenge(self.join, period), token):
                raise InputError("a deposit needs a token of the issuer for this period.")
        elif len(token) < 16:
            raise InputError("a token has at least 16 bytes.")
        return hashlib.sha256(token).hexdigest()[:32]

    def _vouched(self, given: Mapping[str, Any]) -> str | None:
        """The voucher of a deposit, with its token's signature; None if it is not of the present time."""
        found, token, leaf = Voucher.parse(given["voucher"]), base64.b64decode(given["token"]), given["leaf"]
        own = token[tokens.NONCE] == key_digest(found.key)
        if not (own and leaf in self.join.tree.paths and found.holds(self.join, leaf)):
            raise InputError("a voucher must be signed with its token's key, for its leaf.")
        present = slots(self.clock(), self.join.rules.window, OFF)
        return replace(found, token=token[tokens.SIGNATURE]).to_text() if found.slot in present else None

    async def proof(self, given: dict[str, Any]) -> dict[str, Any]:
        """Show that k people asked from inside the region of an answered batch, some of them at a time."""
        return await self.store.settled(f"{given['ticket']} {given['part']}") or {"vouchers": []}

    async def collect(self, given: dict[str, Any]) -> dict[str, Any]:
        """Return the answer to a query if it has arrived."""
        result = await self.store.settled(given["ticket"])
        if result is None:  # tickets that were never given leave nothing behind
            return {"state": "refused", "why": Why.FORGOTTEN}
        if result["state"] == "held":
            await self.store.post(["polled", given["ticket"]])
        return result

    async def withdraw(self, given: dict[str, Any]) -> dict[str, Any]:
        """Take a query back that has not gone out yet."""
        if await self.store.settled(given["ticket"]) is not None:
            await self.store.post(["gave up", given["ticket"]])
        return {"state": "withdrawn"}

    async def standing(self, _given: dict[str, Any]) -> dict[str, Any]:
        """Report what is promised, the current period, and how many people asked within the window."""
        said = await self.store.standing() or {"period": None, "people": 0}
        rules = self.join.rules
        return said | {"k": rules.k, "window": rules.window, "tree": self.join.tree.digest}

    async def drive(self) -> None:
        """Drive the machine while it is this worker's turn, until cancelled; say once what stops it."""
        trouble = ""
        while not self._over:  # the store's client may lose a cancellation that comes with an answer
            try:
                if await self.store.drives(self.name):
                    await self._step()
                else:
                    self._forget()
                    await asyncio.sleep(_EVERY)
                trouble = ""
            except Exception as error:  # mostly the store's: what it held may be gone, another may drive
                if trouble != type(error).__name__:  # never its text, which may quote what was sent
                    trouble = type(error).__name__
                    _LOG.warning("the pool forgot what it held and begins anew: %s", trouble)
                self._forget()
                await asyncio.sleep(_EVERY)

    def _forget(self) -> None:
        self._counter, self._doubted = None, False
        self._sealed.clear()
        for task in self._sending:
            task.cancel()

    async def _step(self) -> None:
        now = self.clock()
        if self._doubted or now < self._looked - _SET_BACK:  # a period would last longer than it says
            self._forget()
        rules, counter = self.join.rules, self._counter
        if counter is None or now >= self._ends:
            number = await self._next_period(now)
            if number is None:  # what the ended period held is over
                self._forget()
                await self.store.say({"period": None, "people": 0})
                await asyncio.sleep(_EVERY)
                return
            if counter is None:
                counter = self._counter = QueryCounter(self.join.tree, rules)
            # Numbers run ahead of a clock that was set back; a period is no longer for that.
            self._ends = min((number + 1) * rules.period, now + rules.period)
            await self._do(counter.open_period(number))
            self._vouchers = {number: {}} | dict(sorted(self._vouchers.items())[-1:])
            self._count_leaves(counter, int(now // 86_400))
            self._looked = float("-inf")
        if now - self._looked >= _EVERY or now < self._looked:
            await self._do(counter.tick(now))
            await self.store.say({"period": counter.period, "people": counter.people(now)})
            self._looked = now
        for letter in await self.store.letters(_EVERY):
            await self._read(counter, letter)

    async def _next_period(self, now: float) -> int | None:
        """A number that never came before: it is on disk, and in the store, before it is used.

        None while the issuer has no key for it. A clock that is years ahead for a moment would use up all
        numbers for which there are tokens.
        """
        last = int(self._mark.read_text()) if self._mark.exists() else 0
        number = next_period(max(last, await self.store.mark(0)), now, self.join.rules.period)
        if self._token_keys is not None and await self._token_keys.of(number) is None:
            return None
        with atomic_file(self._mark) as temporary:
            temporary.write_text(f"{number}\n", encoding="ascii")
        await self.store.mark(number)
        return number

    def _count_leaves(self, counter: QueryCounter, day: int) -> None:
        """Keep how many people used each leaf in its busiest period of a day (:func:`merge_small_leaves`)."""
        tree = self.join.tree
        said: dict[str, Any] = {"tree": tree.digest, "day": day, "today": {}, "before": {}}
        with contextlib.suppress(OSError, ValueError):
            known = json.loads(self._leaves.read_text(encoding="utf-8"))
            if known["tree"] == tree.digest:
                said = known
        most = {str(leaf): counter.busiest[leaf] for leaf in tree.leaves}
        said["today"] = {leaf: max(said["today"].get(leaf, 0), number) for leaf, number in most.items()}
        if said["day"] != day:
            counter.busiest.clear()
            said |= {"day": day, "today": {}, "before": said["today"]}
        with atomic_file(self._leaves, mode=0o600) as temporary:
            temporary.write_text(json.dumps(said), encoding="utf-8")

    async def _read(self, counter: QueryCounter, letter: list[Any]) -> None:
        kind, ticket, *rest = letter
        now = self.clock()
        if kind == "vouched":
            token, period, leaf, _, voucher = rest
            counter.polled(ticket, now)
            if self._vouchers.get(period, {}).get(token, (None,))[0] == leaf:
                self._vouchers[period][token] = leaf, Voucher.parse(voucher)
        elif kind == "deposit":
            if counter.polled(ticket, now):
                return  # a repeat of what is held, or on its way
            token, period, leaf, self._sealed[ticket], *vouched = rest
            actions = counter.deposit(ticket, token, period, leaf, now)
            if vouched and counter.polled(ticket, now):  # it was not refused: this is the token's leaf
                self._vouchers[period][token] = leaf, Voucher.parse(*vouched)
            await self._do(actions)
        elif kind == "gave up":
            counter.gave_up(ticket)
            if not counter.polled(ticket, now):
                self._sealed.pop(ticket, None)
        elif not counter.polled(ticket, now):
            known = await self.store.settled(ticket)
            if known is not None and known["state"] == "held":
                await self._refuse(ticket, Why.FORGOTTEN)

    async def _do(self, actions: Actions) -> None:
        for action in actions:
            if isinstance(action, Batch):
                sealed = [self._sealed[item.ticket] for item in action.items]
                task = asyncio.create_task(self._send(action, sealed))
                self._sending.add(task)
                task.add_done_callback(self._sent)
            else:
                await self._refuse(action.ticket, action.why)

    def _sent(self, task: asyncio.Task[None]) -> None:
        self._sending.discard(task)
        if not task.cancelled() and task.exception() is not None:
            self._doubted = True  # the store was away, say: nobody would ever hear of this batch

    async def _refuse(self, ticket: str, why: Why) -> None:
        self._sealed.pop(ticket, None)
        await self.store.settle(ticket, {"state": "refused", "why": why.value})

    async def _send(self, batch: Batch, sealed: list[str]) -> None:
        """Send a batch to the gateway, unchanged while no answer comes, and note what it said."""
        counter = self._counter
        items = [{"node": item.node, "sealed": text} for item, text in zip(batch.items, sealed, strict=True)]
        head = {"number": batch.number, "session": batch.session, "deadline": batch.deadline}
        body = json.dumps(head | {"items": items}).encode()
        headers = {"content-type": "application/json", "tacit-signature": self.identity.sign(body)}
        found: Mapping[str, Any] | None = None
        for pause in (*[_PAUSE] * (_TRIES - 1), 0.0):
            with contextlib.suppress(httpx.HTTPError, ValueError):
                answer = await self._client.post(f"{self.join.gateway}/batch", content=body, headers=headers)
                if answer.status_code == 200:
                    found = answer.json()
                    break
            await asyncio.sleep(pause)
        if counter is None or counter is not self._counter:
            return
        said = None if found is None else _answer(found)
        now = self.clock()
        if found is not None and isinstance(said, log.Logged):
            answers, proof = found.get("answers") or [None] * len(batch.items), secrets.token_hex(16)
            for at, part in enumerate(self._proof(batch)):
                await self.store.settle(f"{proof} {at}", part)
            for item, text in zip(batch.items, answers, strict=True):
                self._sealed.pop(item.ticket, None)
                result = {"state": "answered", "answer": text, "proof": proof}
                result = result if text else {"state": "unanswered"}
                await self.store.settle(item.ticket, result)
        over = counter.answered(batch.number, said, now) if said else counter.lost(batch.number, now)
        await self._do(over)

    def _proof(self, batch: Batch) -> list[dict[str, Any]]:
        """The vouchers of those who were counted for a batch, in the parts that devices ask for.

        Their order is that of their keys: in the order of asking, whoever has the log and an account could
        tell whose text is whose.
        """
        if not self.join.proof:
            return []
        node, known = batch.items[0].node, self._vouchers.get(batch.period, {})
        vouched = sorted((known[each] for each in batch.people if each in known), key=lambda at: at[1].key)
        shown = [each.shown_for(node, self.join.tree.paths[leaf]).to_text() for leaf, each in vouched]
        pieces = [shown[at : at + AT_ONCE] for at in range(0, len(shown), AT_ONCE)]
        return [{"period": batch.period, "vouchers": piece} for piece in pieces]

    async def keys(self, _request: Request) -> Response:
        """The key to seal requests for, drawn at this start and signed by the pool's identity."""
        said = Announcement("pool", self.join.digest, front.public_keys(await self.store.secrets()))
        return JSONResponse(said.as_dict(self.identity), headers=front.HEADERS)

    def app(self) -> Starlette:
        """The ASGI application."""

        async def lifespan(_app: Starlette) -> AsyncIterator[None]:
            driving = asyncio.create_task(self.drive())
            try:
                async with self._client:
                    yield
            finally:
                self._over = True
                driving.cancel()
                for task in self._sending:
                    task.cancel()
                await asyncio.gather(driving, *self._sending, return_exceptions=True)
                await self.store.close()

        routes = [Route("/", self._front.take, methods=["POST"]), Route("/keys", self.keys, methods=["GET"])]
        away = dict.fromkeys(self.store.away, _away)
        return front.server("Tacit pool", routes, inner=self.endpoints, lifespan=lifespan, handlers=away)


def _answer(found: Mapping[str, Any]) -> log.Answer | None:
    """Read what the gateway answered; None if it cannot be understood."""
    try:
        session, moment = str(found["session"]), float(found["time"])
        if found["answer"] == "Unreadable":
            return log.Unreadable(session, moment, tuple(int(place) for place in found["places"]))
        kinds = {kind.__name__: kind for kind in (log.Logged, log.Late, log.Elsewhere)}
        return kinds[found["answer"]](session, moment)
    except (KeyError, TypeError, ValueError):
        return None
