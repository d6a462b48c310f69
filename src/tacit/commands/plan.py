"""``tacit plan``: parameters of a release mechanism for a guarantee that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from tacit.commands.panels import Panel
from tacit.release.registry import MECHANISMS, mechanism_class, parameters_class
from tacit.terminal import emit
from tacit.terminal.declared import declared_command, json_flag

__all__ = ["PANEL", "register"]

PANEL = Panel.RELEASE


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    group = typer.Typer(
        help="Parameters of a release for a guarantee that is asked for: what they mean and cost, in words.",
        epilog="Example: tacit plan click --epsilon 1 --queries-per-user 5",
        no_args_is_help=True,
    )
    for name in MECHANISMS:
        parameters = parameters_class(name)
        command = declared_command(parameters, _plan(name), after=[json_flag()])
        example = f"Example: tacit plan {name} {parameters.example}"
        group.command(name, help=parameters.summary, epilog=example)(command)
    app.add_typer(group, name="plan")


def _plan(name: str) -> Any:
    def plan(asked: Mapping[str, Any], *, as_json: bool) -> None:
        from tacit.release.statement import state_plan

        stated = state_plan(mechanism_class(name)(**asked))
        emit(stated.document, as_json=as_json, render=stated.render)

    return plan
