"""A running agent: the state machine of :mod:`tacit.pool.agent` with a clock and a network.

::

    async with httpx.AsyncClient() as http:
        companion = await Companion.join("https://pool.example", record, http)
        running = asyncio.create_task(companion.run())
        region = await companion.region(timeout=60)      # d', d*, or None: the query is held back
"""

from __future__ import annotations

import asyncio
import contextlib
import random
import time
from collections.abc import AsyncIterator, Mapping
from typing import TYPE_CHECKING

from tacit.errors import InputError
from tacit.pool.agent import Agent, Planned, Without
from tacit.pool.batches import SealedMessage
from tacit.pool.client import Announcement, PoolClient, PoolUnreachableError, Terms
from tacit.pool.pass_client import PassClient
from tacit.pool.protocol import AgentState, Reply
from tacit.pool.region import Region
from tacit.pool.relay_client import RelayClient
from tacit.pool.sealing import HpkeSealing

if TYPE_CHECKING:
    import httpx

__all__ = ["Companion"]

_LONGEST_PAUSE = 5.0
"""Seconds between two tries to reach a pool that is gone, at most."""


class Companion:
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
        self.agent = Agent(
            terms.rules,
            terms.template,
            terms.template.encode(record),
            HpkeSealing(),
            without=without,
            relayed=relay is not None,
            admitted=passes is not None,
        )
        self.reachable = True
        self._changed = asyncio.Condition()
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
    ) -> Companion:
        """Ask a pool, and the relay if there is one, for their terms; the record follows the template."""
        client = PoolClient(address, http, streaming=streaming)
        terms = await client.terms()
        companion = cls(client, terms, record, without=without, relay=relay, passes=passes)
        if relay is not None:
            (await relay.promise()).check(terms.rules, None if passes is None else passes.address)
        return companion

    async def run(self) -> None:
        """Follow the pool until cancelled, through whatever it suffers."""
        pause = 0.1
        if self.passes is not None:
            self._sending.add(asyncio.create_task(self.passes.keep(self.agent.passes)))
        try:
            while True:
                try:
                    async for announcement in self._announcements():
                        self.reachable, pause = True, 0.1
                        await self._hear(announcement)
                except (PoolUnreachableError, InputError):
                    self.reachable = False
                await asyncio.sleep(random.uniform(0.5, 1.0) * pause)
                pause = min(2 * pause, _LONGEST_PAUSE)
        finally:
            for task in self._sending:
                task.cancel()
            await asyncio.gather(*self._sending, return_exceptions=True)

    async def _announcements(self) -> AsyncIterator[Announcement | None]:
        """The pool's announcements, and None now and then, to look at the clock."""
        stream = self.client.follow()
        coming = asyncio.ensure_future(stream.__anext__())
        try:
            while True:
                done, _ = await asyncio.wait({coming}, timeout=1.0)
                if not done:
                    yield None
                    continue
                try:
                    yield coming.result()
                except StopAsyncIteration:
                    return
                coming = asyncio.ensure_future(stream.__anext__())
        finally:
            coming.cancel()
            with contextlib.suppress(
                asyncio.CancelledError, StopAsyncIteration, PoolUnreachableError, InputError
            ):
                await coming
            await stream.aclose()

    async def _hear(self, announcement: Announcement | None) -> None:
        agent, now = self.agent, time.monotonic()
        agent.on_time(now)
        if agent.wants_table(now) or (
            announcement is not None
            and announcement.epoch != agent.epoch
            and agent.state is not AgentState.EXPIRED
        ):
            await self._fetch()
        if announcement is None:
            return
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
        table, key, expires, asked_at = await self.client.table(self.terms.template)
        self.agent.on_table(table, key, expires, asked_at)
        async with self._changed:
            self._changed.notify_all()

    async def _send(self, planned: Planned) -> None:
        await asyncio.sleep(max(0.0, planned.at - time.monotonic()))
        for pause in (0.2, 0.5, 0.0):
            message = planned.message
            if not isinstance(message, SealedMessage):
                reply = await self.client.send(message)
            else:
                reply = None if self.relay is None else await self.relay.send(message)
            if reply is Reply.FULL or reply is None:
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
