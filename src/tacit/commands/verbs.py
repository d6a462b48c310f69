"""The kinds of command that ``tacit`` is made of: their help fits the screen, their errors name options.

The library's errors speak of its parameters: ``epsilon must be greater than 0``, or between backticks
```vote_epsilon=50```. Whoever runs a command gave options, so the same error names ``--epsilon`` and
``--vote-epsilon 50`` there. A name that is no option of the command stays as it is.
"""

import inspect
import re
import shutil
import textwrap
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from functools import wraps
from importlib import import_module
from operator import attrgetter
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from tacit.errors import ParameterError, TacitError
from tacit.terminal import speaking


class Panel(StrEnum):
    """A heading of ``tacit --help``; a command's module names one as ``PANEL``."""

    LOG = "Log (what was searched)"
    RELEASE = "Release (publish a log under differential privacy)"
    GROUPS = "Groups (public cohorts in place of personal profiles)"
    DEVICE = "Device (search without being profiled)"
    POOL = "Pool (personal data that k people online share)"
    EVALUATE = "Evaluate (what a guard costs in search quality)"
    WORLD = "World (try everything on people who do not exist)"


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
    """List what the library may call an option's value: as the command's function does, or as the option."""
    return [parameter.name, *(option.lstrip("-").replace("-", "_") for option in parameter.opts)]


def _option(parameter: Any, value: str | None) -> str:
    longest = max(parameter.opts, key=len)
    if parameter.param_type_name == "argument":
        name = (parameter.metavar or parameter.name).upper()
        return name if value is None else f"{name} {value}"
    if value == "False" and parameter.secondary_opts:
        return str(parameter.secondary_opts[0])
    if value is None or value == "True":
        return str(longest)
    return f"{longest} {value.strip(chr(39) + chr(34))}"


_WIDEST, _NARROW = 100, 60
"""Longer lines are hard to read; on a narrower screen (a phone) a meaning stands below its name."""


def library(place: str) -> Any:
    """Load a part of the library by its address, such as ``tacit:Agent``."""
    module, _, name = place.partition(":")
    return attrgetter(name)(import_module(module))


