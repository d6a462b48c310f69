"""``tacit evaluate personalised``: all ways to personalise a search, on the same queries."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tacit.commands.evaluate.extra import require_report_extra
from tacit.commands.options import ForceFlag, JsonFlag, OutputFolder, Seed
from tacit.terminal import emit, progress

if TYPE_CHECKING:
    from tacit.evaluate.personalised_comparison import Comparison

__all__ = ["personalised"]


def personalised(
    output: OutputFolder,
    users: Annotated[int, typer.Option(help="Of how many users the queries are judged.", min=1)] = 40,
    population: Annotated[
        int, typer.Option(help="Users of the synthetic log they are taken from.", min=1)
    ] = 3_000,
    clicks: Annotated[
        bool, typer.Option("--clicks", help="Judge by the log's clicks, not by the meaning in mind.")
    ] = False,
    p: Annotated[float, typer.Option("--p", help="The bound of groups.")] = 0.4,
    k: Annotated[int, typer.Option("--k", help="How many people share a region of the pool.", min=1)] = 10,
    seed: Seed = 5,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Measure search with no profile, on the device, by group, with generalised topics and attributes.

    Every way ranks the same results of the same queries of the same people of a synthetic log; average
    precision says what each guard leaves of personalisation.
    """
    require_report_extra()
    from tacit.evaluate.comparison_charts import MARKS, write_comparison
    from tacit.evaluate.personalised_comparison import compare_ways, count_ways
    from tacit.files import check_output_folder

    check_output_folder(output, force=force, marks=MARKS)
    with progress("Personalising", total=count_ways(), unit="ways") as shown:
        found = compare_ways(users, population, by_clicks=clicks, p=p, k=k, seed=seed, advance=shown.advance)
    write_comparison(found, output, replace=force)
    result = {"output": str(output), **found.as_dict()}
    emit(result, as_json=as_json, render=lambda console: _render(console, found, output))


def _render(console: Console, found: Comparison, output: Path) -> None:
    from rich.table import Table

    console.print(
        f"{found.queries:,} queries of {found.people:,} people, judged by {found.judged_by}; "
        "intervals by bootstrap over people",
        soft_wrap=True,
    )
    table = Table("ranked by", "who learns what", "average precision", "gain", "from", "to")
    for way in found.ways:
        table.add_row(
            way.name,
            way.told,
            f"{way.average_precision:.3f}",
            f"{way.gain.mean:+.3f}",
            f"{way.gain.low:+.3f}",
            f"{way.gain.high:+.3f}",
        )
    console.print(table)
    console.print(f"chart: {output / 'charts.html'}", markup=False, soft_wrap=True)
