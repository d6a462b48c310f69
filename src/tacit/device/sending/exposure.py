"""The exposure ledger: what each upstream has ever been told, and what it can infer from all of it
together."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import numpy as np

from tacit.device.generalise.algorithms import Algorithm, Generalisation, generalise
from tacit.device.generalise.measures import risk, risk_layer
from tacit.device.loops.generalise import normalised
from tacit.device.profile.store import ProfileStore, canonical_upstream, utc_text
from tacit.device.profile.user import Floats, Integers, SeedProfile, UserProfile
from tacit.errors import ParameterError
from tacit.files import state_directory
from tacit.validation import real


def union_risk(profile: UserProfile, exposed: Integers) -> float:
    """The risk of a set of exposed topics (a rooted subtree); 0 for none."""
    if len(exposed) == 0:
        return 0.0
    return normalised(float(_exposed_layer(profile, exposed)[0]), profile.wealth)


def _exposed_layer(profile: UserProfile, exposed: Integers) -> Floats:
    parent = np.searchsorted(exposed, profile.tree.parent[exposed]).astype(np.int32)
    return risk_layer(parent, profile.cost[exposed])


def with_exposed(seed: SeedProfile, profile: UserProfile, exposed: Integers) -> SeedProfile:
    """The seed profile in the eyes of an upstream that has seen the ``exposed`` topics already.

    Its risk is then that of the union of what it keeps with what was exposed before.
    """
    absent, base = np.zeros(len(seed)), np.zeros(len(seed))
    if len(exposed):
        layer = _exposed_layer(profile, exposed)
        place = np.searchsorted(seed.node, exposed)
        inside = (place < len(seed)) & (seed.node[np.minimum(place, len(seed) - 1)] == exposed)
        absent[place[inside]] = layer[inside]
        outside = exposed[~inside]
        above = profile.tree.parent[outside]
        spot = np.searchsorted(seed.node, above)
        touching = (spot < len(seed)) & (seed.node[np.minimum(spot, len(seed) - 1)] == above)
        np.add.at(base, spot[touching], layer[~inside][touching])
    return replace(seed, absent=absent, base=base)


_WIDTH = 20


class Witness:
    """The witness of one profile.

    Args:
        identity: the profile's own name, random and without meaning.
    """

    def __init__(self, identity: str) -> None:
        self._identity = identity

    @property
    def path(self) -> Path:
        """Where the number stands."""
        return state_directory() / "exposures" / self._identity

    def seen(self) -> int:
        """How many entries were seen; 0 where nothing is known."""
        try:
            handle = os.open(self.path, os.O_RDONLY)
            try:
                return int(os.read(handle, 2 * _WIDTH))
            finally:
                os.close(handle)
        except (OSError, ValueError):
            return 0

    def see(self, entries: int) -> None:
        """Note that so many entries were made. Where nothing can be written, nothing is noticed later."""
        try:
            try:
                self._write(entries)
            except FileNotFoundError:  # the first time, or its folder was removed
                self.path.parent.mkdir(exist_ok=True, mode=0o700)
                self._write(entries)
        except OSError:
            return

    def _write(self, entries: int) -> None:
        # In place: a file renamed over another makes the file system wait for the disk, and every query
        # that is sent would wait with it. A number of fixed width is never half overwritten.
        handle = os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            os.pwrite(handle, f"{entries:0{_WIDTH}}".encode(), 0)
        finally:
            os.close(handle)

    def forget(self) -> None:
        """Remove the witness, as when its profile is erased."""
        self.path.unlink(missing_ok=True)


TOLERANCE = timedelta(minutes=10)
"""A clock may be set right by so much without notice."""


@dataclass(frozen=True)
class Moment:
    """What the machine says about now."""

    clock: datetime
    boot: str
    """Which start of the machine this is; empty where it is not known."""
    seconds: float
    """Since that start."""


@cache
def _boot() -> str:
    """Which start of the machine this is: the same as long as a process runs."""
    return Path("/proc/sys/kernel/random/boot_id").read_text().strip()


def running_time() -> Moment:
    """Now, by the machine."""
    try:
        boot = _boot()
        seconds = time.clock_gettime(time.CLOCK_BOOTTIME)
    except (OSError, AttributeError):
        boot, seconds = "", 0.0
    return Moment(datetime.now(UTC), boot, seconds)


@dataclass(frozen=True)
class LedgerTime:
    """The time of an entry, and what was noticed about the clock."""

    time: datetime
    notice: str
    """Empty where the clock is as expected."""
    state: str
    """To be kept for the next entry."""

    @classmethod
    def after(cls, state: str | None, moment: Moment) -> LedgerTime:
        """The time of an entry at ``moment``, after the entry that left ``state``."""
        entry, notice = moment.clock, ""
        if state is not None:
            last = json.loads(state)
            before = datetime.fromisoformat(last["time"])
            if moment.boot and moment.boot == last["boot"]:
                expected = before + timedelta(seconds=max(0.0, moment.seconds - last["seconds"]))
                if moment.clock > expected + TOLERANCE:
                    entry, notice = expected, "the clock leapt ahead; the ledger goes by the time elapsed"
                elif moment.clock < expected - TOLERANCE:
                    entry, notice = expected, "the clock went back; the ledger goes by the time elapsed"
            if entry < before:
                entry, notice = before, notice or "the clock went back; the ledger's time stands still"
        kept = {"time": entry.isoformat(), "boot": moment.boot, "seconds": moment.seconds}
        return cls(entry, notice, json.dumps(kept))


LONGEST_PERIOD = timedelta(days=36_500)
"""The longest period of a bound that does not hold for all time."""


@dataclass(frozen=True)
class ExposureBound:
    """How much an upstream may learn over time."""

    risk: float
    """The highest risk of the union of everything exposed."""
    period: timedelta | None = None
    """Over which time; None for all time."""

    def __post_init__(self) -> None:
        if not 0 <= self.risk <= 1:
            raise ParameterError.outside("bound", self.risk, "in [0, 1]")
        if self.period is not None and not timedelta(0) < self.period <= LONGEST_PERIOD:
            raise ParameterError.outside(
                "period", self.period, f"longer than 0 and at most {LONGEST_PERIOD.days} days"
            )

    @classmethod
    def over(cls, risk: float, period: timedelta | float | None) -> ExposureBound:
        """A bound over a time that is given as such or in days."""
        if period is None or isinstance(period, timedelta):
            return cls(risk, period)
        days = real("period", period, f"above 0 and at most {LONGEST_PERIOD.days} days")
        # A microsecond is the shortest time that is distinguished.
        if not 0 < days <= LONGEST_PERIOD.days or not timedelta(days=days):
            raise ParameterError.outside("period", days, f"above 0 and at most {LONGEST_PERIOD.days} days")
        return cls(risk, timedelta(days=days))

    def since(self, now: datetime) -> datetime | None:
        """From when on exposures count at ``now``; None for all of them."""
        return now - self.period if self.period is not None else None


_ENTRY = "number, upstream, time, query, risk, union_risk"


@dataclass(frozen=True)
class Exposure:
    """One query that was sent, and the topics that went with it."""

    upstream: str
    time: datetime
    query: str
    topics: tuple[int, ...]
    risk: float
    """Of this exposure alone."""
    union_risk: float
    """Of everything this upstream was told in the period, this exposure included."""
    number: int = 0
    """The entry's number in the ledger."""
    labels: tuple[str, ...] = ()
    """The topics as they were sent: their paths from the root."""


