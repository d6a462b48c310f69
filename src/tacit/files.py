"""Files: written whole or not at all, never over something that matters, and where Tacit keeps its own.

A file or directory is made beside its destination under a hidden temporary name, flushed to the disk, and
renamed into place in one step. Whatever ends the work early (an error, Ctrl-C, a full disk) removes
the temporary; ``kill -9`` leaves only the hidden temporary, which the next write to the same place
clears away.
"""

import ctypes
import glob
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import platformdirs

from tacit.errors import InputError

_HERE = -100
"""AT_FDCWD: paths are relative to the working directory."""
_EXCHANGE = 2
"""RENAME_EXCHANGE of Linux's renameat2(2)."""


def exchange(one: Path, other: Path) -> bool:
    """Let two existing paths of one file system change places at once.

    Returns:
        False, with nothing changed, where the C library, the kernel or the file system cannot.
    """
    library = ctypes.CDLL(None, use_errno=True)
    if not hasattr(library, "renameat2"):
        return False
    return bool(library.renameat2(_HERE, os.fsencode(one), _HERE, os.fsencode(other), _EXCHANGE) == 0)


_MARK = ".partial-"


def sync(*paths: Path) -> None:
    """Make what files hold durable, and renames inside directories."""
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _remove(path: Path) -> None:
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def _temporary_beside(destination: Path) -> Path:
    """A fresh hidden name beside ``destination``; clears what dead processes left there."""
    parent = destination.parent
    if not parent.is_dir():
        raise InputError(f"the folder {parent} does not exist.", "Create it first, or choose another output.")
    for leftover in parent.glob(f".*{glob.escape(_MARK)}*"):  # whatever it was to become
        owner = leftover.name.rpartition(_MARK)[2]
        if owner.isdigit() and not _alive(int(owner)):
            _remove(leftover)
    temporary = parent / f".{destination.name}{_MARK}{os.getpid()}"
    _remove(temporary)
    return temporary


@contextmanager
def _saying(problem: str) -> Iterator[None]:
    """Let an error of the operating system speak of the output, not of the hidden temporary."""
    try:
        yield
    except OSError as error:
        raise InputError(f"{problem}: {error.strerror}.", "Choose another output.") from error


@contextmanager
def atomic_file(destination: str | Path, *, mode: int | None = None) -> Iterator[Path]:
    """Yield a temporary path; on a clean exit it becomes ``destination``, otherwise it vanishes.

    Args:
        destination: the file to make or replace.
        mode: permission bits of the new file, for example ``0o600`` for private state.
    """
    destination = Path(destination)
    with _saying(f"{destination} cannot be written"):
        temporary = _temporary_beside(destination)
    try:  # from before the file is there: Ctrl-C may come at any moment
        with _saying(f"{destination} cannot be written"):
            rights = 0o666 if mode is None else mode
            os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, rights))
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        sync(temporary)
        with _saying(f"{destination} cannot be written"):
            temporary.replace(destination)
            sync(destination.parent)
    except BaseException:
        _remove(temporary)
        raise


@contextmanager
def atomic_directory(destination: str | Path, *, replace: bool = False) -> Iterator[Path]:
    """Yield a temporary directory; on a clean exit it becomes ``destination``.

    Args:
        destination: the directory to make. It must not exist, unless it is to be replaced.
        replace: put the new directory in the place of one that is there, which is whole until then and
            removed after. :func:`tacit.files.check_output_folder` says what may be replaced.
    """
    destination = Path(destination)
    if destination.exists() and not replace:
        raise InputError(f"{destination} exists already.", "Choose another output, or remove it first.")
    with _saying(f"{destination} cannot be written"):
        temporary = _temporary_beside(destination)
        temporary.mkdir()
    try:
        yield temporary
        sync(temporary, *temporary.rglob("*"))
        if destination.exists() and not replace:
            raise InputError(f"{destination} appeared while it was being written.", "Choose another output.")
        with _saying(f"{destination} cannot be written"):
            move_directory(temporary, destination)
    except BaseException:
        _remove(temporary)
        raise


def move_directory(made: Path, destination: Path) -> None:
    """Let a directory that is whole take a place beside it; what was there before is removed.

    On Linux the two change places in one step, so that a reader finds one of them whole at any time. Where
    the system or the file system cannot do that, the old one steps aside first.
    """
    if not destination.exists():
        made.rename(destination)
    elif exchange(made, destination):
        _remove(made)
    else:
        aside = destination.with_name(f".{destination.name}.aside{_MARK}{os.getpid()}")
        destination.rename(aside)
        try:
            made.rename(destination)
        except BaseException:
            aside.rename(destination)
            raise
        _remove(aside)
    sync(destination.parent)


