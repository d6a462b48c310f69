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
    k: Annotated[int, typer.Option(help="How many people share a region, at least.")] = 30,
    window: Annotated[
        float, typer.Option(help="How far apart their queries may lie, in units of time.")
    ] = 50,
    overlap: Annotated[float, typer.Option(help="The share of a window that is the next one's too.")] = 0.5,
    arrivals: Annotated[float, typer.Option(help="How many people arrive a unit of time, on average.")] = 50,
    stay: Annotated[float, typer.Option(help="How long they stay, on average.")] = 50,
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
        int, typer.Option(min=1, help="Run so many times, with seeds from --seed on; show means.")
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
    """Simulate people who come, ask under a region of at least k, and go.

    The pool is the one that `tacit pool serve` runs; only time and people are made up.
    """
    from tacit.files import check_output
    from tacit.pool.simulation.traffic import SimulationSetting

    setting = SimulationSetting(
        k,
        window,
        overlap,
        arrivals,
        stay,
        windows=windows,
        mode=mode,
        leavers=leavers,
        seed=seed,
    )
    inputs = [path for path in (template, None if users == "adult" else Path(users)) if path is not None]
    for output in (log, report):
        if output is not None:
            check_output(output, force=force, inputs=inputs)
    population = _population(users, template)
    result = _runs(setting, population, seeds, verify, log)
    if report is not None:
        _report(setting, population, report, seeds)
        result["report"] = str(report)
    emit(result, as_json=as_json, render=lambda console: _render(console, result))


def _population(users: str, template: Path | None) -> Any:
    from tacit.errors import InputError
    from tacit.pool.protocol.template import read_template
    from tacit.pool.simulation.population import adult, read_population

    if users == "adult":
        return adult()
    if template is None:
        raise InputError("a population from a file needs a template.", "Say --template template.toml.")
    return read_population(users, read_template(template))


def _runs(setting: Any, population: Any, seeds: int, verify: bool, log: Path | None) -> dict[str, Any]:
    from dataclasses import replace

    from tacit.pool.simulation.traffic import simulate as run
    from tacit.pool.simulation.verification import verify_log, write_audited_log

    found, verdicts = [], []
    with progress("Simulating", total=setting.windows * seeds, unit="windows") as shown:
        for number in range(seeds):
            here = replace(setting, seed=setting.seed + number)
            keep = verify or (log is not None and number == 0)
            one = run(here, population, keep_log=keep, advance=shown.advance)
            if verify and one.log is not None:
                verdicts.append(verify_log(one.log, setting.k, setting.window).as_dict())
            if log is not None and number == 0 and one.log is not None:
                write_audited_log(one.log, log)
            found.append(one.as_dict())
    result: dict[str, Any] = {
        "k": setting.k,
        "window": setting.window,
        "overlap": setting.overlap,
        "arrivals": setting.arrivals,
        "stay": setting.stay,
        "windows": setting.windows,
        "mode": setting.mode,
        "leavers": setting.leavers,
        "seeds": list(range(setting.seed, setting.seed + seeds)),
    }
    result |= {name: sum(one[name] for one in found) / seeds for name in found[0]}
    if verdicts:
        result["verified"] = {
            name: min(one[name] for one in verdicts)
            if name == "fewest_companions"
            else sum(one[name] for one in verdicts)
            for name in verdicts[0]
        }
        result["verified"]["definition_3_share"] /= seeds
    return result


def _report(setting: Any, population: Any, path: Path, seeds: int) -> None:
    from tacit.evaluate.guards.pool import settings_of, sweep, write_report

    with progress("Sweeping", total=len(list(settings_of(setting))) + 4, unit="simulations") as shown:
        write_report(sweep(setting, population, shown.advance, seeds=seeds), path)


def _render(console: Console, result: dict[str, Any]) -> None:
    table = Table("figure", "value", box=None, pad_edge=False, show_header=False)
    table.columns[1].justify = "right"
    table.add_row("people in a window", f"{result['people']:,.0f}")
    table.add_row("groups", f"{result['groups']:,.1f}")
    for name, said in (
        ("information_loss", "information loss (share of volume)"),
        ("ncp", "share of each attribute's width (NCP)"),
        ("unregistered", "people without a group"),
        ("forced_expired", "people whose group found no k again"),
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
