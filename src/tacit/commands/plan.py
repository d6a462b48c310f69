"""``tacit plan`` and ``tacit guarantee``: parameters for a guarantee, and what given ones guarantee."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.table import Table
from rich.text import Text

from tacit.commands.options import declared_command
from tacit.commands.verbs import Panel, verb, verb_group
from tacit.release.parameters import refuse_noise_off
from tacit.release.registry import MECHANISMS, SERIES, mechanism_class
from tacit.terminal import emit, stderr, table

if TYPE_CHECKING:
    from tacit.release.document.statement import Statement
    from tacit.release.mechanism import Plan

PANEL = Panel.RELEASE

_USERS = "About how many users the log has (public knowledge): say how many rows to expect."


def plan(
    name: str,
    asked: Mapping[str, Any],
    *,
    users: Annotated[int | None, typer.Option(min=1, help=_USERS)] = None,
) -> None:
    """Find parameters that give the guarantee asked for, and explain what they mean and cost."""
    from tacit.release.document.statement import state_plan
    from tacit.release.forecast import foresee, in_words

    made = planned(name, asked)
    stated, users = state_plan(made), users or asked.get("users")
    document, more = stated.document, []
    if users:
        expected = foresee(made, users, lambda stage: stderr().print(f"{stage} …", markup=False))
        document, more = {**document, **expected.to_dict()}, [in_words(expected)]
    emit(document, *_shown(stated), *more)


def guarantee(name: str, asked: Mapping[str, Any]) -> None:
    """Compute what given parameters provably guarantee."""
    from tacit.release.document.statement import state_guarantee

    stated = state_guarantee(planned(name, asked))
    emit(stated.document, *_shown(stated))


def planned(name: str, asked: Mapping[str, Any]) -> Plan[Any]:
    """Return the plan for the options that were given; noise that is switched off is for tests."""
    mechanism = mechanism_class(name)(**asked)
    refuse_noise_off(mechanism)
    return mechanism.plan()


def _shown(stated: Statement) -> Iterator[str | Text | Table]:
    """Show a statement: a table of ours, beside the paper's where it has figures, then the words."""
    yield Text(stated.title, "bold")
    yield table(("", stated.ours, "paper")[: len(stated.rows[0])], stated.rows, right=True)
    yield ""
    yield from (f"• {line}" for line in stated.words)
    if stated.why:
        yield Text(f"\nWhy the paper differs: {stated.why}", "dim")


def _verbs(run: Callable[..., None], example: str) -> list[Callable[[typer.Typer], None]]:
    """Make a verb for each mechanism, with its parameters as options."""
    made = []
    for name in (*MECHANISMS, SERIES):
        mechanism = mechanism_class(name)
        command = declared_command(mechanism, partial(run, name), mechanism.summary)
        made.append(verb(command, getattr(mechanism, example) or mechanism.example, name))
    return made


def register(app: typer.Typer) -> None:
    """Add both verbs."""
    meaning = "Parameters of a release for a guarantee that is asked for: what they mean and cost, in words."
    verb_group("plan", meaning, _verbs(plan, "example"))(app)
    meaning = "What given parameters of a release mechanism provably guarantee, beside the paper's figure."
    verb_group("guarantee", meaning, _verbs(guarantee, "given_example"))(app)
