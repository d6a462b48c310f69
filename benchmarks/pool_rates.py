"""How often must how many people ask? The pool over rates and populations, sparse ones included.

Claims, for k = 30, w = 120 s, people from Adult who never leave, and wait for w:

- no entry is breached anywhere; where fewer than k people ask within w, no query goes out at all;
- at the paper's traffic (section 6.1) IL is below 3 % and NCP below 38 %, whether people ask four times or
  twice in a window.

Beside it the paper's protocol in the same traffic: the share of queries that get a region, and how many of
those are breached.

Run: ``python benchmarks/pool_rates.py [--quick]``.
"""

from __future__ import annotations

import argparse
from dataclasses import replace

from tacit.pool.protocol.population import adult
from tacit.pool.simulation.traffic import PoolSimulation, SimulationSetting, simulate

RATES = (10.0, 60.0, 200.0, 600.0, 3_600.0)
PEOPLE = (60, 200, 1_000, 5_000)
BASE = SimulationSetting(k=30, window=120.0)


def cell(found: PoolSimulation) -> str:
    """What a table says of one setting."""
    if not found.answered:
        return "none"
    said = f"{found.answered:.0%}"
    if found.setting.mode == "paper":
        return f"{said}, {found.breaches / max(int(found.log.guarded.sum()), 1):.1%} breached"
    wait = f" after {found.delay_median:.0f} s" if found.delay_median >= 0.5 else ""
    breached = f" {found.breaches} BREACHED" if found.breaches else ""
    return f"{said}{wait}, {found.information_loss:.1%}/{found.ncp:.0%}{breached}"


def table(base: SimulationSetting, rates: tuple[float, ...], people: tuple[int, ...], queries: int) -> None:
    """Print a row for each rate, a column for each number of people."""
    print("| one query per | " + " | ".join(f"{number:,} people" for number in people) + " |")
    print("|---" * (len(people) + 1) + "|")
    for every in rates:
        cells = []
        for number in people:
            windows = round(min(60, max(3, queries / (number * base.window / every))))
            setting = replace(base, every=every, people=number, windows=windows)
            cells.append(cell(simulate(setting, adult())))
        print(f"| {every:g} s | " + " | ".join(cells) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--quick", action="store_true", help="fewer people and windows")
    quick = parser.parse_args().quick
    people, queries = (PEOPLE[:3], 4_000) if quick else (PEOPLE, 40_000)
    print("answered, in the middle after how long, IL/NCP of the regions; k = 30, w = 120 s\n")
    table(BASE, RATES, people, queries)
    print("\nthe paper's protocol: queries with a region, and how many of these fail Definition 2\n")
    table(replace(BASE, mode="paper"), RATES[1:], people, queries)
    print("\nthe paper's traffic (k = 30, w = 50, 50 arrivals, stays of 50), by time between queries\n")
    for every in (12.5, 25.0, 50.0):
        found = simulate(SimulationSetting(every=every, windows=3 if quick else 8), adult())
        print(f"| {every:g} | {cell(found)} | {found.people:,.0f} people ask in a window |", flush=True)


if __name__ == "__main__":
    main()
