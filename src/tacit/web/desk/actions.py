"""What the desk can start: for each kind of work a form, and the command that the form stands for.

A form's values become words of a command line, checked one by one: names of files are those of the desk's
folder, numbers are numbers, and free text follows its option in the same word, so that none is taken for
another option.
"""

import json
import re
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from importlib import resources
from pathlib import Path
from typing import Any

from tacit.errors import InputError, ParameterError, TacitError
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger.entries import LedgerState
from tacit.privacy.ledger.ledger import default_ledger
from tacit.release.document.manifest import MANIFEST, read_manifest
from tacit.release.document.words import ReleaseVerdict, verdict_on
from tacit.release.registry import MECHANISMS, mechanism_class
from tacit.validation import moment
from tacit.web.published.approvals import approvals_file

Values = Mapping[str, Sequence[str]]
"""A form as it was sent: every field with all its values."""

_OUTPUT = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_TAKEN = frozenset({"jobs"})
_RAW = re.compile(
    r".+\.(csv|tsv|txt|log|jsonl|ndjson|json|xlsx|sqlite|db|duckdb)(\.(gz|bz2|xz|zst))?", re.IGNORECASE
)
OFFERED = tuple(name for name in MECHANISMS if mechanism_class(name).private)


@dataclass(frozen=True)
class Shelf:
    """The files of the folder that the desk stands on, by their paths in it."""

    home: Path

    @cached_property
    def logs(self) -> dict[str, Any]:
        """The search logs, each with what its file says of itself."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        found = {}
        for path in sorted(self.home.glob("[A-Za-z0-9_]*.parquet")):
            try:
                about = pq.read_metadata(path)
            except (OSError, pa.ArrowInvalid):
                continue
            if {"user", "query", "time"} <= set(about.schema.names):
                found[path.name] = about
        return found

    @cached_property
    def raw(self) -> list[str]:
        found = (path for path in self.home.glob("[A-Za-z0-9_]*") if _RAW.fullmatch(path.name))
        return sorted(path.name for path in found if path.is_file() and not path.is_symlink())

    @cached_property
    def ledgers(self) -> dict[str, LedgerState | str]:
        """The ledgers: what each says, or what is wrong with it."""
        found: dict[str, LedgerState | str] = {}
        for path in sorted(self.home.glob("[A-Za-z0-9_]*.ledger")):
            try:
                found[path.name] = Ledger(path).verify()
            except (TacitError, OSError) as error:
                found[path.name] = getattr(error, "problem", "it cannot be read.")
        return found

    @cached_property
    def releases(self) -> dict[str, dict[str, Any]]:
        """The releases, each with its manifest; those inside published sites are copies."""
        found = {}
        for path in sorted(
            [*self.home.glob(f"[A-Za-z0-9_]*/{MANIFEST}"), *self.home.glob(f"[A-Za-z0-9_]*/*/{MANIFEST}")]
        ):
            folder = path.parent
            if folder.is_symlink() or (folder.parent / "registry.json").exists():
                continue
            try:
                found[str(folder.relative_to(self.home))] = read_manifest(folder)
            except (TacitError, OSError):
                continue
        return found

    @cached_property
    def keys(self) -> list[str]:
        return sorted(path.name for path in self.home.glob("[A-Za-z0-9_]*.pub"))

    def ledger_of(self, log: str) -> LedgerState | str | None:
        """Read what the ledger beside a log says, if there is one, or what is wrong with it."""
        return self.ledgers.get(default_ledger(self.home / log).name)

    def crossing(self, release: str) -> list[tuple[str, int]]:
        """The files of a release that would cross, with their sizes."""
        folder = self.home / release
        files = [*sorted(path for path in folder.iterdir()), approvals_file(folder)]
        return [(str(path.relative_to(self.home)), path.lstat().st_size) for path in files if path.exists()]


@dataclass(frozen=True)
class Field:
    """A field of a form. ``kind`` is an input's type, or ``choice``, ``several``."""

    name: str
    label: str
    kind: str = "text"
    hint: str = ""
    usual: str = ""
    choices: str = ""
    """What of the shelf is offered; what has ``labels`` unless given."""
    labels: Mapping[str, str] = field(default_factory=dict)

    def offered(self, shelf: Shelf) -> list[str]:
        return list(getattr(shelf, self.choices) if self.choices else self.labels)


@dataclass(frozen=True)
class DeskAction:
    """A kind of work: its form, and the words of the command that a filled form stands for."""

    name: str
    title: str
    says: str
    fields: tuple[Field, ...]
    words: Callable[[Shelf, Values], list[str]]
    page: str = ""
    """What is shown when it is done, by the form's ``output``."""

    def shows(self, values: Values) -> str | None:
        return self.page.format(output=one(values, "output")) or None


def one(values: Values, name: str) -> str:
    found = values.get(name) or [""]
    return found[0].strip()


def _chosen(values: Values, name: str, among: Sequence[str]) -> str:
    found = one(values, name)
    if found not in among:
        problem = f"{name}: choose one of the list."
        raise InputError(problem, "Files appear here once they lie in the desk's folder.")
    return found


def _number(values: Values, name: str, option: str | None = None, *, whole: bool = False) -> list[str]:
    text = one(values, name)
    if not text:
        return []
    try:
        value = int(text.replace(",", "")) if whole else float(text)
        if not 0 <= value < 1e12:
            raise ValueError
    except ValueError:
        problem = f"{name}: {text[:40]!r} is not a number that fits."
        raise ParameterError(problem, "Write it as 0.5 or 1e-6.") from None
    return [option or f"--{name.replace('_', '-')}", str(value) if whole else f"{value:g}"]


