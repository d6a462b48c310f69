"""A running agent: the state machine of :mod:`tacit.pool.agent.machine` with a clock and a network.

::

    async with httpx.AsyncClient() as http:
        runner = await AgentRunner.join("https://pool.example", record, http)
        running = asyncio.create_task(runner.run())
        region = await runner.region(timeout=60)      # d', d*, or None: the query is held back

Pool, relay and issuer are reached over HTTP through whatever channel the given client uses: a direct one, one
with a SOCKS proxy, or one with a transport of its own. No cookie, no name and nothing that lasts is sent: two
requests of one person look like those of two.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import json
import math
import random
import secrets
import time
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx

from tacit.errors import InputError, TacitError
from tacit.pool.agent.machine import AgentMachine, Planned, Without
from tacit.pool.protocol import batches, messages
from tacit.pool.protocol.table import Table
from tacit.pool.protocol.template import Region, Template, parse_template

_HEADERS = {"user-agent": "tacit-pool-agent", "accept": "application/json"}


class PartyUnreachableError(TacitError):
    """A pool or a relay does not answer, or not as one does."""


@dataclass(frozen=True)
class Terms:
    """What a pool promises, and the template it means."""

    rules: messages.Rules
    template: Template
    relay: str | None = None
    """The relay that takes second messages; where there is none, the pool does itself."""


@dataclass(frozen=True)
class Announcement:
    """Where the pool stands, as it is broadcast."""

    epoch: int
    phase: str
    asked: tuple[int, ...] = ()
    ends_in: float = field(default=math.inf, compare=False)
    """Seconds until the phase ends, as far as the agent was told."""


class _PartyClient:
    """An agent's view of a party.

    Args:
        address: the party's, such as ``https://relay.example``.
        http: how to reach it.
    """

    _name: str

    def __init__(self, address: str, http: httpx.AsyncClient) -> None:
        self.address = address.rstrip("/")
        self._http = http

    async def _get(self, path: str) -> Any:
        try:
            answer = await self._http.get(self.address + path, headers=_HEADERS)
            if answer.status_code == 200:
                return answer.json()
        except (httpx.HTTPError, ValueError) as error:
            why = f"the {self._name} does not answer ({type(error).__name__})."
            raise PartyUnreachableError(why) from error
        raise PartyUnreachableError(f"the {self._name} answered {answer.status_code}.")

    async def _post(self, path: str, message: dict[str, Any]) -> messages.Reply | None:
        """What the party does with a message, or None if it is busy or does not answer."""
        try:
            answer = await self._http.post(self.address + path, json=message, headers=_HEADERS)
            return messages.Reply(answer.json()["reply"])
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return None


class PoolClient(_PartyClient):
    """One agent's view of a pool's HTTP API.

    Args:
        streaming: the channel carries server-sent events; otherwise the standing is asked for now and then.
    """

    _name = "pool"

    def __init__(self, address: str, http: httpx.AsyncClient, *, streaming: bool = True) -> None:
        super().__init__(address, http)
        self._streaming = streaming
        self.every = 1.0
        """Seconds between two questions for the standing, at most."""

    async def terms(self) -> Terms:
        """The pool's rules and template."""
        given = await self._get("/v1/pool")
        try:
            if given["version"] != messages.VERSION:
                raise InputError(
                    f"the pool speaks version {given['version']}; this agent speaks {messages.VERSION}."
                )
            relay = given.get("relay")
            rules = messages.Rules(**given["rules"])
            self.every = min(self.every, rules.count / 4, rules.identify / 4)
            return Terms(
                rules,
                parse_template(given["template"]),
                None if relay is None else str(relay).rstrip("/"),
            )
        except (KeyError, TypeError) as error:
            raise InputError("the pool's terms cannot be read.") from error

    async def table(self, template: Template) -> tuple[Table, str, float, float]:
        """The table, the key to seal for, how long it lasts, and when it was asked for (monotonic)."""
        begun = time.monotonic()
        given = await self._get("/v1/table")
        try:
            table = Table.parse(given["table"], template)
            return table, str(given["public_key"]), float(given["expires_in"]), begun
        except (KeyError, TypeError, ValueError) as error:
            raise InputError("the pool's table cannot be read.") from error

    async def send(self, message: messages.FirstMessage | messages.SecondMessage) -> messages.Reply | None:
        """Send a message; what the pool does with it, or None if it is busy or does not answer."""
        path = "/v1/first" if isinstance(message, messages.FirstMessage) else "/v1/second"
        return await self._post(path, message.as_dict())

    async def follow(self) -> AsyncGenerator[Announcement, None]:
        """Where the pool stands, now and whenever it changes; ends when the pool is gone."""
        if self._streaming:
            async for announcement in self._stream():
                yield announcement
            return
        last = None
        while True:
            announcement = _announcement(await self._get("/v1/standing"))
            if announcement != last:
                last = announcement
                yield announcement
            await asyncio.sleep(self.every * random.uniform(0.7, 1.3))

    async def _stream(self) -> AsyncGenerator[Announcement, None]:
        timeout = httpx.Timeout(10.0, read=40.0)
        try:
            async with self._http.stream(
                "GET", self.address + "/v1/events", headers=_HEADERS, timeout=timeout
            ) as answer:
                if answer.status_code != 200:
                    raise PartyUnreachableError(f"the pool answered {answer.status_code}.")
                async for line in answer.aiter_lines():
                    if line.startswith("data: "):
                        yield _announcement(json.loads(line[6:]))
        except (httpx.HTTPError, ValueError) as error:
            raise PartyUnreachableError(f"the pool's broadcast ended ({type(error).__name__}).") from error


