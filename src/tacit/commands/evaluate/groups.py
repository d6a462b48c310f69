"""``tacit evaluate groups``: what grouping costs personalised search, and what it protects."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tacit.commands.evaluate.extra import require_report_extra
from tacit.commands.options import ForceFlag, JsonFlag, OutputFolder, Seed, Since, Until
from tacit.terminal import emit, progress

if TYPE_CHECKING:
    from tacit.evaluate.personalised_experiments import Experiments
    from tacit.groups import Profiles

__all__ = ["groups"]


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
    require_report_extra()
    from tacit.evaluate.personalised_charts import MARKS, write_experiments
    from tacit.evaluate.personalised_experiments import run_experiments, settings
    from tacit.files import check_output_folder

    check_output_folder(output, force=force, marks=MARKS, inputs=[log] if log else [])
    profiles = _profiles(log, users, terms, seed, (since, until))
    with progress("Bundling and ranking", total=len(list(settings())), unit="settings") as shown:
        found = run_experiments(profiles, queries_a_user=queries, seed=seed, advance=shown.advance)
    write_experiments(found, output, replace=force)
    result = {"output": str(output), **found.as_dict()}
    emit(result, as_json=as_json, render=lambda console: _render(console, found, output))


def _profiles(
    log: Path | None, users: int, terms: int, seed: int, period: tuple[datetime | None, datetime | None]
) -> Profiles:
    import numpy as np

    from tacit.errors import InfeasibleError, ParameterError
    from tacit.evaluate.interest_profiles import interest_profiles
    from tacit.groups.reading import profiles_from_log

    if log is None:
        if any(period):
            raise ParameterError("a period is of a log's records; none was given.", "Name one with --log.")
        return interest_profiles(users, terms, seed)
    found = profiles_from_log(log, weights="binary", largest=terms, period=period)
    order = found.canonical_order(seed)
    full = order[found.sizes[order] == terms][:users]
    if full.size < users:
        raise InfeasibleError(
            f"{full.size} users of the log have {terms} usable terms; {users} were asked for.",
            "Ask for fewer users or terms.",
        )
    return found.select(np.sort(full))


def _render(console: Console, found: Experiments, output: Path) -> None:
    from rich.table import Table

    console.print(
        f"{found.users:,} users, {found.queries:,} queries; average precision without personalisation "
        f"{found.engine.average_precision:.3f} ± {2 * found.engine.standard_error:.3f}",
        soft_wrap=True,
    )
    table = Table("criterion", "p", "a", "AP", "± 2 s.e.", "P@10", "members", "max n_t/n", "terms kept")
    for run in found.runs:
        table.add_row(
            run.criterion,
            f"{run.p:g}",
            str(run.augment),
            f"{run.precision.average_precision:.3f}",
            f"{2 * run.precision.standard_error:.3f}",
            f"{run.precision.precision_at_10:.3f}",
            f"{run.report.mean_size:.1f}",
            f"{run.report.linkability.max:.3f}",
            f"{run.report.information.terms_kept:.1%}",
        )
    console.print(table)
    console.print(f"charts: {output / 'charts.html'}", markup=False, soft_wrap=True)
