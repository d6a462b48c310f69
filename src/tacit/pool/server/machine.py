"""The pool itself: a state machine without clock or network, and how it forms the next table.

Time is passed in, messages come and go. Any number of workers may run it over one store: whoever notices
first that a phase is over moves on, and the store lets only one of them do it.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from tacit.pool.protocol import messages
from tacit.pool.protocol.batches import Handover, announcement_digest
from tacit.pool.protocol.table import Codes, Table, whole_domain
from tacit.pool.protocol.template import Record, Template
from tacit.pool.server.partition import headroom, partition
from tacit.pool.server.store import PoolStore, Standing

Formation = Callable[[Table, Mapping[int, Codes], int, Template, int], Table]
"""How a table is made from the records of the groups that confirmed at least k."""


def valid_records(
    opened: Mapping[int, Iterable[Record | None]], old: Table, template: Template, k: int
) -> dict[int, Codes]:
    """Of each group the records that lie in its region; only groups that keep at least k.

    An agent may lie about its record. One outside the group's region would carry somebody into a region
    where k people do not belong, so it counts for nothing.
    """
    confirmed = {}
    for group, records in opened.items():
        region = template.domain if group in (messages.UNGROUPED, messages.READY) else old.region(group)
        width = len(region.low)
        points = np.array([each for each in records if each is not None and len(each) == width], np.int64)
        if len(points) < k:
            continue
        inside = points[((region.low <= points) & (points <= region.high)).all(axis=1)]
        if len(inside) >= k:
            confirmed[group] = inside.astype(np.uint16)
    return confirmed


def together(old: Table, confirmed: Mapping[int, Codes], epoch: int, template: Template, k: int) -> Table:
    """Partition everybody anew, with headroom; rule R then says who may use the regions."""
    if not confirmed:
        return whole_domain(epoch, template)
    groups = sorted(confirmed)
    records = np.concatenate([confirmed[group] for group in groups])
    ready = np.repeat(
        [group == messages.READY for group in groups], [len(confirmed[group]) for group in groups]
    )
    cells = partition(records, template, k, least=headroom(k))
    about_to_ask = np.bincount(cells.cell_of[ready], minlength=len(cells))
    return Table(
        epoch,
        cells.corners,
        cells.sizes,
        old.regions[[group for group in groups if group >= 0]],
        messages.UNGROUPED in confirmed,
        about_to_ask >= k,
    )


def nested(old: Table, confirmed: Mapping[int, Codes], epoch: int, template: Template, k: int) -> Table:
    """The paper's way (section 5.2): SPLIT inside each group; the U-group is split over the whole domain.

    Regions of different groups may overlap. Everybody may use every region, as the paper has it, which
    does not keep Definition 2 in thin traffic.
    """
    if not confirmed:
        return whole_domain(epoch, template)
    corners, sizes, parents = [], [], []
    for group in sorted(confirmed):
        within = None if group < 0 else old.region(group)
        cells = partition(confirmed[group], template, k, method="split", within=within)
        corners.append(cells.corners)
        sizes.append(cells.sizes)
        parents.append(np.full(len(cells), group, np.int64))
    regions = np.concatenate(corners)
    return Table(
        epoch,
        regions,
        np.concatenate(sizes),
        regions[:0],
        True,
        np.zeros(len(regions), np.bool_),
        np.concatenate(parents),
    )


def warm_up(template: Template) -> None:
    """Compile what forming a table needs, before anybody waits for one."""
    few = np.zeros((8, len(template.attributes)), np.uint16)
    together(whole_domain(0, template), {messages.UNGROUPED: few}, 1, template, 2)


_RACE = 0.5
"""Seconds that may pass between a worker's reading of the clock and its use, while another advances."""


@dataclass(frozen=True)
class Publication:
    """What is public about an epoch: its table, the key to seal records for, and when it was published."""

    table: Table
    public_key: str
    since: float


