"""``tacit release``: publish a search log with a guarantee."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from tacit.errors import ParameterError
from tacit.terminal import JsonFlag, emit, stderr

__all__ = ["register"]

_EXAMPLE = (
    "Example: tacit release log.parquet --mechanism zealous --epsilon 1 --delta 1e-6 "
    "--budget-epsilon 10 --budget-delta 1e-5 -o week-01"
)
_PLANNED = "Planned from ε and δ"
_GIVEN = "Given instead of planned"
_MACHINE = "The work"


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command("release", epilog=_EXAMPLE)(release)


def release(
    log: Annotated[Path, typer.Argument(help="The search log (canonical Parquet, see `tacit import`).")],
    mechanism: Annotated[
        Literal["zealous", "click", "session", "k-query"],
        typer.Option("--mechanism", "-m", help="How: ZEALOUS, A_Click, A_Session or k-query."),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to make; it must not exist.")],
    epsilon: Annotated[float | None, typer.Option(help="ε of this release.")] = None,
    delta: Annotated[float | None, typer.Option(help="δ of this release (click: 0 is pure).")] = None,
    neighbours: Annotated[
        Literal["add-remove", "replace"],
        typer.Option(help="Which logs are neighbours: a user added or removed, or replaced."),
    ] = "add-remove",
    ledger: Annotated[Path | None, typer.Option(help="The data set's ledger (default: LOG.ledger).")] = None,
    budget_epsilon: Annotated[
        float | None, typer.Option(help="Open the ledger, if there is none, with this ε for all releases.")
    ] = None,
    budget_delta: Annotated[float, typer.Option(help="δ of the budget, with --budget-epsilon.")] = 0.0,
    purpose: Annotated[str, typer.Option(help="What the ledger's entry shall say it was for.")] = "",
    since: Annotated[
        datetime | None,
        typer.Option(help="Only records from this time on (UTC).", rich_help_panel="Records"),
    ] = None,
    until: Annotated[
        datetime | None, typer.Option(help="Only records before this time (UTC).", rich_help_panel="Records")
    ] = None,
    scrub: Annotated[
        bool,
        typer.Option(
            "--scrub/--no-scrub",
            help="Drop records with e-mail addresses, phone, card or social security numbers, long numbers.",
            rich_help_panel="Records",
        ),
    ] = True,
    take: Annotated[
        Literal["first", "last"],
        typer.Option(help="Which of a user's items are taken when too many.", rich_help_panel="Records"),
    ] = "first",
    items: Annotated[
        list[str] | None,
        typer.Option(
            "--item",
            help="zealous, k-query: keywords, queries, clicks or pairs; repeat it for several.",
            rich_help_panel=_PLANNED,
        ),
    ] = None,
    per_user: Annotated[
        int, typer.Option(help="zealous: m, distinct items a user gives.", rich_help_panel=_PLANNED)
    ] = 5,
    kind: Annotated[
        Literal["indistinguishability", "probabilistic"],
        typer.Option(help="zealous: which guarantee.", rich_help_panel=_PLANNED),
    ] = "indistinguishability",
    users: Annotated[
        int | None,
        typer.Option(help="zealous, probabilistic: public bound on the users.", rich_help_panel=_PLANNED),
    ] = None,
    queries_per_user: Annotated[
        int, typer.Option(help="click: q_f, searches a user gives.", rich_help_panel=_PLANNED)
    ] = 5,
    clicks_per_user: Annotated[
        int | None,
        typer.Option(help="click: c_f (as q_f); session: l (4); 0: none.", rich_help_panel=_PLANNED),
    ] = None,
    transitions: Annotated[
        bool,
        typer.Option("--transitions/--no-transitions", help="click: steps too.", rich_help_panel=_PLANNED),
    ] = True,
    domain: Annotated[
        str | None,
        typer.Option(
            help="click: public queries: wordnet, none or a file, a query a line (pure: wordnet).",
            rich_help_panel=_PLANNED,
        ),
    ] = None,
    surfaced: Annotated[
        str | None,
        typer.Option(
            help="click, pure mode: public urls of queries: wordnet, none or a file of query, tab, url.",
            rich_help_panel=_PLANNED,
        ),
    ] = None,
    pool_probability: Annotated[
        float, typer.Option(help="click: p_g; below 1 it costs ε.", rich_help_panel=_PLANNED)
    ] = 1.0,
    sessions_per_user: Annotated[int, typer.Option(help="session: l_s.", rich_help_panel=_PLANNED)] = 1,
    queries_per_session: Annotated[int, typer.Option(help="session: l_q.", rich_help_panel=_PLANNED)] = 3,
    once_per_user: Annotated[
        bool,
        typer.Option(
            "--once-per-user/--count-each",
            help="session: count a user once for a sequence, or each time.",
            rich_help_panel=_PLANNED,
        ),
    ] = True,
    same_counts: Annotated[
        bool,
        typer.Option(
            "--same-counts", help="Publish the counts compared with the threshold.", rich_help_panel=_PLANNED
        ),
    ] = False,
    k: Annotated[
        int | None, typer.Option("--k", help="k-query: the least users of a query.", rich_help_panel=_GIVEN)
    ] = None,
    noise: Annotated[
        float | None, typer.Option(help="Scale of the noise (λ or b).", rich_help_panel=_GIVEN)
    ] = None,
    threshold: Annotated[
        int | None,
        typer.Option(help="zealous: T, published from there; else K, above.", rich_help_panel=_GIVEN),
    ] = None,
    threshold_1: Annotated[
        int | None, typer.Option("--threshold-1", help="zealous: τ (default 1).", rich_help_panel=_GIVEN)
    ] = None,
    noise_counts: Annotated[
        float | None,
        typer.Option(help="Fresh noise of published counts (default: as --noise).", rich_help_panel=_GIVEN),
    ] = None,
    noise_clicks: Annotated[
        float | None, typer.Option(help="Noise of clicks (default: as --noise).", rich_help_panel=_GIVEN)
    ] = None,
    noise_transitions: Annotated[
        float | None, typer.Option(help="Noise of transitions (default: as --noise).", rich_help_panel=_GIVEN)
    ] = None,
    threshold_clicks: Annotated[
        int | None, typer.Option(help="K of clicks (default: K).", rich_help_panel=_GIVEN)
    ] = None,
    threshold_transitions: Annotated[
        int | None, typer.Option(help="K of transitions (default: K).", rich_help_panel=_GIVEN)
    ] = None,
    minimum_frequency: Annotated[
        int, typer.Option(help="click: τ after limiting users; costs ε above 1.", rich_help_panel=_GIVEN)
    ] = 1,
    memory: Annotated[
        int | None, typer.Option(help="Megabytes for the engine.", min=100, rich_help_panel=_MACHINE)
    ] = None,
    threads: Annotated[
        int | None, typer.Option(help="Threads of the engine.", min=1, rich_help_panel=_MACHINE)
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Publish a search log: tables, a manifest and a page, with a guarantee that anyone can check.

    Give --epsilon (and --delta) to have the parameters planned, or the parameters to be charged what they
    cost. The data set's ledger is charged before any noise is drawn; a release that is interrupted stays
    charged, and the next run starts anew.
    """
    from tacit.privacy import Kind, Neighbours
    from tacit.release.contribution import Choice
    from tacit.release.preparation import Preparation
    from tacit.release.publication import Order, default_ledger, open_ledger, publish_log
    from tacit.release.request import Request, mechanism_for
    from tacit.searchlog import check_log

    check_log(log)
    if output.exists():
        raise ParameterError(f"{output} exists already.", "Choose another output, or remove it first.")
    request = Request(
        mechanism=mechanism,
        epsilon=epsilon,
        delta=delta,
        neighbours=Neighbours(neighbours),
        choice=Choice(take),
        items=_items(items),
        kind=Kind(kind),
        users=users,
        per_user=per_user,
        queries_per_user=queries_per_user,
        clicks_per_user=clicks_per_user,
        transitions=transitions,
        domain=domain,
        surfaced=surfaced,
        pool_probability=pool_probability,
        minimum_frequency=minimum_frequency,
        sessions_per_user=sessions_per_user,
        queries_per_session=queries_per_session,
        once_per_user=once_per_user,
        same_counts=same_counts,
        k=k,
        noise=noise,
        noise_counts=noise_counts,
        noise_clicks=noise_clicks,
        noise_transitions=noise_transitions,
        threshold=threshold,
        threshold_1=threshold_1,
        threshold_clicks=threshold_clicks,
        threshold_transitions=threshold_transitions,
    )
    made = mechanism_for(request)
    budget = _budget(budget_epsilon, budget_delta, neighbours)
    _require_room(made.guarantee(), budget)
    order = Order(
        log,
        output,
        made,
        Preparation(since, until, scrub),
        open_ledger(ledger or default_ledger(log), log, budget),
        purpose,
        memory and memory << 20,
        threads,
    )
    with _stages() as report:
        done = publish_log(order, report=report)
    remaining = order.ledger.remaining()
    result = {
        "folder": str(done.folder),
        **done.manifest,
        "remaining": remaining.to_dict(),
    }
    emit(result, as_json=as_json, render=lambda console: _render(console, result, done, remaining))


