"""The kinds of command that ``tacit`` is made of: their help fits the screen, their errors name options.

The library's errors speak of its parameters: ``epsilon must be greater than 0``, or between backticks
```max_terms=50```. Whoever runs a command gave options, so the same error names ``--epsilon`` and
``--max-terms 50`` there. A name that is no option of the command stays as it is.
"""

from __future__ import annotations

import re
import shlex
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tacit.errors import ParameterError, TacitError


class Panel(StrEnum):
    """A heading of ``tacit --help``; a command's module names one as ``PANEL``."""

    LOG = "Log: what was searched"
    RELEASE = "Release: publish a log under differential privacy"
    GROUPS = "Groups: profiles that link no term to a person"
    DEVICE = "Device: search without being profiled"
    POOL = "Pool: personal data that k people online share"
    EVALUATE = "Evaluate: what a guard costs and what an attacker learns"
    WORLD = "World: try everything on people who do not exist"
    MORE = "More"


_QUOTED = re.compile(r"`(\w+)(?:=([^`]*))?`")


def say_in_options(error: TacitError, command: Any) -> None:
    """Rewrite ``error`` in place so that it speaks of the options of ``command``."""
    options = {name: parameter for parameter in command.params for name in _names(parameter)}

    def quoted(found: re.Match[str]) -> str:
        name, value = found.groups()
        return _option(options[name], value) if name in options else found[0]

    if isinstance(error, ParameterError) and error.parameter in options:
        said = _option(options[error.parameter], None)
        error.problem = said + error.problem.removeprefix(error.parameter)
    error.problem = _QUOTED.sub(quoted, error.problem)
    error.remedy = _QUOTED.sub(quoted, error.remedy)
    error.args = (f"{error.problem} {error.remedy}".strip(),)


def _names(parameter: Any) -> list[str]:
    """What the library may call an option's value: as the command's function does, or as the option."""
    return [parameter.name, *(option.lstrip("-").replace("-", "_") for option in parameter.opts)]


def _option(parameter: Any, value: str | None) -> str:
    longest = max(parameter.opts, key=len)
    if parameter.param_type_name == "argument":
        name = parameter.display_name_raw.upper()
        return name if value is None else f"{name} {value}"
    if value == "False" and parameter.secondary_opts:
        return str(parameter.secondary_opts[0])
    if value is None or value == "True":
        return str(longest)
    return f"{longest} {value.strip(chr(39) + chr(34))}"


_WIDEST = 100
"""Longer lines are hard to read, however wide the screen is."""

_NARROW = 60
"""Below this many columns a meaning stands under its name."""

_NAMES = 30
"""The widest column of names beside their meanings."""


def help_page(command: Any, context: Any, panels: Sequence[str] = ()) -> str:
    """The help of ``command`` for the terminal at hand; ``panels`` orders the headings of its verbs."""
    width = min(shutil.get_terminal_size().columns, _WIDEST)
    parts = [_usage(command, context, width)]
    parts += [_filled(paragraph, width, "  ") for paragraph in _paragraphs(command.help or "")]
    for heading, rows in _options(command, context).items():
        parts.append(_section(heading, rows, width))
    verbs = _verbs(command)
    for heading in sorted(verbs, key=lambda found: (_rank(found, panels), found)):
        parts.append(_section(heading, verbs[heading], width))
    if command.epilog:
        parts.append("\n".join(_example(line, width) for line in command.epilog.strip().splitlines()))
    return "\n\n".join(part for part in parts if part)


def _usage(command: Any, context: Any, width: int) -> str:
    pieces = [piece.replace("{", "").replace("}", "") for piece in command.collect_usage_pieces(context)]
    words = [context.command_path, *(piece.upper() if piece.islower() else piece for piece in pieces)]
    return _heading("Usage: ") + _filled(" ".join(words), width - 7, "", "       ")


def _paragraphs(text: str) -> list[str]:
    """A docstring's paragraphs, each on one line; a line break inside a paragraph says nothing."""
    return [" ".join(block.split()) for block in textwrap.dedent(text).strip().split("\n\n")]


def _options(command: Any, context: Any) -> dict[str, list[tuple[str, str]]]:
    """Arguments and options under their headings, in the order of their declaration."""
    found: dict[str, list[tuple[str, str]]] = {}
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record is None:
            continue
        kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
        heading = getattr(parameter, "rich_help_panel", None) or kind
        name = parameter.display_name_raw.upper() if kind == "Arguments" else _plainly(record[0])
        found.setdefault(heading, []).append((name, _ranges(record[1])))
    return found


