"""``tacit ledger``: the budget of a data set, what was spent of it, and whether its file is sound."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from tacit.commands.options import JsonFlag
from tacit.commands.verbs import Panel
from tacit.terminal import emit

if TYPE_CHECKING:
    from tacit.privacy.ledger.entries import LedgerState


PANEL = Panel.RELEASE

LedgerFile = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger's file.", show_default=False)]

_BAR = 32

CompositionName = Literal["basic", "pld", "renyi"]


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    ledger = typer.Typer(
        help="The privacy budget of a data set: open it, see what was spent, check that it is sound.",
        epilog="Example: tacit ledger show log.ledger",
        no_args_is_help=True,
    )
    example = "tacit ledger init log.ledger --budget-epsilon 4 --budget-delta 1e-6 --log log.parquet"
    ledger.command("init", epilog=f"Example: {example}")(init)
    ledger.command("show", epilog="Example: tacit ledger show log.ledger")(show)
    ledger.command("verify", epilog="Example: tacit ledger verify log.ledger --head 3f9c…")(verify)
    ledger.command("about", epilog="Example: tacit ledger about log.ledger")(about)
    ledger.command("known", epilog="Example: tacit ledger known")(known)
    ledger.command("adopt", epilog="Example: tacit ledger adopt restored.ledger --log log.parquet")(adopt)
    app.add_typer(ledger, name="ledger")


def init(
    path: LedgerFile,
    epsilon: Annotated[
        float,
        typer.Option("--budget-epsilon", help="What all releases together may cost (ε).", show_default=False),
    ],
    delta: Annotated[
        float,
        typer.Option("--budget-delta", help="The probability that may be lost in all (δ)."),
    ] = 0.0,
    neighbours: Annotated[
        Literal["add-remove", "replace"],
        typer.Option(help="Whom ε and δ compare: add-remove (a user) or replace (a user's history)."),
    ] = "add-remove",
    composition: Annotated[
        CompositionName,
        typer.Option(
            help="How releases add up: sums (basic), tighter for repetitions of one release (pld), or for "
            "many that differ (renyi)."
        ),
    ] = "basic",
    label: Annotated[str, typer.Option(help="What people call the data set.")] = "",
    log: Annotated[
        Path | None,
        typer.Option(help="Bind the ledger to this log: no other is charged to it.", show_default=False),
    ] = None,
    instead_of_lost: Annotated[
        bool,
        typer.Option(
            "--instead-of-lost", help="The data set's ledger is lost for good: open this one in its place."
        ),
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Open the ledger of a data set. Its budget is fixed from then on.

    With --log the log is known again by its content: as a copy, under another name, or grown by a week.
    """
    from tacit.privacy.ledger import Ledger, budget_of

    budget = budget_of(epsilon, delta, neighbours)
    assert budget is not None
    ledger = Ledger.create(
        path, budget, label=label, composition=composition, log=log, instead_of_lost=instead_of_lost
    )
    state = ledger.state()

    def render(console: Console) -> None:
        console.print(f"opened {escape(str(path))}{' for ' + escape(label) if label else ''}", soft_wrap=True)
        console.print(f"budget: {budget}, {composition} composition", markup=False, soft_wrap=True)
        console.print("Keep it with the data set, and keep copies: it is the memory of what was released.")

    emit(_summary(path, state), as_json=as_json, render=render)


def adopt(
    path: LedgerFile,
    log: Annotated[Path, typer.Option(help="The log of the ledger's data set.", show_default=False)],
    as_json: JsonFlag = False,
) -> None:
    """Go on with this copy of a ledger, although a newer one was known and is lost.

    What was charged after this copy was made is not in it: the budget it shows is larger than what is left.
    """
    from tacit.privacy.ledger import Ledger

    ledger, lost = Ledger.adopt(path, log)
    state = ledger.state()
    result = _summary(path, state) | {"entries_lost": lost}

    def render(console: Console) -> None:
        console.print(f"{path} is the data set's ledger from now on", markup=False, soft_wrap=True)
        if lost:
            console.print(
                f"[bold red]{lost} entries are lost[/] that it had: what they charged was published all the "
                "same, and the totals here leave it out.",
                soft_wrap=True,
            )

    emit(result, as_json=as_json, render=render)


