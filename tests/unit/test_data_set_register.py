"""A data set is known again by its content, through copies and growth; strangers are not; the marks tell
nothing.
"""

from __future__ import annotations

import hashlib
import hmac
import math
import os
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit import Guarantee, InputError, IntegrityError, Ledger
from tacit.privacy.accounting.events import ApproximateDp
from tacit.privacy.guarantee import GuaranteeKind, Neighbours
from tacit.privacy.ledger.data_set import LEAST_SHARE, MARKS, Traces
from tacit.privacy.ledger.register import Register, open_ledger
from tacit.searchlog import SCHEMA

_BUDGET = Guarantee(GuaranteeKind.PURE, Neighbours.ADD_REMOVE, 4.0)
_KEY = bytes(range(32))


def _log(path: Path, first: int, last: int, name: str = "u") -> Path:
    """Records number ``first`` to before ``last`` of an endless log."""
    numbers = range(first, last)
    columns = {
        "user": [f"{name}{n * 7919 % 500}" for n in numbers],
        "query": [f"query {n * 104729 % 1000}" for n in numbers],
        "time": [datetime(2006, 3, 1) + timedelta(seconds=13 * n) for n in numbers],
        "rank": [None for _ in numbers],
        "url": [None for _ in numbers],
    }
    pq.write_table(pa.table(columns, schema=SCHEMA), path)
    return path


def test_a_log_is_known_as_it_grows_shrinks_and_is_shuffled(tmp_path: Path) -> None:
    sketch = Traces(_log(tmp_path / "week1", 0, 5_000), _KEY).sketch
    assert len(sketch.marks) == MARKS
    shuffled = tmp_path / "shuffled"
    table = pq.read_table(tmp_path / "week1")
    pq.write_table(table.take(pa.array(list(reversed(range(5_000))))), shuffled)
    same = {
        "grown": _log(tmp_path / "a", 0, 50_000),
        "without its oldest half": _log(tmp_path / "b", 2_500, 9_000),
        "a fifth of it": _log(tmp_path / "c", 1_000, 2_000),
        "shuffled": shuffled,
    }
    for what, log in same.items():
        assert Traces(log, _KEY).shows([sketch]) == [True], what
    others = {
        "other users": _log(tmp_path / "d", 0, 5_000, name="v"),
        "other weeks": _log(tmp_path / "e", 5_000, 10_000),
        "empty": _log(tmp_path / "f", 0, 0),
    }
    for what, log in others.items():
        assert Traces(log, _KEY).shows([sketch]) == [False], what
    assert Traces(same["grown"], b"another key").shows([sketch]) == [False]


def test_a_thinned_log_is_known_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.privacy.ledger.data_set._THINNED_TO", 1_000)
    sketch = Traces(_log(tmp_path / "a", 0, 20_000), _KEY).sketch
    assert sketch.level == 5 and len(sketch.marks) == MARKS
    assert Traces(_log(tmp_path / "b", 5_000, 60_000), _KEY).shows([sketch]) == [True]
    assert Traces(_log(tmp_path / "c", 20_000, 60_000), _KEY).shows([sketch]) == [False]


