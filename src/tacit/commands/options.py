"""Options that several commands take, declared once; and options made from declared parameters."""

import dataclasses
import inspect
import re
from collections.abc import Callable, Collection
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from tacit import validation
from tacit.errors import ParameterError

WORK = "The work"
"""The heading of options that change how long the work takes, and nothing about its result."""

RECORDS = "Records"
"""The heading of options that say which records of a log take part."""

ForceFlag = Annotated[bool, typer.Option("--force", "-f", help="Replace the output if it exists.")]
LogFile = Annotated[
    Path, typer.Argument(metavar="LOG", help="A search log, as `tacit import` writes it.", show_default=False)
]
OutputFile = Annotated[Path, typer.Option("--output", "-o", help="The file to write.")]
OutputFolder = Annotated[Path, typer.Option("--output", "-o", help="The folder to make.")]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="How much memory the work may take, such as 2GB or 500MB; what does not fit goes to disk.",
        rich_help_panel=WORK,
    ),
]
"""``--memory 2GB``; :func:`tacit.validation.size` reads it."""

Threads = Annotated[
    int | None,
    typer.Option(min=1, help="How many threads work; one per processor by default.", rich_help_panel=WORK),
]
"""``--threads``; the result is the same for any number."""

Host = Annotated[str, typer.Option(help="The address to listen on.")]
Port = Annotated[int, typer.Option(help="The port to listen on; 0 takes a free one.", min=0, max=65535)]
Seed = Annotated[int, typer.Option(min=0, help="The same seed gives the same result.")]
"""``--seed``, of work that is repeatable; noise that protects people never is."""


def moment(text: str) -> datetime | None:
    """Read a day or a time as people write it (:func:`tacit.validation.moment`)."""
    try:
        return validation.moment("it", text)
    except ParameterError:
        raise typer.BadParameter(
            f"{text!r} is no day or time such as 2006-03-06 or 2006-03-06T12:00."
        ) from None


def moment_option(meaning: str, heading: str | None = None) -> Any:
    """An option that takes a day or a time."""
    return typer.Option(help=meaning, metavar="DAY|TIME", parser=moment, rich_help_panel=heading)


Since = Annotated[datetime | None, moment_option("Only records from this time on (UTC).", RECORDS)]
Until = Annotated[datetime | None, moment_option("Only records before this time (UTC).", RECORDS)]
SessionGap = Annotated[
    float | None,
    typer.Option(help="Minutes of pause that end a session: 30 unless given.", rich_help_panel=RECORDS),
]
"""``--session-gap``, of commands that cut histories into sessions."""

ScrubFlag = Annotated[
    bool,
    typer.Option(
        "--scrub/--no-scrub",
        help="Pass over queries with e-mail addresses, phone, card or social security numbers, long numbers.",
        rich_help_panel=RECORDS,
    ),
]


def declared_command(
    parameters: type[Any],
    run: Callable[..., None],
    meaning: str = "",
    without: Collection[str] = (),
) -> Callable[..., None]:
    """Make a function for Typer with an option for each declared parameter, among those of ``run``.

    Args:
        parameters: the class that declares them.
        run: called with what was given for them as a mapping, then with all it takes by keyword. In the help
            its required ones come first, and the others last.
        meaning: the help.
        without: what is left out of those that ``run`` takes.
    """
    fields = dataclasses.fields(parameters)
    names = {field.name for field in fields}
    taken = inspect.signature(run, eval_str=True).parameters.values()
    own = [each for each in taken if each.kind is each.KEYWORD_ONLY and each.name not in names | {*without}]
    required = [each for each in own if each.default is each.empty]

    def command(**words: Any) -> None:
        others = {name: value for name, value in words.items() if name not in names}
        run({n: tuple(v) if isinstance(v := words[n], list) else v for n in names}, **others)

    declared = [_option(parameters, field) for field in fields]
    listed = [*required, *declared, *own[len(required) :]]
    command.__signature__ = inspect.Signature(listed)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in listed}
    command.__doc__ = meaning
    return command


def _option(parameters: type[Any], field: dataclasses.Field[Any]) -> inspect.Parameter:
    says, rules = field.metadata["says"], field.metadata["rules"]
    kind: Any = field.metadata["option_type"] or get_type_hints(parameters)[field.name]
    default: Any = field.default
    if getattr(kind, "__origin__", None) is tuple:
        kind, default = list[kind.__args__[0]], list(default)
    elif field.metadata["option_type"] is not None and default is not None:
        default = str(default)
    options = {each.name: _flags(each).partition("/")[0] for each in dataclasses.fields(parameters)}
    text = re.sub(r"`(\w+)`", lambda found: options.get(found[1], found[0]), says)
    if "least" in rules and rules["least"] not in (0, 1):
        text = f"{text.rstrip('.')} (at least {rules['least']:g})."
    info = typer.Option(_flags(field), help=text, rich_help_panel=field.metadata["panel"])
    return inspect.Parameter(
        field.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def _flags(field: dataclasses.Field[Any]) -> str:
    return field.metadata["option"] or f"--{field.name.replace('_', '-')}"
