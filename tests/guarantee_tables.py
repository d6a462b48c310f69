"""The tables of docs/guarantees and of the how-to on parameters, computed: a test compares the pages.

To refresh the pages, run ``python -m tests.guarantee_tables``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tests.claims import click, session, zealous
from tests.short_forms import (
    plan_click,
    plan_session,
    plan_zealous,
    session_parameters,
    uniform_click,
    zealous_parameters,
)
from tests.thesis_tables import TABLE_3_8, TABLE_3_10, TABLE_4_4

from tacit import Adaptive, Guarantee, Plan, Zealous
from tacit.privacy import GuaranteeKind, Neighbours
from tacit.privacy.accounting.composition import Account, CompositionRule
from tacit.privacy.accounting.events import ApproximateDp, Event
from tacit.release import prose
from tacit.release.analysis import fresh_keys_loss, guarantee_of
from tacit.release.mechanism import Mechanism
from tacit.release.mechanisms.click import ClickMode
from tacit.release.mechanisms.session import SessionPlan
from tacit.release.mechanisms.zealous import ZealousPlan
from tacit.release.schedule import Contribution
from tacit.release.thresholds import appearance

AOL_USERS = 657_426


def table(header: str, rows: list[tuple[object, ...]]) -> str:
    columns = header.split(" | ")
    lines = [f"| {header} |", "|" + "---:|" * len(columns)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def zealous_approximate() -> str:
    rows: list[tuple[object, ...]] = []
    for m in (1, 2, 5, 10, 20):
        replaced = plan_zealous(1.0, 1e-6, m, neighbours=Neighbours.REPLACE)
        added = plan_zealous(1.0, 1e-6, m)
        printed = setting(replaced).values
        rows.append(
            (
                m,
                f"{printed['threshold_2']:.2f}",
                f"{printed['provable_delta']:.2e}",
                replaced.given.threshold_2,
                f"{replaced.guarantee.delta:.2e}",
                added.given.threshold_2,
                f"{added.guarantee.delta:.2e}",
            )
        )
    return table("m | printed τ' | its δ (RO) | T (RO) | δ (RO) | T (AR) | δ (AR)", rows)


def zealous_probabilistic() -> str:
    rows: list[tuple[object, ...]] = []
    for m, epsilon in ((1, 1.0), (5, 1.0), (5, 4.0), (20, 4.0)):
        found = {
            relation: plan_zealous(
                epsilon, 1e-6, m, kind=GuaranteeKind.PROBABILISTIC, users=AOL_USERS, neighbours=relation
            )
            for relation in Neighbours
        }
        paper = setting(found[Neighbours.REPLACE])
        cells: list[object] = [m, f"{epsilon:g}"]
        cells += [f"{paper.values['threshold_1']:.0f}", f"{paper.values['threshold_2']:.2f}"]
        for relation in (Neighbours.REPLACE, Neighbours.ADD_REMOVE):
            p = found[relation].given
            cells += [p.threshold_1, p.threshold_2]
        rows.append(tuple(cells))
    return table("m | ε | paper τ | paper τ' | τ (RO) | T (RO) | τ (AR) | T (AR)", rows)


def click_table_3_8() -> str:
    rows: list[tuple[object, ...]] = []
    for bound, printed in TABLE_3_8.items():
        p = uniform_click(bound, bound, 10.0, 10, transitions=False)
        replaced = click.guarantee(p, Neighbours.REPLACE).epsilon
        rows.append((bound, f"{printed:.2f}", f"{click.guarantee(p).epsilon:.2f}", f"{replaced:.2f}"))
    return table("$q_f = c_f$ | ε printed | ε provable (AR) | ε provable (RO)", rows)


def click_table_3_10() -> str:
    rows: list[tuple[object, ...]] = []
    for epsilon, bound, noise, threshold in TABLE_3_10:
        plan = plan_click(epsilon, bound, same_counts=False)
        p = plan.given
        rows.append(
            (
                f"{epsilon:g}",
                bound,
                f"{noise:g}",
                f"{threshold:.2f}",
                f"{setting(plan).values['spurious_queries']:,.0f}",
                f"{p.noise:.4g}",
                p.threshold,
                f"{p.noise_counts:.4g}",
                f"{p.noise_clicks:.4g}",
                f"{p.noise_transitions:.4g}" if p.steps_per_user else "none",
            )
        )
    return table(
        "ε | $q_f = c_f$ | b printed | K printed | unasked let in | b | K | $b_q$ | $b_c$ | $b_t$", rows
    )


def click_selection() -> str:
    rows: list[tuple[object, ...]] = []
    for d, noise, threshold in ((1, 1.0, 20), (5, 1.0, 20), (5, 5.0, 100), (10, 5.0, 100), (20, 20.0, 400)):
        korolova = d / 2 * math.exp((d - threshold) / noise)
        continuous = [-math.log1p(-math.exp((k - threshold) / noise) / 2) * n for k, n in ((d, 1), (1, d))]
        delta = appearance(fresh_keys_loss(Contribution((d,), once=False), noise, threshold))
        exact = -math.expm1(-max(continuous))
        rows.append((d, f"{noise:g}", threshold, f"{korolova:.2e}", f"{exact:.2e}", f"{delta:.2e}"))
    return table(
        "d | b | K | $\\frac{d}{2}e^{(d-K)/b}$ | exact, continuous noise | exact, integer noise", rows
    )


def click_approximate() -> str:
    rows: list[tuple[object, ...]] = []
    for epsilon, bound in ((1.0, 1), (1.0, 5), (4.0, 5), (4.0, 20)):
        for same in (False, True):
            p = plan_click(epsilon, bound, delta=1e-6, domain_size=0, same_counts=same).given
            assert p.mode is ClickMode.APPROXIMATE
            counts = p.noise if p.noise_counts is None else p.noise_counts
            rows.append(
                (
                    f"{epsilon:g}",
                    bound,
                    "compared" if same else "fresh",
                    p.threshold,
                    f"{counts:.4g}",
                    p.threshold_clicks,
                    p.threshold_transitions if p.steps_per_user else "none",
                )
            )
    return table("ε | $q_f = c_f$ | counts | K | error | K of clicks | K of transitions", rows)


def session_table_4_4() -> str:
    rows: list[tuple[object, ...]] = []
    for noise, threshold, sessions, queries, epsilon, delta in TABLE_4_4:
        p = session_parameters(sessions, queries, float(noise), threshold, float(noise))
        once = session_parameters(sessions, queries, float(noise), threshold, float(noise), once=True)
        clicks = (4, float(noise), threshold, float(noise))
        both = session_parameters(sessions, queries, float(noise), threshold, float(noise), clicks=clicks)
        found, whole = session.guarantee(p), session.guarantee(both)
        rows.append(
            (
                noise,
                threshold,
                sessions,
                queries,
                f"{epsilon:.2f}",
                f"{delta:.2e}",
                f"{found.epsilon:.2f}",
                f"{found.delta:.2e}",
                f"{session.guarantee(once).delta:.2e}",
                f"{whole.epsilon:.2f}",
                f"{whole.delta:.2e}",
            )
        )
    printed, provable = "ε printed | δ printed", "ε | δ | δ once per user | ε with clicks | δ with clicks"
    return table(f"b | K | $l_s$ | $l_q$ | {printed} | {provable}", rows)


def session_plans() -> str:
    rows: list[tuple[object, ...]] = []
    for epsilon, sessions, queries in ((4.0, 1, 2), (8.0, 1, 3), (16.0, 1, 4), (16.0, 2, 3)):
        plan = plan_session(epsilon, 1e-6, sessions, queries)
        p, printed = plan.given, setting(plan).values
        rows.append(
            (
                f"{epsilon:g}",
                sessions,
                queries,
                f"{printed['noise']:.4g}",
                f"{printed['threshold']:.1f}",
                f"{p.noise:.4g}",
                p.threshold,
                p.threshold_clicks,
            )
        )
    return table("ε | $l_s$ | $l_q$ | b printed | K printed | b | K | K of clicks", rows)


def counterexample_zealous() -> str:
    """The leak of the printed threshold, for the prose of the page."""
    leak = zealous.guarantee(zealous_parameters(5, 10.0, 1, 79), Neighbours.REPLACE).delta
    return f"{leak:.3e}"


def choose_items_a_user() -> str:
    rows: list[tuple[object, ...]] = []
    for m in (1, 2, 5, 10, 20):
        p = plan_zealous(1.0, 1e-7, m).given
        rows.append((m, f"{p.noise:g}", p.threshold_2))
    return table("m | noise | users an item needs", rows)


def choose_queries_a_user() -> str:
    rows: list[tuple[object, ...]] = []
    for bound in (1, 2, 5, 10):
        plan = plan_click(1.0, bound, delta=1e-7, domain_size=0, transitions=False)
        error = f"{prose.figures(plan)['expected_error']:.3g}"
        rows.append((bound, plan.given.threshold, error, plan.given.threshold_clicks))
    return table("$q_f = c_f$ | K | error of a count | K of clicks", rows)


def choose_queries_a_session() -> str:
    rows: list[tuple[object, ...]] = []
    for length in (2, 3, 4, 5):
        p = plan_session(8.0, 1e-7, 1, length, 4).given
        rows.append((length, p.sensitivity, p.threshold, f"{p.noise:.3g}"))
    return table("$l_q$ | sequences per user | K | error of a count", rows)


def weeks_that_a_budget_lasts() -> str:
    """The one place for how many equal releases of (0.15, 10⁻⁸) a budget of (1.25, 10⁻⁶) pays for."""
    budget = Guarantee(GuaranteeKind.APPROXIMATE, Neighbours.ADD_REMOVE, 1.25, 1e-6)
    rows: list[tuple[object, ...]] = []
    for name, event, promise in (
        ("`adaptive`", *_known(Adaptive(epsilon=0.15, delta=1e-8).plan())),
        ("`zealous`, 20 items per user", *_known(plan_zealous(0.15, 1e-8, 20))),
        ("`zealous`, 5 items per user", *_known(plan_zealous(0.15, 1e-8, 5))),
        ("`click`, 5 queries per user", *_known(plan_click(0.15, 5, delta=1e-8, domain_size=0))),
        ("`session`, 3 queries per session", *_known(plan_session(0.15, 1e-8))),
    ):
        tight = Account(budget, CompositionRule.PLD)
        added = Account(budget, CompositionRule.BASIC).repetitions_left(event)
        opaque = tight.repetitions_left(ApproximateDp(promise))
        rows.append((name, added, opaque, tight.repetitions_left(event)))
    return table("each week | weeks by `basic` | by `pld`, if known by (ε, δ) alone | by `pld`", rows)


def _known(plan: Mechanism[Any]) -> tuple[Event, Guarantee]:
    return plan.event, plan.guarantee


@dataclass(frozen=True)
class PaperSetting:
    """The parameters the paper would choose for the same request, and why ours differ."""

    values: Mapping[str, float]
    source: str
    why: str


def setting(plan: Plan[Any]) -> PaperSetting:
    """What the paper would choose."""
    if isinstance(plan, ZealousPlan):
        return _zealous_setting(plan)
    if isinstance(plan, SessionPlan):
        return _session_setting(plan)
    found = prose.paper_setting(plan)
    assert found is not None
    return PaperSetting(found, found["source"], found["why"])


def _zealous_setting(plan: ZealousPlan) -> PaperSetting:
    """Paper 004's choice, the budget shared evenly by the histograms (the paper has one)."""
    asked = plan.mechanism
    assert asked.epsilon is not None
    epsilon, delta = asked.epsilon / len(asked.items), asked.delta / len(asked.items)
    noise = 2 * asked.per_user / epsilon
    if asked.users is None or asked.kind is GuaranteeKind.APPROXIMATE:
        return _approximate_setting(asked, noise, epsilon, delta)
    tau = math.ceil(noise)
    needed = -noise * math.log(2 * delta * tau / (asked.users * asked.per_user))
    values = {
        "noise": noise,
        "threshold_1": float(tau),
        "threshold_2": tau + max(-noise * math.log(-2 * math.expm1(-1 / noise)), needed),
    }
    why = (
        "the paper takes τ = ceil(2m/ε), continuous noise and replacing neighbours; ours tries every τ that "
        "can win, for integer noise and the neighbours asked for."
    )
    return PaperSetting(values, "paper 004, probabilistic differential privacy analysis", why)


