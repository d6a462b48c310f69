"""Options of a command from the declaration of parameters: name, type, default, range and help, written once.

A class of parameters is a dataclass whose fields say in their metadata what they mean
(:func:`tacit.release.parameters.declared`). Here each becomes an option.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, get_type_hints

import typer

from tacit.commands.options import JsonFlag
from tacit.errors import ParameterError

__all__ = ["declared_command", "json_flag"]


def declared_command(
    parameters: type[Any],
    run: Callable[..., None],
    *,
    before: Sequence[inspect.Parameter] = (),
    after: Sequence[inspect.Parameter] = (),
) -> Callable[..., None]:
    """A function for Typer with an option for each declared parameter.

    Args:
        parameters: the class that declares them.
        run: called with what was given for them as a mapping, then with all others by name.
        before: arguments and options that the help lists first.
        after: those that it lists last.
    """
    names = {field.name for field in dataclasses.fields(parameters)}

    def command(**words: Any) -> None:
        asked = {name: value for name, value in words.items() if name in names}
        others = {name: value for name, value in words.items() if name not in names}
        _refuse_noise_off(parameters, asked)
        run({name: _as_declared(value) for name, value in asked.items()}, **others)

    listed = [*before, *(_option(parameters, field) for field in dataclasses.fields(parameters)), *after]
    command.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in listed}
    return command


def json_flag() -> inspect.Parameter:
    """The ``--json`` option that every command takes."""
    return inspect.Parameter("as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=JsonFlag)


def _as_declared(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _refuse_noise_off(parameters: type[Any], asked: Mapping[str, Any]) -> None:
    for field in dataclasses.fields(parameters):
        value = asked.get(field.name)
        if field.metadata["noise"] and value is not None and not value > 0:
            raise ParameterError.outside(
                field.name, value, "a finite number above 0", "Without noise there is no guarantee."
            )


def _option(parameters: type[Any], field: dataclasses.Field[Any]) -> inspect.Parameter:
    says, rules = field.metadata["says"], field.metadata["rules"]
    kind: Any = field.metadata["option_type"] or get_type_hints(parameters)[field.name]
    default: Any = field.default
    if getattr(kind, "__origin__", None) is tuple:
        kind, default = list[kind.__args__[0]], list(default)
    elif field.metadata["option_type"] is not None and default is not None:
        default = str(default)
    text = _spoken(says, {each.name: _name(each) for each in dataclasses.fields(parameters)})
    if "least" in rules and rules["least"] not in (0, 1):
        text = f"{text.rstrip('.')} (at least {rules['least']:g})."
    info = typer.Option(_flags(field), help=text, rich_help_panel=field.metadata["panel"])
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def _flags(field: dataclasses.Field[Any]) -> str:
    return field.metadata["option"] or f"--{field.name.replace('_', '-')}"


def _name(field: dataclasses.Field[Any]) -> str:
    return _flags(field).partition("/")[0]


def _spoken(text: str, options: Mapping[str, str]) -> str:
    def option(match: re.Match[str]) -> str:
        return options.get(match[1], match[0])

    return re.sub(r"`(\w+)`", option, text)
