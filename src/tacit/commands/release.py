"""``tacit release``: publish a search log with a guarantee."""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from tacit.commands.forecast import foreseen, in_words, users_option
from tacit.commands.options import (
    LogFile,
    Memory,
    ScrubFlag,
    SessionGap,
    Sessions,
    Since,
    Threads,
    Until,
    bytes_of,
    declared_command,
    json_flag,
)
from tacit.commands.verbs import Panel
from tacit.errors import ParameterError
from tacit.release.registry import MECHANISMS, mechanism_class
from tacit.terminal import emit, stderr

PANEL = Panel.RELEASE

_LEDGER = "The ledger"
_ABOUT = "For the page"
_HELP = """{summary}

Give --epsilon (and --delta) to have the parameters planned, or the parameters to be charged what they cost.
The data set's ledger is charged before any noise is drawn; a release that is interrupted stays charged, and
the next run starts anew.
"""


def _word(name: str, kind: Any, info: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    return inspect.Parameter(
        name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, info]
    )


def _shared(name: str, kind: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """An option that other commands have too."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


_NewFolder = Annotated[
    Path,
    typer.Option("--output", "-o", help="The folder to make; new, for a release is never overwritten."),
]
_FIRST = (_shared("log", LogFile), _shared("output", _NewFolder))
_LAST = (
    _word(
        "ledger",
        Path | None,
        typer.Option(
            help="The data set's ledger (default: where it is known, or LOG.ledger).", rich_help_panel=_LEDGER
        ),
        None,
    ),
    _word(
        "budget_epsilon",
        float | None,
        typer.Option(
            help="Open the ledger, if there is none, with this ε for all releases.", rich_help_panel=_LEDGER
        ),
        None,
    ),
    _word(
        "budget_delta",
        float,
        typer.Option(help="δ of the budget, with --budget-epsilon.", rich_help_panel=_LEDGER),
        0.0,
    ),
    _word(
        "purpose",
        str,
        typer.Option(
            help="What the release is for: in the ledger, the manifest and the page.", rich_help_panel=_ABOUT
        ),
        "",
    ),
    _word(
        "data_set",
        str,
        typer.Option(help="What people call the data set, for the page.", rich_help_panel=_ABOUT),
        "",
    ),
    _word(
        "controller",
        str,
        typer.Option(help="Who is responsible for the data set, for the page.", rich_help_panel=_ABOUT),
        "",
    ),
    _shared("since", Since, None),
    _shared("until", Until, None),
    _shared("scrub", ScrubFlag, True),
    _shared("sessions", Sessions, "time"),
    _shared("session_gap", SessionGap, None),
    _shared("memory", Memory, None),
    _shared("threads", Threads, None),
    json_flag(),
)


_EVEN_IF_EMPTY = _word(
    "even_if_empty",
    bool,
    typer.Option("--even-if-empty", help="With --users: go on although next to nothing can be expected."),
    False,
)
_NOT_PRIVATE = _word(
    "known_not_private",
    bool,
    typer.Option(
        "--i-know-this-is-not-private",
        help="Needed: it protects against nobody who knows the method.",
    ),
    False,
)


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
        last = (*_LAST, *users_option(parameters), _EVEN_IF_EMPTY)
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
    ledger: Path | None,
    budget_epsilon: float | None,
    budget_delta: float,
    purpose: str,
    data_set: str,
    controller: str,
    since: datetime | None,
    until: datetime | None,
    scrub: bool,
    sessions: str,
    session_gap: float | None,
    memory: str | None,
    threads: int | None,
    as_json: bool,
    known_not_private: bool = False,
    log_users: int | None = None,
    even_if_empty: bool = False,
) -> None:
    from tacit.privacy.ledger.register import open_ledger
    from tacit.release.document.manifest import About
    from tacit.release.preparation import Preparation
    from tacit.release.publication import Order, publish_log, refuse_overwriting
    from tacit.searchlog import check_log
    from tacit.searchlog.sessions import SessionCut

    check_log(log)
    refuse_overwriting(output)
    made = mechanism(**asked).plan()
    made.check()
    engine_memory = bytes_of(memory) if memory else None
    prepared = Preparation(since, until, scrub, SessionCut.of(sessions, session_gap).settled())
    _warn(made, known_not_private)
    if users := log_users or asked.get("users"):
        _foresee(made, users, even_if_empty)
    budget = _budget(budget_epsilon, budget_delta, made.neighbours)
    _require_room(made.guarantee, budget)
    order = Order(
        log,
        output,
        made,
        prepared,
        open_ledger(ledger, log, budget),
        purpose,
        engine_memory,
        threads,
        About(data_set, controller, purpose),
    )
    with _stages() as report:
        done = publish_log(order, report=report)
    remaining = order.ledger.left
    result = {"folder": str(done.folder), **done.manifest, "remaining": remaining.to_dict()}
    emit(result, as_json=as_json, render=lambda console: _render(console, result, done, remaining))


def _warn(made: Any, known_not_private: bool) -> None:
    """Say what a weak guarantee means; refuse what is not private unless that is known."""
    from tacit.release.document.words import verdict_on

    verdict = verdict_on(made.guarantee)
    if not made.mechanism.private and not known_not_private:
        raise ParameterError(
            f"{made.title} is not private: {verdict.sentence}",
            "Choose another mechanism; or, if that is acceptable, say --i-know-this-is-not-private.",
        )
    if verdict.warns:
        stderr().print(f"[bold red]{verdict.headline}.[/] {verdict.sentence}", soft_wrap=True)


def _foresee(made: Any, users: int, even_if_empty: bool) -> None:
    """Say how many rows a log of so many users would give; refuse if that is next to nothing."""
    from tacit.release.forecast import refuse_if_empty

    expected = foreseen(made, users)
    stderr().print(in_words(expected, users), markup=False, soft_wrap=True)
    if not even_if_empty:
        refuse_if_empty(expected, made, users)


@contextmanager
def _stages() -> Iterator[Callable[[str], None]]:
    """What is under way, on stderr: a running line on a terminal, else one line per stage with its time."""
    console, begun = stderr(), time.monotonic()
    if console.is_terminal:
        with console.status("checking …") as status:
            yield lambda stage: status.update(f"{stage} …")
        return
    yield lambda stage: console.print(f"{time.monotonic() - begun:6.1f} s  {stage}", markup=False)


def _budget(epsilon: float | None, delta: float, neighbours: Any) -> Any:
    from tacit.privacy import Guarantee, GuaranteeKind

    if epsilon is None:
        return None
    kind = GuaranteeKind.INDISTINGUISHABILITY if delta else GuaranteeKind.PURE
    return Guarantee(kind, neighbours, epsilon, delta)


def _require_room(guarantee: Any, budget: Any) -> None:
    """Refuse a budget that the first release already exceeds, before a ledger is opened with it for good."""
    from tacit.errors import BudgetError
    from tacit.privacy import GuaranteeKind

    if budget is None or guarantee.kind is GuaranteeKind.K_QUERY:
        return
    for name, asked, given in (
        ("epsilon", guarantee.epsilon, budget.epsilon),
        ("delta", guarantee.delta, budget.delta),
    ):
        if asked > given:
            raise BudgetError(
                f"this release costs a {name} of {asked:.4g}; the budget has {given:.4g}.",
                f"Give a larger `budget_{name}`; no ledger was opened and nothing was spent.",
            )


def _render(console: Console, result: dict[str, Any], done: Any, remaining: Any) -> None:
    from tacit.privacy import Guarantee
    from tacit.release.document.words import verdict_on

    guarantee = Guarantee.from_dict(result["guarantee"])
    console.print(f"[bold]{result['folder']}[/]: {guarantee}")
    verdict = verdict_on(guarantee)
    style = "bold red" if verdict.warns else "bold"
    console.print(f"[{style}]{verdict.headline}[/]: from an even chance to {verdict.sure}", soft_wrap=True)
    for name, table in result["published"].items():
        console.print(f"  {name}: {table['rows']:,} row{'' if table['rows'] == 1 else 's'}")
    if not any(table["rows"] for table in result["published"].values()):
        console.print(
            "Nothing was frequent enough to appear: "
            f"`tacit plan {result['mechanism']}` says how many users it takes. More users, other items or a "
            "larger ε would show more."
        )
    console.print(f"charged as entry {done.entry.number}; left: {remaining}", markup=False)
    console.print("Read release.html; check with `tacit verify`.", style="dim")