def _announcement(given: Any) -> Announcement:
    try:
        return Announcement(
            int(given["epoch"]),
            str(given["phase"]),
            tuple(given.get("asked", ())),
            float(given.get("ends_in", math.inf)),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise InputError("the pool's announcement cannot be read.") from error


@dataclass(frozen=True)
class RelayPromise:
    """What a relay promises: the fewest messages of a batch, and for how many seconds it keeps them."""

    least: int
    hold: float
    issuer: str | None = None
    """Who admits people, where the relay takes no record without a pass."""

    def check(self, rules: messages.Rules, issuer: str | None = None) -> None:
        """An error where the promise does not cover what the pool promises, or names another issuer."""
        if self.issuer is not None and issuer != self.issuer:
            raise InputError(
                f"the relay takes records with a pass of {self.issuer} only.",
                "Ask whoever runs that for an account, and name it with `issuer` and `account`.",
            )
        if self.least < rules.k:
            raise InputError(
                f"the relay hands over batches of {self.least}; the pool promises k = {rules.k}.",
                "Its operator must give it a k at least as large.",
            )
        needed = rules.identify + rules.form
        if self.hold < needed:
            raise InputError(
                f"the relay keeps records for {self.hold:g} s; the pool may ask for them after {needed:g} s.",
                "Its operator must let it hold them for longer.",
            )


class RelayClient(_PartyClient):
    """An agent's view of a relay."""

    _name = "relay"

    async def promise(self) -> RelayPromise:
        """What the relay promises."""
        given = await self._get("/v1/relay")
        try:
            issuer = given.get("issuer")
            return RelayPromise(
                int(given["k"]), float(given["hold"]), None if issuer is None else str(issuer)
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise PartyUnreachableError("the relay does not answer as a relay of a pool does.") from error

    async def send(self, message: batches.SealedMessage) -> messages.Reply | None:
        """Bring a message; None if the relay is busy or does not answer."""
        return await self._post("/v1/sealed", message.as_dict())


class PassClient:
    """An agent's passes.

    Args:
        address: the issuer's.
        account: the secret of the person's account.
        http: how the issuer is reached; it knows the account anyway.
    """

    def __init__(self, address: str, account: str, http: httpx.AsyncClient) -> None:
        self.address = address.rstrip("/")
        self.trouble = ""
        self._account, self._http = account, http
        self._had = -1

    async def fetch(self, passes: dict[int, batches.AdmissionPass]) -> batches.IssuedKey:
        """Put the pass of this period among ``passes``, if it was not fetched yet; drop what is over."""
        issued = await batches.issued_key(self.address, self._http)
        for period in [each for each in passes if each <= issued.period - batches.PASSES_AT_ONCE]:
            del passes[period]
        if issued.period <= self._had:
            return issued
        key, token = batches.VerifyingKey.from_bytes(issued.key), secrets.token_hex(16)
        blinded = key.blind(token.encode())
        asked = {
            "version": messages.VERSION,
            "period": issued.period,
            "blinded": base64.b64encode(blinded.request).decode(),
        }
        headers = {"authorization": f"Bearer {self._account}"}
        try:
            answer = await self._http.post(self.address + "/v1/passes", json=asked, headers=headers)
            given = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise batches.IssuerUnreachableError(
                f"the issuer does not answer ({type(error).__name__})."
            ) from error
        if answer.status_code == 401:
            raise InputError("the issuer does not know this account.", "Ask whoever runs it for one.")
        if answer.status_code == 200:
            signed = base64.b64decode(str(given.get("signed", "")))
            passes[issued.period] = batches.AdmissionPass.finished(issued.period, token, key, blinded, signed)
        if answer.status_code in (200, 409):  # 409: another agent of this account was there before
            self._had = issued.period
        return issued

    async def keep(self, passes: dict[int, batches.AdmissionPass]) -> None:
        """Fetch a pass each period, at a random moment of its first half, until cancelled."""
        while True:
            try:
                issued = await self.fetch(passes)
                self.trouble, pause = "", issued.ends_in + random.uniform(0.0, issued.every / 2)
            except (TacitError, ValueError) as error:
                self.trouble, pause = str(error), random.uniform(1.0, 3.0)
            await asyncio.sleep(pause)


_LONGEST_PAUSE = 5.0
"""Seconds between two tries to reach a pool that is gone, at most."""


class AgentRunner:
    """One person's agent, running.

    Args:
        client: the pool.
        terms: its rules and template.
        record: the person's own values.
        without: what to do with queries while no region guards them.
        relay: the relay that takes second messages, where the pool has one.
        passes: where the relay wants a pass with each: who gives them.
    """

    def __init__(
        self,
        client: PoolClient,
        terms: Terms,
        record: Mapping[str, object],
        *,
        without: Without = "hold",
        relay: RelayClient | None = None,
        passes: PassClient | None = None,
    ) -> None:
        _check_relay(terms, relay)
        self.client = client
        self.relay = relay
        self.passes = passes
        self.terms = terms
        self.agent = AgentMachine(
            terms.rules,
            terms.template,
            terms.template.encode(record),
            messages.HpkeSealing(),
            without=without,
            relayed=relay is not None,
            admitted=passes is not None,
        )
        self.reachable = True
        self._changed = asyncio.Condition()
        self._fetching = asyncio.Lock()
        self._sending: set[asyncio.Task[None]] = set()

    @classmethod
    async def join(
        cls,
        address: str,
        record: Mapping[str, object],
        http: httpx.AsyncClient,
        *,
        without: Without = "hold",
        streaming: bool = True,
        relay: RelayClient | None = None,
        passes: PassClient | None = None,
    ) -> AgentRunner:
        """Ask a pool, and the relay if there is one, for their terms; the record follows the template."""
        client = PoolClient(address, http, streaming=streaming)
        terms = await client.terms()
        runner = cls(client, terms, record, without=without, relay=relay, passes=passes)
        if relay is not None:
            (await relay.promise()).check(terms.rules, None if passes is None else passes.address)
        return runner

    async def run(self) -> None:
        """Follow the pool until cancelled, through whatever it suffers."""
        pause = 0.1
        self._sending.add(asyncio.create_task(self._return()))
        if self.passes is not None:
            self._sending.add(asyncio.create_task(self.passes.keep(self.agent.passes)))
        try:
            while True:
                try:
                    async with contextlib.aclosing(self.client.follow()) as announcements:
                        async for announcement in announcements:
                            self.reachable, pause = True, 0.1
                            await self._hear(announcement)
                except (PartyUnreachableError, InputError):
                    self.reachable = False
                await asyncio.sleep(random.uniform(0.5, 1.0) * pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        finally:
            for task in self._sending:
                task.cancel()
            await asyncio.gather(*self._sending, return_exceptions=True)

    async def _return(self) -> None:
        """Look at the clock now and then: without news, too, a table expires and another is fetched."""
        while True:
            await asyncio.sleep(1.0)
            if self.agent.wants_table(time.monotonic()):
                with contextlib.suppress(PartyUnreachableError, InputError):
                    await self._fetch()

    async def _hear(self, announcement: Announcement) -> None:
        agent, now = self.agent, time.monotonic()
        if agent.wants_table(now) or (
            announcement.epoch != agent.epoch and agent.state is not messages.AgentState.EXPIRED
        ):
            await self._fetch()
        planned: Planned | None = None
        if announcement.phase == "count":
            planned = agent.on_count(announcement.epoch, time.monotonic(), announcement.ends_in)
        elif announcement.phase == "identify":
            planned = agent.on_identify(
                announcement.epoch, list(announcement.asked), time.monotonic(), announcement.ends_in
            )
        if planned is not None:
            task = asyncio.create_task(self._send(planned))
            self._sending.add(task)
            task.add_done_callback(self._sending.discard)

    async def _fetch(self) -> None:
        async with self._fetching:  # one after another: no older table comes after a newer one
            self.agent.on_table(*await self.client.table(self.terms.template))
        async with self._changed:
            self._changed.notify_all()

    async def _send(self, planned: Planned) -> None:
        await asyncio.sleep(max(0.0, planned.at - time.monotonic()))
        for pause in (0.2, 0.5, 0.0):
            message = planned.message
            if not isinstance(message, batches.SealedMessage):
                reply = await self.client.send(message)
            else:
                reply = None if self.relay is None else await self.relay.send(message)
            if reply is messages.Reply.FULL or reply is None:
                await asyncio.sleep(pause)  # the same token: it counts once
                continue
            self.agent.on_reply(reply, time.monotonic())
            return

    async def region(self, timeout: float = 0.0) -> Region | None:
        """What to attach to a query now: d', or d*, or None to hold it back.

        Waits up to ``timeout`` seconds for a region first.
        """
        until = time.monotonic() + timeout
        while True:
            region = self.agent.region_for_query(time.monotonic())
            left = until - time.monotonic()
            if region is not None or left <= 0:
                return region
            async with self._changed:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._changed.wait(), min(left, 1.0))

    def words(self, region: Region) -> dict[str, str]:
        """The region in words, an attribute each, without attributes about which it says nothing."""
        general = self.terms.template.values(self.terms.template.domain)
        values = self.terms.template.values(region)
        return {name: said for name, said in values.items() if said != general[name]}


def _check_relay(terms: Terms, relay: RelayClient | None) -> None:
    """Whom to trust with sealed records is the person's choice: what the pool says must agree with it."""
    if terms.relay is not None and relay is None:
        raise InputError(
            f"this pool takes sealed records through a relay alone, {terms.relay}.",
            "If you trust whoever runs it not to work together with the pool, name it with `relay`.",
        )
    if relay is not None and terms.relay != relay.address:
        named = "takes none through a relay" if terms.relay is None else f"names {terms.relay}"
        raise InputError(
            f"the relay {relay.address} takes no records for this pool, which {named}.",
            "Name the pool's own relay, or another pool.",
        )
