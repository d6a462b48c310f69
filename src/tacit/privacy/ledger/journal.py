"""An append-only file of JSON lines, each bound to all before it by a hash.

A line is a canonical JSON object and a newline. Its ``hash`` is the SHA-256 of the object without
it; its ``previous`` is the hash of the line before (zeros for the first). To change, drop or swap
a line breaks the chain after it. Whoever can rewrite the whole file can also rebuild the chain, or
cut off its end: against that, keep a later ``hash`` somewhere else (each release's manifest does).

Writers exclude each other by a lock on the file. An append is on the disk before it returns. A
crash in the middle of one leaves a last line without its newline, a *fragment*: the append never
returned, so nobody acted on it. The next append replaces the fragment by an entry that records it.
"""

import fcntl
import glob
import hashlib
import json
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tacit.errors import InputError, IntegrityError, TacitError
from tacit.files import LEDGER_BEGINS, sync

NO_HASH = "0" * 64
"""What the first line names as the hash before it."""

Record = Mapping[str, Any]

_PATIENCE_SECONDS = 30.0


@dataclass(frozen=True)
class Chain:
    """The checked content of a journal."""

    records: tuple[Record, ...]
    fragment: bytes  # what an interrupted append left after the last whole line; empty otherwise

    @property
    def head(self) -> str:
        """The hash of the last line, which stands for the whole chain."""
        return str(self.records[-1]["hash"])

    def holds(self, head: str) -> bool:
        """Whether this is the chain that once ended in ``head``, or goes on from it."""
        return any(record["hash"] == head for record in reversed(self.records))