def _approximate_setting(asked: Zealous, noise: float, epsilon: float, delta: float) -> PaperSetting:
    values = {
        "noise": noise,
        "threshold_1": 1.0,
        "threshold_2": asked.per_user * (1 - math.log(2 * delta / asked.per_user) / epsilon),
    }
    # what the printed setting gives, at the next whole threshold
    second = max(1, math.ceil(values["threshold_2"]))
    printed = replace(asked.schedule_with(noise, 1, second), neighbours=Neighbours.REPLACE, users=None)
    values["provable_delta"] = guarantee_of(printed).delta
    why = (
        "the paper joins the noise of replacing neighbours (2m/ε) to the threshold of add-remove (noise "
        "m/ε), and its δ is larger than asked; ours is the least threshold at which δ holds."
    )
    return PaperSetting(values, "paper 004, analysis of (ε, δ)-differential privacy", why)


def _session_setting(plan: SessionPlan) -> PaperSetting:
    """Eq. 4.7 with one b and one K for both parts, as section 4.2.1.2 asks, solved for b and K."""
    asked = plan.mechanism
    assert asked.epsilon is not None and not asked.given
    moves = [records for records in (asked.sensitivity, asked.counted_clicks) if records]
    noise = 2 * sum(moves) / asked.epsilon
    largest = max(moves)
    bulk = math.fsum(n / 2 * math.exp((n - largest) / noise) for n in moves)
    return PaperSetting(
        {"noise": noise, "threshold": largest + noise * math.log(bulk / asked.delta), "noise_counts": noise},
        "thesis 002, eq. 4.7 with α = e^(1/b)",
        "the thesis lets one sequence move by all of a user's counts and has one noise scale for everything; "
        "the scales may differ, and a sequence moves by less.",
    )


