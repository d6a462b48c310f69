"""``tacit release``: publish a search log with a guarantee."""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.markup import escape
from rich.text import Text
from typer.core import TyperGroup

from tacit.commands import options as o
from tacit.commands.verbs import Panel, verb, verb_group
from tacit.errors import PrivacyWarning
from tacit.head_start import at_work_on
from tacit.release.registry import MECHANISMS, mechanism_class
from tacit.terminal import emit, give_up_on_stdout, stderr

if TYPE_CHECKING:
    from tacit.release.publication import Release

PANEL = Panel.RELEASE

_HELP = """{summary}

Give --epsilon (and --delta) to have the parameters planned, or the parameters to be charged what they cost.
The data set's ledger is charged before any noise is drawn; a release that is interrupted stays charged, and
the next run starts anew.
"""
_HEADINGS = {
    "The ledger": "ledger budget_epsilon budget_delta",
    "For the page": "purpose data_set controller",
}


class _Mechanisms(TyperGroup):
    """Explains how to ask for a release where a log was given in place of a mechanism."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None:
            raise typer.BadParameter(
                f"{args[0]!r} is not a mechanism. Name it first, then the log: "
                f"tacit release MECHANISM LOG -o DIR, with one of {', '.join(MECHANISMS)}.",
                ctx=ctx,
            )
        return super().resolve_command(ctx, args)


def _publish(
    mechanism: type[Any],
    asked: Mapping[str, Any],
    *,
    log: o.LogFile,
    to: Annotated[
        Path,
        typer.Option("--output", "-o", help="The folder to make; new, for a release is never overwritten."),
    ],
    ledger: Path | None = None,
    budget_epsilon: float | None = None,
    budget_delta: float = 0.0,
    purpose: str = "",
    data_set: str = "",
    controller: str = "",
    since: o.Since = None,
    until: o.Until = None,
    scrub: o.ScrubFlag = True,
    session_gap: o.SessionGap = None,
    memory: o.Memory = None,
    threads: o.Threads = None,
    engine: Annotated[str | None, typer.Option(rich_help_panel=o.WORK)] = None,
    users: Annotated[int | None, typer.Option(min=1)] = None,
    even_if_empty: Annotated[bool, typer.Option("--even-if-empty")] = False,
    a_person_may_be_shown: Annotated[bool, typer.Option("--a-person-may-be-shown")] = False,
    unsafe_exact_counts: Annotated[bool, typer.Option("--i-know-this-is-not-private")] = False,
) -> None:
    options = {name: value for name, value in locals().items() if name not in ("mechanism", "asked", "log")}
    with at_work_on(log):
        from tacit.release.publication import publish

        _publish_to(to, partial(publish, log, mechanism(**asked), **options))


def _publish_to(to: Path, publish: Callable[..., Release]) -> None:
    """Publish, and show what was published."""
    existed = to.exists()
    try:
        with stages() as report:
            done = publish(report=report)
        result = {"folder": str(done.folder), **done.manifest, "remaining": done.manifest["budget"]["left"]}
        emit(result, *_shown(done))
    except (KeyboardInterrupt, SystemExit, OSError, ValueError):
        # Whoever runs this by a schedule runs it again if it fails, and pays again for what is there already.
        if existed or not (to / "manifest.json").is_file():
            raise
        give_up_on_stdout()
        with suppress(OSError, ValueError):
            said = f"{to} is published and charged; not all could be said about it."
            stderr().print(said, markup=False, soft_wrap=True)


@contextmanager
def stages() -> Iterator[Callable[[str], None]]:
    """Show what is under way on stderr: a running line on a terminal, else one line a stage with its time.

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


def _shown(done: Release) -> Iterator[str | Text]:
    from tacit.privacy import Guarantee

    yield Text.assemble((str(done.folder), "bold"), f": {done.guarantee}")
    verdict = done.verdict
    yield Text.assemble(
        (verdict.headline, "bold red" if verdict.warns else "bold"),
        f". All releases so far together: from an even chance to {verdict.sure_but_for}",
    )
    for name, table in done.tables.items():
        yield f"  {name}: {table.num_rows:,} row{'' if table.num_rows == 1 else 's'}"
    if not any(table.num_rows for table in done.tables.values()):
        yield (
            f"Nothing was frequent enough to appear: `tacit plan {done.manifest['mechanism']}` says how many "
            "users it takes. More users, other items or a larger ε would show more."
        )
    if done.guarantee.k:
        yield (
            f"recorded as entry {done.entry.number}, not charged: no ε describes exact counts. What the "
            "ledger says is left bounds nothing about this data set any more."
        )
    else:
        left = Guarantee.from_dict(done.manifest["budget"]["left"])
        yield f"charged as entry {done.entry.number}; left: {left}"
    yield Text("Read release.html; check with `tacit verify`.", "dim")


def register(app: typer.Typer) -> None:
    """Add a verb for each mechanism."""
    verbs = []
    for name in [name for name in MECHANISMS if name in sys.argv[2:3]] or MECHANISMS:  # loaded sooner
        mechanism = mechanism_class(name)
        meaning, private = _HELP.format(summary=mechanism.summary), mechanism.private
        without = ("unsafe_exact_counts",) if private else ()
        command = o.declared_command(mechanism, partial(_publish, mechanism), meaning, without)
        agreed = "" if private else " --i-know-this-is-not-private"
        example = f"log.parquet {mechanism.example} -o week-01{agreed}"
        verbs.append(verb(command, example, name, by="tacit.log:Log.release", headings=_HEADINGS))
    meaning = "Publish a search log: tables, a manifest and a page, with a guarantee that anyone can check."
    verb_group("release", meaning, verbs, cls=_Mechanisms)(app)
