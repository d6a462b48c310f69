"""``tacit simulate``: the pool under simulated traffic."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

from rich.table import Table

from tacit.commands.options import ForceFlag
from tacit.commands.verbs import Panel, library, verb
from tacit.terminal import emit, progress, table

PANEL = Panel.POOL


def simulate(
    k: int = 30,
    window: float = 50,
    every: float | None = None,
    patience: float | None = None,
    arrivals: float = 50,
    stay: float = 50,
    people: int = 0,
    away: float = 0,
    burst: float = 1,
    windows: int = 20,
    mode: Literal["default", "paper"] = "default",
    overlap: float = 0.5,
    leavers: Literal["silent", "answer"] = "silent",
    users: str = "adult",
    template: Path | None = None,
    seeds: int = 1,
    seed: int = 1,
    log: Path | None = None,
    force: ForceFlag = False,
) -> None:
    """Simulate people who ask through a pool, under regions that at least k of them match.

    The machine is the one that `tacit pool serve` runs; only time and people are made up. Choose k and the
    window by it: at least k people must ask within the window for any query to go out.
    """
    options = locals()
    with progress("Simulating", total=windows * seeds, unit="windows") as shown:
        result = library("tacit:simulate_pool")(**options, advance=shown.advance).as_dict()
    says: list[str | Table] = [table(("", ""), _figures(result), right=True)]
    if not result["answered"] and mode != "paper":
        says.append(
            f"\nNo query went out: {k} people must ask within {window:g}, and about "
            f"{result['people']:,.0f} do. Choose a smaller k or a longer window."
        )
    emit(result, *says)


register = verb(simulate, "--k 30 --window 120 --people 1000 --every 600", by="tacit:simulate_pool")


def _figures(result: dict[str, Any]) -> Iterator[tuple[str, str]]:
    paper = result["mode"] == "paper"
    yield "people in a window" if paper else "people who ask in a window", f"{result['people']:,.0f}"
    yield "groups" if paper else "regions in use in a window", f"{result['groups']:,.1f}"
    shares = {"answered": "queries that went out with a region"}
    if result["groups"]:
        shares["information_loss"] = "information loss (share of volume)"
        shares["ncp"] = "share of each attribute's width (NCP)"
    if paper:
        shares["unregistered"] = "people without a group"
        shares["forced_expired"] = "people whose group found fewer than k again"
        shares["forced_unregistered"] = "of those, then without a group"
    for name, said in shares.items():
        yield said, f"{result[name]:.2%}"
    if not paper:
        yield "time until the answer, median", f"{result['delay_median']:.1f}"
    yield "entries that fewer than k people match", f"{result['breaches']:,}"
