"""``tacit evaluate device``: what a profile generalised on the device is worth to search."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tacit.commands.evaluate.extra import require_report_extra
from tacit.commands.options import ForceFlag, JsonFlag, OutputFolder, Seed
from tacit.terminal import emit, progress

if TYPE_CHECKING:
    from tacit.evaluate.ambient_experiments import AmbientExperiments
    from tacit.evaluate.device_experiments import DeviceExperiments

__all__ = ["device"]


def device(
    output: OutputFolder,
    users: Annotated[int, typer.Option(help="Of how many users the queries are judged.", min=1)] = 60,
    population: Annotated[
        int, typer.Option(help="Users of the synthetic log they are taken from.", min=1)
    ] = 3_000,
    articles: Annotated[
        Path | None,
        typer.Option(help="Real articles (.jsonl.gz: url, title, text, categories), not the synthetic log."),
    ] = None,
    ambient: Annotated[
        Path | None,
        typer.Option(help="Real results of ambiguous queries: a folder with AMBIENT's files."),
    ] = None,
    clicks: Annotated[
        bool, typer.Option("--clicks", help="Judge by the log's clicks, not by the meaning in mind.")
    ] = False,
    seed: Seed = 5,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Measure search with no profile, a profile sent under a risk bound, and all of it on the device.

    Average precision by how distinct a query is, and by the bound δ: Figures 9 and 10 of the paper on UPS, on
    users of a synthetic log or on real articles.
    """
    require_report_extra()
    from tacit.evaluate.device_charts import AMBIENT_MARKS, MARKS, write_device_experiments
    from tacit.evaluate.device_experiments import article_experiments, log_experiments, steps
    from tacit.files import check_output_folder

    marks = AMBIENT_MARKS if ambient is not None else MARKS
    check_output_folder(
        output, force=force, marks=marks, inputs=[each for each in (articles, ambient) if each]
    )
    if ambient is not None:
        _ambient(ambient, articles, output, force=force, as_json=as_json)
        return
    with progress("Personalising", total=steps(), unit="rankings of all queries") as shown:
        if articles is not None:
            found = article_experiments(articles, users, seed=seed, advance=shown.advance)
        else:
            found = log_experiments(users, population, by_clicks=clicks, seed=seed, advance=shown.advance)
    write_device_experiments(found, output, replace=force)
    result = {"output": str(output), **found.as_dict()}
    emit(result, as_json=as_json, render=lambda console: _render(console, found, output))


def _ambient(folder: Path, articles: Path | None, output: Path, *, force: bool, as_json: bool) -> None:
    """The comparison on AMBIENT's results; articles fill half of each history, where they are given."""
    from tacit.evaluate.ambient_experiments import AMBIENT_SETTINGS, ambient_experiments
    from tacit.evaluate.device_charts import write_ambient_experiments

    with progress("Personalising", total=3 * len(AMBIENT_SETTINGS), unit="rankings of all queries") as shown:
        found = ambient_experiments(folder, articles, advance=shown.advance)
    write_ambient_experiments(found, output, replace=force)
    result = {"output": str(output), **found.as_dict()}
    emit(result, as_json=as_json, render=lambda console: _render_ambient(console, found, output))


def _render_ambient(console: Console, found: AmbientExperiments, output: Path) -> None:
    from rich.table import Table

    console.print(f"{found.queries:,} ambiguous queries; intervals by bootstrap over queries")
    table = Table("history", "cases", "ranked by", "average precision", "gain", "from", "to")
    for row in found.rows:
        table.add_row(
            row.history,
            f"{row.cases:,}",
            row.order,
            f"{row.precision.mean:.3f}",
            f"{row.gain.mean:+.3f}",
            f"{row.gain.low:+.3f}",
            f"{row.gain.high:+.3f}",
        )
    console.print(table)
    console.print(f"charts: {output / 'charts.html'}", markup=False, soft_wrap=True)


def _render(console: Console, found: DeviceExperiments, output: Path) -> None:
    from rich.table import Table

    console.print(
        f"{found.cases:,} queries; ± is the half-width of a 95% interval of the gain over no profile",
        soft_wrap=True,
    )
    table = Table("queries", "cases", "reranked by", "no profile", "with profile", "gain", "±")
    for row in found.by_query:
        table.add_row(
            row.queries,
            f"{row.cases:,}",
            row.order,
            f"{row.original:.3f}",
            f"{row.personalised:.3f}",
            f"{row.gain:+.3f}",
            f"{row.spread:.3f}",
        )
    console.print(table)
    table = Table("δ", "a profile went out", "reranked by", "with profile", "gain", "±")
    for line in found.by_delta:
        table.add_row(
            f"{line.delta:g}",
            f"{line.exposed:.0%}",
            line.order,
            f"{line.personalised:.3f}",
            f"{line.gain:+.3f}",
            f"{line.spread:.3f}",
        )
    console.print(table)
    console.print(f"charts: {output / 'charts.html'}", markup=False, soft_wrap=True)