def _canonical(record: Record) -> bytes:
    return json.dumps(record, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _sealed(body: Record, number: int, previous: str) -> dict[str, Any]:
    """The body with its place in the chain; ``hash`` comes last and covers everything before it."""
    record = {"entry": number, **body, "previous": previous}
    return {**record, "hash": hashlib.sha256(_canonical(record)).hexdigest()}


def _checked(line: bytes, number: int, previous: str) -> dict[str, Any]:
    problem = f"entry {number} of the ledger"
    remedy = "The file was changed or damaged; restore it from a copy. Nothing may be spent from it."
    try:
        record = json.loads(line)
        stated = record.pop("hash")
    except (ValueError, KeyError, AttributeError, TypeError):
        raise IntegrityError(f"{problem} is not readable.", remedy) from None
    if record.get("entry") != number:
        raise IntegrityError(f"{problem} is numbered {record.get('entry')!r}.", remedy)
    if record.get("previous") != previous:
        raise IntegrityError(f"{problem} does not follow from the entry before it.", remedy)
    if hashlib.sha256(_canonical(record)).hexdigest() != stated:
        raise IntegrityError(f"{problem} does not match its own hash.", remedy)
    record["hash"] = stated
    if _canonical(record) != line:
        raise IntegrityError(f"{problem} is not written in the canonical form.", remedy)
    return dict(record)


def _parse(content: bytes, known: tuple[bytes, tuple[Record, ...]] = (b"", ())) -> Chain:
    """Return the chain of a file's content; whole lines that are ``known`` are not checked again."""
    checked, before = known if content.startswith(known[0]) else (b"", ())
    *lines, fragment = content[len(checked) :].split(b"\n")
    if not lines and not before:
        raise IntegrityError(
            "this file holds no whole entry of a ledger.",
            "If it was a ledger, it was emptied or cut short: restore it from a copy, and make no new one in "
            "its place. What was spent is not known without it.",
        )
    if not content.startswith(LEDGER_BEGINS):
        raise IntegrityError(
            "this file is no ledger: it does not begin as one.",
            "Name the data set's ledger, LOG.ledger unless said otherwise. If this was it, it is damaged; "
            "restore it from a copy.",
        )
    records = list(before)
    for line in lines:
        records.append(_checked(line, len(records), records[-1]["hash"] if records else NO_HASH))
    if fragment:
        # Whole but for its newline, it may have been acted on, so it counts. Cut short, it stays a fragment:
        # nobody was told that it was written, and the next append records what is left of it as torn.
        with suppress(IntegrityError):
            records.append(_checked(fragment, len(records), records[-1]["hash"]))
            fragment = b""
    return Chain(tuple(records), fragment)


class Journal:
    """One such file.

    The file is read at every call, since other processes may have written to it. What was read before and has
    not changed is not checked again, so that whoever keeps the object checks every line once.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._content = b""
        self._chain = Chain((), b"")

    @staticmethod
    def create(path: Path, first: Record) -> None:
        """Make the file with its first entry: whole or not at all, and never over an existing one."""
        if not path.parent.is_dir():
            raise InputError(f"the folder {path.parent} does not exist.", "Create it first.")
        temporary = path.parent / f".{path.name}.partial-{os.getpid()}"
        temporary.unlink(missing_ok=True)
        try:
            handle = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
            try:
                _write_whole(handle, _canonical(_sealed(first, 0, NO_HASH)) + b"\n", 0)
                os.fsync(handle)
            finally:
                os.close(handle)
            try:
                os.link(temporary, path)
            except FileExistsError:
                raise InputError(f"{path} exists already.", "Choose another name for the ledger.") from None
        except OSError as error:
            raise _unwritable(path, error) from error
        finally:
            temporary.unlink(missing_ok=True)
        # What killed processes left of the same attempt; a live one would now be refused anyway.
        for leftover in path.parent.glob(f".{glob.escape(path.name)}.partial-*"):
            leftover.unlink(missing_ok=True)
        sync(path.parent)

    def read(self) -> Chain:
        """The whole chain, every hash checked."""
        with self._locked(os.O_RDONLY, fcntl.LOCK_SH) as handle:
            return self._parsed(_content(handle))

    def _parsed(self, content: bytes) -> Chain:
        if content != self._content or not content:
            whole = self._content.rpartition(b"\n")[0] + b"\n" if self._content else b""
            chain = _parse(content, (whole, self._chain.records[: whole.count(b"\n")]))
            self._content, self._chain = content, chain
        return self._chain

    def append(
        self, make: Callable[[Chain], Record], *, describe_fragment: Callable[[bytes], Record]
    ) -> dict[str, Any]:
        """Add what ``make`` says, given the chain so far; on the disk when this returns.

        ``make`` runs under the lock: nobody else writes between what it sees and what it adds. If it
        raises, nothing is added. ``describe_fragment`` says what to record of a torn append.
        """
        with self._locked(os.O_RDWR, fcntl.LOCK_EX) as handle:
            content = _content(handle)
            chain = self._parsed(content)
            if chain.fragment:
                content = self._replace_fragment(handle, content, chain, describe_fragment(chain.fragment))
                chain = self._parsed(content)
            record = _sealed(make(chain), len(chain.records), chain.head)
            line = (b"" if content.endswith(b"\n") else b"\n") + _canonical(record) + b"\n"
            self._write(handle, line, len(content))
            self._parsed(content + line)
            return record

    def _replace_fragment(self, handle: int, content: bytes, chain: Chain, body: Record) -> bytes:
        """Write the record of a torn append over it: at no moment is there less in the file than now."""
        whole = content[: len(content) - len(chain.fragment)]
        line = _canonical(_sealed(body, len(chain.records), chain.head)) + b"\n"
        self._write(handle, line, len(whole))
        os.ftruncate(handle, len(whole) + len(line))
        os.fsync(handle)
        return whole + line

    def _write(self, handle: int, data: bytes, at: int) -> None:
        """Write and sync; if the disk refuses, the file is left as it was."""
        size = os.fstat(handle).st_size
        try:
            _write_whole(handle, data, at)
            os.fsync(handle)
        except OSError as error:
            if at == size:
                # If even this fails, what stays behind is a fragment, which the next append handles.
                with suppress(OSError):
                    os.ftruncate(handle, size)
            raise _unwritable(self.path, error) from error

    @contextmanager
    def _locked(self, flags: int, lock: int) -> Iterator[int]:
        try:
            handle = os.open(self.path, flags | os.O_CLOEXEC)
        except FileNotFoundError:
            remedy = "Name its place, or open one: tacit ledger init, or Ledger.create in Python."
            raise InputError(f"there is no ledger at {self.path}.", remedy) from None
        except OSError as error:
            raise InputError(f"the ledger {self.path} cannot be opened: {error.strerror}.") from error
        try:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise InputError(f"{self.path} is not a file, so it is no ledger.", "Name the ledger's file.")
            _acquire(handle, lock)
            yield handle
        finally:
            os.close(handle)  # releases the lock


def _acquire(handle: int, lock: int) -> None:
    deadline = time.monotonic() + _PATIENCE_SECONDS
    while True:
        try:
            fcntl.flock(handle, lock | fcntl.LOCK_NB)
            return
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise TacitError(
                    f"the ledger was locked by another process for {_PATIENCE_SECONDS:g} seconds.",
                    "Wait for it to finish, or end it if it hangs.",
                ) from None
            time.sleep(0.005)


def _content(handle: int) -> bytes:
    with open(handle, "rb", closefd=False) as file:
        return file.read()


def _write_whole(handle: int, data: bytes, at: int) -> None:
    while data:
        written = os.pwrite(handle, data, at)
        data, at = data[written:], at + written


def _unwritable(path: Path, error: OSError) -> TacitError:
    return TacitError(
        f"the ledger {path} could not be written: {error.strerror}.",
        "Nothing was released. Make room (or fix the disk) and try again.",
    )
