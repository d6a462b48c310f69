"""``tacit simulate``: the pool under simulated traffic."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from tacit.commands.options import ForceFlag, JsonFlag
from tacit.commands.verbs import Panel
from tacit.terminal import emit, progress

PANEL = Panel.POOL

ModeName = Literal["default", "paper"]
LeaversName = Literal["silent", "answer"]


def register(app: typer.Typer) -> None:
    """Add ``simulate``."""
    example = "Example: tacit simulate --k 30 --window 120 --people 1000 --every 600"
    app.command("simulate", epilog=example)(simulate)


def simulate(
    k: Annotated[int, typer.Option(help="The least number of people who share a region.")] = 30,
    window: Annotated[
        float, typer.Option(help="How far apart their queries may lie, in seconds or any unit of time.")
    ] = 50,
    every: Annotated[
        float | None, typer.Option(help="Time between a person's queries, on average [default: window / 4].")
    ] = None,
    patience: Annotated[
        float | None, typer.Option(help="How long a person waits for an answer [default: the window].")
    ] = None,
    arrivals: Annotated[float, typer.Option(help="People who arrive per unit of time, on average.")] = 50,
    stay: Annotated[float, typer.Option(help="How long a stay lasts, on average.")] = 50,
    people: Annotated[
        int, typer.Option(help="In place of arrivals: so many people, who stay or come and go.")
    ] = 0,
    away: Annotated[
        float, typer.Option(help="With --people: how long they are away between stays; 0: never.")
    ] = 0,
    burst: Annotated[float, typer.Option(help="Queries that come together, on average.")] = 1,
    failing: Annotated[float, typer.Option(help="The share of requests to the gateway that fail.")] = 0,
    restarts: Annotated[
        int, typer.Option(help="The pool loses its memory every so many windows; 0: never.")
    ] = 0,
    windows: Annotated[int, typer.Option(help="How many windows to run, after a first one.")] = 20,
    mode: Annotated[ModeName, typer.Option(help="Tacit's design, or the paper's.")] = "default",
    overlap: Annotated[
        float, typer.Option(help="Paper's mode: the share of a window that is the next one's too.")
    ] = 0.5,
    leavers: Annotated[
        LeaversName,
        typer.Option(help="Paper's mode: whether people who left during the overlap still answer."),
    ] = "silent",
    users: Annotated[
        str,
        typer.Option(
            help="The population: adult, or, with --template, a CSV or Parquet file or the word template."
        ),
    ] = "adult",
    template: Annotated[
        Path | None, typer.Option(help="The template (TOML) that the population's records follow.")
    ] = None,
    seeds: Annotated[
        int, typer.Option(min=1, help="Number of runs, with seeds from --seed on; means are shown.")
    ] = 1,
    seed: Annotated[int, typer.Option(help="The first seed; the same seed gives the same run.")] = 1,
    verify: Annotated[
        bool, typer.Option("--verify", help="Check Definitions 2 and 3 for every query of the runs.")
    ] = False,
    log: Annotated[
        Path | None, typer.Option(help="Write every query of the first run to this Parquet file.")
    ] = None,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Simulate people who ask through a pool, under regions that at least k of them match.

    The machine is the one that `tacit pool serve` runs; only time and people are made up. Choose k and the
    window by it: at least k people must ask within the window for any query to go out.
    """
    from tacit.pool import simulate_pool

    with progress("Simulating", total=windows * seeds, unit="windows") as shown:
        found = simulate_pool(
            k,
            window,
            every=every,
            patience=patience,
            arrivals=arrivals,
            stay=stay,
            people=people,
            away=away,
            burst=burst,
            failing=failing,
            restarts=restarts,
            windows=windows,
            mode=mode,
            overlap=overlap,
            leavers=leavers,
            users=users,
            template=template,
            seed=seed,
            seeds=seeds,
            verify=verify,
            log=log,
            force=force,
            advance=shown.advance,
        )
    result = found.as_dict()
    emit(result, as_json=as_json, render=lambda console: _render(console, result))


def _render(console: Console, result: dict[str, Any]) -> None:
    table = Table("figure", "value", box=None, pad_edge=False, show_header=False)
    table.columns[1].justify = "right"
    paper = result["mode"] == "paper"
    table.add_row("people in a window" if paper else "people who ask in a window", f"{result['people']:,.0f}")
    table.add_row("groups" if paper else "regions in use in a window", f"{result['groups']:,.1f}")
    shares = [("answered", "queries that went out with a region")]
    if result["groups"]:
        shares += [
            ("information_loss", "information loss (share of volume)"),
            ("ncp", "share of each attribute's width (NCP)"),
        ]
    if paper:
        shares += [
            ("unregistered", "people without a group"),
            ("forced_expired", "people whose group found fewer than k again"),
            ("forced_unregistered", "of those, then without a group"),
        ]
    for name, said in shares:
        table.add_row(said, f"{result[name]:.2%}")
    if not paper:
        table.add_row("time until the answer, in the middle", f"{result['delay_median']:.1f}")
    table.add_row("entries that fewer than k people match", f"{result['breaches']:,}")
    console.print(table)
    if not result["answered"] and not paper:
        console.print(
            f"\nNo query went out: {result['k']} people must ask within {result['window']:g}, and about "
            f"{result['people']:,.0f} do. Choose a smaller k or a longer window."
        )
    if "verified" in result:
        verified = result["verified"]
        console.print(
            f"\n{verified['guarded']:,} entries with a region: {verified['definition_2_violations']:,} fail "
            f"Definition 2, {verified['definition_3_violations']:,} fail Definition 3"
        )
        console.print(
            f"{verified['general']:,} entries without: {verified['definition_2_violations_general']:,} fail "
            f"Definition 2\nfewest people who match, counted up to k: {verified['fewest_companions']}"
        )
