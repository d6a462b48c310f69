"""``tacit evaluate``: what privacy costs in search quality (release, groups, device, pool, personalised)."""

from __future__ import annotations

from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tacit.commands.options import (
    WORK,
    ForceFlag,
    JsonFlag,
    LogFile,
    OutputFolder,
    ScrubFlag,
    Seed,
    SessionGap,
    Sessions,
    Since,
    Until,
)
from tacit.commands.verbs import Panel
from tacit.evaluate.tasks import task_names
from tacit.release.registry import MECHANISMS, mechanism_class
from tacit.terminal import emit, progress, stderr

if TYPE_CHECKING:
    from tacit.evaluate.results import Results

PANEL = Panel.EVALUATE
_WHAT, _HOW, _JUDGED = "What to try", "How to try it", "Judged by people"

if TYPE_CHECKING:
    MechanismName = str
    TaskName = str
else:
    MechanismName = StrEnum(
        "MechanismName", {name: name for name in MECHANISMS if mechanism_class(name).publishes_queries}
    )
    TaskName = StrEnum("TaskName", {name: name for name in task_names()})

JudgedUsers = Annotated[int, typer.Option(help="Of how many users the queries are judged.", min=1)]
Population = Annotated[int, typer.Option(help="Users of the synthetic log they are taken from.", min=1)]
AmbientFolder = Annotated[
    Path | None, typer.Option(help="Real results of ambiguous queries: a folder with AMBIENT's files.")
]


def register(app: typer.Typer) -> None:
    """Add the group of verbs."""
    verbs = typer.Typer(
        help="Measure what privacy costs in search quality.",
        epilog="Example: tacit evaluate release log.parquet -o report",
        no_args_is_help=True,
    )
    for verb, example in (
        (release, "release log.parquet -o report"),
        (groups, "groups -o experiments"),
        (device, "device -o device-quality --users 12"),
        (pool, "pool --k 5 --k 30 --windows 20"),
        (personalised, "personalised -o ways --users 12"),
    ):
        verbs.command(verb.__name__, epilog=f"Example: tacit evaluate {example}")(verb)
    app.add_typer(verbs, name="evaluate")


def release(
    log: LogFile,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", help="The folder of the report; an unfinished one is resumed."),
    ],
    topics: Annotated[
        str | None,
        typer.Option(
            help="Judged topics: TREC sessions (XML), id TAB query, or a name of ir_datasets.",
            rich_help_panel=_JUDGED,
        ),
    ] = None,
    qrels: Annotated[
        Path | None, typer.Option(help="Judgments of the topics (TREC qrels).", rich_help_panel=_JUDGED)
    ] = None,
    run: Annotated[
        Path | None,
        typer.Option(help="The engine's lists for the topics (a TREC run).", rich_help_panel=_JUDGED),
    ] = None,
    mechanisms: Annotated[
        list[MechanismName] | None,
        typer.Option("--mechanism", "-m", help="Only this mechanism; repeat it.", rich_help_panel=_WHAT),
    ] = None,
    tasks: Annotated[
        list[TaskName] | None,
        typer.Option("--task", "-t", help="Only this task; repeat it.", rich_help_panel=_WHAT),
    ] = None,
    epsilons: Annotated[
        list[float] | None,
        typer.Option(
            "--epsilon", help="An ε to try (default: 1, 2, 4, 8, 16); repeat it.", rich_help_panel=_WHAT
        ),
    ] = None,
    delta: Annotated[float, typer.Option(help="δ of every release.", rich_help_panel=_WHAT)] = 1e-6,
    ks: Annotated[
        list[int] | None,
        typer.Option("--k", help="A k of k-query anonymity (default: 5, 10, 20, 50).", rich_help_panel=_WHAT),
    ] = None,
    folds: Annotated[
        int,
        typer.Option(min=2, help="Split the users into so many folds, test on each.", rich_help_panel=_HOW),
    ] = 5,
    draws: Annotated[
        int, typer.Option(min=2, help="Draws of noise for each fold and setting.", rich_help_panel=_HOW)
    ] = 3,
    seed: Annotated[int, typer.Option(min=0, help="Of the split into folds.", rich_help_panel=_HOW)] = 0,
    since: Since = None,
    until: Until = None,
    scrub: ScrubFlag = True,
    sessions: Sessions = "time",
    session_gap: SessionGap = None,
    synthetic: Annotated[
        bool,
        typer.Option(
            "--synthetic", help="You vouch that nobody real is in the log: the report may be shared."
        ),
    ] = False,
    workers: Annotated[
        int | None,
        typer.Option(
            help="Processes (default: one per processor, two at most).", min=1, rich_help_panel=WORK
        ),
    ] = None,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Measure what every way to release a log would cost in search quality, before anything is released.

    Every mechanism and budget is tried on part of the users and judged on the others, on retrieval tasks. It
    is the owner's own look at the log: no ledger is charged, nothing is published, and the report is as
    sensitive as the log. A stopped evaluation is resumed.
    """
    from tacit.evaluate import evaluate_release

    lists = {"mechanisms": mechanisms, "tasks": tasks, "epsilons": epsilons, "ks": ks}
    _measure(
        evaluate_release,
        ("Releasing and judging", "runs"),
        as_json,
        log,
        output,
        topics=topics,
        qrels=qrels,
        run=run,
        **{name: given for name, given in lists.items() if given},
        delta=delta,
        folds=folds,
        draws=draws,
        seed=seed,
        since=since,
        until=until,
        scrub=scrub,
        sessions=sessions,
        session_gap=session_gap,
        synthetic=synthetic,
        workers=workers,
        force=force,
    )


def groups(
    output: OutputFolder,
    log: Annotated[
        Path | None, typer.Option(help="Profiles from the users of this search log, not synthetic ones.")
    ] = None,
    users: Annotated[int, typer.Option(min=1, help="How many users.")] = 720,
    terms: Annotated[int, typer.Option(min=1, help="How many terms each profile has.")] = 150,
    queries: Annotated[int, typer.Option(min=1, help="Queries drawn for each user.")] = 2,
    since: Since = None,
    until: Until = None,
    seed: Seed = 0,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Measure personalised search with group profiles: benefit, semantics, privacy, linkability.

    The four experiments of Zhu and Xiong over the embedded corpus, under the strict criterion and the
    paper's, with charts that open in a browser without a network.
    """
    from tacit.evaluate import evaluate_groups

    options = {"log": log, "users": users, "terms": terms, "queries": queries, "since": since, "until": until}
    shown = ("Bundling and ranking", "settings")
    _measure(evaluate_groups, shown, as_json, output, **options, seed=seed, force=force)


