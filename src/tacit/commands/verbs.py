"""The kinds of command that ``tacit`` is made of: their help fits the screen, their errors name options."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from tacit.commands.help_page import help_page
from tacit.commands.option_names import say_in_options
from tacit.commands.panels import Panel
from tacit.errors import TacitError

__all__ = ["Verb", "VerbGroup", "shape"]


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
