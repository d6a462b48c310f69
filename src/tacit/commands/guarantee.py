"""``tacit guarantee``: what given parameters of a release mechanism provably guarantee."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import typer

from tacit.commands.options import declared_command, json_flag
from tacit.commands.plan import draw, planned
from tacit.commands.verbs import Panel
from tacit.release.registry import MECHANISMS, mechanism_class
from tacit.terminal import emit

PANEL = Panel.RELEASE


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    group = typer.Typer(
        help="What given parameters of a release mechanism provably guarantee, beside the paper's figure.",
        epilog="Example: tacit guarantee click --noise 10 --threshold 10 --queries-per-user 5",
        no_args_is_help=True,
    )
    for name in MECHANISMS:
        parameters = mechanism_class(name)
        command = declared_command(parameters, _guarantee(name), after=[json_flag()])
        example = f"Example: tacit guarantee {name} {parameters.given_example or parameters.example}"
        group.command(name, help=parameters.summary, epilog=example)(command)
    app.add_typer(group, name="guarantee")


def _guarantee(name: str) -> Any:
    def guarantee(asked: Mapping[str, Any], *, as_json: bool) -> None:
        from tacit.release.document.statement import state_guarantee

        stated = state_guarantee(planned(name, asked))
        emit(stated.document, as_json=as_json, render=lambda console: draw(console, stated))

    return guarantee