class ExposureLedger:
    """The exposures recorded in a profile file."""

    def __init__(self, store: ProfileStore) -> None:
        self._store = store
        self._witness = Witness(store.meta("identity") or "unnamed")
        self._topics: dict[str, int] = {}
        self._recorded = 0
        self.latest = 0, 0.0
        """The number of the entry made last through this object, and the risk of the union it made."""

    def exposed(self, upstream: str, since: datetime | None = None) -> Integers:
        """The union of all topics exposed to an upstream and those that share with it, ascending.

        When each topic was last told is kept up to date entry by entry, so that this costs as much as the
        union is large, not as long as the ledger is.
        """
        names = self.circle(upstream)
        marks = ",".join("?" * len(names))
        rows = self._store.connection.execute(
            f"SELECT label FROM told WHERE upstream IN ({marks}) AND last >= ?",
            (*names, utc_text(since) if since else ""),
        )
        labels = [label for (label,) in rows]
        try:
            found = [self._topics[label] for label in labels]
        except KeyError:  # told by an earlier run
            found = [self._topic(label) for label in labels]
        return np.unique(np.array(found, np.int32))

    def _topic(self, label: str) -> int:
        """The topic at a label, remembered: every exposure asks for all that was told before."""
        if label not in self._topics:
            self._topics[label] = self._store.tree.find(label)
        return self._topics[label]

    def circle(self, upstream: str) -> list[str]:
        """The upstreams that are taken to share what they are told with this one, itself included."""
        name = canonical_upstream(upstream)
        rows = self._store.connection.execute(
            "SELECT upstream FROM together WHERE circle = (SELECT circle FROM together WHERE upstream = ?)",
            (name,),
        )
        return sorted({name, *(str(other) for (other,) in rows)})

    def set_together(self, upstreams: Iterable[str]) -> list[str]:
        """Bound several upstreams as one, since they may share what they are told; one alone ends it."""
        names = sorted({canonical_upstream(upstream) for upstream in upstreams})
        with self._store.transaction() as connection:
            for name in names:
                connection.execute("DELETE FROM together WHERE upstream = ?", (name,))
            if len(names) > 1:
                connection.executemany("INSERT INTO together VALUES (?, ?)", [(n, names[0]) for n in names])
        return names

    def admit(
        self,
        upstream: str,
        query: str,
        proposed: Generalisation | None,
        profile: UserProfile,
        bound: ExposureBound | None = None,
        now: datetime | None = None,
    ) -> Generalisation | None:
        """Record what is about to be sent; gives what may be sent, or None for the query alone.

        Reading the requirements, checking and recording are one transaction, so that two processes cannot
        both slip under the bound, and a topic protected by another process a moment ago counts. The entry is
        on the disk when this returns: only then may anything be sent.

        Args:
            upstream: who will see it.
            query: the query that will be sent.
            proposed: the generalised profile to send with it, if any.
            profile: the user's profile, for its cost layer.
            bound: the limit on the union; None records without limiting.
            now: the time of the exposure; by default the ledger's own time.
        """
        name = canonical_upstream(upstream)
        with self._store.transaction() as connection:
            moment = now or self._time()
            written = utc_text(moment)
            current = self._store.current(profile)
            if current is not profile and proposed is not None:
                proposed = _by_current_costs(proposed, current)
            before = self.exposed(name, bound.since(moment) if bound is not None else None)
            admitted = proposed if proposed is not None and proposed.feasible else None
            if admitted is not None and bound is not None:
                admitted = None if self.missing() else _within(admitted, current, before, bound.risk)
            topics = admitted.topics if admitted is not None else before[:0]
            union = union_risk(current, np.union1d(before, topics).astype(np.int32))
            number = connection.execute(
                "INSERT INTO exposure (upstream, time, query, delta, risk, union_risk) "
                "VALUES (?, ?, ?, ?, ?, ?)",
                (
                    name,
                    written,
                    query,
                    admitted.delta if admitted is not None else 0.0,
                    admitted.risk if admitted is not None else 0.0,
                    union,
                ),
            ).lastrowid
            labels = [self._store.tree.label(int(topic)) for topic in topics]
            connection.executemany("INSERT INTO exposed VALUES (?, ?)", [(number, one) for one in labels])
            connection.executemany(
                "INSERT INTO told VALUES (?1, ?2, ?3) ON CONFLICT (upstream, label) DO UPDATE "
                "SET last = max(last, excluded.last)",
                [(name, one, written) for one in labels],
            )
            self._recorded = self._entries() + 1
            self._store.set_meta("exposures", str(self._recorded))
            self.latest = int(number or 0), union
        self.confirm()
        return admitted

    def confirm(self) -> None:
        """Tell the witness how many entries there are, once they are on the disk."""
        if not self._store.connection.in_transaction and self._recorded >= self._witness.seen():
            self._witness.see(self._recorded)

    def _entries(self) -> int:
        return int(self._store.meta("exposures") or 0)

    def _time(self) -> datetime:
        found = LedgerTime.after(self._store.meta("clock"), running_time())
        self._store.set_meta("clock", found.state)
        if found.notice:
            self._store.set_meta("clock notice", found.notice)
        return found.time

    def missing(self) -> int:
        """How many entries at least are missing, where this file is an older copy of itself."""
        return max(0, self._witness.seen() - self._entries())

    def notices(self) -> list[str]:
        """What its owner should know about the ledger, in words."""
        found = []
        if missing := self.missing():
            found.append(
                f"This profile is an older copy: at least {missing:,} exposures made since are missing. "
                "Where a bound is set, no profile is sent until you accept that."
            )
        if notice := self._store.meta("clock notice"):
            found.append(f"At some time {notice}.")
        return found

    def accept(self) -> None:
        """Go on with an older copy, and with the clock as it is: what is missing is not counted."""
        with self._store.transaction() as connection:
            self._store.set_meta("exposures", str(max(self._entries(), self._witness.seen())))
            connection.execute("DELETE FROM meta WHERE key IN ('clock', 'clock notice')")

    def history(self, upstream: str | None = None) -> list[Exposure]:
        """Everything that was sent, oldest first."""
        rows = self._store.connection.execute(
            f"SELECT {_ENTRY} FROM exposure WHERE ?1 IS NULL OR upstream = ?1 ORDER BY time, number",
            (None if upstream is None else canonical_upstream(upstream),),
        ).fetchall()
        return [self._entry(*row) for row in rows]

    def entries(self, numbers: Iterable[int]) -> dict[int, Exposure]:
        """Some entries by their numbers; those that are gone are left out."""
        found = {}
        for number in numbers:
            row = self._store.connection.execute(
                f"SELECT {_ENTRY} FROM exposure WHERE number = ?", (number,)
            ).fetchone()
            if row is not None:
                found[number] = self._entry(*row)
        return found

    def _entry(self, number: int, name: str, time: str, query: str, alone: float, union: float) -> Exposure:
        labels = self._store.connection.execute("SELECT label FROM exposed WHERE exposure = ?", (number,))
        topics = tuple(sorted(self._topic(label) for (label,) in labels))
        names = tuple(self._store.tree.label(topic) for topic in topics)
        return Exposure(name, datetime.fromisoformat(time), query, topics, alone, union, number, names)

    def forget(self, numbers: Iterable[int]) -> int:
        """Remove entries; gives how many there were. What was sent stays sent: only the record goes."""
        removal = "DELETE FROM exposure WHERE number = ?"
        with self._store.transaction() as connection:
            gone = sum(connection.execute(removal, (one,)).rowcount for one in numbers)
            self._store.sum_up_told()
        return gone

    def forget_upstream(self, upstream: str) -> int:
        """Remove all entries of one upstream; gives how many there were."""
        name = canonical_upstream(upstream)
        with self._store.transaction() as connection:
            connection.execute("DELETE FROM told WHERE upstream = ?", (name,))
            return connection.execute("DELETE FROM exposure WHERE upstream = ?", (name,)).rowcount

    def erase_witness(self) -> None:
        """Remove what stands outside the file, as when it is erased."""
        self._witness.forget()

    def upstreams(self) -> dict[str, int]:
        """Who was sent queries, and how many."""
        rows = self._store.connection.execute(
            "SELECT upstream, count(*) FROM exposure GROUP BY upstream ORDER BY upstream"
        )
        return {str(name): int(count) for name, count in rows}