def _day(values: Values, name: str) -> list[str]:
    text = one(values, name)
    return [f"--{name}", f"{found:%Y-%m-%dT%H:%M}"] if (found := moment(name, text) if text else None) else []


def _more(values: Values) -> list[str]:
    try:
        return shlex.split(one(values, "more"))
    except ValueError:
        raise InputError("more options: a quotation mark is not closed.", "Write it as in a shell.") from None


def _output(shelf: Shelf, values: Values, ending: str = "", *, may_be_there: bool = False) -> str:
    name = one(values, "output")
    if not _OUTPUT.fullmatch(name) or name in _TAKEN:
        problem = "output: name a new folder with letters, digits, points, - and _."
        raise InputError(problem, "Such as week-01.")
    name = name if name.endswith(ending) else f"{name}{ending}"
    if (shelf.home / name).exists() and not may_be_there:
        raise InputError(f"output: {name} exists already.", "Choose another name.")
    return name


def price(values: Values) -> list[str]:
    name = _chosen(values, "mechanism", OFFERED)
    has_delta = any(each.name == "delta" for each in fields(mechanism_class(name)))
    epsilon = _number(values, "epsilon")
    if not epsilon:
        raise ParameterError("epsilon: say what the release may cost.", "1 or less protects well.")
    return [*epsilon, *(_number(values, "delta") if has_delta else [])]


def verdict_after(shelf: Shelf, values: Values) -> ReleaseVerdict:
    """Judge how strong everything would protect with this release, from the ledger beside the log."""
    words = price(values)
    asked = {words[at].removeprefix("--"): float(words[at + 1]) for at in range(0, len(words), 2)}
    plan = mechanism_class(one(values, "mechanism"))(**asked).plan()
    state = shelf.ledger_of(one(values, "log")) if one(values, "log") else None
    if isinstance(state, str):
        raise InputError(f"the log's ledger cannot be used: {state}", "See tacit ledger verify.")
    users = int(number[1]) if (number := _number(values, "users", whole=True)) else None
    total = state.account.charge(plan.event).spent() if state is not None else None
    return verdict_on(plan.guarantee, total, exact=len(state.unprotected) if state else 0, users=users)


def _import(shelf: Shelf, values: Values) -> list[str]:
    chosen = [name for name in values.get("files", ()) if name in shelf.raw]
    if not chosen:
        problem = "files: choose at least one."
        raise InputError(problem, "They appear here once they lie in the desk's folder.")
    if _chosen(values, "how", ("look", "import")) == "look":
        return ["import", *chosen, "--look", *_more(values)]
    return ["import", *chosen, *_more(values), "-o", _output(shelf, values, ".parquet")]


def _plan(_shelf: Shelf, values: Values) -> list[str]:
    users = _number(values, "users", whole=True)
    return ["plan", one(values, "mechanism"), *price(values), *users, *_more(values)]


def _release(shelf: Shelf, values: Values) -> list[str]:
    paid, log = price(values), _chosen(values, "log", list(shelf.logs))
    purpose = one(values, "purpose")
    return [
        *("release", one(values, "mechanism"), log, *paid),
        *(_day(values, "since") + _day(values, "until") + _number(values, "users", whole=True)),
        *(_number(values, "budget_epsilon") + _number(values, "budget_delta")),
        *([f"--purpose={purpose}"] if purpose else []),
        *(*_more(values), "-o", _output(shelf, values)),
    ]


def _evaluate(shelf: Shelf, values: Values) -> list[str]:
    log = _chosen(values, "log", list(shelf.logs))
    return ["evaluate", "release", log, *_more(values), "-o", _output(shelf, values)]


def _audit(shelf: Shelf, values: Values) -> list[str]:
    paid, log = price(values), _chosen(values, "log", list(shelf.logs))
    page = _output(shelf, values, "-audit.html")
    return ["audit", "log", one(values, "mechanism"), log, *paid, *_more(values), "-o", page]


def _publish(shelf: Shelf, values: Values) -> list[str]:
    chosen = [name for name in values.get("releases", ()) if name in shelf.releases]
    if not chosen:
        raise InputError("releases: choose at least one.", "Releases appear here once they are made.")
    output = _output(shelf, values, may_be_there=True)
    again = ["--force"] if (shelf.home / output).exists() else []
    keys = [w for key in values.get("keys", ()) if key in shelf.keys for w in ("--require-approval", key)]
    ledger = _chosen(values, "ledger", list(shelf.ledgers))
    return ["site", *chosen, "--ledger", ledger, *keys, *_more(values), "-o", output, *again]


def _read_forms() -> Iterator[DeskAction]:
    told = json.loads((resources.files("tacit.web.desk") / "forms.json").read_text("utf-8"))
    common = {name: Field(name, **about) for name, about in told["common"].items()}
    summaries = {name: mechanism_class(name).summary.rstrip(".") for name in OFFERED}
    common["mechanism"] = replace(common["mechanism"], labels=summaries)
    for name, form in told["forms"].items():
        listed = tuple(common[each] if isinstance(each, str) else Field(**each) for each in form["fields"])
        yield DeskAction(name, words=_WORDS[name], **{**form, "fields": listed})


_WORDS = {"import": _import, "plan": _plan, "release": _release}
_WORDS |= {"evaluate": _evaluate, "audit": _audit, "publish": _publish}
ACTIONS = {action.name: action for action in _read_forms()}
