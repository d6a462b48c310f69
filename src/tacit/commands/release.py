"""``tacit release``: publish a search log with a guarantee."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from typer.core import TyperGroup

from tacit.commands.options import (
    LogFile,
    Memory,
    ScrubFlag,
    SessionGap,
    Sessions,
    Since,
    Threads,
    Until,
    declared_command,
    json_flag,
    users_option,
)
from tacit.commands.verbs import Panel
from tacit.errors import PrivacyWarning
from tacit.release.registry import MECHANISMS, mechanism_class
from tacit.terminal import emit, give_up_on_stdout, stderr

if TYPE_CHECKING:
    from tacit.release.publication import Release

PANEL = Panel.RELEASE

_LEDGER = "The ledger"
_ABOUT = "For the page"
_HELP = """{summary}

Give --epsilon (and --delta) to have the parameters planned, or the parameters to be charged what they cost.
The data set's ledger is charged before any noise is drawn; a release that is interrupted stays charged, and
the next run starts anew.
"""


def _shared(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _said(name: str, kind: Any, default: Any, says: str, panel: str = _LEDGER) -> inspect.Parameter:
    return _shared(name, Annotated[kind, typer.Option(help=says, rich_help_panel=panel)], default)


_NewFolder = Annotated[
    Path,
    typer.Option("--output", "-o", help="The folder to make; new, for a release is never overwritten."),
]
_FIRST = (_shared("log", LogFile), _shared("output", _NewFolder))
_LAST = (
    _said("ledger", Path | None, None, "The data set's ledger (default: where it is known, or LOG.ledger)."),
    _said(
        "budget_epsilon",
        float | None,
        None,
        "Open the ledger, if there is none, with this ε for all releases.",
    ),
    _said("budget_delta", float, 0.0, "δ of the budget, with --budget-epsilon."),
    _said("purpose", str, "", "What the release is for: in the ledger, the manifest and the page.", _ABOUT),
    _said("data_set", str, "", "What people call the data set, for the page.", _ABOUT),
    _said("controller", str, "", "Who is responsible for the data set, for the page.", _ABOUT),
    _shared("since", Since, None),
    _shared("until", Until, None),
    _shared("scrub", ScrubFlag, True),
    _shared("sessions", Sessions, "time"),
    _shared("session_gap", SessionGap, None),
    _shared("memory", Memory, None),
    _shared("threads", Threads, None),
    json_flag(),
)


_EvenIfEmpty = Annotated[
    bool,
    typer.Option("--even-if-empty", help="With --users: go on although next to nothing can be expected."),
]
_EVEN_IF_EMPTY = _shared("even_if_empty", _EvenIfEmpty, False)
_MayShow = Annotated[
    bool,
    typer.Option(
        "--a-person-may-be-shown",
        help="Needed where δ, of all releases so far, may show a person: above 0.1 over the users, or 1e-5.",
    ),
]
_MAY_SHOW = _shared("a_person_may_be_shown", _MayShow, False)
_NotPrivate = Annotated[
    bool,
    typer.Option(
        "--i-know-this-is-not-private", help="Needed: it protects against nobody who knows the method."
    ),
]
_NOT_PRIVATE = _shared("unsafe_exact_counts", _NotPrivate, False)


class _Mechanisms(TyperGroup):
    """Says how a release is asked for where a log stands in the place of a mechanism."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None:
            raise typer.BadParameter(
                f"{args[0]!r} is not a mechanism. Name it first, then the log: "
                f"tacit release MECHANISM LOG -o DIR, with one of {', '.join(MECHANISMS)}.",
                ctx=ctx,
            )
        return super().resolve_command(ctx, args)


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    group = typer.Typer(
        help="Publish a search log: tables, a manifest and a page, with a guarantee that anyone can check.",
        epilog="Example: tacit release zealous log.parquet --epsilon 1 --delta 1e-6 --budget-epsilon 10 "
        "--budget-delta 1e-5 -o week-01",
        no_args_is_help=True,
        cls=_Mechanisms,
    )
    for name in MECHANISMS:
        parameters = mechanism_class(name)
        last = (*_LAST, *users_option(parameters), _EVEN_IF_EMPTY, _MAY_SHOW)
        agreed = "" if parameters.private else " --i-know-this-is-not-private"
        last = last if parameters.private else (*last, _NOT_PRIVATE)
        command = declared_command(parameters, _release(name), before=_FIRST, after=last)
        example = f"Example: tacit release {name} log.parquet {parameters.example} -o week-01{agreed}"
        group.command(name, help=_HELP.format(summary=parameters.summary), epilog=example)(command)
    app.add_typer(group, name="release")


