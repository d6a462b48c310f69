"""Write a file or a directory so that a reader sees all of it or none of it.

The content is made beside its destination under a hidden temporary name, flushed to the disk, and
renamed into place in one step. Whatever ends the work early (an error, Ctrl-C, a full disk) removes
the temporary; ``kill -9`` leaves only the hidden temporary, which the next write to the same place
clears away.
"""

from __future__ import annotations

import glob
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tacit.errors import InputError
from tacit.files.exchange import exchange

__all__ = ["atomic_directory", "atomic_file", "move_directory", "sync_directory"]

_MARK = ".partial-"


def sync_directory(directory: Path) -> None:
    """Make a rename inside ``directory`` durable."""
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _fsync_tree(root: Path) -> None:
    for path in [root, *root.rglob("*")] if root.is_dir() else [root]:
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
    prefix = f".{destination.name}{_MARK}"
    for leftover in parent.glob(f".*{glob.escape(_MARK)}*"):  # whatever it was to become
        owner = leftover.name.rpartition(_MARK)[2]
        if owner.isdigit() and not _alive(int(owner)):
            _remove(leftover)
    return parent / f"{prefix}{os.getpid()}"


@contextmanager
def _naming(destination: Path) -> Iterator[None]:
    """Let an error of the operating system speak of the output, not of the hidden temporary."""
    try:
        yield
    except OSError as error:
        raise InputError(
            f"{destination} cannot be written: {error.strerror}.", "Choose another output."
        ) from error


@contextmanager
def atomic_file(destination: str | Path, *, mode: int | None = None) -> Iterator[Path]:
    """Yield a temporary path; on a clean exit it becomes ``destination``, otherwise it vanishes.

    Args:
        destination: the file to make or replace.
        mode: permission bits of the new file, for example ``0o600`` for private state.
    """
    destination = Path(destination)
    with _naming(destination):
        temporary = _temporary_beside(destination)
        _remove(temporary)
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666 if mode is None else mode))
    try:
        yield temporary
        if mode is not None:
            temporary.chmod(mode)
        _fsync_tree(temporary)
        with _naming(destination):
            temporary.replace(destination)
            sync_directory(destination.parent)
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
    with _naming(destination):
        temporary = _temporary_beside(destination)
        _remove(temporary)
        temporary.mkdir()
    try:
        yield temporary
        _fsync_tree(temporary)
        if destination.exists() and not replace:
            raise InputError(f"{destination} appeared while it was being written.", "Choose another output.")
        with _naming(destination):
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
    sync_directory(destination.parent)
