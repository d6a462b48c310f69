"""The folder of a series: opened once, a publication for each week, closed at the end.

::

    DIR/series.json    what was asked, the ledger and the charge; no secret
    DIR/state          encrypted, and its parts in DIR/state-parts/; the key lies elsewhere
    DIR/week-07/       a release like others: tables, manifest that cites the charge, page
    DIR/opening/       the same of a log of the past, if the series was opened on one
    DIR/series.html    the page of the whole series

A week goes by in this order, and whatever ends the work in between, no number is drawn twice::

    take in   records join users' sets, in memory
    note      in the ledger: each round of the week, after this state, is about to be drawn
    draw      the rounds; the state is synced, with what was taken in    … and so for a count
    publish   from the state alone: a hidden folder, a note of its manifest, renamed into place

A step that was noted and of which no state is known is left out for every item, and what users had saved is
taken as spent. A state that is older than the ledger or the last published week is a lost one.
"""

import fcntl
import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tacit.display import Displayed
from tacit.errors import InfeasibleError, InputError, IntegrityError, ParameterError
from tacit.files import atomic_directory, atomic_file, state_directory
from tacit.privacy.ledger import Entry, Ledger, Register, budget_of, open_ledger
from tacit.privacy.ledger.register import open_unbound, refuse_known, require_newest
from tacit.privacy.noise.randomness import OperatingSystemRandomness, RandomSource
from tacit.release.document.about import About, read_about
from tacit.release.document.manifest import MANIFEST, file_hash, read_manifest
from tacit.release.document.tables import read_table
from tacit.release.execution import Tables, in_order, require_drawable, select
from tacit.release.mechanisms.adaptive import HeldItem
from tacit.release.mechanisms.adaptive_holdings import read_held
from tacit.release.mechanisms.series import Series, SeriesPlan
from tacit.release.preparation import Preparation, withheld
from tacit.release.publication import Order, Release, write_release
from tacit.release.series.course import FULL, Course, deviation_of
from tacit.release.series.page import PAGE, render_series
from tacit.release.series.state import Coded, KeptCourse, SeriesKey, coded, parts_of
from tacit.searchlog import check_log
from tacit.validation import flag, moment, place

ABOUT, STATE, LEDGER, OPENING = "series.json", "state", "series.ledger", "opening"
_FORMAT = 1
_SHOWN_FROM = 4.0
"""A count below so many standard deviations of its noise is withheld."""
_BELOW = 6.0
_RISING = 3.5
"""Deviations from which on a change is listed: noise alone makes one of 1,000 keys in four counts."""