def device(
    output: OutputFolder,
    users: JudgedUsers = 60,
    population: Population = 3_000,
    ambient: AmbientFolder = None,
    seed: Seed = 5,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Measure search with no profile, a profile sent under a risk bound, and all of it on the device.

    Average precision by how distinct a query is, and by the bound δ: Figures 9 and 10 of the paper on UPS, on
    users of a synthetic log or on AMBIENT's results.
    """
    from tacit.evaluate import evaluate_device

    options = {"users": users, "population": population, "ambient": ambient, "seed": seed, "force": force}
    shown = ("Personalising", "rankings of all queries")
    _measure(evaluate_device, shown, as_json, output, **options)


def pool(
    k: Annotated[
        list[int] | None,
        typer.Option(help="A k to try, at windows of 50 (default: 5, 10, 30, 60); repeat it."),
    ] = None,
    window: Annotated[
        list[float] | None,
        typer.Option(help="A window to try, at k = 30 (default: 25, 50, 100, 200); repeat it."),
    ] = None,
    windows: Annotated[int, typer.Option(help="How many windows each simulation runs.", min=1)] = 6,
    seed: Seed = 1,
    as_json: JsonFlag = False,
) -> None:
    """Measure search for people of whom a service sees d, a region d', everybody's d*, or nothing.

    Results depend on age, country and occupation; the service learns from a log that shows what the pool lets
    through. Average Precision is that of people who are not in the log.
    """
    from tacit.evaluate import evaluate_pool

    lists = {"ks": k, "window_lengths": window}
    given: dict[str, Any] = {name: values for name, values in lists.items() if values}
    _measure(evaluate_pool, ("Simulating", "settings"), as_json, **given, windows=windows, seed=seed)


def personalised(
    output: OutputFolder,
    users: JudgedUsers = 40,
    population: Population = 3_000,
    ambient: AmbientFolder = None,
    p: Annotated[float, typer.Option("--p", help="The bound of groups.")] = 0.4,
    seed: Seed = 5,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Measure search with no profile, on the device, by group, and with generalised topics.

    Every way ranks the same results of the same queries of the same people, of a synthetic log or reading
    AMBIENT's results; average precision says what each guard leaves of personalisation, beside the same
    ranking with another person's evidence.
    """
    from tacit.evaluate import evaluate_personalised

    options = {"users": users, "population": population, "ambient": ambient, "p": p}
    shown = ("Personalising", "ways")
    _measure(evaluate_personalised, shown, as_json, output, **options, seed=seed, force=force)


def _measure(
    evaluate: Callable[..., Results], said: tuple[str, str], as_json: bool, *places: Path, **options: Any
) -> None:
    """Call the library with these options, show progress, and print what it found."""
    with progress(said[0], unit=said[1]) as shown:
        try:
            found = evaluate(*places, **options, progress=shown.reach)
        except KeyboardInterrupt:
            if said[1] == "runs":
                kept = f"{shown.done:,} runs are kept; the same command resumes with the others"
                stderr().print(kept, soft_wrap=True)
            raise
    where = {}
    if found.page:
        where = {"report": found.page} if found.evaluation == "release" else {"output": found.page.parent}
    result = {name: str(path) for name, path in where.items()} | found.as_dict()
    emit(result, as_json=as_json, render=lambda console: _render(console, found))


def _render(console: Console, found: Results) -> None:
    for said in filter(None, (found.about, found.advice)):
        console.print(said, markup=False, soft_wrap=True)
    for figure in found.tables or found.figures:
        table = Table(*figure.headings, title=figure.title, title_justify="left")
        for column in table.columns[1:]:
            column.justify = "right"
        for row in figure.cells:
            table.add_row(*row)
        console.print(table)
    for sentence in found.summary:
        console.print(f"• {sentence}", markup=False, soft_wrap=True)
    for note in found.notes:
        console.print(f"\n{note}", markup=False, soft_wrap=True)
    if found.page:
        console.print(f"report: {found.page}", markup=False, soft_wrap=True)
