"""``tacit ledger``: the budget of a data set, what was spent of it, and whether its file is sound."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.table import Table
from rich.text import Text

from tacit.commands.verbs import Panel, verb, verb_group
from tacit.terminal import emit, stdout, table

if TYPE_CHECKING:
    from tacit.privacy.ledger.entries import LedgerState

PANEL = Panel.RELEASE

LedgerFile = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger's file.", show_default=False)]

_BAR = 32


def init(
    path: LedgerFile,
    epsilon: Annotated[
        float,
        typer.Option("--budget-epsilon", help="What all releases together may cost (ε).", show_default=False),
    ],
    delta: Annotated[
        float, typer.Option("--budget-delta", help="The chance that may be lost in all (δ).")
    ] = 0.0,
    neighbours: Annotated[
        Literal["add-remove", "replace"],
        typer.Option(help="Whom ε and δ compare: add-remove (a user) or replace (a user's history)."),
    ] = "add-remove",
    composition: Literal["basic", "pld", "renyi"] = "basic",
    label: str = "",
    log: Annotated[
        Path | None, typer.Option(help="Bind the ledger to this log: no other is charged to it.")
    ] = None,
    instead_of_lost: Annotated[bool, typer.Option("--instead-of-lost")] = False,
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

    emit(
        _summary(path, state),
        f"opened {path}{' for ' + label if label else ''}",
        f"budget: {budget}, {composition} composition",
        "Keep it with the data set, and keep copies: it is the memory of what was released.",
    )


def adopt(
    path: LedgerFile,
    log: Annotated[Path, typer.Option(help="The log of the ledger's data set.", show_default=False)],
) -> None:
    """Go on with this copy of a ledger, although a newer one was known and is lost.

    What was charged after this copy was made is not in it: the budget it shows is larger than what is left.
    """
    from tacit.privacy.ledger import Ledger

    ledger, lost = Ledger.adopt(path, log)
    state = ledger.state()
    result = _summary(path, state) | {"entries_lost": lost}

    shown: list[str | Text] = [f"{path} is the data set's ledger from now on"]
    if lost:
        said = " that it had: what they charged was published all the same, and the totals here leave it out."
        shown.append(Text.assemble((f"{lost} entries are lost", "bold red"), said))
    emit(result, *shown)


def about(path: LedgerFile) -> None:
    """Make the file in which the owner states what the page of every release says, and show what is missing.

    Data set, controller, contact, purpose, recipients and more, one line each. A file that is there stays.
    """
    from tacit.privacy.ledger import Ledger
    from tacit.release.document.about import read_about, write_about

    made = write_about(path, Ledger(path).state().label)
    stated = read_about(path, {})

    shown = [f"  {title}: {said or 'not stated'}" for title, said in stated.rows()]
    result = {"file": str(made), "about": stated.to_dict(), "missing": stated.missing}
    emit(result, f"{made}: fill it in with any editor", *shown)


def show(path: LedgerFile) -> None:
    """Show budget, spendings and what is left."""
    from tacit.privacy.ledger import Ledger
    from tacit.privacy.ledger.register import older_than_known

    ledger = Ledger(path)
    state, older = ledger.state(), older_than_known(ledger)
    last = state.account.charged[-1] if state.account.charged else None
    left = state.account.repetitions_left(last) if last is not None else None
    entries = [
        {"entry": entry.number, "state": entry.standing}
        | {name: getattr(entry, name).to_dict() for name in ("guarantee", "event")}
        | {name: getattr(entry, name) for name in ("time", "purpose", "torn", "manifest", "hash")}
        for entry in state.entries
    ]
    result = _summary(path, state) | {"repetitions_left": left, "releases": entries, "entries_missing": older}

    shown: list[str | Text | Table] = []
    if older:
        said = f" at least {older} of its entries are missing that this machine has seen. More was spent, and"
        said += " less is left, than it says."
        shown.append(Text.assemble(("This is not the newest copy of this ledger:", "bold red"), said))
    emit(result, *shown, *_shown(path, state, left))


def verify(
    path: LedgerFile,
    head: Annotated[
        str | None,
        typer.Option(
            help="A hash published earlier (a manifest holds one): it must still be in the chain.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Check every hash, the arithmetic and, where this machine knows it, that no entry is missing.

    Exit 1 if something does not hold.
    """
    from tacit.privacy.ledger import Ledger
    from tacit.privacy.ledger.register import require_newest

    ledger = Ledger(path)
    state = ledger.verify(head)
    require_newest(ledger)
    unseen = (
        "The chain shows changes inside it. Whether its end was cut off, or all of it rewritten, shows only "
        "against a hash published earlier: --head."
    )
    counted = f": {state.length} entries, {len(state.account.charged)} charges within the budget"
    emit(
        _summary(path, state) | {"valid": True, "head_found": head is not None},
        Text.assemble(("sound", "green"), counted),
        unseen if head is None else "The published hash is in the chain: nothing up to it was changed.",
        *_warnings(state),
        f"head: {state.head}",
    )