LEDGER_BEGINS = b'{"entry":0,'
"""How the first line of every ledger begins (:mod:`tacit.privacy.ledger.journal`)."""


def check_output(
    path: str | Path, *, force: bool, inputs: Iterable[str | Path] = (), ledger_stays: bool = False
) -> None:
    """Refuse an output that would destroy something; to be called before any work.

    Args:
        path: the file to be made.
        force: replace a file that exists already. Never replaced are a link, whatever else is not a
            regular file, an input, a ledger, and a log whose ledger lies beside it.
        inputs: the files that the output is made from.
        ledger_stays: the output is the next state of the same log, so that its ledger goes on.
    """
    path = Path(path)
    with _saying(f"the output {path} cannot be used"):
        if not path.exists() and not path.is_symlink():
            return
        _refuse_what_is_never_replaced(path, inputs)
    _refuse_unless(force, path)
    ledger = path.with_name(f"{path.name}.ledger")
    if ledger.exists() and not ledger_stays:
        raise InputError(
            f"{path} has a ledger beside it, {ledger}, whose charges belong to the log that is there now.",
            "Choose another output; or move the log and its ledger away together.",
        )


def check_output_folder(
    path: str | Path, *, force: bool, marks: Iterable[str], inputs: Iterable[str | Path] = ()
) -> None:
    """Refuse a folder that would destroy something; to be called before any work.

    Args:
        path: the folder to be made.
        force: replace a folder that exists already and was made by the same command. Never replaced are a
            link, whatever is not a folder, a folder of something else, and one that holds an input.
        marks: files, by their paths in the folder, that every folder of that command holds.
        inputs: the files that the output is made from.
    """
    path = Path(path)
    with _saying(f"the output {path} cannot be used"):
        if not path.exists() and not path.is_symlink():
            return
        if path.is_symlink():
            raise InputError(f"the output {path} is a link.", "Name the folder itself.")
        if not path.is_dir():
            raise InputError(f"the output {path} is not a folder.", "Name a folder to make.")
        alike = all((path / mark).is_file() for mark in marks)
        holding = any(path.resolve() in Path(given).resolve().parents for given in inputs)
    if not alike:
        raise InputError(
            f"{path} exists already, and is not a folder that this command made.", "Choose another output."
        )
    if holding:
        raise InputError(f"the output {path} holds one of the inputs.", "Choose another output.")
    _refuse_unless(force, path)


def _refuse_unless(force: bool, path: Path) -> None:
    if not force:
        raise InputError(
            f"{path} exists already.", "Choose another output, or say `force=True` to replace it."
        )


def _refuse_what_is_never_replaced(path: Path, inputs: Iterable[str | Path]) -> None:
    if path.is_symlink():  # the link would be replaced, not the file it leads to (think of /dev/stdout)
        raise InputError(f"the output {path} is a link.", "Name the file itself.")
    if not stat.S_ISREG(path.stat().st_mode):
        kind = "a folder" if path.is_dir() else "not a regular file"
        raise InputError(f"the output {path} is {kind}.", "Name a file.")
    if any(Path(given).exists() and path.samefile(given) for given in inputs):
        raise InputError(f"the output {path} is one of the inputs.", "Choose another output.")
    with path.open("rb") as file:
        begins_as_ledger = file.read(len(LEDGER_BEGINS)) == LEDGER_BEGINS
    if path.suffix == ".ledger" or begins_as_ledger:
        raise InputError(
            f"{path} is a ledger; what was spent on a data set is never replaced.", "Choose another output."
        )


def literal_path(path: str | Path) -> str:
    """``path`` as a pattern that matches exactly that file; read it with ``hive_partitioning=false``.

    >>> literal_path("weeks/log[12].parquet")
    'weeks/log[[]12].parquet'
    """
    return re.sub(r"([*?\[])", r"[\1]", str(path))


def _own_directory(variable: str, usual: Path, mode: int) -> Path:
    """The folder that a variable of the environment names, else the usual one; made when missing."""
    directory = Path(os.environ.get(variable) or usual)
    directory.mkdir(parents=True, exist_ok=True, mode=mode)
    return directory


def cache_directory() -> Path:
    """``$TACIT_CACHE``, else the platform's place (``$XDG_CACHE_HOME/tacit`` or ``~/.cache/tacit`` on Linux).

    Made when missing.
    """
    return _own_directory("TACIT_CACHE", platformdirs.user_cache_path("tacit"), 0o777)


def state_directory() -> Path:
    """``$TACIT_STATE``, else the platform's place, made when missing for its owner alone (mode 700).

    On Linux that is ``$XDG_STATE_HOME/tacit``, or ``~/.local/state/tacit``.
    """
    return _own_directory("TACIT_STATE", platformdirs.user_state_path("tacit"), 0o700)