TABLES: dict[str, list[Callable[[], str]]] = {
    "zealous": [zealous_approximate, zealous_probabilistic],
    "click": [click_table_3_8, click_table_3_10, click_selection, click_approximate],
    "session": [session_table_4_4, session_plans],
    "k-query": [],
}
"""The tables of docs/guarantees, by page."""

HOW_TO: dict[str, list[Callable[[], str]]] = {
    "choose-release-parameters": [choose_items_a_user, choose_queries_a_user, choose_queries_a_session],
    "weekly-releases": [weeks_that_a_budget_lasts],
}
"""The computed tables of docs/how-to, by page."""

DOCS = Path(__file__).parent.parent / "docs"


def refresh(page: Path, tables: list[Callable[[], str]]) -> None:
    """Put the computed tables into the place of those with the same heading."""
    lines = page.read_text().split("\n")
    for build in tables:
        made = build().split("\n")
        begin = lines.index(made[0])
        end = begin
        while end < len(lines) and lines[end].startswith("|"):
            end += 1
        lines[begin:end] = made
    page.write_text("\n".join(lines))


if __name__ == "__main__":
    for name, builds in TABLES.items():
        refresh(DOCS / f"guarantees/{name}.md", builds)
    for name, builds in HOW_TO.items():
        refresh(DOCS / f"how-to/{name}.md", builds)