def _summary(path: Path, state: LedgerState) -> dict[str, Any]:
    account = state.account
    said: dict[str, Any] = {"ledger": str(path), "label": state.label, "opened": state.opened}
    said |= {"bound_to_log": state.fingerprint is not None}
    said |= {"budget": account.budget.to_dict(), "composition": account.rule.value}
    said |= {"spent": account.spent().to_dict(), "remaining": account.remaining().to_dict()}
    said |= {"entries": state.length, "charges": len(account.charged)}
    return said | {"unprotected_releases": len(state.unprotected), "torn": state.torn, "head": state.head}


def _bar(name: str, spent: float, budget: float) -> Text:
    filled = round(min(1.0, spent / budget) * _BAR) if budget else 0
    bar = Text(f"{name:<8}").append("█" * filled, style="yellow").append("░" * (_BAR - filled), style="dim")
    said = f"{spent:.6g} of {budget:.6g} spent, {max(0.0, budget - spent):.6g} left"
    return bar.append(f"{'  ' if stdout().width >= 80 else chr(10)}{said}")


def _shown(path: Path, state: LedgerState, left: int | None) -> Iterator[str | Text | Table]:
    account = state.account
    spent, budget = account.spent(), account.budget
    yield Text.assemble((state.label or path.name, "bold"), f"  opened {state.opened}")
    yield f"budget  {budget}, {account.rule.value} composition"
    yield _bar("epsilon", spent.epsilon, budget.epsilon)
    if budget.delta:
        yield _bar("delta", spent.delta, budget.delta)
    if left is not None:
        yield f"At the price of the last release, {left:,} more fit."
    yield from _warnings(state)
    rows = []
    for entry in state.entries:
        promise = entry.guarantee
        prices = ("–", "–") if promise.k else (f"{promise.epsilon:.6g}", f"{promise.delta:.3g}")
        rows.append((entry.number, entry.time, entry.purpose, *prices, entry.standing))
    if rows:
        yield table(("entry", "time", "purpose", "epsilon", "delta", "state"), rows)
    yield f"head: {state.head}"


def _warnings(state: LedgerState) -> Iterator[Text]:
    if state.unprotected:
        said = " (k-query) release(s): the totals say nothing about what such a release reveals."
        yield Text.assemble((f"{len(state.unprotected)} unprotected", "bold red"), said)
    noted = [str(entry.number) for entry in state.entries if entry.standing == "noted"]
    if noted:
        yield Text.assemble(
            ("noted, not released:", "yellow"),
            f" {', '.join(noted)}. The run ended after its note and before (or just as) its folder came into "
            "place. If there is no such folder, nothing was published for the charge, which stays; if there "
            "is one, `tacit verify FOLDER --ledger` says whether it is whole.",
        )
    if state.torn:
        said = ": a crash cut an entry short before anything was released for it."
        yield Text.assemble((f"{state.torn} torn", "yellow"), said)


register = verb_group(
    "ledger",
    "The privacy budget of a data set: open it, see what was spent, check that it is sound.",
    [
        verb(
            init,
            "log.ledger --budget-epsilon 4 --budget-delta 1e-6 --log log.parquet",
            by="tacit.privacy.ledger:Ledger.create",
        ),
        verb(show, "log.ledger"),
        verb(verify, "log.ledger --head 3f9c…"),
        verb(about, "log.ledger"),
        verb(adopt, "restored.ledger --log log.parquet"),
    ],
)