def test_a_log_that_knows_days_alone_is_known_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Few of its times stay when it is thinned as far as others: maybe none."""
    monkeypatch.setattr("tacit.privacy.ledger.data_set._THINNED_TO", 10)
    logs = [_log(tmp_path / name, *part) for name, part in (("a", (0, 4_000)), ("b", (1_000, 9_000)))]
    for log in logs:
        table = pq.read_table(log)
        days = table["time"].cast(pa.date32()).cast(pa.timestamp("us"))
        pq.write_table(table.set_column(2, SCHEMA.field("time"), days), log)
    sketch = Traces(logs[0], _KEY).sketch
    assert len(sketch.marks) == MARKS and sketch.level < 8
    assert Traces(logs[1], _KEY).shows([sketch]) == [True]


def test_how_surely_a_part_is_known() -> None:
    """The number of marks found is binomial: a part of 15% is missed less than once in a million."""
    needed = math.ceil(LEAST_SHARE * MARKS)
    missed = sum(math.comb(MARKS, n) * 0.15**n * 0.85 ** (MARKS - n) for n in range(needed))
    assert missed < 1e-6


def test_nothing_of_a_record_is_kept_and_everything_is_private(tmp_path: Path) -> None:
    log = _log(tmp_path / "log.parquet", 0, 300, "somebody-")
    open_ledger(None, log, _BUDGET, Register(tmp_path / "state"))
    kept = b"".join(path.read_bytes() for path in (tmp_path / "state").iterdir())
    for word in (b"query 1", b"somebody-4", b"2006-03-01"):
        assert word not in kept
    for path in (tmp_path / "state").iterdir():
        assert path.stat().st_mode & 0o077 == 0, path


def _spend(ledger: Ledger, register: Register) -> None:
    promise = Guarantee(GuaranteeKind.PURE, Neighbours.ADD_REMOVE, 0.5)
    ledger.spend(ApproximateDp(promise), "a release")
    register.remember(ledger)


def test_links_and_copies_lead_to_the_one_ledger(tmp_path: Path) -> None:
    register = Register(tmp_path / "state")
    log = _log(tmp_path / "log.parquet", 0, 2_000)
    ledger = open_ledger(None, log, _BUDGET, register)
    (tmp_path / "soft.parquet").symlink_to(log)
    os.link(log, tmp_path / "hard.parquet")
    (tmp_path / "copy.parquet").write_bytes(log.read_bytes())
    for name in ("soft", "hard", "copy"):
        other = open_ledger(None, tmp_path / f"{name}.parquet", _BUDGET, register)
        assert other.path == ledger.path
        with pytest.raises(InputError, match="has its ledger already"):
            open_ledger(tmp_path / "second.ledger", tmp_path / f"{name}.parquet", _BUDGET, register)
    assert open_ledger(None, _log(log, 0, 4_000), None, register).path == ledger.path
    assert not (tmp_path / "second.ledger").exists()


def test_a_log_whose_old_records_were_deleted_keeps_its_ledger(tmp_path: Path) -> None:
    register = Register(tmp_path / "state")
    log = _log(tmp_path / "log.parquet", 0, 2_000)
    ledger = open_ledger(None, log, _BUDGET, register)
    # Each week half of the last one is deleted: after three weeks nothing of the first is left.
    for week in (1, 2, 3, 4):
        assert (
            open_ledger(None, _log(log, 1_000 * week, 1_000 * week + 2_000), None, register).path
            == ledger.path
        )


def test_a_vanished_ledger_is_missed_and_a_moved_one_found(tmp_path: Path) -> None:
    register = Register(tmp_path / "state")
    log = _log(tmp_path / "log.parquet", 0, 2_000)
    ledger = open_ledger(None, log, _BUDGET, register)
    _spend(ledger, register)
    moved = ledger.path.rename(tmp_path / "moved.ledger")
    with pytest.raises(InputError, match=r"has vanished: it was last seen at .* with 2 entries"):
        open_ledger(None, log, _BUDGET, register)
    assert not ledger.path.exists()
    assert open_ledger(moved, log, _BUDGET, register).state().length == 2
    assert open_ledger(None, log, None, register).path == moved  # from now on known there


def test_an_older_copy_of_the_ledger_is_refused(tmp_path: Path) -> None:
    register = Register(tmp_path / "state")
    log = _log(tmp_path / "log.parquet", 0, 2_000)
    ledger = open_ledger(None, log, _BUDGET, register)
    _spend(ledger, register)
    backup = ledger.path.read_bytes()
    _spend(ledger, register)
    newest = ledger.path.read_bytes()
    ledger.path.write_bytes(backup)
    with pytest.raises(IntegrityError, match=r"had 3 entries.*not among the 2"):
        open_ledger(None, log, None, register)
    # Even a copy that went on by itself is another one.
    Ledger(ledger.path).spend(
        ApproximateDp(Guarantee(GuaranteeKind.PURE, Neighbours.ADD_REMOVE, 0.1)), "fork"
    )
    with pytest.raises(IntegrityError, match="went separate ways"):
        open_ledger(None, log, None, register)
    ledger.path.write_bytes(newest)
    assert open_ledger(None, log, None, register).state().length == 3


def test_the_register_never_goes_back(tmp_path: Path) -> None:
    """Of two runs that end at once the slower one saw fewer entries; what it notes forgets none."""
    log, register = _log(tmp_path / "log.parquet", 0, 1_000), Register(tmp_path / "state")
    ledger = open_ledger(None, log, _BUDGET, register)
    older = tmp_path / "older.ledger"
    older.write_bytes(ledger.path.read_bytes())
    _spend(ledger, register)
    register.remember(Ledger(older))
    (known,) = register.all()
    assert (known.entries, known.head, known.path) == (2, ledger.chain().head, ledger.path.resolve())


def test_of_many_who_open_at_once_one_opens_and_all_use_it(tmp_path: Path) -> None:
    log = _log(tmp_path / "log.parquet", 0, 500)
    copies = [log]
    for n in range(7):
        copies.append(tmp_path / f"copy-{n}.parquet")
        copies[-1].write_bytes(log.read_bytes())

    def opened(path: Path) -> Path:
        return open_ledger(None, path, _BUDGET, Register(tmp_path / "state")).path

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(opened, copies))) == 1
    assert len(list(tmp_path.glob("*.ledger"))) == 1


def test_a_damaged_register_is_said_to_be_one(tmp_path: Path) -> None:
    (tmp_path / "state").mkdir()
    (tmp_path / "state" / "ledgers.sqlite").write_bytes(
        b"this is no database, but long enough to be one" * 100
    )
    with pytest.raises(IntegrityError, match="register of ledgers"):
        open_ledger(None, _log(tmp_path / "log.parquet", 0, 10), _BUDGET, Register(tmp_path / "state"))


def test_a_state_folder_that_cannot_be_made_is_named_with_a_remedy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TACIT_STATE", str(tmp_path / "file" / "state"))
    with pytest.raises(InputError, match="TACIT_STATE"):
        open_ledger(None, _log(tmp_path / "log.parquet", 0, 10), _BUDGET)
    assert not (tmp_path / "log.parquet.ledger").exists()


def test_a_log_that_changed_in_its_place_is_read_anew(tmp_path: Path) -> None:
    """Nothing about a log outlasts the call that read it: another log under the same name is another."""
    register = Register(tmp_path / "state")
    log = _log(tmp_path / "log.parquet", 0, 2_000)
    ledger = open_ledger(tmp_path / "a.ledger", log, _BUDGET, register)
    assert register.of_log(log)[0].path == ledger.path
    times = log.stat()
    _log(log, 0, 2_000, name="v")
    os.utime(log, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert register.of_log(log) == []
    with pytest.raises(InputError, match="another data set"):
        ledger.require_log(log)
    with pytest.raises(InputError, match="another data set"):
        open_ledger(ledger.path, log, None, register)


def test_openings_are_those_of_a_whole_sort(tmp_path: Path) -> None:
    """Ties at the last time included; what was clicked plays no part."""
    numbers = range(3_000)
    columns = {
        "user": [f"u{n * 7919 % 50}" for n in numbers],
        "query": [f"query {n * 104729 % 1000}" for n in numbers],
        "time": [datetime(2006, 3, 1) + timedelta(hours=n * 31 % 40) for n in numbers],
        "rank": [None for _ in numbers],
        "url": [[None, "", "http://a"][n % 3] for n in numbers],
    }
    pq.write_table(pa.table(columns, schema=SCHEMA), tmp_path / "log")
    rows = sorted(zip(*(columns[name] for name in ("time", "user", "query")), strict=True))
    digest = hashlib.sha256()
    for time, *texts in rows[:1000]:
        passed = (time - datetime(1970, 1, 1)) // timedelta(microseconds=1)
        for text in (str(passed), *texts):
            digest.update(len(text.encode()).to_bytes(8, "little") + text.encode())
    expected = hmac.new(b"salt", digest.digest(), hashlib.sha256).hexdigest()
    assert Traces(tmp_path / "log").fingerprint(b"salt") == expected


def test_a_log_without_its_addresses_is_the_same_data_set(tmp_path: Path) -> None:
    log, register = _log(tmp_path / "log", 0, 2_000), Register(tmp_path / "register")
    ledger = open_ledger(tmp_path / "a.ledger", log, _BUDGET, register)
    table = pq.read_table(log)
    cut = table.set_column(4, SCHEMA.field("url"), pa.array(["http://a"] * 2_000))
    pq.write_table(cut, tmp_path / "cut", row_group_size=300)
    assert open_ledger(None, tmp_path / "cut", None, register).path == ledger.path
    Ledger(ledger.path).require_log(tmp_path / "cut")


def test_ledgers_and_registers_of_before_are_known_by_the_addresses_too(tmp_path: Path) -> None:
    """They were opened when addresses took part, by a register without a column that says so."""
    log, register = _log(tmp_path / "log", 0, 2_000), Register(tmp_path / "register")
    seen = Traces(log, register._key(), urls=True)
    ledger = Ledger.write(tmp_path / "a.ledger", _BUDGET, log=seen)
    ledger.require_log(log)
    with pytest.raises(InputError, match="another data set"):
        ledger.require_log(_log(tmp_path / "other", 0, 2_000, "v"))
    register.remember(ledger)
    with closing(sqlite3.connect(register.folder / "ledgers.sqlite")) as connection, connection:
        connection.execute("ALTER TABLE sketches DROP COLUMN urls")
        row = (ledger.identity, "latest", seen.sketch.level, " ".join(seen.sketch.marks))
        connection.execute("INSERT INTO sketches VALUES (?, ?, ?, ?)", row)
    assert [known.id for known in register.of_log(log)] == [ledger.identity]
    assert not register.of_log(tmp_path / "other")
    other = Ledger.write(tmp_path / "b.ledger", _BUDGET, log=tmp_path / "other")
    register.remember(other, tmp_path / "other")
    assert [known.id for known in register.of_log(tmp_path / "other")] == [other.identity]
    assert [known.id for known in register.of_log(log)] == [ledger.identity]
