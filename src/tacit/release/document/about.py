"""What the owner states about a data set and its releases: for the manifest and the page; nothing follows.

It is asked for once, in a small file beside the ledger (``log.about.toml`` beside ``log.ledger``). What a
command or a call gives goes before what the file says, and what nobody states is shown as missing.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

from tacit.errors import InputError, ParameterError
from tacit.files import atomic_file
from tacit.validation import text

_LONGEST = 400


def _asked(title: str, says: str) -> str:
    made: str = field(default="", metadata={"title": title, "says": says})
    return made


@dataclass(frozen=True)
class About:
    """Said by the owner, one line each; each field's ``says`` is what is asked for."""

    data_set: str = _asked("Data set", "what people call the data set")
    controller: str = _asked("Controller", "who is responsible for it, with the address")
    contact: str = _asked("Contact", "whom to ask about it: the data protection officer, or a mailbox")
    made_by: str = _asked("Made by", "who ran this release, by name or office")
    purpose: str = _asked("Purpose", "what the release is for")
    recipients: str = _asked("Recipients", "who receives it, or that it is public")
    period: str = _asked("Period covered", "from when to when the log was collected")
    retention: str = _asked("Retention", "until when the log, and this release, are kept")
    user_id: str = _asked("A user id is", "what one user id of the log stands for: an account, a cookie, …")
    rationale: str = _asked("Why this ε and δ", "why this much is spent, and who agreed to it")

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            text(name, value, _LONGEST)

    def to_dict(self) -> dict[str, str]:
        return asdict(self)

    def rows(self) -> list[tuple[str, str]]:
        """List what the page shows: each title with what is stated; nothing where nothing is."""
        return [(each.metadata["title"], getattr(self, each.name)) for each in fields(self)]

    @property
    def missing(self) -> list[str]:
        """The fields that nobody stated."""
        return [name for name, value in asdict(self).items() if not value]


def about_file(ledger: Path) -> Path:
    """Find where what is stated about a ledger's data set lies."""
    return ledger.with_name(f"{ledger.name.removesuffix('.ledger')}.about.toml")


def read_about(ledger: Path, given: Mapping[str, str]) -> About:
    """Combine what is given with what the file beside the ledger states, if there is one."""
    path, stated = about_file(ledger), {}
    if path.is_file():
        try:
            stated = tomllib.loads(path.read_text("utf-8"))
            about = About(**stated)
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path} is not TOML ({type(error).__name__}).", _remedy(path)) from error
        except (TypeError, ParameterError) as error:
            known = {each.name for each in fields(About)}
            strange = ", ".join(sorted(set(stated) - known)) or str(error)
            raise InputError(f"{path} does not say what is asked for: {strange}.", _remedy(path)) from error
        stated = about.to_dict()
    return About(**{**stated, **{name: value for name, value in given.items() if value}})


def _remedy(path: Path) -> str:
    names = ", ".join(each.name for each in fields(About))
    return f'Write one line each, such as controller = "…", for any of {names}; or move {path.name} away.'


def write_about(ledger: Path, label: str = "") -> Path:
    """Make the file beside a ledger, to be filled in; one that is there stays as it is."""
    path = about_file(ledger)
    if not path.exists():
        lines = ["# What the page of every release says of this data set. What is empty is shown as missing."]
        for each in fields(About):
            value = json.dumps(label if each.name == "data_set" else "", ensure_ascii=False)
            lines += ["", f"# {each.metadata['says']}", f"{each.name} = {value}"]
        with atomic_file(path) as made:
            made.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path