def _verbs(command: Any) -> dict[str, list[tuple[str, str]]]:
    """The verbs of a group under the headings of their panels."""
    found: dict[str, list[tuple[str, str]]] = {}
    for name, verb in sorted(getattr(command, "commands", {}).items()):
        if not verb.hidden:
            heading = getattr(verb, "rich_help_panel", None) or "Commands"
            first = (_paragraphs(verb.help or "") or [""])[0]
            found.setdefault(heading, []).append((name, first))
    return found


def _rank(heading: str, panels: Sequence[str]) -> int:
    return panels.index(heading) if heading in panels else len(panels)


def _section(heading: str, rows: Iterable[tuple[str, str]], width: int) -> str:
    rows = [(name, " ".join(meaning.split())) for name, meaning in rows]
    column = 0 if width < _NARROW else min(_NAMES, max(len(name) for name, _ in rows))
    lines = [_heading(_filled(heading, width, ""))]
    for name, meaning in rows:
        if column and len(name) <= column and meaning:
            lines.append(_filled(meaning, width, f"  {name:<{column}}  ", " " * (column + 4)).rstrip())
        else:
            lines += _name_lines(name, width)
            lines += [_filled(meaning, width, " " * (column + 4))] if meaning else []
    return "\n".join(lines)


def _name_lines(name: str, width: int) -> list[str]:
    """An option's name and values on as many lines as they need, broken between words and choices."""
    lines = ["  "]
    for piece in re.split(r"(?<=[| ])", name):
        if len(lines[-1]) + len(piece.rstrip()) > width and lines[-1].strip():
            lines.append("    ")
        lines[-1] += piece
    return [line.rstrip() for line in lines]


def _plainly(name: str) -> str:
    """An option as a person reads it: repeated values have the form of one, a range stands in the help."""
    return re.sub(r"<(?:list\[)?([^<>\]]*?)(?: range)?\]?>", r"<\1>", name)


def _ranges(meaning: str) -> str:
    """``at least 1`` for ``x>=1``, ``0 to 9`` for ``0<=x<=9``."""
    meaning = re.sub(r"([-\d.]+)<=x<=([-\d.]+)(?=[\];])", r"\1 to \2", meaning)
    return re.sub(r"x>=([-\d.]+)(?=[\];])", r"at least \1", meaning)


def _example(line: str, width: int) -> str:
    """An example, continued with backslashes where it is too long, so that it can be copied as it stands."""
    label, found, command = line.partition("tacit ")
    if not found or len(line) <= width:
        return line
    lines, indent = [], "    "
    current = f"{label}tacit"
    for word in _pairs(shlex.split(command, posix=False)):
        if len(current) + len(word) + 3 > width and current.strip():
            lines.append(f"{current} \\")
            current = f"{indent}{word}"
        else:
            current = f"{current} {word}"
    return "\n".join([*lines, current])


def _pairs(words: list[str]) -> list[str]:
    """Words with each option and its value kept together."""
    found: list[str] = []
    for word in words:
        if found and found[-1].startswith("-") and " " not in found[-1] and not word.startswith("-"):
            found[-1] += f" {word}"
        else:
            found.append(word)
    return found


def _filled(text: str, width: int, first: str, later: str | None = None) -> str:
    return textwrap.fill(
        text,
        max(width, 20),
        initial_indent=first,
        subsequent_indent=first if later is None else later,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _heading(text: str) -> str:
    return typer.style(text, bold=True)


class Verb(TyperCommand):
    """One command."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help for the terminal at hand."""
        formatter.write(help_page(self, ctx) + "\n")

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error of the library is said in the command's options."""
        try:
            return super().invoke(ctx)
        except TacitError as error:
            say_in_options(error, self)
            raise


class VerbGroup(TyperGroup):
    """A command of commands."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help for the terminal at hand, verbs under the headings of their guards."""
        formatter.write(help_page(self, ctx, panels=list(Panel)) + "\n")


def shape(app: typer.Typer) -> None:
    """Make every command below ``app`` one of these kinds, keeping what a command's own class adds."""
    for command in app.registered_commands:
        command.cls = _shaped(command.cls, Verb)
    for group in app.registered_groups:
        below = group.typer_instance
        if below is not None:
            group.cls = _shaped(_given(group.cls) or _given(below.info.cls), VerbGroup)
            shape(below)


def _given(value: Any) -> Any:
    """A setting as it was given; Typer wraps those that were not."""
    return getattr(value, "value", value)


def _shaped(own: Any, kind: type[Any]) -> Any:
    if own is None or issubclass(kind, own):
        return kind
    return own if issubclass(own, kind) else type(own.__name__, (own, kind), {})
