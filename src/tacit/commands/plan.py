"""``tacit plan``: parameters of a release mechanism for a guarantee that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.table import Table

from tacit.commands.options import declared_command, json_flag, users_option
from tacit.commands.verbs import Panel
from tacit.release.parameters import refuse_noise_off
from tacit.release.registry import MECHANISMS, mechanism_class
from tacit.terminal import emit, stderr

if TYPE_CHECKING:
    from tacit.release.document.statement import Statement
    from tacit.release.mechanism import Plan

PANEL = Panel.RELEASE


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    group = typer.Typer(
        help="Parameters of a release for a guarantee that is asked for: what they mean and cost, in words.",
        epilog="Example: tacit plan click --epsilon 1 --queries-per-user 5",
        no_args_is_help=True,
    )
    for name in MECHANISMS:
        parameters = mechanism_class(name)
        command = declared_command(parameters, _plan(name), after=[*users_option(parameters), json_flag()])
        example = f"Example: tacit plan {name} {parameters.example}"
        group.command(name, help=parameters.summary, epilog=example)(command)
    app.add_typer(group, name="plan")


def _plan(name: str) -> Any:
    def plan(asked: Mapping[str, Any], *, as_json: bool, log_users: int | None = None) -> None:
        from tacit.release.document.statement import state_plan
        from tacit.release.forecast import foresee, in_words

        made = planned(name, asked)
        stated = state_plan(made)
        users = log_users or asked.get("users")
        if not users:
            emit(stated.document, as_json=as_json, render=lambda console: draw(console, stated))
            return
        expected = foresee(made, users, lambda stage: stderr().print(f"{stage} …", markup=False))
        document = {**stated.document, **expected.to_dict()}

        def render(console: Console) -> None:
            draw(console, stated)
            console.print(in_words(expected), markup=False, soft_wrap=True)

        emit(document, as_json=as_json, render=render)

    return plan


def planned(name: str, asked: Mapping[str, Any]) -> Plan[Any]:
    """Return the plan for the options that were given; noise that is switched off is for tests."""
    mechanism = mechanism_class(name)(**asked)
    refuse_noise_off(mechanism)
    return mechanism.plan()


def draw(console: Console, stated: Statement) -> None:
    """Draw a statement: a table of ours beside the paper's, then the words."""
    console.print(stated.title, style="bold", markup=False)
    table = Table(show_edge=False, pad_edge=False)
    table.add_column("")
    table.add_column(stated.ours, justify="right")
    table.add_column("paper", justify="right", style="dim")
    for row in stated.rows:
        table.add_row(*row)
    console.print(table)
    console.print()
    for line in stated.words:
        console.print(f"• {line}", markup=False)
    if stated.why:
        console.print(f"\nWhy the paper differs: {stated.why}", markup=False, style="dim")
