"""How the parameters of a mechanism are declared: once, with meaning, range and default.

A mechanism is a frozen dataclass; each field says through :func:`declared` what it means, what is allowed
and what holds unless it is given. Checks, the mechanism's ``help()``, the options of ``tacit plan``,
``guarantee`` and ``release``, their help and the manifest all come from that declaration.
"""

import dataclasses
import math
import numbers
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from functools import cache
from pathlib import Path
from typing import Any, get_args, get_type_hints

from tacit.errors import ParameterError
from tacit.privacy.guarantee import Neighbours
from tacit.validation import member, place, shown, whole

LARGEST_EPSILON = 1000.0
"""Beyond this a request is a mistake, and the arithmetic of thresholds ends."""

DEFAULT_DELTA = 1e-6
"""δ unless one is given: one in a million."""

PLANNED = "Planned for ε and δ"
"""The options that shape a plan."""
GIVEN = "Given instead of planned"
"""The options that stand in the place of a plan."""


class Item(StrEnum):
    """What a histogram counts the users of."""

    KEYWORDS = "keywords"
    QUERIES = "queries"
    CLICKS = "clicks"
    PAIRS = "pairs"


ITEM_KEYS: Mapping[Item, tuple[str, ...]] = {
    Item.KEYWORDS: ("keyword",),
    Item.QUERIES: ("query",),
    Item.CLICKS: ("query", "url"),
    Item.PAIRS: ("query", "next_query"),
}
"""The columns that make an item: a pair is a query and the next different one of the same session."""


class Choice(StrEnum):
    """Which of a user's items, searches, clicks or sessions count when there are too many."""

    FIRST = "first"  # the earliest, as both papers do
    LAST = "last"  # the latest: in repeated releases of a growing log, what is new of old users gets in
    FREQUENT = "frequent"  # what this user has most: what somebody asks again and again, others ask too

    @property
    def words(self) -> str:
        return "most frequent" if self is Choice.FREQUENT else self.value


def public_set(name: str, given: Any) -> Any:
    """Return a public set, or the name or path of one, as text."""
    return given if given is None or hasattr(given, "to_dict") else str(place(name, given))


@dataclass(frozen=True)
class StatedSet:
    """A public set as a manifest states it: enough for the guarantee, not to publish."""

    form: Mapping[str, Any]

    @property
    def name(self) -> str:
        return str(self.form.get("name", ""))

    def __len__(self) -> int:
        size = self.form.get("queries", 0)
        return size if type(size) is int and size > 0 else 0

    def __bool__(self) -> bool:
        return True

    def to_dict(self) -> dict[str, Any]:
        return dict(self.form)


def declared(
    default: Any,
    says: str,
    *,
    least: float | None = None,
    above: float | None = None,
    most: float | None = None,
    below: float | None = None,
    panel: str = PLANNED,
    option: str | None = None,
    planning: bool = False,
    option_type: Any = None,
    noise: bool = False,
) -> Any:
    """Declare a parameter of a mechanism.

    Args:
        default: what holds if it is not given; None leaves it to the plan.
        says: what it means, as the help shows it.
        least: the smallest value allowed.
        above: values must be greater.
        most: the largest value allowed.
        below: values must be smaller.
        panel: under which heading the help lists it.
        option: its name on the command line, where it is not the field's.
        planning: it steers the plan and is no part of what is published, nor of the manifest.
        option_type: its type on the command line, where it is not the field's.
        noise: it is a scale of noise, which only the library takes as 0 (noise off, for tests).
    """
    bounds = {"least": least, "above": above, "most": most, "below": below}
    rules = {name: bound for name, bound in bounds.items() if bound is not None}
    metadata: dict[str, Any] = {"says": says, "rules": rules, "panel": panel, "option": option}
    metadata |= {"planning": planning, "option_type": option_type, "noise": noise}
    return dataclasses.field(default=default, metadata=metadata)


def declared_epsilon() -> Any:
    """Declare ε, from which the rest is planned."""
    says = "ε: what the whole release may cost at most; None where noise is given instead."
    return declared(None, says, above=0, most=LARGEST_EPSILON, planning=True)


def declared_delta(default: float = DEFAULT_DELTA, says: str = "") -> Any:
    """Declare δ, for mechanisms that have one."""
    says = says or "δ: what the whole release may cost at most; well below one over the number of users."
    return declared(default, says, least=0, below=1, planning=True)


def declared_at_epsilon(says: str = "The ε for which the rounds are laid out.") -> Any:
    """Declare the ε at which what is given is stated."""
    return declared(None, says, above=0, most=LARGEST_EPSILON, panel=GIVEN)


def declared_at_delta() -> Any:
    """Declare the δ of rounds that are given."""
    return declared(None, "The δ for which the rounds are laid out.", above=0, below=1, panel=GIVEN)


