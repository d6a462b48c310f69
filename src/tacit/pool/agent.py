"""An agent on the person's own device: it asks a service through a pool, and tells the pool its leaf alone.

A query is sealed twice: the text for the service's gateway, leaf and token for the pool, all in messages of
one length that a relay carries. The pool holds the query until k people share a region with it; the answer
says which region it went out under. As a server the agent takes searches as a Tacit search server does
(``GET /search?q=…``, ``POST /search`` with a query and perhaps topics that the device guard let out).
"""

import asyncio
import base64
import contextlib
import hashlib
import json
import secrets
import time
import zlib
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Self

import httpx
import platformdirs
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.bodies import read_object
from tacit.errors import InputError, ParameterError, TacitError
from tacit.files import atomic_file
from tacit.pool.channel import oblivious, tokens
from tacit.pool.channel.join import Announcement, JoinFile, read_json, read_secret, token_challenge
from tacit.pool.channel.proof import AT_ONCE, Voucher, key_digest, proves
from tacit.pool.protocol.counting import Why
from tacit.pool.protocol.template import without_values
from tacit.pool.protocol.tree import Tree
from tacit.validation import place, real, socks, whole

Otherwise = Literal["hold", "direct"]
_LARGEST_BODY = 200_000
_HEADERS = {"cache-control": "no-store"}
_KEYS_LAST = 300.0
_LONGEST_AWAY = 100_000
"""Periods, after which it does not matter that a device which was away draws the same as before."""
_POLLS = (0.15, 0.3, 0.6, 1.0)
"""Seconds before each question whether the answer is there; the last is repeated."""
_RANDOM = secrets.SystemRandom()


class HeldError(TacitError):
    """A query was held back and never sent: not enough people asked in time."""