def about(path: LedgerFile, as_json: JsonFlag = False) -> None:
    """Make the file in which the owner states what the page of every release says, and show what is missing.

    Data set, controller, contact, purpose, recipients and more, one line each. A file that is there stays.
    """
    from tacit.privacy.ledger import Ledger
    from tacit.release.document.about import read_about, write_about

    made = write_about(path, Ledger(path).state().label)
    stated = read_about(path, {})

    def render(console: Console) -> None:
        console.print(f"{made}: fill it in with any editor", markup=False, soft_wrap=True)
        for title, said in stated.rows():
            console.print(f"  {title}: {said or 'not stated'}", markup=False, soft_wrap=True)

    result = {"file": str(made), "about": stated.to_dict(), "missing": stated.missing}
    emit(result, as_json=as_json, render=render)


def known(as_json: JsonFlag = False) -> None:
    """List the ledgers known on this machine, and whether each is still in its place."""
    from tacit.privacy.ledger import Register

    rows = [
        {
            "ledger": str(entry.path),
            "label": entry.label,
            "opened": entry.opened,
            "entries": entry.entries,
            "in_place": entry.path.exists(),
        }
        for entry in Register().all()
    ]

    def render(console: Console) -> None:
        if not rows:
            console.print("no ledger is known here yet")
            return
        table = Table("ledger", "label", "opened", "entries", "in its place", box=None, pad_edge=False)
        for row in rows:
            there = "yes" if row["in_place"] else "[bold red]gone[/]"
            table.add_row(
                escape(str(row["ledger"])),
                escape(str(row["label"])),
                str(row["opened"]),
                str(row["entries"]),
                there,
            )
        console.print(table)

    emit({"ledgers": rows}, as_json=as_json, render=render)


def show(path: LedgerFile, as_json: JsonFlag = False) -> None:
    """Show budget, spendings and what is left."""
    from tacit.privacy.ledger import Ledger
    from tacit.privacy.ledger.register import older_than_known

    ledger = Ledger(path)
    state, older = ledger.state(), older_than_known(ledger)
    last = state.account.charged[-1] if state.account.charged else None
    left = state.account.repetitions_left(last) if last is not None else None
    entries = [
        {
            "entry": entry.number,
            "time": entry.time,
            "purpose": entry.purpose,
            "guarantee": entry.guarantee.to_dict(),
            "event": entry.event.to_dict(),
            "torn": entry.torn,
            "state": entry.standing,
            "manifest": entry.manifest,
            "hash": entry.hash,
        }
        for entry in state.entries
    ]
    result = _summary(path, state) | {"repetitions_left": left, "releases": entries, "entries_missing": older}

    def render(console: Console) -> None:
        if older:
            console.print(
                f"[bold red]This is not the newest copy of this ledger:[/] at least {older} of its entries "
                "are missing that this machine has seen. More was spent, and less is left, than it says.",
                soft_wrap=True,
            )
        _render(console, path, state, left)

    emit(result, as_json=as_json, render=render)


