"""``tacit evaluate pool``: what a region is worth to search, and how long people wait for one."""

from __future__ import annotations

from typing import Annotated, Any

import typer
from rich.console import Console

from tacit.commands.options import JsonFlag, Seed
from tacit.terminal import emit, progress

__all__ = ["pool"]

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

    from tacit.evaluate.pool_usefulness import topic_kinds, usefulness, waiting_times
    from tacit.pool.population import adult
    from tacit.pool.simulation import SimulationSetting
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
    emit(result, as_json=as_json, render=lambda console: _render(console, result))


def _render(console: Console, result: dict[str, Any]) -> None:
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
