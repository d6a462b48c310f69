"""The register of ledgers, and opening the ledger of a data set by it.

The register is a SQLite file in the user's state folder, beside the secret key of its sketches; both for
their owner alone. It holds for each ledger its place, its last known entry and two sketches of its data
set: of the log when the ledger was opened, and of the log last released. Losing it loses no charge: the
ledgers are what counts.

A second ledger is a second budget. Deleting a ledger, releasing through a link to the log or a copy of it,
or going back to an old copy of the ledger would each make one without anybody meaning to. So the log is
looked up in the register before its ledger is opened:

- the data set is not known: its ledger is used, or opened with the budget given;
- its ledger lies where it is looked for: that one is used, if it holds the last entry known;
- its ledger lies somewhere else: that one is used, unless another was asked for;
- its ledger is gone: refused, with how to restore or knowingly replace it;
- the ledger lacks entries that it had: refused, with how to restore or knowingly accept it.
"""

import fcntl
import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from tacit.errors import InputError, IntegrityError
from tacit.files import state_directory
from tacit.privacy.accounting.composition import CompositionRule
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.data_set import Sketch, Traces
from tacit.privacy.ledger.ledger import Ledger, default_ledger, refuse_second_ledger
from tacit.privacy.noise.randomness import OperatingSystemRandomness

_KEY_BYTES = 32
_TABLES = """
CREATE TABLE IF NOT EXISTS ledgers (
    id TEXT PRIMARY KEY, path TEXT NOT NULL, label TEXT NOT NULL, opened TEXT NOT NULL,
    head TEXT NOT NULL, entries INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS sketches (
    ledger TEXT NOT NULL REFERENCES ledgers (id) ON DELETE CASCADE,
    which TEXT NOT NULL, level INTEGER NOT NULL, marks TEXT NOT NULL, urls INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (ledger, which)
);
"""


@dataclass(frozen=True)
class Known:
    """A ledger as it was last seen."""

    id: str  # the hash of its first entry, which no later entry changes
    path: Path
    head: str  # the hash of its last entry then
    entries: int  # how many entries it had then