def _by_current_costs(proposed: Generalisation, profile: UserProfile) -> Generalisation:
    """The proposed exposure under requirements that changed since: generalised again where needed."""
    seed = replace(proposed.seed, cost=profile.cost[proposed.seed.node], wealth=profile.wealth)
    moved = replace(proposed, seed=seed, risk=risk(seed, proposed.kept))
    return moved if moved.feasible else generalise(seed, proposed.delta, proposed.algorithm)


def _within(
    proposed: Generalisation, profile: UserProfile, before: Integers, bound: float
) -> Generalisation | None:
    """The proposed exposure, generalised further until the union satisfies the bound."""
    if not proposed.feasible:
        return None
    offered = proposed.seed.restrict(proposed.kept)
    together = with_exposed(offered, profile, before)
    if risk(together) <= bound:
        return proposed
    further = generalise(together, bound, Algorithm.GREEDY_RATIO)
    if not further.feasible or not further.kept[1:].any():
        return None
    places = np.flatnonzero(proposed.kept)
    kept = np.zeros(len(proposed.seed), np.bool_)
    kept[places[further.kept]] = True
    return replace(
        proposed,
        kept=kept,
        power=further.power,
        risk=risk(proposed.seed, kept),
        order=np.concatenate([proposed.order, places[further.order].astype(np.int32)]),
        losses=np.concatenate([proposed.losses, further.losses]),
        microseconds=proposed.microseconds + further.microseconds,
    )


