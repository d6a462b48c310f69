"""``tacit evaluate groups``, ``device``, ``pool`` and ``personalised``: what each guard costs in search
quality.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from tacit.commands.evaluate.extra import require_report_extra
from tacit.commands.options import ForceFlag, JsonFlag, OutputFolder, Seed, Since, Until
from tacit.terminal import emit, progress

if TYPE_CHECKING:
    from tacit.evaluate.guards.device import AmbientExperiments, DeviceExperiments
    from tacit.evaluate.guards.groups import Experiments
    from tacit.evaluate.guards.personalised import Comparison
    from tacit.groups import Profiles


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
    from tacit.evaluate.guards.groups import MARKS, run_experiments, settings, write_experiments
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
    from tacit.evaluate.loops.interest_profiles import interest_profiles
    from tacit.groups.reading import profiles_from_log

    if log is None:
        if any(period):
            raise ParameterError("a period is of a log's records; none was given.", "Name one with --log.")
        return interest_profiles(users, terms, seed)
    found = profiles_from_log(log, weights="binary", max_terms=terms, period=period)
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
    from tacit.evaluate.guards.device import (
        AMBIENT_MARKS,
        MARKS,
        article_experiments,
        log_experiments,
        steps,
        write_device_experiments,
    )
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
    emit(result, as_json=as_json, render=lambda console: _render_device(console, found, output))


def _ambient(folder: Path, articles: Path | None, output: Path, *, force: bool, as_json: bool) -> None:
    """The comparison on AMBIENT's results; articles fill half of each history, where they are given."""
    from tacit.evaluate.guards.device import AMBIENT_SETTINGS, ambient_experiments, write_ambient_experiments

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


def _render_device(console: Console, found: DeviceExperiments, output: Path) -> None:
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


_KS, _WINDOWS, _ARRIVALS = (
    [5, 10, 30, 60],
    [25.0, 50.0, 100.0, 200.0],
    [0.5, 1.0, 2.0, 3.0, 10.0, 50.0, 200.0],
)


def pool(
    k: Annotated[list[int], typer.Option(help="A k to try, at windows of 50; repeat it.")] = _KS,
    window: Annotated[list[float], typer.Option(help="A window to try, at k = 30; repeat it.")] = _WINDOWS,
    arrivals: Annotated[
        list[float], typer.Option(help="People who arrive per unit of time, for waiting times; repeat it.")
    ] = _ARRIVALS,
    windows: Annotated[int, typer.Option(help="How many windows each simulation runs.", min=1)] = 60,
    seed: Seed = 1,
    as_json: JsonFlag = False,
) -> None:
    """Measure search for people of whom a service sees d, a region d', everybody's d*, or nothing.

    Results depend on age, country and occupation; the service learns from a log that shows what the pool lets
    through. Average Precision is that of people who are not in the log. Then: how long newcomers wait.
    """
    from dataclasses import replace

    from tacit.evaluate.guards.pool import topic_kinds, usefulness, waiting_times
    from tacit.pool.simulation.population import adult
    from tacit.pool.simulation.traffic import SimulationSetting
    from tacit.world import wordnet_corpus, wordnet_engine

    base = SimulationSetting(windows=windows, leavers="answer", seed=seed)
    settings = [replace(base, k=each) for each in k]
    settings += [replace(base, window=each) for each in window if replace(base, window=each) not in settings]
    population = adult()
    silent = replace(base, leavers="silent")
    with progress("Simulating", total=len(settings) + len(arrivals), unit="settings") as shown:
        engine, kinds = wordnet_engine(), topic_kinds(wordnet_corpus().tree)
        useful = []
        for setting in settings:
            useful.append(usefulness(setting, population, engine, kinds).as_dict())
            shown.advance()
        waiting = []
        for rate in arrivals:
            waiting += [one.as_dict() for one in waiting_times(silent, population, (rate,))]
            shown.advance()
    result = {"windows": windows, "seed": seed, "usefulness": useful, "waiting": waiting}
    emit(result, as_json=as_json, render=lambda console: _render_pool(console, result))


def _render_pool(console: Console, result: dict[str, Any]) -> None:
    from rich.table import Table

    table = Table(
        "k", "w", "d", "d'", "d*", "nothing", "kept", title="Average Precision", title_justify="left"
    )
    for row in result["usefulness"]:
        shares = [f"{row[name]:.3f}" for name in ("d", "region", "d*", "nothing")]
        table.add_row(f"{row['k']}", f"{row['window']:g}", *shares, f"{row['kept']:.0%}")
    console.print(table)
    console.print(
        "kept: of what the record d gains over d*, the share that the region d' keeps\n", soft_wrap=True
    )
    table = Table(
        "arrivals", "at once", "wait", "never", title="Newcomers' first region", title_justify="left"
    )
    for row in result["waiting"]:
        wait = f"{row['wait']:.1f}" if row["wait"] > 0 else "–"
        table.add_row(f"{row['arrivals']:g}", f"{row['at_once']:.1%}", wait, f"{row['never']:.1%}")
    console.print(table)
    console.print(
        "wait: of those who get one later, in units of time; never: they left without (k = 30, w = 50)",
        soft_wrap=True,
    )


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
    from tacit.evaluate.guards.personalised import MARKS, compare_ways, count_ways, write_comparison
    from tacit.files import check_output_folder

    check_output_folder(output, force=force, marks=MARKS)
    with progress("Personalising", total=count_ways(), unit="ways") as shown:
        found = compare_ways(users, population, by_clicks=clicks, p=p, k=k, seed=seed, advance=shown.advance)
    write_comparison(found, output, replace=force)
    result = {"output": str(output), **found.as_dict()}
    emit(result, as_json=as_json, render=lambda console: _render_personalised(console, found, output))


def _render_personalised(console: Console, found: Comparison, output: Path) -> None:
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
