"""The page of a release, to be signed by a data protection officer: one file, no network, prints well.

It shows what the manifest says, the reach of a belief as inline SVG, and the largest published counts. All of
it is published anyway, and whoever has the manifest and the tables can make the page again, to the letter.
"""

from collections.abc import Mapping
from typing import Any

import pyarrow.compute as pc

from tacit.pages import render
from tacit.privacy import Guarantee, GuaranteeKind, Neighbours
from tacit.release import prose
from tacit.release.document.about import About
from tacit.release.document.manifest import release_digest, verdict_of
from tacit.release.document.words import (
    A_USER,
    A_USER_ID,
    Strength,
    belief_after,
    but_for,
    meaning_of,
    percent,
    residual_risks,
)
from tacit.release.execution import Tables
from tacit.release.mechanism import Plan
from tacit.release.preparation import LONGEST_KEY, LONGEST_URL
from tacit.release.schedule import Keys
from tacit.release.thresholds import smallest, survival

PAGE = "release.html"
_SHOWN = 10
_MEASURES = ("count", "deviation")
_PRIORS = (0.001, 0.01, 0.1, 0.5)


def render_page(mechanism: Plan[Any], manifest: Mapping[str, Any], tables: Tables) -> str:
    guarantee = mechanism.guarantee
    protected = guarantee.kind is not GuaranteeKind.K_QUERY
    verdict, budget = verdict_of(mechanism, manifest), manifest["budget"]
    sums: dict[str, Any] = {name: Guarantee.from_dict(budget[name]) for name in ("total", "used", "left")}
    most, used = sums["total"].epsilon, sums["used"].epsilon
    share = min(1.0, used / most) if most else 1.0
    meanings = prose.columns(mechanism)
    return render(
        "tacit.release.document",
        "release.html.j2",
        title=mechanism.title,
        manifest=manifest,
        about=About(**manifest["about"]),
        budget=sums | {"share": f"{share:.0%}"},
        digest=release_digest(manifest),
        a_user=A_USER_ID if verdict.strength is Strength.NONE else A_USER,
        accuracy=_accuracy(mechanism, tables),
        guarantee=guarantee,
        protected=protected,
        verdict=verdict,
        meaning=meaning_of(guarantee),
        learns=[
            *residual_risks(sums["used"] if protected else guarantee, budget["exact_counts"]),
            *prose.residual_risks(mechanism),
        ],
        beliefs=_beliefs(sums["used"], budget["exact_counts"]),
        steps=prose.steps(mechanism),
        parameters=prose.words(mechanism),
        longest=(LONGEST_KEY, LONGEST_URL),
        samples={name: _sample(table, meanings.get(name, {})) for name, table in tables.items()},
    )


def _beliefs(total: Guarantee, exact: int) -> tuple[list[str], list[list[str]]]:
    """Tabulate how far a belief about one user can move: what it is about, and rows of before and after.

    ``total`` is of everything published so far. Under add-remove, odds of the user's being in the log move by
    its loss. What somebody in the log did compares two histories, one taken out and another put in. Under
    replace the number of users is public, and the former does not arise. Exact counts bound nothing.
    """
    heads = {
        Neighbours.ADD_REMOVE: "that a user is in the log",
        Neighbours.REPLACE: "what a user in it searched for",
    }
    losses = {each.neighbours: each.but_for() for each in (total, total.as_replace())}
    rows = []
    for prior in _PRIORS:
        after = [percent(belief_after(prior, loss)) for loss, _ in losses.values()]
        rows.append([percent(prior), *(["certain"] * len(after) if exact else after)])
    return [
        f"After, {heads[relation]}"
        + (": at most" if exact else f": at most{but_for(chance)}" if chance < 1 else ": not bounded")
        for relation, (_, chance) in losses.items()
    ], rows


def usual_error(scale: float) -> int:
    """Compute what noise of this scale exceeds in size at most once in 20 times."""
    return smallest(lambda size: 2 * survival(scale, size + 1) <= 0.05) if scale else 0


def _accuracy(mechanism: Plan[Any], tables: Tables) -> list[str]:
    """Describe in words how far off the published numbers are."""
    if mechanism.schedule.exact:
        return ["All counts are exact."]
    lines = []
    for part in mechanism.schedule:
        if "deviation" in part.measures:
            known = tables[part.table].column("deviation").drop_null()
            if len(known):
                low, high = (f(known).as_py() for f in (pc.min, pc.max))
                between = f"{low:,}" if low == high else f"between {low:,} and {high:,}"
                lines.append(
                    f"{part.table}: the standard deviation of a count's error is {between}; it stands beside."
                )
        elif part.error:
            most = usual_error(part.error)
            within = f"is at most {most:,}, up or down," if most else "is 0 at least"
            lines.append(f"{part.table}: the noise added to a count {within} 19 times in 20.")
    if any(part.keys is not Keys.PUBLIC for part in mechanism.schedule):
        lines.append("A row may be missing though many have it: what is missing tells nothing certain.")
    return lines


def _sample(table: Any, meanings: Mapping[str, str]) -> dict[str, Any]:
    """The largest counts of a published table, and what its columns of numbers mean."""

    def cell(name: str, value: Any) -> Any:
        if value is None:
            return "withheld" if name == "count" else ""
        return " → ".join(value) if isinstance(value, list) else value

    called = {name: name.replace("_", " ") for name in table.schema.names}
    rows = table.slice(0, _SHOWN).to_pylist()
    return {
        "columns": list(called.values()),
        "numbers": [called[name] for name in called if name in meanings or name in _MEASURES],
        "rows": [[cell(name, value) for name, value in row.items()] for row in rows],
        "meanings": {called[name]: text for name, text in meanings.items()},
    }
