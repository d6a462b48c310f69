"""What an output may replace: nothing, unless asked; and some things never."""

from __future__ import annotations

import stat
from collections.abc import Iterable
from pathlib import Path

from tacit.errors import InputError

__all__ = ["check_output", "check_output_folder"]

_LEDGER_BEGINS = b'{"entry":0,'
"""How the first line of every ledger begins (:mod:`tacit.privacy.journal`)."""


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
    try:
        if not path.exists() and not path.is_symlink():
            return
        _refuse_what_is_never_replaced(path, inputs)
    except OSError as error:
        raise InputError(
            f"the output {path} cannot be used: {error.strerror}.", "Choose another output."
        ) from error
    if not force:
        raise InputError(
            f"{path} exists already.", "Choose another output, or say `force=True` to replace it."
        )
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
    try:
        if not path.exists() and not path.is_symlink():
            return
        if path.is_symlink():
            raise InputError(f"the output {path} is a link.", "Name the folder itself.")
        if not path.is_dir():
            raise InputError(f"the output {path} is not a folder.", "Name a folder to make.")
        alike = all((path / mark).is_file() for mark in marks)
        holding = any(path.resolve() in Path(given).resolve().parents for given in inputs)
    except OSError as error:
        raise InputError(
            f"the output {path} cannot be used: {error.strerror}.", "Choose another output."
        ) from error
    if not alike:
        raise InputError(
            f"{path} exists already, and is not a folder that this command made.", "Choose another output."
        )
    if holding:
        raise InputError(f"the output {path} holds one of the inputs.", "Choose another output.")
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
    if path.suffix == ".ledger" or _begins_as_ledger(path):
        raise InputError(
            f"{path} is a ledger; what was spent on a data set is never replaced.", "Choose another output."
        )


def _begins_as_ledger(path: Path) -> bool:
    with path.open("rb") as file:
        return file.read(len(_LEDGER_BEGINS)) == _LEDGER_BEGINS