@contextmanager
def _stages() -> Iterator[Callable[[str], None]]:
    """What is under way, on stderr: a running line on a terminal, else a line a stage with its time."""
    console, begun = stderr(), time.monotonic()
    if console.is_terminal:
        with console.status("checking …") as status:
            yield lambda stage: status.update(f"{stage} …")
        return
    yield lambda stage: console.print(f"{time.monotonic() - begun:6.1f} s  {stage}", markup=False)


def _items(names: list[str] | None) -> Any:
    from tacit.release.zealous import Item

    known = {item.value: item for item in Item}
    for name in names or ():
        if name not in known:
            raise ParameterError.outside("item", name, "one of " + ", ".join(known))
    return tuple(known[name] for name in dict.fromkeys(names or ()))


def _budget(epsilon: float | None, delta: float, neighbours: str) -> Any:
    from tacit.privacy import Guarantee, Kind, Neighbours

    if epsilon is None:
        return None
    kind = Kind.INDISTINGUISHABILITY if delta else Kind.PURE
    return Guarantee(kind, Neighbours(neighbours), epsilon, delta)


def _require_room(guarantee: Any, budget: Any) -> None:
    """Refuse a budget that the first release already exceeds, before a ledger is opened with it for good."""
    from tacit.errors import BudgetError
    from tacit.privacy import Kind

    if budget is None or guarantee.kind is Kind.K_QUERY:
        return
    for name, asked, given in (
        ("epsilon", guarantee.epsilon, budget.epsilon),
        ("delta", guarantee.delta, budget.delta),
    ):
        if asked > given:
            raise BudgetError(
                f"this release costs a {name} of {asked:.4g}; the budget has {given:.4g}.",
                f"Give a larger --budget-{name}; no ledger was opened and nothing was spent.",
            )


def _render(console: Console, result: dict[str, Any], done: Any, remaining: Any) -> None:
    from tacit.privacy import Guarantee

    console.print(f"[bold]{result['folder']}[/]: {Guarantee.from_dict(result['guarantee'])}")
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