@dataclass
class DeviceMemory:
    """What a device remembers of a pool: what it was promised, periods and their keys, tokens to spend.

    One JSON file that only its owner can read, written before what it says is relied on.
    """

    path: Path
    promised: dict[str, float]
    tree: Tree
    period: int = -1
    keys: dict[int, str] = field(default_factory=dict)
    tokens: dict[int, bytes] = field(default_factory=dict)
    secret: str = field(default_factory=lambda: secrets.token_hex(32))
    """Of the period ``at``: those of later ones follow from it, and none of earlier ones does."""
    at: int = -1
    since: float = field(default_factory=time.monotonic)
    """When this process heard of the period first."""

    @classmethod
    def opened(cls, path: Path | None, join: JoinFile, k: int | None, window: float | None) -> Self:
        """Read what is remembered, in the device's own file of this pool unless another is named.

        Refuses a pool that promises less than before, or than ``k`` and ``window``.
        """
        usual = Path(platformdirs.user_data_dir("tacit", appauthor=False)) / "pools"
        path = path or usual / f"{join.identities['pool'][:16]}.json"
        rules = join.rules
        now = {"k": rules.k, "window": rules.window, "lasts": rules.period}
        now |= {"issuer": join.issuer is not None, "proof": join.proof}
        found = cls(path, now, join.tree, at=int(time.time() / rules.period))
        if path.exists():
            try:
                given = json.loads(path.read_text(encoding="utf-8"))
                found.promised = {name: type(said)(given.get(name, said)) for name, said in now.items()}
                found.tree = Tree.parse(given["tree"], join.template)
                found.period = int(given["period"])
                found.keys = {int(at): str(key) for at, key in given["keys"].items()}
                found.tokens = {int(at): base64.b64decode(token) for at, token in given["tokens"].items()}
                found.secret = str(given.get("secret", found.secret))
                found.at = int(given.get("at", found.period))
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                problem = f"what is remembered of the pool in {path} cannot be read."
                raise InputError(problem, "Move it away to begin anew.") from error
        before = found.promised
        least = before["k"] if k is None else whole("k", k, 2)
        longest = before["window"] if window is None else real("window", window)
        said = "were promised before or asked for."
        if rules.k < least:
            problem = f"the pool promises that {rules.k} people share a region; {least} {said}"
            raise InputError(problem, "If you accept less, say so with `k`.")
        if rules.window > longest:
            problem = f"the pool counts people who ask within {rules.window:g} s; {longest:g} s {said}"
            raise InputError(problem, "If you accept a longer time, say so with `window`.")
        seen = found.tree.united(join.tree)
        for fell, problem in (
            (before["proof"] > now["proof"], "the pool no longer proves that k people asked."),
            (before["issuer"] > now["issuer"], "the pool's issuer is gone: one person can pose as k."),
            (before["lasts"] < now["lasts"] and window is None, "the pool's tokens last longer than before."),
            (seen is None, "the pool's tree was cut anew: old and new regions intersect."),
        ):
            if fell:
                raise InputError(problem, f"To join all the same, move {path} away.")
        found.promised, found.tree = now, seen or join.tree
        found.write()
        return found

    def drawn(self, period: int, what: str = "") -> bytes:
        """Draw what this device needs for a period, the same after a restart; with no issuer, the token."""
        return hashlib.sha256(f"{self._secret_of(period)}{what} {period}".encode()).digest()

    def _secret_of(self, period: int) -> str:
        found = self.secret
        for _ in range(min(period - self.at, _LONGEST_AWAY)):
            found = hashlib.sha256(found.encode()).hexdigest()
        return found

    def key(self, period: int) -> Ed25519PrivateKey:
        """The key of a period's token, which signs that this device asked."""
        return Ed25519PrivateKey.from_private_bytes(self.drawn(period, " key"))

    def learn_keys(self, keys: Mapping[int, bytes]) -> None:
        """Take in the issuer's keys by period, and refuse another key for a period that is known."""
        digests = {at: hashlib.sha256(key).hexdigest() for at, key in keys.items()}
        if any(self.keys.get(at, digest) != digest for at, digest in digests.items()):
            remedy = "Somebody gives this device a key of its own, to recognise it by: nothing was sent."
            raise InputError("the issuer's key of a period has changed.", remedy)
        self.keys = {at: key for at, key in (self.keys | digests).items() if at >= self.period}

    def enter(self, period: int) -> None:
        """Go on to a period that the pool announced; numbers never fall."""
        if period < self.period:
            problem = f"the pool announced period {period:,} after {self.period:,}."
            raise InputError(problem, "Somebody replays old messages: nothing was sent.")
        if period > self.period:
            self.secret, self.at = self._secret_of(period), max(self.at, period)
            self.period, self.since = period, time.monotonic()
            self.tokens = {at: token for at, token in self.tokens.items() if at >= period}
            self.write()

    def write(self) -> None:
        """Write the file."""
        self.path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        kept = {at: base64.b64encode(token).decode() for at, token in self.tokens.items()}
        said = {"tree": self.tree.as_dict(), "period": self.period, "keys": self.keys, "tokens": kept}
        said |= self.promised | {"secret": self.secret, "at": self.at}
        with atomic_file(self.path, mode=0o600) as temporary:
            temporary.write_text(json.dumps(said), encoding="utf-8")


