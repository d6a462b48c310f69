"""``tacit plan``: parameters of a release mechanism for a guarantee that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer
from rich.console import Console

from tacit.commands.forecast import foreseen, in_words, users_option
from tacit.commands.options import declared_command, json_flag
from tacit.commands.verbs import Panel
from tacit.release.registry import MECHANISMS, mechanism_class
from tacit.terminal import emit

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

        made = mechanism_class(name)(**asked).plan()
        stated = state_plan(made)
        users = log_users or asked.get("users")
        if not users:
            emit(stated.document, as_json=as_json, render=stated.render)
            return
        expected = foreseen(made, users)
        document = {**stated.document, "expected_users": users, "expected_rows": expected}

        def render(console: Console) -> None:
            stated.render(console)
            console.print(in_words(expected, users), markup=False, soft_wrap=True)

        emit(document, as_json=as_json, render=render)

    return plan