class PoolMachine:
    """One pool over a store.

    Args:
        rules: what it promises, and its timing.
        template: what records look like.
        store: what it remembers.
        sealing: how records are sealed.
        formation: how tables are made.
        clock: what time it is after a table was made, which takes a while; without one, no time passes.
        relay: the party that keeps sealed records until a batch is there; without one, the store does, and
            its operator must be trusted not to open records early.
    """

    def __init__(
        self,
        rules: messages.Rules,
        template: Template,
        store: PoolStore,
        *,
        sealing: messages.HpkeSealing | None = None,
        formation: Formation = together,
        clock: Callable[[], float] | None = None,
        relay: Handover | None = None,
    ) -> None:
        self.rules = rules
        self.template = template
        self.store = store
        self._sealing = sealing or messages.HpkeSealing()
        self._formation = formation
        self.clock = clock
        self.relay = relay
        self._public: Publication | None = None

    def tick(self, now: float) -> Standing:
        """Advance until the present phase is not over at ``now``; return epoch and phase then."""
        while not self.step(now):
            if self.clock is not None:  # forming a table takes time
                now = max(now, self.clock())
        standing = self.store.standing()
        return self.tick(now) if standing is None else standing

    def step(self, now: float) -> bool:
        """Advance by one phase at most; True if there was nothing to do."""
        standing, latest = self.store.standing(), self.store.look(now)
        if standing is None:
            # A store that lost everything cannot tell which numbers were used, nor can a clock that was set
            # back: a number drawn from 2^52 does not come twice, so no old message fits a new epoch.
            self._publish(None, whole_domain(secrets.randbelow(2**52), self.template), now)
        elif now < max(latest, standing.since) - _RACE:
            # The clock was set back: phases would last longer than they say, and people count on each other
            # who asked further apart than the window. Nobody can say by how much: begin again.
            self._publish(standing, whole_domain(standing.epoch + 1, self.template), now)
        elif now < standing.until:
            return True
        else:
            self._move_on(standing, now)
        return False

    def _move_on(self, standing: Standing, now: float) -> None:
        rules, epoch = self.rules, standing.epoch
        if standing.phase is messages.Phase.OPEN:
            counting = Standing(epoch, messages.Phase.COUNT, now, now + rules.count)
            self.store.advance(standing, counting, {"counted from": repr(now)})
            return
        opened = self._counted_from()
        if self._too_late(opened, now):
            self._publish(standing, whole_domain(epoch + 1, self.template), now)
        elif standing.phase is messages.Phase.COUNT:
            asked = {group for group, number in self.store.counts().items() if number >= rules.k}
            until = opened + rules.count + rules.identify
            self.store.advance(
                standing,
                Standing(epoch, messages.Phase.IDENTIFY, now, until),
                {"asked": json.dumps(sorted(asked))},
                asked,
            )
        elif standing.phase is messages.Phase.IDENTIFY:
            forming = Standing(epoch, messages.Phase.FORM, now, opened + rules.phases)
            if self.store.advance(standing, forming, {}):
                self._form(forming, now)
        else:  # the worker that was forming died: the messages are still there
            self._form(standing, now)

    def _counted_from(self) -> float:
        return float(self.store.document("counted from") or "-inf")

    def _too_late(self, opened: float, now: float) -> bool:
        """Whether the queries of those who answered lie further back than the window allows."""
        return now - opened > self.rules.phases + self.rules.skew / 2

    def _form(self, standing: Standing, now: float) -> None:
        rules, epoch, secret = self.rules, standing.epoch, self.store.document("secret key")
        old = self.publication()
        if secret is None or old is None or old.table.epoch != epoch:
            return  # another worker has published, and the epoch is gone
        batches = self.store.batches(rules.k) if self.relay is None else self._handed_over(self.relay, old)
        opened = {
            group: [self._sealing.unseal(secret, epoch, group, sealed) for sealed in batch]
            for group, batch in batches.items()
        }
        confirmed = valid_records(opened, old.table, self.template, rules.k)
        table = self._formation(old.table, confirmed, epoch + 1, self.template, rules.k)
        if self.clock is not None:
            now = max(now, self.clock())
        if self._too_late(self._counted_from(), now):
            table = whole_domain(epoch + 1, self.template)
        self._publish(standing, table, now)

    def _handed_over(self, relay: Handover, public: Publication) -> dict[int, list[str]]:
        """What the relay kept of the groups that were asked; a batch that is too small is not opened."""
        table, key = public.table.digest, public.public_key
        groups = {announcement_digest(table, group, key): group for group in self.asked()}
        found = relay.hand_over(list(groups)) if groups else {}
        return {groups[digest]: batch for digest, batch in found.items() if len(batch) >= self.rules.k}

    def _publish(self, standing: Standing | None, table: Table, now: float) -> None:
        before = self.publication()
        public, secret = self._sealing.keys()
        opened = Standing(table.epoch, messages.Phase.OPEN, now, now + self.rules.open_length)
        self.store.advance(
            standing,
            opened,
            {
                "table": table.as_json(),
                "public key": public,
                "secret key": secret,
                "published": repr(now),
                "groups before": str(0 if before is None else len(before.table)),
            },
        )

    def publication(self) -> Publication | None:
        """Return what is public now; None where the store has lost it."""
        standing = self.store.standing()
        if standing is None:
            return None
        if self._public is None or self._public.table.epoch != standing.epoch:
            table, key = self.store.document("table"), self.store.document("public key")
            published = self.store.document("published")
            if table is None or key is None or published is None:
                return None
            parsed = Table.parse(json.loads(table), self.template)
            self._public = Publication(parsed, key, float(published))
        return self._public

    def expires_in(self, now: float) -> float:
        """Return how many seconds the present table may still be used."""
        public = self.publication()
        if public is None:
            return 0.0
        return min(max(0.0, public.since + self.rules.lifetime - now), self.rules.lifetime)

    def groups_before(self) -> int:
        """How many groups the table before this one had; the table says which of them survived."""
        return int(self.store.document("groups before") or 0)

    def asked(self) -> list[int]:
        """The groups that are asked to identify themselves."""
        asked: list[int] = json.loads(self.store.document("asked") or "[]")
        return asked

    def first(self, message: messages.FirstMessage) -> messages.Reply:
        """M1: counted once a token, in the phase of counting only."""
        public = self.publication()
        if public is None or public.table.epoch != message.epoch:
            return messages.Reply.GONE
        if not messages.READY <= message.group < len(public.table):
            return messages.Reply.REFUSED
        return self.store.first(message, self.rules.capacity)

    def second(self, message: messages.SecondMessage) -> messages.Reply:
        """M2: kept sealed until its group has k. Where there is a relay, it goes there and not here."""
        return self.store.second(message) if self.relay is None else messages.Reply.REFUSED