class Agent:
    """A person's member of a pool.

    ::

        async with tacit.Agent("pool.join", {"age": 34, "place": "Burnaby"}) as agent:
            answer = await agent.search("concert tonight")
            print(answer["person"], answer["results"])

    Args:
        join: the join file, or its path.
        record: the person's values, one for each attribute of the template, or a JSON file of them. Only the
            number of a leaf of the public tree ever leaves the device.
        account: the file with the secret of the person's account, where the pool has an issuer.
        patience: for how many seconds a query waits for k people.
        delay: a query leaves after a random time of at most so many seconds, so that its moment at the relay
            says less about its moment at the service.
        otherwise: what happens to a query that k people did not share in time: ``hold`` answers that it was
            held back; ``direct`` sends it without any data, from the person's own address.
        k: the least k that the person accepts (default: what was promised before).
        window: the longest w that the person accepts, in seconds (likewise).
        memory: the file in which the device remembers the pool.
        proxy: a SOCKS proxy to reach the relay through, such as socks5://127.0.0.1:9050 for Tor.
        transport: how the relay is reached, in place of both network and proxy.
    """

    def __init__(
        self,
        join: JoinFile | str | Path,
        record: Mapping[str, object] | str | Path,
        *,
        account: str | Path | None = None,
        patience: float = 60.0,
        delay: float = 1.0,
        otherwise: Otherwise = "hold",
        k: int | None = None,
        window: float | None = None,
        memory: str | Path | None = None,
        proxy: str | None = None,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self.join = join if isinstance(join, JoinFile) else JoinFile.read(join)
        if otherwise not in ("hold", "direct"):
            raise ParameterError.outside("otherwise", repr(otherwise), "hold or direct")
        if otherwise == "direct" and self.join.direct is None:
            raise ParameterError("the join file names no address for `otherwise=direct`.", "Say hold.")
        if self.join.issuer is not None and account is None:
            problem = f"this pool admits accounts of {self.join.issuer} only."
            raise ParameterError(problem, "Name yours with `account`.")
        self.join.check_leaves()
        values = record if isinstance(record, Mapping) else read_json(place("record", record), "the record")
        if not isinstance(values, Mapping):
            raise InputError(f"the record {record} must be a JSON object of attributes and values.")
        self._record = self.join.template.encode(values)
        self.leaf = self.join.tree.leaf_of(self._record)
        self.patience, self.delay = real("patience", patience), real("delay", delay)
        self.otherwise = otherwise
        if min(self.patience, self.delay) < 0:
            raise ParameterError("`patience` and `delay` must be at least 0 seconds.")
        self._account = None if account is None else read_secret(place("account", account))
        kept = None if memory is None else place("memory", memory)
        self.memory = DeviceMemory.opened(kept, self.join, k, window)
        self._proxy = None if proxy is None else socks("proxy", proxy).replace("socks5://", "socks5h://", 1)
        self._transport = transport
        self._keys: dict[str, tuple[float, oblivious.KeyConfiguration]] = {}
        self._issuing = asyncio.Lock()
        self._token_keys: dict[int, tokens.VerifyingKey] = {}
        self._fetching: asyncio.Task[None] | None = None
        self._http: httpx.AsyncClient
        self.last: dict[str, Any] | None = None
        """What the last query went out under."""

    def __repr__(self) -> str:
        return f"Agent(k={self.join.rules.k}, window={self.join.rules.window:g} s, through {self.join.relay})"

    async def __aenter__(self) -> Self:
        self._http = oblivious.http_client(self._transport, 30.0, proxy=self._proxy)
        return self

    async def __aexit__(self, *_error: object) -> None:
        if self._fetching is not None:
            self._fetching.cancel()
            await asyncio.gather(self._fetching, return_exceptions=True)
        await self._http.aclose()

    async def _announced(self, party: str) -> Announcement:
        """Fetch what a party says of its keys, from the one copy that the relay keeps for all."""
        try:
            answer = await self._http.get(f"{self.join.keys}/{party}")
            given = answer.raise_for_status().json()
        except (httpx.HTTPError, ValueError) as error:
            raise oblivious.RelayedError(f"the relay has no keys of the {party}.") from error
        return Announcement.parse(given, party, self.join)

    async def _key(self, party: str) -> oblivious.KeyConfiguration:
        known = self._keys.get(party)
        if known is None or time.monotonic() - known[0] > _KEYS_LAST:
            announced = await self._announced(party)
            found = oblivious.read_key_configurations(announced.key)[0]
            known = self._keys[party] = (time.monotonic(), found)
        return known[1]

    async def _ask(self, path: str, said: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the pool; once more where it drew a new key."""
        for _ in range(4):
            key = await self._key("pool")
            with contextlib.suppress(oblivious.StaleKeyError):
                return await oblivious.ask(self._http, self.join.relay, key, path, said)
            self._keys.pop("pool", None)
            await asyncio.sleep(2.0)  # the relay's copy may be a few seconds old
        raise oblivious.RelayedError("the pool does not open what its announced key sealed.")

    async def standing(self) -> dict[str, Any]:
        """Ask what the pool promises now, its period, and how many people asked within the window.

        Raises:
            InputError: it promises less than its join file, or an earlier period came again.
        """
        said = await self._ask("/standing", {})
        rules, tree = self.join.rules, self.join.tree
        if said.get("k") != rules.k or said.get("window") != rules.window or said.get("tree") != tree.digest:
            problem = "the pool does not promise what its join file says."
            raise InputError(problem, "Look at its present join file.")
        period = said.setdefault("period", None)
        if period is not None:
            self.memory.enter(whole("period", period))
            if time.monotonic() - self.memory.since > 1.25 * rules.period + 10.0:  # it is surely over
                problem = f"the pool's period lasts longer than the {rules.period:g} s of its join file."
                raise InputError(problem, "It could link your queries for as long: nothing was sent.")
        return said

    async def meaning(self) -> dict[str, Any]:
        """Describe who can learn what about this person, and how many people ask now."""
        async with self:
            try:
                now = await self.standing()
            except oblivious.RelayedError as error:  # an agent starts all the same
                now = {"trouble": error.problem}
        return {**self.join.meaning(), "now": now, "leaf": self.words(self.leaf)}

    async def _token(self, period: int) -> bytes:
        """The token of a period: one a period, so that a person counts once."""
        if self._account is None:
            return self.memory.drawn(period)
        async with self._issuing:
            if period not in self.memory.tokens:
                await self.fetch_tokens()
        if period not in self.memory.tokens:
            problem = "another device, or a memory that is gone, has this account's token of the period."
            raise InputError(problem, "Use an account with one `memory`; after two days it is free again.")
        few = len(self.memory.tokens) < len(self.memory.keys) // 2
        if few and (self._fetching is None or self._fetching.done()):
            self._fetching = asyncio.create_task(self._fetch_later())
        return self.memory.tokens[period]

    async def _fetch_later(self) -> None:
        """Fetch more tokens at a random moment, which says nothing of when a query is asked."""
        await asyncio.sleep(_RANDOM.uniform(0, 10 * self.join.rules.period))
        async with self._issuing:
            with contextlib.suppress(TacitError):
                await self.fetch_tokens()

    async def _learn_token_keys(self) -> Announcement:
        announced = await self._announced("issuer")
        self.memory.learn_keys(announced.tokens)
        self._token_keys = {at: tokens.VerifyingKey.from_bytes(key) for at, key in announced.tokens.items()}
        return announced

    async def fetch_tokens(self) -> None:
        """Fetch a token for every period that the issuer has a key for, in one batch."""
        announced, memory = await self._learn_token_keys(), self.memory
        ahead = range(memory.period, memory.at + tokens.MOST_TOKENS)
        missing = [at for at in self._token_keys if at in ahead and at not in memory.tokens]
        drawn = {  # the same again, if the answer is lost
            at: (key_digest(memory.key(at).public_key().public_bytes_raw()), memory.drawn(at, " blinding"))
            for at in missing
        }

        def begin(at: int) -> tokens.PendingToken:
            return tokens.new_token(self._token_keys[at], token_challenge(self.join, at), *drawn[at])

        begun = await asyncio.to_thread(lambda: {at: begin(at) for at in missing})
        requests = {str(at): base64.b64encode(each.request).decode() for at, each in begun.items()}
        key = oblivious.read_key_configurations(announced.key)[0]
        said = {"account": self._account, "requests": requests}
        issuer = f"{self.join.relay}/issuer"
        given = await oblivious.ask(self._http, issuer, key, "/tokens", said, tokens.BATCH_SIZE)
        try:
            for at, text in dict(given["signed"]).items():
                memory.tokens[int(at)] = begun[int(at)].finish(base64.b64decode(text))
        except (KeyError, ValueError, TypeError) as error:
            raise oblivious.RelayedError("the issuer's answer cannot be read.") from error
        memory.write()

    async def search(
        self,
        query: str,
        *,
        topics: Sequence[str] = (),
        preferences: Mapping[str, float] | None = None,
        count: int | None = None,
    ) -> dict[str, Any]:
        """Ask the service through the pool.

        Args:
            query: the text.
            topics: what goes along: the topics that the device guard let out.
            preferences: the share of each of these topics.
            count: how many results are wanted, if not as many as the engine gives.

        Returns:
            The engine's answer, with ``person``, the region that the query went out under, in words,
            ``guarded``, and ``k``, how many people share the region at least.

        Raises:
            HeldError: it was never sent: not enough people asked in time.
        """
        given = {"topics": list(topics), "preferences": dict(preferences or {}), "count": count}
        more = {name: value for name, value in given.items() if value}
        until = time.monotonic() + self.patience
        text, named = without_values(self.join.template, self._record, query)
        asked = {"query": text, "named": named} | more
        await asyncio.sleep(_RANDOM.uniform(0, self.delay))
        while time.monotonic() < until:
            answer = await self._deposit(asked, until)
            if answer is not None:
                return answer
        if self.otherwise == "direct":
            return await self._directly({"query": query} | ({"count": count} if count else {}))
        rules = self.join.rules
        few = f"fewer than {rules.k} people of a shared region asked within {rules.window:g} s."
        raise HeldError(f"held back and not sent: {few}", "Ask again later.")

    async def _deposit(self, asked: Mapping[str, Any], until: float) -> dict[str, Any] | None:
        """Deposit a query and wait for its answer; None if it must be deposited again, or time is up."""
        # Asked each time: a token of a period that is over would tell the pool whose the next one is.
        period = (await self.standing())["period"]
        if period is None:
            await asyncio.sleep(1.0)
            return None
        key = self.memory.key(period)  # now, since a period that ends takes its secret along
        token = await self._token(period)
        content = zlib.compress(json.dumps(asked).encode(), 9)
        request = oblivious.BinaryRequest(b"POST", b"https", b"", b"/search", (), content)
        text = request.to_bytes(oblivious.QUERY_SIZE)  # all have one size
        sealed = oblivious.seal_request(await self._key("gateway"), text)
        ticket = secrets.token_hex(16)
        deposit = {"ticket": ticket, "period": period, "leaf": self.leaf}
        for name, data in (("token", token), ("sealed", sealed.data)):
            deposit[name] = base64.b64encode(data).decode()
        slot = self._slot()
        said: dict[str, Any] = {"state": "held"}
        try:
            said = await self._ask("/deposit", deposit | self._voucher(key))
            polls = iter(_POLLS)
            while said.get("state") == "held":
                left = until - time.monotonic()
                if left <= 0:
                    return None
                await asyncio.sleep(min(next(polls, _POLLS[-1]), left))
                if self.join.proof and self._slot() != slot:  # others count on having heard lately
                    slot = self._slot()
                    await self._ask("/deposit", deposit | self._voucher(key))
                said = await self._ask("/collect", {"ticket": ticket})
        finally:
            if said.get("state") == "held":
                with contextlib.suppress(TacitError, TimeoutError):
                    async with asyncio.timeout(5.0):
                        await self._ask("/withdraw", {"ticket": ticket})
        return await self._result(said, sealed)

    async def _result(
        self, said: Mapping[str, Any], sealed: oblivious.SealedRequest
    ) -> dict[str, Any] | None:
        if said.get("state") == "answered":
            answer = self._opened(sealed, said.get("answer"))
            return answer | {"proved": self.join.proof and await self._proved(said.get("proof"))}
        if said.get("state") == "unanswered":
            raise oblivious.RelayedError("the query was sent, but its answer was lost.")
        why = said.get("why")
        if why == Why.LEAF:
            raise InputError("the pool does not accept this device's leaf.", "Get its present join file.")
        if why == Why.CLOCK:
            raise InputError("this device's clock is off; a proof that k people asked goes by it.", "Set it.")
        if why == Why.UNREADABLE:
            self._keys.pop("gateway", None)
        await asyncio.sleep(_RANDOM.uniform(0.5, 2.0))
        return None

    def _slot(self) -> int:
        return int(time.time() / self.join.rules.window)

    def _voucher(self, key: Ed25519PrivateKey) -> dict[str, str]:
        """Make what a deposit carries besides where the pool proves that k people asked."""
        if not self.join.proof:
            return {}
        return {"voucher": Voucher.signed(key, self.join, self.leaf, time.time()).to_text()}

    async def _proved(self, ticket: object) -> bool:
        """Have the pool prove that k people asked from inside the region of the query that was answered."""
        assert self.last is not None
        node, shown, period = self.last["node"], list[Voucher](), -1
        try:
            for part in range(-(-self.join.rules.k // AT_ONCE)):
                said = await self._ask("/proof", {"ticket": ticket, "part": part})
                shown += map(Voucher.parse, said["vouchers"])
                period = said["period"]
            if period not in self._token_keys:
                await self._learn_token_keys()
            proved = proves(self.join, self._token_keys[period], period, node, shown, time.time())
        except (TacitError, KeyError, TypeError, ValueError):
            proved = False
        if not proved:
            problem = f"the query was sent, but the pool did not prove that {self.join.rules.k} people asked."
            remedy = "If that is so again, and this device's clock is right, leave the pool."
            raise oblivious.RelayedError(problem, remedy)
        return True

    def _opened(self, sealed: oblivious.SealedRequest, answer: object) -> dict[str, Any]:
        """Open the service's answer, and see that its region contains this person."""
        try:
            opened = sealed.open_response(base64.b64decode(str(answer)))
            found = json.loads(zlib.decompress(oblivious.read_response(opened).content))
            node = whole("node", found.pop("node"))
        except (InputError, zlib.error, ValueError, KeyError, AttributeError) as error:
            raise oblivious.RelayedError("the answer was not sealed for this query.") from error
        if node not in self.join.tree.paths[self.leaf]:
            raise oblivious.RelayedError("the query went out under a region that is not this person's.")
        self.last = {"node": node, "person": self.words(node)}
        return {**found, "person": self.words(node), "guarded": True, "k": self.join.rules.k}

    async def _directly(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """Ask the engine from the person's own address, without any data, by their explicit word."""
        assert self.join.direct is not None
        try:
            answer = await self._http.post(self.join.direct, json=dict(asked))
            found = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise oblivious.RelayedError(f"the engine does not answer ({type(error).__name__}).") from error
        self.last = {"node": None, "person": {}}
        said = {"person": {}, "guarded": False, "k": 1, "proved": False}
        return {**found, "status": answer.status_code, **said}

    def words(self, node: int) -> dict[str, str]:
        """A region in words, by attribute, without attributes about which it says nothing."""
        return self.join.template.words(self.join.tree.regions[node])

    def app(self) -> Starlette:
        """The agent as an ASGI application with ``/standing`` and ``/search``."""

        @contextlib.asynccontextmanager
        async def lifespan(_app: Starlette) -> AsyncIterator[None]:
            async with self:
                yield

        search = Route("/search", self._search, methods=["GET", "POST"])
        routes = [Route("/standing", self._show_standing), search]
        return Starlette(routes=routes, exception_handlers={TacitError: _trouble}, lifespan=lifespan)

    async def _show_standing(self, request: Request) -> Response:
        """Show what the pool promises, how many ask, and what the last query went out under."""
        _refuse_other_sites(request)
        said = {"standing": await self.standing(), "last": self.last, "leaf": self.words(self.leaf)}
        return JSONResponse(said, headers=_HEADERS)

    async def _search(self, request: Request) -> Response:
        """Ask through the pool; a client that goes away takes its query back."""
        _refuse_other_sites(request)
        if request.method == "GET":
            asked: dict[str, Any] = {"query": request.query_params.get("q", "")}
        else:
            asked = await read_object(request, _LARGEST_BODY)
        query = asked.pop("query", None)
        if not isinstance(query, str) or not query.strip():
            raise InputError("a search must have a query.")
        topics, preferences, count = (asked.get(name) for name in ("topics", "preferences", "count"))
        if not isinstance(topics, list | None) or not isinstance(preferences, dict | None):
            raise InputError("topics must be a list, and preferences name a number for each.")
        search = self.search(query, topics=topics or (), preferences=preferences, count=count)
        asking = asyncio.create_task(search)
        leaving = asyncio.create_task(_left(request))
        try:
            await asyncio.wait({asking, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not asking.done():
                return Response(status_code=499)
            answer = asking.result()
        finally:
            for task in (asking, leaving):
                task.cancel()
            await asyncio.gather(asking, leaving, return_exceptions=True)
        status = answer.pop("status", 200)
        return JSONResponse(answer, status if status in range(200, 600) else 502, _HEADERS)


def _refuse_other_sites(request: Request) -> None:
    """Refuse requests that a page of another site makes in the person's browser, or under another name.

    With a text of its own choice it would find, at the service, the region of whoever visits it.
    """
    site, origin = request.headers.get("sec-fetch-site", "none"), request.headers.get("origin")
    own = request.url.hostname in ("127.0.0.1", "localhost") and site in ("none", "same-origin")
    if not own or origin not in (None, f"http://{request.headers.get('host')}"):
        raise InputError("only this device's own programs ask here, under http://127.0.0.1.")


async def _left(request: Request) -> None:
    """Wait until the client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _trouble(_request: Request, error: Exception) -> Response:
    status, more = (400, {}) if isinstance(error, InputError) else (503, {"retry-after": "5"})
    return JSONResponse({"error": str(error)}, status, _HEADERS | more)