@dataclass(frozen=True, repr=False)
class OpenSeries(Displayed):
    """A series in its folder (``tacit.Series(...).open(folder)``, then ``tacit.Series.at(folder)``)."""

    folder: Path
    about: dict[str, Any]  # what series.json says

    @cached_property
    def plan(self) -> SeriesPlan:
        """All rounds and counts, as they were laid out at the opening."""
        return Series.from_dict(self.about["parameters"]).plan()

    @property
    def ledger(self) -> Ledger:
        """The ledger that was charged."""
        return Ledger(self.folder / self.about["ledger"])

    @property
    def entry(self) -> Entry:
        """The one charge."""
        found = [entry for entry in self.ledger.state().entries if entry.hash == self.about["charge"]]
        if not found:
            raise IntegrityError("the ledger lacks the charge of this series.", "Restore its newest copy.")
        return found[0]

    @property
    def weeks(self) -> list[Path]:
        """The folders of the weeks published so far."""
        there = (path for path in self.folder.glob("week-*") if (path / MANIFEST).is_file())
        return sorted(there, key=lambda path: int(path.name.removeprefix("week-")))

    @property
    def newest(self) -> Path | None:
        """The last of them; the opening's, if there is one, before the first."""
        before = self.folder / OPENING
        return next(reversed(self.weeks), before if (before / MANIFEST).is_file() else None)

    @property
    def keys(self) -> int:
        """How many queries are published so far."""
        return int(self.to_dict()["keys"])

    def to_dict(self) -> dict[str, Any]:
        """Return for ``--json`` what is published so far, and what it cost."""
        by_week = [_queries_in(week) for week in self.weeks]
        return {
            "folder": str(self.folder),
            "keys": 0 if self.newest is None else _queries_in(self.newest),
            "weeks": self.about["parameters"]["weeks"],
            "published": len(by_week),
            "opening": _queries_in(before) if (before := self.folder / OPENING).is_dir() else 0,
            "keys_by_week": by_week,
            "guarantee": self.plan.guarantee.to_dict(),
            "ledger": str(self.ledger.path),
            "entry": self.entry.number,
            "closed": bool(self.about["closed"]),
        }

    def _summary(self) -> str:
        return f"Series {self.folder}: {self.plan.guarantee}"

    def _rows(self) -> list[tuple[str, str]]:
        return [("weeks published", f"{len(self.weeks)}"), ("queries", f"{self.keys:,}")]

    def next(
        self,
        log: str | Path,
        *,
        since: datetime | str | None = None,
        until: datetime | str | None = None,
        restart: bool = False,
        report: Callable[[str], object] = str,
    ) -> Release:
        """Publish the next week; returns its release.

        Run again with the same log after it was interrupted, it finishes that week; after it is published, it
        gives what is there.

        Args:
            log: the week's records, and late ones of weeks before; no record twice.
            since: of a log that holds earlier weeks too, only records from this time on.
            until: and only those before this time.
            restart: the state is lost: go on with empty standings, and all allowances taken as spent.
            report: told what is under way.
        """
        taken = Preparation(moment("since", since), moment("until", until), self.about["scrub"])
        with self._locked():
            return _Work(self, report).next(check_log(place("log", log)), taken, flag("restart", restart))

    def erase(self, users: list[str]) -> int:
        """Forget what these users hold, for all weeks to come; returns how many of them were known.

        What was published stays, and so do the users' balances and the texts of queries, encrypted, until the
        series is closed: if they vanished, it could be seen whose they were.
        """
        with self._locked():
            return _Work(self, str).erase(users)

    def close(self) -> None:
        """End the series: state and key are deleted. What was published stays, and the charge stays spent."""
        with self._locked():
            _write_about(self.folder, {**self.about, "closed": _now()})
            for path in (self.folder / STATE, *parts_of(self.folder / STATE).glob("*")):
                path.unlink(missing_ok=True)
            Path(self.about["key"]).unlink(missing_ok=True)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        if self.about["closed"]:
            raise InputError(f"the series {self.folder} is closed.", "Open another.")
        handle = os.open(self.folder / ".lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            yield
        except BlockingIOError:
            raise InputError(f"another process is at work on {self.folder}.", "Wait for it to end.") from None
        finally:
            os.close(handle)


def _queries_in(week: Path) -> int:
    return int(read_manifest(week)["published"]["queries"]["rows"])


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _write_about(folder: Path, about: dict[str, Any]) -> None:
    with atomic_file(folder / ABOUT, mode=0o600) as temporary:
        temporary.write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")


def open_series(
    asked: Series | SeriesPlan,
    folder: str | Path,
    *,
    ledger: Ledger | str | Path | None = None,
    budget_epsilon: float | None = None,
    budget_delta: float = 0.0,
    key: str | Path | None = None,
    after: str | Path | None = None,
    history: str | Path | None = None,
    scrub: bool = True,
    purpose: str = "",
) -> OpenSeries:
    """Charge the ledger once for all weeks, and make the folder.

    Args:
        asked: the series.
        folder: the folder to make.
        ledger: the data set's ledger; one of its own in the folder unless given.
        budget_epsilon: open that ledger, if there is none, with this ε in all.
        budget_delta: and this δ.
        key: where the state's key is to lie; in the user's state folder unless given.
        after: an earlier series whose published queries are known from the start.
        history: a log of the past, of which a tenth of the budget publishes queries at once (``opening``).
        scrub: pass over queries that name somebody, as in a release.
        purpose: what it is for, in the ledger.
    """
    past = None if history is None else check_log(place("history", history))
    plan, scrub = _planned(asked, past), flag("scrub", scrub)
    made = place("folder", folder)
    if made.exists():
        raise InputError(f"{made} exists already.", "Choose another folder, or go on: tacit series next.")
    require_drawable(plan.schedule)
    earlier = find_series(after) if after is not None else None
    budget = budget_of(budget_epsilon, budget_delta, plan.neighbours, "budget_")
    made.parent.mkdir(parents=True, exist_ok=True)
    name = OperatingSystemRandomness().bits(8).hex()
    secret = place("key", key).absolute() if key is not None else state_directory() / "series" / f"{name}.key"
    with atomic_directory(made) as temporary:
        temporary.chmod(0o700)
        at = ledger if ledger is None or isinstance(ledger, Ledger) else place("ledger", ledger)
        if at is None:
            refuse_known([] if past is None else Register().of_log(past))
            book = Ledger.write(temporary / LEDGER, budget or plan.guarantee, label=made.name)
        elif past is not None:
            book = open_ledger(at, past, budget)
        else:
            book = at if isinstance(at, Ledger) else open_unbound(at, budget)
        book.state().account.charge(plan.event)  # refused now, before a key is made
        kept = KeptCourse(Course(plan.rounds))
        if earlier is not None:
            _seed(kept, earlier)
        locked = SeriesKey.make(secret)
        entry = book.spend(plan.event, purpose or f"series of {plan.mechanism.weeks} weeks")
        if past is not None:
            _find_in_past(kept, past, scrub)
            order = Order(past, made, plan, Preparation(scrub=scrub), book)
            _write_week(temporary / OPENING, kept, order, entry)
        kept.write(temporary / STATE, locked)
        about = {
            "format": _FORMAT,
            "series": name,
            "opened": _now(),
            "closed": None,
            "parameters": plan.to_dict(),
            "ledger": LEDGER if ledger is None else str(book.path.absolute()),
            "charge": entry.hash,
            "key": str(secret),
            "scrub": scrub,
        }
        _write_about(temporary, about)
    opened = OpenSeries(made, about)
    with suppress(OSError):
        Register().remember(opened.ledger, past)
    if past is not None:
        write_page(opened)
    return opened


def _planned(asked: Series | SeriesPlan, past: Path | None) -> SeriesPlan:
    """Plan the series; with a log of the past, one that has a release of it."""
    mechanism = asked.mechanism if isinstance(asked, SeriesPlan) else asked
    if past is None and mechanism.with_history:
        raise ParameterError("the budget has a part for a log of the past.", "Name it: `history`.")
    if past is not None and not mechanism.with_history:
        return replace(mechanism, with_history=True).plan()
    return asked if isinstance(asked, SeriesPlan) else asked.plan()


def _find_in_past(kept: KeptCourse, log: Path, scrub: bool) -> None:
    """Carry out the one release of the past; what it finds is known from now on."""
    if (rounds := kept.course.rounds.history) is None:
        raise ParameterError("this series has no part for a log of the past.")
    held = read_held(None, lambda names: Preparation(scrub=scrub).read(log, names), (HeldItem.QUERIES,))
    found = select(rounds, held.holdings, OperatingSystemRandomness()).items
    texts = held.keys("queries", found).column("query").cast(pa.string()).combine_chunks()
    kept.know(texts.filter(pc.invert(pc.is_in(texts, value_set=kept.texts))))


def find_series(folder: str | Path) -> OpenSeries:
    """Open the series in a folder."""
    path = place("folder", folder)
    if not (path / ABOUT).is_file():
        raise InputError(f"there is no series in {path}.", "Open one: tacit series open DIR.")
    with suppress(ValueError, KeyError, TypeError):
        about = json.loads((path / ABOUT).read_text("utf-8"))
        if about["format"] == _FORMAT:
            return OpenSeries(path, about)
    raise IntegrityError(f"{path / ABOUT} cannot be read by this version of Tacit.", "Restore it.")


def _seed(kept: KeptCourse, earlier: OpenSeries, *, same: bool = False) -> None:
    """Let what was published be known from the start: nothing else of a series is carried over."""
    if earlier.newest is not None:
        known = read_table(earlier.newest / "queries.parquet")
        kept.know(known.column("query").combine_chunks(), np.asarray(known.column("found")) if same else 0)


class _Work:
    """One run on the folder of a series, which is locked."""

    def __init__(self, series: OpenSeries, report: Callable[[str], object]) -> None:
        self.series, self.report = series, report
        self.plan, self.ledger, self.entry = series.plan, series.ledger, series.entry
        if self.entry.event != self.plan.event:
            raise IntegrityError(
                "the rounds that follow from series.json are not those that were charged.",
                "Restore it, and go on with the version of Tacit that opened the series. Nothing was drawn.",
            )
        self.source: RandomSource = OperatingSystemRandomness()
        self.path = series.folder / STATE
        self.key_path = Path(series.about["key"])

    def next(self, log: Path, taken: Preparation, restart: bool) -> Release:
        """Finish what is under way, then take in the log and publish its week."""
        self.report("reading")  # first, for it takes the most memory, and what it frees is used again
        open_ledger(self.ledger, log, None)  # refused if the data set has another
        asked = coded(taken.read(log, ("user", "query")))
        self._open(restart)
        course = self.kept.course
        with log.open("rb") as file:
            digest = self.key.mark(file, json.dumps(taken.to_dict()))
        if course.week:
            interrupted = not self._folder(course.week).exists()
            self._finish()
            week = self.kept.logs.get(digest)
            if week and (interrupted or pq.read_metadata(log).num_rows):  # empty logs are all alike
                return self._release(week)
        if course.week >= self.plan.mechanism.weeks:
            raise InfeasibleError(
                f"all {self.plan.mechanism.weeks} weeks of this series are published.",
                "Close it (tacit series close), and open another with --after, which is a second budget.",
            )
        self._take_in(asked, digest)
        del asked  # which is large
        self._finish()
        return self._release(course.week)

    def _folder(self, week: int) -> Path:
        return self.series.folder / f"week-{week:02d}"

    def _open(self, restart: bool) -> None:
        """Read the state, and see that it is the one that the ledger speaks of, and the ledger the newest."""
        require_newest(self.ledger)
        if restart:
            self._start_anew()
            return
        if not self.path.is_file():
            raise _lost("its state is gone")
        self.key = SeriesKey.read(self.key_path)
        try:
            self.kept = KeptCourse.read(self.path, self.key, self.plan.rounds)
        except FileNotFoundError:
            raise _lost("a part of its state is gone") from None
        course = self.kept.course
        if self.entry.step < course.noted:
            raise IntegrityError(
                f"the ledger is at step {self.entry.step} of this series, its state at {course.noted}.",
                "This is an old copy of the ledger; restore the newest.",
            )
        if self.entry.step > course.noted:
            notes = [each for each in self.ledger.chain().records if each["type"] in ("step", "issued")]
            said = [each["type"] for each in notes if each["of"] == self.entry.number]
            if said[-1] == "issued" or self.entry.mark != self.kept.mark:
                raise _lost(f"its state is of step {course.noted}, and the ledger is at {self.entry.step}")
            self.report("steps were interrupted; they are left out.")
            while course.step < self.entry.step:
                course.leave_out()
            self.kept.write(self.path, self.key)

    def _start_anew(self) -> None:
        """Go on without the state: empty standings, a new key, everything saved so far taken as spent."""
        with suppress(OSError):
            self.key_path.unlink(missing_ok=True)
        self.key = SeriesKey.make(self.key_path)
        self.kept = KeptCourse(Course(self.plan.rounds))
        _seed(self.kept, self.series, same=True)
        self.kept.course.start_anew(self.entry.step)
        self.kept.write(self.path, self.key)

    def _take_in(self, asked: tuple[Coded, Coded], digest: str) -> None:
        course = self.kept.course
        late = course.step > course.week * course.steps_of_week  # steps of this week were left out
        self.kept.take_in(asked, self.path, self.key, self.source)
        self.kept.compact()
        self.kept.logs[digest] = course.week
        if late:
            self.kept.write(self.path, self.key)

    def _finish(self) -> None:
        """Draw what is left of the week, and publish it if it is not."""
        course = self.kept.course
        end = course.week * course.steps_of_week
        while course.step < end:
            counting = course.step + 1 == end
            if not counting or course.ends_with_count(course.week):
                self.report("counting" if counting else "drawing noise")
                course.noted = end if counting else end - 1
                for step in range(course.step + 1, course.noted + 1):
                    self.ledger.note_step(self.entry, step, self.kept.mark)
                while course.step < course.noted - counting:
                    course.draw_round(self.source)
                if counting:
                    course.draw_count(self.source)
                    self.kept.compact()
            if course.step + 1 == end:
                course.end_week()
            self.kept.write(self.path, self.key)
        output = self._folder(course.week)
        if not output.exists():
            self.report("writing")
            prepared = Preparation(scrub=self.series.about["scrub"])
            order = Order(output, output, self.plan, prepared, self.ledger)
            with atomic_directory(output) as folder:
                _write_week(folder, self.kept, order, self.entry)
                with suppress(OSError):  # before anybody sees it, so that an older ledger is told from now on
                    Register().remember(self.ledger)
            write_page(self.series)

    def _release(self, week: int) -> Release:
        """A week as it is published."""
        output = self._folder(week)
        manifest = read_manifest(output)
        tables = {part.table: read_table(output / f"{part.table}.parquet") for part in self.plan.schedule}
        return Release(output, manifest, self.series.entry, tables)

    def erase(self, users: list[str]) -> int:
        """Forget some users."""
        self._open(restart=False)
        numbers = self.kept.numbers_of(np.unique(self.key.users(pa.array(users, pa.string())), axis=0))
        known = numbers[numbers < len(self.kept.users)]
        self.kept.course.erase(known)
        self.kept.write(self.path, self.key)
        return int(known.size)


def _write_week(folder: Path, kept: KeptCourse, order: Order, entry: Entry) -> None:
    """Write what is published by now into a folder, and note it in the ledger: the opening's, or a week's."""
    folder.mkdir(exist_ok=True)
    order = replace(order, about=read_about(order.ledger.path, About().to_dict()))
    tables = withheld(_tables_of(kept), scrub=order.preparation.scrub)
    write_release(folder, order, tables, entry)
    note = order.ledger.note_issue if kept.course.week else order.ledger.note_release
    note(entry, file_hash(folder / MANIFEST))


def _tables_of(kept: KeptCourse) -> Tables:
    """Make what is published of the state: functions of noisy numbers alone."""
    course = kept.course
    found = np.flatnonzero(course.found >= 0)

    def rows(items: Any, **columns: Any) -> pa.Table:
        shown = np.bincount(items, minlength=len(kept.texts)) > 0
        numbers = [pa.array(each, pa.int64()) for each in columns.values()]
        fields = [pa.field("query", pa.string(), nullable=False), *((name, pa.int64()) for name in columns)]
        return in_order(pa.table([kept.texts.filter(pa.array(shown)), *numbers], schema=pa.schema(fields)))

    tables = {"queries": rows(found, found=course.found[found])}
    if course.rounds.tally is None:
        return tables
    counted, numbers, off = course.tallied, course.last / FULL, deviation_of(course, course.weights)
    shown = numbers >= _SHOWN_FROM * off
    tables["counts"] = rows(
        counted,
        count=pa.array(_up(numbers - 0.5), mask=~shown),
        deviation=pa.array(_up(off), mask=~shown),
        fewer_than=pa.array(_up(_BELOW * off), mask=shown),
        week=np.full(counted.size, course.count_number * course.rounds.tally.every),
    )
    change = (course.last - course.before[:, 0]) / FULL
    noise = np.hypot(off, deviation_of(course, course.before[:, 1]))
    up = (course.before[:, 1] > 0) & (change >= _RISING * noise)
    tables["rising"] = rows(counted[up], change=_up(change[up] - 0.5), deviation=_up(noise[up]))
    return tables


def _up(numbers: Any) -> Any:
    return np.ceil(numbers).astype(np.int64)


def _lost(what: str) -> InputError:
    return InputError(
        f"{what}: this is not the newest state.",
        "Put the newest state back. If it is lost, `restart=True` goes on with empty standings: what was "
        "published stays sound, and later weeks find less.",
    )


def write_page(series: OpenSeries) -> Path:
    """Write the page of the whole series, made of what is published."""
    path = series.folder / PAGE
    with atomic_file(path) as temporary:
        state = series.ledger.state()
        page = render_series(series.to_dict(), series.plan, series.weeks, series.newest, state)
        temporary.write_text(page, encoding="utf-8")
    return path