def _release(name: str) -> Any:
    def release(asked: Mapping[str, Any], **words: Any) -> None:
        _publish(mechanism_class(name), asked, **words)

    return release


def _publish(
    mechanism: Any,
    asked: Mapping[str, Any],
    *,
    log: Path,
    output: Path,
    as_json: bool,
    log_users: int | None = None,
    **words: Any,
) -> None:
    from tacit.release.publication import publish

    existed = output.exists()
    try:
        with _stages() as report:
            done = publish(log, mechanism(**asked), to=output, users=log_users, report=report, **words)
        result = {"folder": str(done.folder), **done.manifest, "remaining": done.manifest["budget"]["left"]}
        emit(result, as_json=as_json, render=lambda console: _render(console, done))
    except (KeyboardInterrupt, SystemExit, OSError, ValueError):
        # Whoever runs this by a schedule runs it again if it fails, and pays again for what is there already.
        if existed or not (output / "manifest.json").is_file():
            raise
        give_up_on_stdout()
        with suppress(OSError, ValueError):
            said = f"{output} is published and charged; not all could be said about it."
            stderr().print(said, markup=False, soft_wrap=True)


@contextmanager
def _stages() -> Iterator[Callable[[str], None]]:
    """What is under way, on stderr: a running line on a terminal, else one line per stage with its time.

    Whole sentences stay on the screen, and so do warnings.
    """
    console, begun = stderr(), time.monotonic()

    def warned(message: Warning | str, *_details: Any, **_more: Any) -> None:
        console.print(f"[bold red]warning:[/] {escape(str(message))}", soft_wrap=True)

    with warnings.catch_warnings():
        warnings.simplefilter("always", PrivacyWarning)
        warnings.showwarning = warned
        if not console.is_terminal:
            yield lambda stage: console.print(
                stage if stage.endswith(".") else f"{time.monotonic() - begun:6.1f} s  {stage}",
                markup=False,
                soft_wrap=True,
            )
            return
        with console.status("checking …") as status:

            def report(stage: str) -> None:
                if stage.endswith("."):
                    console.print(stage, markup=False, soft_wrap=True)
                else:
                    status.update(f"{stage} …")

            yield report


def _render(console: Console, done: Release) -> None:
    from tacit.privacy import Guarantee
    from tacit.release.document.words import but_for

    console.print(f"[bold]{escape(str(done.folder))}[/]: {done.guarantee}")
    verdict = done.verdict
    style = "bold red" if verdict.warns else "bold"
    console.print(
        f"[{style}]{verdict.headline}[/], counting all releases so far: from an even chance to {verdict.sure}"
        f"{but_for(verdict.chance)}",
        soft_wrap=True,
    )
    for name, table in done.tables.items():
        console.print(f"  {name}: {table.num_rows:,} row{'' if table.num_rows == 1 else 's'}")
    if not any(table.num_rows for table in done.tables.values()):
        console.print(
            f"Nothing was frequent enough to appear: `tacit plan {done.manifest['mechanism']}` says how many "
            "users it takes. More users, other items or a larger ε would show more."
        )
    left = Guarantee.from_dict(done.manifest["budget"]["left"])
    if done.guarantee.k:
        console.print(
            f"recorded as entry {done.entry.number}, not charged: no ε describes exact counts. What the "
            "ledger says is left bounds nothing about this data set any more.",
            soft_wrap=True,
        )
    else:
        console.print(f"charged as entry {done.entry.number}; left: {left}", markup=False)
    console.print("Read release.html; check with `tacit verify`.", style="dim")
