"""``tacit synth``: make a realistic search log."""

import time
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tacit.commands.options import ForceFlag, OutputFile, Threads
from tacit.commands.verbs import Panel, verb
from tacit.terminal import emit, progress, table

PANEL = Panel.WORLD


def synth(
    output: OutputFile,
    users: Annotated[int, typer.Option(min=1)] = 2000,
    seed: int = 0,
    weeks: Annotated[int, typer.Option(min=1, max=104)] = 13,
    sensitive_share: Annotated[float, typer.Option(min=0.0, max=1.0)] = 0.15,
    truth: Annotated[
        Path | None,
        typer.Option(help="Also write what lies behind the records (interests, meanings) to this file."),
    ] = None,
    threads: Threads = None,
    report: Annotated[bool, typer.Option("--report", help="Compare the log with AOL's shape.")] = False,
    force: ForceFlag = False,
) -> None:
    """Make a realistic search log over the embedded world, in the shape of AOL's.

    People with interests, some of them sensitive, search in sessions, mistype, narrow down, drift,
    come back and click. Nobody in it is real.
    """
    from tacit.files import check_output
    from tacit.world.synth import SyntheticLog, target

    for path in (output, truth):
        if path is not None:
            check_output(path, force=force)
    log = SyntheticLog(users, seed=seed, weeks=weeks, sensitive_share=sensitive_share)
    begun, aimed = time.monotonic(), target(users, weeks)
    with progress("Searching", total=aimed.records, unit="records") as bar:
        bar.describe("Preparing the world (longer the first time)")

        def advance(records: int) -> None:
            bar.describe("Searching")
            bar.advance(records)

        made = log.write(output, truth, threads=threads, advance=advance)
    seconds, got, wanted = time.monotonic() - begun, vars(made), vars(aimed)
    result = {
        "log": str(output),
        "seconds": round(seconds, 3),
        "records_per_second": round(made.records / max(seconds, 1e-9)),
        "calibration": {name: {"target": wanted[name], "got": got[name]} for name in wanted},
    }
    shown: list[str | Table] = [
        f"{output}: {made.records:,} records of {made.users:,} users, "
        f"{result['records_per_second']:,} records/s"
    ]
    if report:
        rows = []
        for name, aim in wanted.items():
            off = f"{got[name] / aim - 1 if aim else 0.0:+.1%}"
            rows.append((name.replace("_", " "), f"{aim:,}", f"{got[name]:,}", off))
        shown.append(table(("measure", "target", "got", "difference"), rows, right=True))
    emit(result, *shown)


register = verb(synth, "--users 2000 --seed 1 -o log.parquet --report", by="tacit.world.synth:SyntheticLog")