def verify(
    path: LedgerFile,
    head: Annotated[
        str | None,
        typer.Option(
            help="A hash published earlier (a manifest holds one): it must still be in the chain.",
            show_default=False,
        ),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Check every hash, the arithmetic and, where this machine knows it, that no entry is missing.

    Exit 1 if something does not hold.
    """
    from tacit.privacy.ledger import Ledger
    from tacit.privacy.ledger.register import require_newest

    ledger = Ledger(path)
    state = ledger.verify(head)
    require_newest(ledger)
    result = _summary(path, state) | {"valid": True, "head_found": head is not None}

    def render(console: Console) -> None:
        charges = f"{len(state.account.charged)} charges within the budget"
        console.print(f"[green]sound[/]: {state.length} entries, {charges}")
        if head is None:
            console.print(
                "The chain shows changes inside it. Whether its end was cut off, or all of it rewritten, "
                "shows only against a hash published earlier: --head.",
                soft_wrap=True,
            )
        else:
            console.print("The published hash is in the chain: nothing up to it was changed.")
        _warn(console, state)
        console.print(f"head: {state.head}", soft_wrap=True)

    emit(result, as_json=as_json, render=render)


def _summary(path: Path, state: LedgerState) -> dict[str, Any]:
    account = state.account
    return {
        "ledger": str(path),
        "label": state.label,
        "opened": state.opened,
        "bound_to_log": state.fingerprint is not None,
        "budget": account.budget.to_dict(),
        "composition": account.rule.value,
        "spent": account.spent().to_dict(),
        "remaining": account.remaining().to_dict(),
        "entries": state.length,
        "charges": len(account.charged),
        "unprotected_releases": len(state.unprotected),
        "torn": state.torn,
        "head": state.head,
    }


def _bar(name: str, spent: float, budget: float, narrow: bool) -> Text:
    """How much is spent; on a narrow screen the numbers stand on a line of their own."""
    share = min(1.0, spent / budget) if budget else 0.0
    filled = round(share * _BAR)
    bar = Text(f"{name:<8}")
    bar.append("█" * filled, style="yellow").append("░" * (_BAR - filled), style="dim")
    bar.append("\n" if narrow else "  ")
    return bar.append(f"{spent:.6g} of {budget:.6g} spent, {max(0.0, budget - spent):.6g} left")


def _render(console: Console, path: Path, state: LedgerState, left: int | None) -> None:
    account = state.account
    spent, budget, narrow = account.spent(), account.budget, console.width < 80
    console.print(f"[bold]{escape(state.label or path.name)}[/]  opened {state.opened}")
    console.print(f"budget  {budget}, {account.rule.value} composition", markup=False, soft_wrap=True)
    console.print(_bar("epsilon", spent.epsilon, budget.epsilon, narrow), soft_wrap=True)
    if budget.delta:
        console.print(_bar("delta", spent.delta, budget.delta, narrow), soft_wrap=True)
    if left is not None:
        console.print(f"At the price of the last release, {left:,} more fit.")
    _warn(console, state)
    if state.entries:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for column in ("entry", "time", "purpose", "epsilon", "delta", "state"):
            table.add_column(column, justify="right" if column in ("entry", "epsilon", "delta") else "left")
        for entry in state.entries:
            promise = entry.guarantee
            prices = ("–", "–") if promise.k else (f"{promise.epsilon:.6g}", f"{promise.delta:.3g}")
            table.add_row(str(entry.number), entry.time, escape(entry.purpose), *prices, entry.standing)
        console.print(table)
    console.print(f"head: {state.head}", soft_wrap=True)


def _warn(console: Console, state: LedgerState) -> None:
    if state.unprotected:
        console.print(
            f"[bold red]{len(state.unprotected)} unprotected[/] (k-query) release(s): the totals say nothing "
            "about what such a release reveals.",
            soft_wrap=True,
        )
    noted = [str(entry.number) for entry in state.entries if entry.standing == "noted"]
    if noted:
        console.print(
            f"[yellow]noted, not released:[/] {', '.join(noted)}. The run ended after its note and before "
            "(or just as) its folder came into place. If there is no such folder, nothing was published for "
            "the charge, which stays; if there is one, `tacit verify FOLDER --ledger` says whether it is "
            "whole.",
            soft_wrap=True,
        )
    if state.torn:
        console.print(
            f"[yellow]{state.torn} torn[/]: a crash cut an entry short before anything was released for it.",
            soft_wrap=True,
        )