def given(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given; the library has the defaults of the others."""
    return {name: value for name, value in options.items() if value is not None and value != []}


def described(documented: Any) -> dict[str, str]:
    """Read what a docstring says of each parameter or attribute.

    >>> described(described)
    {'documented': 'a function or class of the library.'}

    Args:
        documented: a function or class of the library.
    """
    section = r"^(?:Args|Attributes):\n(.*?)(?:\n\n|\Z)"
    listed = re.search(section, inspect.getdoc(documented) or "", re.MULTILINE | re.DOTALL)
    entries = re.findall(r"^    (\w[\w, ]*): (.*(?:\n {5,}.*)*)", listed[1] if listed else "", re.MULTILINE)
    return {name: " ".join(said.split()) for names, said in entries for name in names.split(", ")}


class _Headed:
    """Help in Click's layout, with options and verbs under their headings and nothing cut.

    Rich's panels cut long names at 80 columns, and take longer to load than the rest of ``tacit --help``.
    """

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Write the help for the terminal at hand."""
        formatter.width = min(shutil.get_terminal_size().columns, _WIDEST)
        self.explain()
        super().format_help(ctx, formatter)  # type: ignore[misc]

    def explain(self) -> None:
        """Explain options as the library explains its parameters, and put them under their headings.

        The library is loaded only when it is asked: it takes long.
        """
        callback: Any = self.callback  # type: ignore[attr-defined]
        parameters: list[Any] = self.params  # type: ignore[attr-defined]
        options: dict[str, str] = {each.name: max(each.opts, key=len) for each in parameters}
        for place in getattr(callback, "explained_by", ()):
            documented = library(place)
            said, defaults = described(documented), inspect.signature(documented).parameters
            for parameter in parameters:
                text = next((said[name] for name in _names(parameter) if name in said), "")
                if text and not parameter.help:
                    if parameter.multiple:
                        default = getattr(defaults.get(parameter.name), "default", None) or ()
                        text += " Repeatable." + f"  [default: {', '.join(map(str, default))}]" * bool(
                            default
                        )
                    text = re.sub(r"``?(\w+)``?", lambda found: options.get(found[1], found[1]), text)
                    text = re.sub(r"``(.+?)``|:\w+:`~?([^`]+)`", r"\1\2", text)
                    parameter.help = text[:1].upper() + text[1:] if text[0].isascii() else text
        for heading, names in getattr(callback, "headings", {}).items():
            for parameter in parameters:
                if parameter.name in names.split():
                    parameter.rich_help_panel = heading

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write arguments and options in the order of their declaration, then verbs by guard and name."""
        sections: dict[str, list[tuple[str, str]]] = {}
        parameter: Any
        for parameter in self.get_params(ctx):  # type: ignore[attr-defined]
            if (record := parameter.get_help_record(ctx)) is not None:
                kind = "Arguments" if parameter.param_type_name == "argument" else "Options"
                heading = getattr(parameter, "rich_help_panel", None) or kind
                sections.setdefault(heading, []).append(_fitting(record[0], record[1], formatter.width))
        verbs = [(_heading(verb), name, verb) for name, verb in getattr(self, "commands", {}).items()]
        for heading, name, verb in sorted(verbs, key=lambda each: (_rank(each[0]), *each[:2])):
            summary = (verb.help or "").strip().partition("\n\n")[0]
            sections.setdefault(heading, []).append((name, " ".join(summary.split())))
        for heading, rows in sections.items():
            with formatter.section(heading):
                formatter.write_dl(rows, col_max=30 if formatter.width >= _NARROW else 2)

    def format_epilog(self, _ctx: Any, formatter: Any) -> None:
        """Write examples so that they can be copied: a long one goes on after a backslash."""
        formatter.write_paragraph()
        for line in (self.epilog or "").strip().splitlines():  # type: ignore[attr-defined]
            pieces = textwrap.wrap(line, formatter.width - 6, break_long_words=False, break_on_hyphens=False)
            formatter.write(" \\\n    ".join(pieces) + "\n")


def _fitting(name: str, meaning: str, width: int) -> tuple[str, str]:
    """Name the kind of a value plainly, and move choices that do not fit beside it into the meaning."""
    name = re.sub(r"<(?:list\[)?(.+?)(?: range)?\]?>", r"<\1>", name).replace("<str>", "<text>")
    flags, found, kind = name.partition(" <")
    if not found or len(name) + 2 <= width:
        return name, meaning
    return f"{flags} <choice>", f"{meaning}  [one of {kind.rstrip('>').replace('|', ', ')}]"


def _heading(verb: Any) -> str:
    return getattr(verb, "rich_help_panel", None) or "Commands"


def _rank(heading: str) -> int:
    headings = list(Panel)
    return headings.index(Panel(heading)) if heading in headings else len(headings)


class Verb(_Headed, TyperCommand):
    """One command."""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the words; a number with a comma for its point is told how numbers are written here."""
        given = list(args)  # what is read is taken out
        try:
            return super().parse_args(ctx, args)
        except typer.BadParameter as error:
            error.message = error.message.replace("a valid float", "a number")
            commas = [hit for word in given if (hit := re.fullmatch(r"(?:--[\w-]+=)?(-?\d+),(\d+)", word))]
            if commas and "not a number" in error.message:
                error.message = f"write numbers with a point, as in {commas[0][1]}.{commas[0][2]}."
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error of the library is said in the command's options."""
        try:
            return super().invoke(ctx)
        except TacitError as error:
            say_in_options(error, self)
            raise


class VerbGroup(_Headed, TyperGroup):
    """A command of commands; where none of them is named, it is the ``usual`` one, if there is such."""

    usual = ""

    def parse_args(self, ctx: Any, args: list[str]) -> Any:
        """Read the words, with the usual command's name before those that name none."""
        if self.usual and args and args[0] not in self.commands and args[0] not in ctx.help_option_names:
            args = [self.usual, *args]
        return super().parse_args(ctx, args)


def verb(
    run: Callable[..., None],
    example: str,
    name: str = "",
    *,
    by: str = "",
    headings: Mapping[str, str] | None = None,
) -> Callable[[typer.Typer], None]:
    """Make the ``register`` of a command.

    Args:
        run: the command; its docstring is the help.
        example: what to type, after the command's name.
        name: the command's, if not that of the function.
        by: the parts of the library that explain the options, such as ``tacit:Agent``.
        headings: of the help, each with the names of options below it.
    """
    name = name or run.__name__
    run.__dict__.update(explained_by=by.split(), headings=headings or {})

    def register(app: typer.Typer) -> None:
        group = "" if app.info.name == "tacit" else f"{app.info.name} "
        app.command(name, epilog=f"Example: tacit {group}{name} {example}".rstrip())(_with_json(run))

    return register


def _with_json(run: Callable[..., None]) -> Callable[..., None]:
    """Give a command the option ``--json``, which :func:`tacit.terminal.emit` goes by."""

    @wraps(run)
    def command(*, as_json: bool, **words: Any) -> None:
        with speaking(json=as_json):
            run(**words)

    said = typer.Option("--json", help="Print the result as one JSON document on stdout.")
    flag = inspect.Parameter(
        "as_json", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=Annotated[bool, said]
    )
    taken = [*inspect.signature(run, eval_str=True).parameters.values(), flag]
    command.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in taken}
    return command


def verb_group(
    name: str, meaning: str, verbs: Sequence[Callable[[typer.Typer], None]], usual: str = "", **settings: Any
) -> Callable[[typer.Typer], None]:
    """Make the ``register`` of a command of commands; the first of ``verbs`` is its example.

    Args:
        name: what to type for it, after ``tacit``.
        meaning: the help.
        verbs: what is below it.
        usual: the verb that is meant where none is named.
    """
    if usual:
        settings["cls"] = type("VerbGroup", (VerbGroup,), {"usual": usual})

    def register(app: typer.Typer) -> None:
        group = typer.Typer(name=name, help=meaning, no_args_is_help=True, **settings)
        for add in verbs:
            add(group)
        group.info.epilog = group.registered_commands[0].epilog
        app.add_typer(group, name=name.rpartition(" ")[2])

    return register


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
