"""``tacit simulate``: the pool under simulated traffic, and the paper's experiments as one report."""

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
    example = "Example: tacit simulate --k 30 --window 50 --overlap 0.5 --arrivals 50 --stay 50 --verify"
    app.command("simulate", epilog=example)(simulate)


def simulate(
    k: Annotated[int, typer.Option(help="The least number of people who share a region.")] = 30,
    window: Annotated[
        float, typer.Option(help="How far apart their queries may lie, in units of time.")
    ] = 50,
    overlap: Annotated[float, typer.Option(help="The share of a window that is the next one's too.")] = 0.5,
    arrivals: Annotated[float, typer.Option(help="People who arrive per unit of time, on average.")] = 50,
    stay: Annotated[float, typer.Option(help="How long people stay, on average.")] = 50,
    windows: Annotated[int, typer.Option(help="How many windows to run, after a first one.")] = 100,
    mode: Annotated[ModeName, typer.Option(help="Tacit's design, or the paper's.")] = "default",
    leavers: Annotated[
        LeaversName, typer.Option(help="Whether people who left during the overlap still answer.")
    ] = "silent",
    users: Annotated[
        str, typer.Option(help="The population: adult, or a CSV or Parquet file with --template.")
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
    report: Annotated[
        Path | None,
        typer.Option(help="Run the paper's sweeps around this setting, and write them as one page."),
    ] = None,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Simulate people who come, search under a region shared by at least k of them, and go.

    The pool is the one that `tacit pool serve` runs; only time and people are made up.
    """
    from tacit.files import check_output
    from tacit.pool import simulate_pool

    if report is not None:
        inputs = [path for path in (template, None if users == "adult" else Path(users)) if path is not None]
        check_output(report, force=force, inputs=inputs)
    with progress("Simulating", total=windows * seeds, unit="windows") as shown:
        found = simulate_pool(
            k,
            window,
            overlap=overlap,
            arrivals=arrivals,
            stay=stay,
            windows=windows,
            mode=mode,
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
    if report is not None:
        _report(found.setting, users, template, report, seeds)
        result["report"] = str(report)
    emit(result, as_json=as_json, render=lambda console: _render(console, result))


def _report(setting: Any, users: str, template: Path | None, path: Path, seeds: int) -> None:
    from tacit.evaluate.guards.pool import paper_experiments, write_pool_report
    from tacit.pool.simulation.population import read_population

    population = read_population(users, template)
    with progress("Sweeping", unit="simulations") as shown:
        found = paper_experiments(setting, population, seeds=seeds, progress=shown.reach)
    write_pool_report(found, setting, path)


def _render(console: Console, result: dict[str, Any]) -> None:
    table = Table("figure", "value", box=None, pad_edge=False, show_header=False)
    table.columns[1].justify = "right"
    table.add_row("people in a window", f"{result['people']:,.0f}")
    table.add_row("groups", f"{result['groups']:,.1f}")
    for name, said in (
        ("information_loss", "information loss (share of volume)"),
        ("ncp", "share of each attribute's width (NCP)"),
        ("unregistered", "people without a group"),
        ("forced_expired", "people whose group found fewer than k again"),
        ("forced_unregistered", "of those, then without a group"),
    ):
        table.add_row(said, f"{result[name]:.2%}")
    console.print(table)
    if "verified" in result:
        verified = result["verified"]
        console.print(
            f"\n{verified['guarded']:,} queries with a region: {verified['definition_2_violations']:,} fail "
            f"Definition 2, {verified['definition_3_violations']:,} fail Definition 3"
        )
        console.print(
            f"{verified['general']:,} queries with d*: {verified['definition_2_violations_general']:,} fail "
            f"Definition 2\nfewest people who match, counted up to k: {verified['fewest_companions']}"
        )
    if "report" in result:
        console.print(f"\nreport: {result['report']}", markup=False)