class Register:
    """The register in a folder; the user's state folder unless another is named."""

    def __init__(self, folder: str | Path | None = None) -> None:
        try:
            self.folder = Path(folder) if folder is not None else state_directory()
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        except OSError as error:
            raise InputError(
                f"the state folder, in which ledgers are known, cannot be used: {error.strerror}.",
                "Name another one that you can write to with the environment variable TACIT_STATE.",
            ) from error
        self._file = self.folder / "ledgers.sqlite"

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        # Private from its first byte on.
        handle = os.open(self._file, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        os.close(handle)
        try:
            with closing(sqlite3.connect(self._file, timeout=60)) as connection:
                connection.execute("PRAGMA foreign_keys = ON")
                connection.executescript(_TABLES)
                if not any(row[1] == "urls" for row in connection.execute("PRAGMA table_info(sketches)")):
                    connection.execute("ALTER TABLE sketches ADD COLUMN urls INTEGER NOT NULL DEFAULT 1")
                with connection:
                    yield connection
        except sqlite3.DatabaseError as error:
            raise IntegrityError(
                f"the register of ledgers, {self._file}, is damaged.",
                "Restore it from a copy. Without one, move it away: the ledgers themselves are not"
                " affected, but a "
                "vanished one will not be noticed until it was used again.",
            ) from error

    @contextmanager
    def opening(self) -> Iterator[None]:
        """While a ledger is being opened, nobody else opens one."""
        handle = os.open(self.folder / "opening.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def _key(self) -> bytes:
        """The secret key of all sketches, made when first needed."""
        path = self.folder / "sketch.key"
        if not path.exists():
            fresh = self.folder / f".sketch.key.{os.getpid()}-{threading.get_ident()}"
            handle = os.open(fresh, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
            with os.fdopen(handle, "wb") as file:
                file.write(OperatingSystemRandomness().bits(_KEY_BYTES))
                file.flush()
                os.fsync(file.fileno())
            with suppress(FileExistsError):  # another process was first: its key counts
                os.link(fresh, path)
            fresh.unlink(missing_ok=True)
        key = path.read_bytes()
        if len(key) != _KEY_BYTES:
            raise IntegrityError(f"the key of the register, {path}, is damaged.", "Restore it from a copy.")
        return key

    def all(self) -> list[Known]:
        """List every ledger that is known, the oldest first."""
        with self._connection() as connection:
            rows = connection.execute(
                "SELECT id, path, head, entries FROM ledgers ORDER BY opened, id"
            ).fetchall()
        return [Known(row[0], Path(row[1]), *row[2:]) for row in rows]

    def traces(self, log: str | Path) -> Traces:
        """Return what ``log`` is known by in this register."""
        return Traces(log, self._key())

    def of_log(self, log: Traces | str | Path) -> list[Known]:
        """The ledgers of the data set that ``log`` is a state of: none, one, or several by mistake."""
        known = {entry.id: entry for entry in self.all()}
        with self._connection() as connection:
            rows = connection.execute("SELECT ledger, level, marks, urls FROM sketches").fetchall()
        sketches = [Sketch(level, tuple(marks.split()), bool(urls)) for _, level, marks, urls in rows]
        if not sketches:
            return []
        matches = Traces.of(log, self._key()).shows(sketches)
        ids = dict.fromkeys(row[0] for row, same in zip(rows, matches, strict=True) if same)
        return [known[ledger] for ledger in ids if ledger in known]

    def remember(self, ledger: Ledger, log: Traces | str | Path | None = None) -> None:
        """Note the ledger as it is now and, with ``log``, the state of its data set."""
        chain = ledger.chain()
        first, identity = chain.records[0], ledger.identity
        place = str(ledger.path.resolve())
        with self._connection() as connection:
            connection.execute(
                "INSERT INTO ledgers VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET"
                " path = excluded.path, head = excluded.head, entries = excluded.entries"
                " WHERE excluded.entries >= ledgers.entries",
                (identity, place, first["label"], first["time"], chain.head, len(chain.records)),
            )
        if log is not None:
            sketch = Traces.of(log, self._key()).sketch
            with self._connection() as connection:
                for which, rule in (
                    ("first", "NOTHING"),
                    ("latest", "UPDATE SET level = excluded.level, marks = excluded.marks, urls = 0"),
                ):
                    connection.execute(
                        f"INSERT INTO sketches VALUES (?, ?, ?, ?, 0) ON CONFLICT DO {rule}",
                        (identity, which, sketch.level, " ".join(sketch.marks)),
                    )

    def forget(self, identity: str) -> None:
        with self._connection() as connection:
            connection.execute("DELETE FROM ledgers WHERE id = ?", (identity,))


def refuse_older(ledger: Ledger, known: Known) -> None:
    """Refuse a ledger that lacks the last entry it was known to have."""
    chain = ledger.chain()
    if chain.holds(known.head):
        return
    raise IntegrityError(
        f"the ledger {ledger.path} is not as it was left: it had {known.entries} entries, and the last of "
        f"them is not among the {len(chain.records)} it has now. It was restored from an old copy, or is one "
        "of two copies that went separate ways.",
        f"Restore its newest copy (last seen at {known.path}). If that is lost, its charges are, too: "
        f"tacit ledger adopt {ledger.path} --log LOG, or Ledger.adopt in Python, goes on from this copy "
        "knowingly.",
    )


def _known_as(ledger: Ledger) -> Known | None:
    """The ledger as this machine's register knows it; None where it does not, or cannot be read."""
    try:
        return next((entry for entry in Register().all() if entry.id == ledger.identity), None)
    except (OSError, InputError):
        return None


def require_newest(ledger: Ledger) -> None:
    """Refuse a ledger that lacks entries which this machine has seen in it."""
    known = _known_as(ledger)
    if known is not None:
        refuse_older(ledger, known)


def older_than_known(ledger: Ledger) -> int:
    """Count how many entries, at least, the ledger lacks that this machine has seen in it."""
    known, chain = _known_as(ledger), ledger.chain()
    if known is None or chain.holds(known.head):
        return 0
    return max(1, known.entries - len(chain.records))


def _vanished(known: Known) -> InputError:
    return InputError(
        f"this data set has a ledger, which has vanished: it was last seen at {known.path}, with"
        f" {known.entries} entries.",
        "Restore it there from a copy, or name its new place. If it is lost, what was spent is "
        "unknown: tacit ledger init LEDGER --log LOG --instead-of-lost, or Ledger.create with "
        "instead_of_lost=True in Python, opens another one knowingly.",
    )


def refuse_known(known: list[Known]) -> None:
    """Refuse a new ledger for a data set that has one."""
    for entry in known:
        if not entry.path.exists():
            raise _vanished(entry)
    if known:
        raise InputError(
            f"this data set has its ledger already, {known[0].path}; a second one would be a second budget.",
            "Use that one, also for copies and parts of the log.",
        )


def open_ledger(
    path: Ledger | str | Path | None,
    log: str | Path,
    budget: Guarantee | None,
    register: Register | None = None,
    *,
    label: str = "",
    composition: CompositionRule = CompositionRule.BASIC,
) -> Ledger:
    """The data set's ledger; opened with ``budget`` if the data set has none yet.

    A budget given again must be the one that the ledger has, so that the same command can be run each week.

    Args:
        path: the ledger, or where it is; unless given, ``LOG.ledger``, or where the register knows it.
        log: the log to be released.
        budget: what all releases together may cost, when the ledger is to be opened.
        register: where ledgers are known from; the user's own unless given.
        label: what people call the data set, when the ledger is to be opened; the log's name unless given.
        composition: how charges add up, when the ledger is to be opened.
    """
    log = Path(log)
    place = path.path if isinstance(path, Ledger) else Path(path) if path is not None else default_ledger(log)
    refuse_second_ledger(place, log)
    register = register if register is not None else Register()
    seen = register.traces(log)
    known = register.of_log(seen)
    if not known and not place.exists():
        if budget is None:
            raise _none_there(
                place,
                "Give `budget_epsilon` (and `budget_delta`) once to open it, or `ledger` with its place.",
            )
        with register.opening():
            # Whoever was here first has opened it; everybody else uses it.
            known = register.of_log(seen)
            if not known and not place.exists():
                ledger = Ledger.write(
                    place, budget, label=label or log.name, composition=composition, log=seen
                )
                register.remember(ledger, seen)
                return ledger
    ledger = path if isinstance(path, Ledger) else Ledger(place)
    if place.exists():
        same = next((entry for entry in known if entry.id == ledger.identity), None)
        if same is None:
            refuse_known(known)
    elif there := [entry for entry in known if entry.path.exists()]:
        if path is not None:
            refuse_known(known)
        same, ledger = there[0], Ledger(there[0].path)
    else:
        raise _vanished(known[0])
    ledger.verify()
    ledger.require_budget(budget)
    if same is None:
        ledger.require_log(seen)
    else:
        refuse_older(ledger, same)
    register.remember(ledger, seen)
    return ledger


def open_unbound(
    path: str | Path,
    budget: Guarantee | None,
    *,
    label: str = "",
    composition: CompositionRule = CompositionRule.BASIC,
) -> Ledger:
    """The ledger at ``path``, before it is known for which log; the log is looked up when it is released."""
    path, register = Path(path), Register()
    if path.exists():
        ledger = Ledger.open(path)
        ledger.require_budget(budget)
        return ledger
    with register.opening():
        for entry in register.all():  # one that was never charged may go
            if entry.path == path.resolve() and entry.entries > 1:
                raise InputError(
                    f"a ledger with {entry.entries} entries was last seen at {entry.path}, and has vanished.",
                    "Restore it there from a copy. For the ledger of another data set give `log`, by which "
                    "data sets are told apart, or choose another place.",
                )
        if budget is None:
            raise _none_there(path, "Give `epsilon` (and `delta`) once to open it.")
        ledger = Ledger.write(path, budget, label=label, composition=composition)
        register.remember(ledger)
    return ledger


def _none_there(place: Path, remedy: str) -> InputError:
    return InputError(
        f"there is no ledger at {place}, so nothing says how much may be spent on this data set.", remedy
    )