def declared_neighbours() -> Any:
    """Declare the neighbour relation."""
    return declared(Neighbours.ADD_REMOVE, "Which logs are neighbours: a user added or removed, or replaced.")


def declared_noise(says: str) -> Any:
    """Declare a scale of noise, planned unless given. Only the library takes 0, noise off, for tests."""
    return declared(None, says, least=0, panel=GIVEN, noise=True)


def declared_take() -> Any:
    """Declare which of a user's records count when there are too many.

    What the user has most, unless said otherwise: it publishes more (``benchmarks/rows_by_choice.py``).
    """
    return declared(Choice.FREQUENT, "Which of a user's records count when there are too many.")


def refuse_noise_off(mechanism: Any) -> None:
    """Refuse a scale of 0, noise off: tests and audits run it, nobody plans or publishes with it."""
    for field in dataclasses.fields(mechanism):
        value = getattr(mechanism, field.name)
        if field.metadata["noise"] and value == 0:
            raise ParameterError.outside(
                field.name, value, "a finite number above 0", "Without noise there is no guarantee."
            )


@cache
def typed_fields(kind: type[Any]) -> list[tuple[dataclasses.Field[Any], Any]]:
    """List the declared fields of a mechanism with their types."""
    hints = get_type_hints(kind)
    return [(field, hints[field.name]) for field in dataclasses.fields(kind)]


def plain(value: Any) -> Any:
    """Write a parameter's value as JSON holds it."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [plain(each) for each in value]
    return value


def checked(field: dataclasses.Field[Any], kind: Any, value: Any) -> Any:
    """Return a value as its field has it; a number of numpy's is the Python number that it stands for."""
    if getattr(value, "shape", None) == () and hasattr(value, "item"):
        value = value.item()
    if value is None and field.default is None:
        return value
    types = getattr(kind, "__args__", None) or (kind,)
    if getattr(kind, "__origin__", None) is tuple:
        return _several(field.name, types[0], value)
    if kind is Any:
        return _named(field.name, value)
    choices = [each for each in types if isinstance(each, type) and issubclass(each, Enum)]
    if choices:
        return member(field.name, choices[0], value)
    if bool in types:
        if not isinstance(value, bool):
            raise ParameterError.outside(field.name, value, "yes or no")
    elif float in types:
        _check_number(field, value)
    elif int in types:
        whole(field.name, value, int(field.metadata["rules"].get("least", 0)))
        _check_number(field, value)
    return value


def _several(name: str, kind: Any, value: Any) -> tuple[Any, ...]:
    """Accept one or more choices, each once."""
    listed = tuple(value) if isinstance(value, tuple | list | set | frozenset) else ()
    members = tuple(member(name, kind, each) for each in listed)
    if not members or len(set(members)) != len(members):
        rule = f"a list of one or more of {', '.join(each.value for each in kind)}, each once"
        raise ParameterError.outside(name, shown(value), rule)
    return members


def _named(name: str, value: Any) -> Any:
    """Accept what can be named, or given as it was read: a domain, urls, a taxonomy."""
    if isinstance(value, numbers.Number | list | tuple | dict):
        raise ParameterError.outside(name, value, "a name, or the place of a file")
    return str(value) if isinstance(value, Path) else value


def _check_number(field: dataclasses.Field[Any], value: Any) -> None:
    rules = field.metadata["rules"]
    number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not number or not all(_RULES[name][1](value, bound) for name, bound in rules.items()):
        raise ParameterError.outside(field.name, shown(value), range_in_words(rules))


_RULES = {
    "least": ("at least", operator.ge),
    "above": ("above", operator.gt),
    "most": ("at most", operator.le),
    "below": ("below", operator.lt),
}


def range_in_words(rules: Mapping[str, float]) -> str:
    """Describe the range that is allowed: ``above 0 and at most 1``."""
    return " and ".join(f"{_RULES[name][0]} {bound:,g}" for name, bound in rules.items()) or "a finite number"


def arguments_in_words(kind: type[Any]) -> str:
    """Explain the parameters that a class itself declares, for its ``help()``."""
    lines = []
    for name, made in vars(kind).items():
        if isinstance(made, dataclasses.Field) and "says" in made.metadata:
            rules, default = made.metadata["rules"], made.default
            allowed = f" {range_in_words(rules).capitalize()}." if rules else ""
            if isinstance(default, Enum):
                allowed = f" One of {', '.join(get_args(made.metadata['option_type']) or type(default))}."
            usual = "None, left to the plan" if default is None else plain(default)
            spelled = ", ".join(usual) if isinstance(usual, list) else usual
            lines.append(f"        {name}: {made.metadata['says']}{allowed} Default: {spelled}.")
    return "\n".join(lines)
