"""``tacit plan``: parameters of a release mechanism for a guarantee that is asked for."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from tacit.errors import InfeasibleError
from tacit.terminal import JsonFlag, emit

__all__ = ["register"]

EpsilonOption = Annotated[float, typer.Option("--epsilon", help="ε: the whole release may cost this much.")]
DeltaOption = Annotated[
    float, typer.Option("--delta", help="δ: well below one over the number of users is usual.")
]
NeighboursOption = Annotated[
    Literal["add-remove", "replace"],
    typer.Option("--neighbours", help="Which logs are neighbours: a user added or removed, or replaced."),
]
SameCountsFlag = Annotated[
    bool,
    typer.Option(
        "--same-counts",
        help="Publish the count compared with the threshold: cheaper, leaning upwards near it.",
    ),
]


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    group = typer.Typer(
        help="Parameters of a release for a guarantee that is asked for: what they mean and cost, in words.",
        epilog="Example: tacit plan click --epsilon 1 --queries-per-user 5",
        no_args_is_help=True,
    )
    group.command("zealous", epilog="Example: tacit plan zealous --epsilon 1 --delta 1e-6 --per-user 5")(
        zealous
    )
    group.command("click", epilog="Example: tacit plan click --epsilon 1 --queries-per-user 5 --json")(click)
    group.command("session", epilog="Example: tacit plan session --epsilon 8 --delta 1e-6")(session)
    group.command("k-query", epilog="Example: tacit plan k-query --hide-among 20 --attacker-accounts 10")(
        k_query
    )
    app.add_typer(group, name="plan")


def zealous(
    epsilon: EpsilonOption,
    delta: DeltaOption = 1e-6,
    per_user: Annotated[int, typer.Option(help="m: the most distinct items a user gives.")] = 5,
    histograms: Annotated[int, typer.Option(help="How many histograms share the budget.")] = 1,
    kind: Annotated[
        Literal["indistinguishability", "probabilistic"], typer.Option(help="Which guarantee to plan for.")
    ] = "indistinguishability",
    users: Annotated[
        int | None,
        typer.Option(help="U, for the probabilistic guarantee (add-remove: a public upper bound)."),
    ] = None,
    neighbours: NeighboursOption = "add-remove",
    as_json: JsonFlag = False,
) -> None:
    """ZEALOUS: noise, and the two thresholds with the lowest second one."""
    from tacit.privacy import Kind, Neighbours
    from tacit.release.analysis.zealous import charges
    from tacit.release.plan.stated import state_plan
    from tacit.release.plan.zealous import plan_zealous

    plan = plan_zealous(
        epsilon,
        delta,
        per_user,
        histograms=histograms,
        kind=Kind(kind),
        users=users,
        neighbours=Neighbours(neighbours),
    )
    parts = charges(plan.parameters) if kind == "indistinguishability" else ()
    stated = state_plan("zealous", plan, parts, epsilon=epsilon, delta=delta)
    emit(stated.document, as_json=as_json, render=stated.render)


def click(
    epsilon: EpsilonOption,
    queries_per_user: Annotated[int, typer.Option(help="q_f: the first queries of a user that count.")] = 5,
    clicks_per_user: Annotated[
        int | None, typer.Option(help="c_f: the first clicks that count (default: as many as queries).")
    ] = None,
    delta: Annotated[
        float, typer.Option(help="δ: 0 plans the pure mode, above 0 the approximate one.")
    ] = 0.0,
    transitions: Annotated[
        bool, typer.Option("--transitions/--no-transitions", help="Whether transitions are published.")
    ] = True,
    pool_size: Annotated[
        int, typer.Option(help="Queries in the public domain (default: the bundled one).")
    ] = 150_913,
    spurious: Annotated[
        float, typer.Option(help="How many keys that nobody used may be expected in each table.")
    ] = 10.0,
    expected_queries: Annotated[
        int, typer.Option(help="About how many queries will be selected (their urls and pairs are public).")
    ] = 1_000,
    pool_probability: Annotated[
        float, typer.Option(help="p_g: chance that an unasked query takes part; below 1 it costs ε.")
    ] = 1.0,
    same_counts: SameCountsFlag = False,
    neighbours: NeighboursOption = "add-remove",
    as_json: JsonFlag = False,
) -> None:
    """A_Click: how ε is split among selection, counts, clicks and transitions, and where K lies."""
    from tacit.privacy import Neighbours
    from tacit.release.analysis.click import charges
    from tacit.release.plan.click import plan_click
    from tacit.release.plan.stated import state_plan

    plan = plan_click(
        epsilon,
        queries_per_user,
        clicks_per_user,
        delta=delta,
        transitions=transitions,
        pool_size=pool_size,
        spurious=spurious,
        pool_probability=pool_probability,
        same_counts=same_counts,
        neighbours=Neighbours(neighbours),
        expected_queries=expected_queries,
    )
    stated = state_plan("click", plan, charges(plan.parameters), epsilon=epsilon, delta=delta)
    emit(stated.document, as_json=as_json, render=stated.render)


def session(
    epsilon: EpsilonOption,
    delta: DeltaOption = 1e-6,
    sessions_per_user: Annotated[int, typer.Option(help="l_s: the first sessions of a user that count.")] = 1,
    queries_per_session: Annotated[
        int, typer.Option(help="l_q: the first queries of a session that count.")
    ] = 3,
    clicks_per_user: Annotated[
        int, typer.Option(help="l: clicks a user gives to the click part; 0 leaves it out.")
    ] = 4,
    once_per_user: Annotated[
        bool,
        typer.Option("--once-per-user", help="A user counts once for a sequence, however often it occurs."),
    ] = False,
    same_counts: SameCountsFlag = False,
    neighbours: NeighboursOption = "add-remove",
    as_json: JsonFlag = False,
) -> None:
    """A_Session: sequences and clicks under one total; both parts are charged."""
    from tacit.privacy import Neighbours
    from tacit.release.analysis.session import charges
    from tacit.release.plan.session import plan_session
    from tacit.release.plan.stated import state_plan

    plan = plan_session(
        epsilon,
        delta,
        sessions_per_user,
        queries_per_session,
        clicks_per_user,
        once_per_user=once_per_user,
        same_counts=same_counts,
        neighbours=Neighbours(neighbours),
    )
    stated = state_plan("session", plan, charges(plan.parameters), epsilon=epsilon, delta=delta)
    emit(stated.document, as_json=as_json, render=stated.render)


def k_query(
    hide_among: Annotated[
        int, typer.Option(help="How many honest users shall share a published query.")
    ] = 20,
    attacker_accounts: Annotated[int, typer.Option(help="How many accounts the attacker may have.")] = 0,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", help="Not available: k-query anonymity has no ε.")
    ] = None,
    neighbours: NeighboursOption = "add-remove",
    as_json: JsonFlag = False,
) -> None:
    """k-query anonymity: k against an attacker with accounts. It gives no differential privacy."""
    if epsilon is not None:
        raise InfeasibleError(
            f"k-query anonymity gives no differential privacy; epsilon {epsilon} cannot be had from it.",
            "Plan zealous, click or session instead.",
        )
    from tacit.privacy import Neighbours
    from tacit.release.plan.k_query import plan_k_query
    from tacit.release.plan.stated import state_plan

    plan = plan_k_query(hide_among, attacker_accounts, Neighbours(neighbours))
    stated = state_plan("k-query", plan)
    emit(stated.document, as_json=as_json, render=stated.render)