@dataclass(frozen=True)
class CoursePoint:
    """The most that an upstream knew within a part of its time."""

    time: datetime
    union_risk: float
    with_topics: bool
    """Whether topics went out with that very query."""


@dataclass(frozen=True)
class ExposureCourse:
    """What one upstream was told."""

    upstream: str
    queries: int
    with_topics: int
    """How many of the queries took topics along."""
    first: datetime
    last: datetime
    used: float
    """The risk of everything it was told in the period."""
    labels: tuple[str, ...]
    """The topics that it was told in the period."""
    points: tuple[CoursePoint, ...]
    """At most as many as were asked for, oldest first; the last is the last entry."""


def exposure_courses(store: ProfileStore, since: datetime | None, points: int) -> list[ExposureCourse]:
    """The course of every upstream, by name.

    Args:
        store: the profile file.
        since: the beginning of the period that counts now; None for all of the time.
        points: at how many places the risk is told at most.
    """
    entries: dict[str, list[tuple[str, float, bool]]] = {}
    for name, moment, union, told in store.connection.execute(
        "SELECT upstream, time, union_risk, EXISTS (SELECT 1 FROM exposed WHERE exposure = number) "
        "FROM exposure ORDER BY upstream, time, number"
    ):
        entries.setdefault(name, []).append((moment, union, bool(told)))
    begin = utc_text(since) if since is not None else ""
    courses = []
    for name, sent in entries.items():
        part = -(-len(sent) // max(1, points - 1))
        shown = [max(sent[at : at + part], key=lambda e: e[1]) for at in range(0, len(sent), part)]
        if shown[-1] is not sent[-1]:
            shown.append(sent[-1])
        labels = store.connection.execute(
            "SELECT label FROM told WHERE upstream = ? AND last >= ? ORDER BY label", (name, begin)
        )
        courses.append(
            ExposureCourse(
                upstream=name,
                queries=len(sent),
                with_topics=sum(told for _, _, told in sent),
                first=datetime.fromisoformat(sent[0][0]),
                last=datetime.fromisoformat(sent[-1][0]),
                used=sent[-1][1] if sent[-1][0] >= begin else 0.0,
                labels=tuple(str(label) for (label,) in labels),
                points=tuple(
                    CoursePoint(datetime.fromisoformat(moment), union, told) for moment, union, told in shown
                ),
            )
        )
    return courses
