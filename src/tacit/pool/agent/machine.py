"""A person's agent: a state machine without clock or network, the pool's counterpart.

It finds the region of its record in the pool's table, attaches it to queries, answers the two phases, and
starts again when it hears nothing. Its record leaves only sealed, in its own second message.
"""

from __future__ import annotations

import math
import random
import secrets
from dataclasses import dataclass
from typing import Literal

from tacit.pool.protocol import messages
from tacit.pool.protocol.batches import AdmissionPass, SealedMessage, announcement_digest
from tacit.pool.protocol.table import Table
from tacit.pool.protocol.template import Record, Region, Template

Without = Literal["hold", "general"]
"""What to do with a query while no region guards it: hold it back, or send it with d*, unprotected."""


@dataclass(frozen=True)
class Planned:
    """A message, and the moment to send it."""

    at: float
    message: messages.FirstMessage | messages.SecondMessage | SealedMessage


class AgentMachine:
    """One person's agent.

    Args:
        rules: the pool's.
        template: the pool's.
        record: the person's own d.
        sealing: how to seal it for the pool.
        without: what to do with queries while no region guards them.
        relayed: second messages go through a relay that keeps them until a batch is complete.
        admitted: the relay requires a pass for each of them; without one the agent stays silent.
        choose: where random moments come from.
    """

    def __init__(
        self,
        rules: messages.Rules,
        template: Template,
        record: Record,
        sealing: messages.HpkeSealing,
        *,
        without: Without = "hold",
        relayed: bool = False,
        admitted: bool = False,
        choose: random.Random | None = None,
    ) -> None:
        self.rules = rules
        self.template = template
        self.without = without
        self.relayed = relayed
        self.admitted = admitted
        self.passes: dict[int, AdmissionPass] = {}
        """Passes at hand, by period; each is used once."""
        self.state = messages.AgentState.NEW
        self.epoch = -1
        self.group = messages.UNGROUPED
        self._record = record
        self._sealing = sealing
        self._choose = choose or random.SystemRandom()
        self._region = template.domain
        self._public_key = self._table_digest = ""
        self._deadline = float("-inf")
        self._again = float("-inf")
        self._asked_at: float | None = None
        self._counted_in = -1
        self._waiting = False
        self._first: messages.FirstMessage | None = None
        self._second: messages.SecondMessage | SealedMessage | None = None

    def on_table(self, table: Table, public_key: str, expires_in: float, now: float) -> None:
        """Take a fetched table; ``now`` is when it was requested, so that latency shortens its life."""
        if self.state is messages.AgentState.EXPIRED or (
            table.epoch == self.epoch and self.state is not messages.AgentState.NEW
        ):
            return
        self.epoch, self._public_key = table.epoch, public_key
        self.group = table.group_of(self._record)
        if self.group != messages.UNGROUPED and table.sizes[self.group] < self.rules.k:
            self.group = messages.UNGROUPED  # fewer people than the pool promises
        if self.relayed:
            self._table_digest = table.digest
        self._region = self.template.domain if self.group == messages.UNGROUPED else table.region(self.group)
        self.state = (
            messages.AgentState.WAITING if self.group == messages.UNGROUPED else messages.AgentState.GUARDED
        )
        self._deadline = now + min(expires_in, self.rules.lifetime)  # whatever the pool's clock says
        self._asked_at = self._first = self._second = None

    def wants_table(self, now: float) -> bool:
        """Whether to fetch a table: at the start, or when the delay after an expiry is over."""
        self.on_time(now)
        return self.state is messages.AgentState.NEW

    def on_time(self, now: float) -> None:
        """Let time pass: no state outlives its deadline."""
        if self.state is messages.AgentState.EXPIRED and now >= self._again:
            self.state = messages.AgentState.NEW
        elif (
            self.state not in (messages.AgentState.NEW, messages.AgentState.EXPIRED) and now >= self._deadline
        ):
            self._expire(now)

    def _expire(self, now: float) -> None:
        """Without a region, and back after a random delay: whoever returns at once is recognised."""
        self.state, self.group, self._region = (
            messages.AgentState.EXPIRED,
            messages.UNGROUPED,
            self.template.domain,
        )
        self._again = now + self._choose.uniform(0, self.rules.open_length)
        self._asked_at = self._first = self._second = None

    @property
    def guarded(self) -> bool:
        """Whether a region shared by at least k people guards queries sent now."""
        return self.group != messages.UNGROUPED

    @property
    def region(self) -> Region:
        """The person's present region; the whole domain if there is none."""
        return self._region

    def region_for_query(self, now: float) -> Region | None:
        """Return what to attach to a query that is sent now: d', or d*, or None to hold the query back.

        The query counts as sent: call again when it is really sent.
        """
        self.on_time(now)
        if self.guarded or self.without == "general":
            self._asked_at, self._waiting = now, False
            return self._region
        self._waiting = True
        return None

    def on_count(self, epoch: int, now: float, ends_in: float = math.inf) -> Planned | None:
        """Answer the count: M1 at a random moment, if a query was sent under this table in the overlap.

        ``ends_in`` is how long the phase still lasts, where the agent heard of it late.
        """
        self.on_time(now)
        if epoch != self.epoch or self.state not in (
            messages.AgentState.GUARDED,
            messages.AgentState.WAITING,
        ):
            return None
        if self._counted_in == epoch:  # expired and back again: nobody counts twice
            return None
        asked = self._asked_at is not None and self._asked_at >= now - self.rules.overlap_length
        if self.group == messages.UNGROUPED and self._waiting:
            group = messages.READY
        elif asked:
            group = self.group
        else:
            return None
        self._first = messages.FirstMessage(epoch, group, secrets.token_hex(16))
        self._counted_in = epoch
        self.state = messages.AgentState.COUNTED
        return Planned(self._moment(now, min(ends_in, self.rules.count)), self._first)

    def on_identify(
        self, epoch: int, asked: list[int], now: float, ends_in: float = math.inf
    ) -> Planned | None:
        """Answer the request to identify: M2 at a random moment, if M1 was sent for one of the groups."""
        self.on_time(now)
        if epoch != self.epoch or self.state is not messages.AgentState.COUNTED or self._first is None:
            return None
        if self._first.group not in asked or (self.admitted and self._second is None and not self.passes):
            return None
        if self._second is None:
            self._second = self._sealed(epoch, self._first.group, self._first.token)
        self.state = messages.AgentState.IDENTIFIED
        return Planned(self._moment(now, min(ends_in, self.rules.identify)), self._second)

    def _moment(self, now: float, left: float) -> float:
        """A random moment that leaves a message time to arrive."""
        return now + self._choose.uniform(0, 0.75 * max(0.0, left))

    def _sealed(self, epoch: int, group: int, token: str) -> messages.SecondMessage | SealedMessage:
        """M2; through a relay it shares nothing with M1, not even the token."""
        sealed = self._sealing.seal(self._public_key, epoch, group, self._record)
        if not self.relayed:
            return messages.SecondMessage(epoch, group, token, sealed)
        announcement = announcement_digest(self._table_digest, group, self._public_key)
        if not self.admitted:
            return SealedMessage(announcement, secrets.token_hex(16), sealed)
        shown = self.passes.pop(max(self.passes))  # the newest is good for the longest
        return SealedMessage(announcement, shown.token, sealed, shown)

    def on_reply(self, reply: messages.Reply, now: float) -> None:
        """Take the reply to a message: where it was too late or refused, start again."""
        if reply in (messages.Reply.GONE, messages.Reply.REFUSED):
            self._expire(now)
