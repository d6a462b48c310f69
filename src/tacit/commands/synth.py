"""``tacit synth``: make a realistic search log."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table

from tacit.commands.options import ForceFlag, JsonFlag, OutputFile, Threads
from tacit.commands.verbs import Panel
from tacit.terminal import emit, progress

PANEL = Panel.WORLD


def _draw(console: Console, result: dict[str, Any], report: bool) -> None:
    calibration = result["calibration"]
    console.print(
        f"{result['log']}: {calibration['records']['got']:,} records of "
        f"{calibration['users']['got']:,} users, {result['records_per_second']:,} records/s",
        markup=False,
        soft_wrap=True,
    )
    if not report:
        return
    table = Table("measure", "target", "got", "difference")
    for column in table.columns[1:]:
        column.justify = "right"
    for name, found in calibration.items():
        difference = found["got"] / found["target"] - 1 if found["target"] else 0.0
        table.add_row(
            name.replace("_", " "), f"{found['target']:,}", f"{found['got']:,}", f"{difference:+.1%}"
        )
    console.print(table)


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""

    @app.command(epilog="Example: tacit synth --users 2000 --seed 1 -o log.parquet --report")
    def synth(
        output: OutputFile,
        users: Annotated[int, typer.Option(help="How many people search.", min=1)] = 2000,
        seed: Annotated[int, typer.Option(help="Another seed, other people; the same, the same log.")] = 0,
        weeks: Annotated[int, typer.Option(help="How long, from 1 March 2006.", min=1, max=104)] = 13,
        sensitive_share: Annotated[
            float, typer.Option(help="Share of people with a sensitive interest.", min=0.0, max=1.0)
        ] = 0.15,
        truth: Annotated[
            Path | None,
            typer.Option(help="Also write what lies behind the records (interests, meanings) to this file."),
        ] = None,
        threads: Threads = None,
        report: Annotated[bool, typer.Option("--report", help="Compare the log with AOL's shape.")] = False,
        force: ForceFlag = False,
        as_json: JsonFlag = False,
    ) -> None:
        """Make a realistic search log over the embedded world, in the shape of AOL's.

        People with interests, some of them sensitive, search in sessions, mistype, narrow down, drift,
        come back and click. Nobody in it is real.
        """
        from tacit.files import check_output
        from tacit.world.synth import SyntheticLog

        for path in (output, truth):
            if path is not None:
                check_output(path, force=force)
        log = SyntheticLog(users, seed=seed, weeks=weeks, sensitive_share=sensitive_share)
        begun = time.monotonic()
        with progress("Searching", total=log.expected_records, unit="records") as shown:
            shown.describe("Preparing the world (longer the first time)")

            def advance(records: int) -> None:
                shown.describe("Searching")
                shown.advance(records)

            outcome = log.write(output, truth, threads=threads, advance=advance)
        seconds, got, wanted = time.monotonic() - begun, vars(outcome.got), vars(outcome.target)
        result = {
            "log": str(output),
            "seconds": round(seconds, 3),
            "records_per_second": round(outcome.got.records / max(seconds, 1e-9)),
            "calibration": {name: {"target": wanted[name], "got": got[name]} for name in wanted},
        }
        emit(result, as_json=as_json, render=lambda console: _draw(console, result, report))
