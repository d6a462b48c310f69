"""``tacit guarantee``: what given parameters of a release mechanism provably guarantee."""

from __future__ import annotations

import math
from typing import Annotated, Literal

import typer

from tacit.errors import ParameterError
from tacit.terminal import JsonFlag, emit

__all__ = ["register"]

NeighboursOption = Annotated[
    Literal["add-remove", "replace"],
    typer.Option("--neighbours", help="Which logs are neighbours: a user added or removed, or replaced."),
]
SameCountsFlag = Annotated[
    bool, typer.Option("--same-counts", help="The count compared with the threshold is itself published.")
]
NoiseOption = Annotated[float, typer.Option("--noise", help="Scale of the selection's noise (b, or λ).")]
ThresholdOption = Annotated[
    float, typer.Option("--threshold", help="K: what has a noisy count above it is published.")
]


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    group = typer.Typer(
        help="What given parameters of a release mechanism provably guarantee, beside the paper's figure.",
        epilog="Example: tacit guarantee click --noise 10 --threshold 10 --queries-per-user 5",
        no_args_is_help=True,
    )
    group.command(
        "zealous",
        epilog="Example: tacit guarantee zealous --noise 10 --threshold-1 1 --threshold-2 149 --per-user 5 "
        "--users 100000 --neighbours replace",
    )(zealous)
    group.command(
        "click",
        epilog="Example: tacit guarantee click --noise 10 --threshold 10 --queries-per-user 5 "
        "--clicks-per-user 5 --no-transitions",
    )(click)
    group.command(
        "session",
        epilog="Example: tacit guarantee session --noise 1 --threshold 20 --sessions-per-user 1 "
        "--queries-per-session 3",
    )(session)
    group.command("k-query", epilog="Example: tacit guarantee k-query --k 20")(k_query)
    app.add_typer(group, name="guarantee")


def _positive(name: str, noise: float | None) -> None:
    if noise is not None and not (math.isfinite(noise) and noise > 0):
        raise ParameterError.outside(
            name, noise, "a finite number above 0", "Without noise there is no guarantee."
        )


def _whole(name: str, threshold: float) -> int:
    """Counts and noise are whole, so ``> K`` is ``> floor(K)``."""
    if not (math.isfinite(threshold) and threshold >= 0):
        raise ParameterError.outside(name, threshold, "a finite number, 0 or more")
    return math.floor(threshold)


def zealous(
    noise: NoiseOption,
    threshold_1: Annotated[int, typer.Option(help="τ: items of fewer users never appear.")],
    threshold_2: Annotated[float, typer.Option(help="T (τ'): the least noisy count that is published.")],
    per_user: Annotated[int, typer.Option(help="m: the most distinct items a user gives.")],
    users: Annotated[
        int | None,
        typer.Option(help="U, for the probabilistic guarantee (add-remove: a public upper bound)."),
    ] = None,
    histograms: Annotated[int, typer.Option(help="How many histograms are published this way.")] = 1,
    neighbours: NeighboursOption = "add-remove",
    as_json: JsonFlag = False,
) -> None:
    """ZEALOUS: indistinguishability and, with --users, probabilistic differential privacy."""
    from tacit.privacy import Neighbours
    from tacit.release.analysis.stated import state_zealous
    from tacit.release.analysis.zealous import ZealousParameters

    _positive("noise", noise)
    if not math.isfinite(threshold_2):
        raise ParameterError.outside("threshold_2", threshold_2, "a finite number")
    whole = math.ceil(threshold_2)  # '>= 78.66' is '>= 79' for whole counts
    parameters = ZealousParameters(per_user, noise, threshold_1, whole, histograms)
    stated = state_zealous(parameters, Neighbours(neighbours), users, threshold_2)
    emit(stated.document, as_json=as_json, render=stated.render)


def click(
    noise: NoiseOption,
    threshold: ThresholdOption,
    queries_per_user: Annotated[int, typer.Option(help="q_f: the first queries of a user that count.")],
    clicks_per_user: Annotated[
        int | None, typer.Option(help="c_f: the first clicks that count (default: as many as queries).")
    ] = None,
    noise_queries: Annotated[
        float | None, typer.Option(help="b_q of the query counts (default: --noise).")
    ] = None,
    noise_clicks: Annotated[float | None, typer.Option(help="b_c of the clicks (default: --noise).")] = None,
    noise_transitions: Annotated[
        float | None, typer.Option(help="b_t of transitions (default: --noise).")
    ] = None,
    threshold_clicks: Annotated[
        float | None, typer.Option(help="Click counts above it appear (default: --threshold).")
    ] = None,
    threshold_transitions: Annotated[
        float | None, typer.Option(help="Transitions above it appear (default: --threshold).")
    ] = None,
    transitions: Annotated[
        bool, typer.Option("--transitions/--no-transitions", help="Whether transitions are published.")
    ] = True,
    same_counts: SameCountsFlag = False,
    pool_probability: Annotated[
        float, typer.Option(help="p_g: chance that an unasked query takes part.")
    ] = 1.0,
    minimum_frequency: Annotated[
        int, typer.Option(help="Queries with a smaller bounded count take no part in the selection.")
    ] = 1,
    mode: Annotated[
        Literal["pure", "approximate"],
        typer.Option(help="pure: public keys only; approximate: others too, above a threshold."),
    ] = "pure",
    neighbours: NeighboursOption = "add-remove",
    as_json: JsonFlag = False,
) -> None:
    """A_Click: query counts, clicks and transitions."""
    from tacit.privacy import Neighbours
    from tacit.release.analysis.click import ClickMode, ClickParameters
    from tacit.release.analysis.stated import state_click

    for name, scale in (
        ("noise", noise),
        ("noise_queries", noise_queries),
        ("noise_clicks", noise_clicks),
        ("noise_transitions", noise_transitions),
    ):
        _positive(name, scale)
    parameters = ClickParameters(
        queries_per_user=queries_per_user,
        clicks_per_user=queries_per_user if clicks_per_user is None else clicks_per_user,
        noise=noise,
        threshold=_whole("threshold", threshold),
        noise_queries=None if same_counts else noise if noise_queries is None else noise_queries,
        noise_clicks=noise if noise_clicks is None else noise_clicks,
        noise_transitions=noise if noise_transitions is None else noise_transitions,
        transitions=transitions,
        threshold_clicks=None if threshold_clicks is None else _whole("threshold_clicks", threshold_clicks),
        threshold_transitions=(
            None if threshold_transitions is None else _whole("threshold_transitions", threshold_transitions)
        ),
        pool_probability=pool_probability,
        minimum_frequency=minimum_frequency,
        mode=ClickMode(mode),
    )
    stated = state_click(parameters, Neighbours(neighbours), threshold)
    emit(stated.document, as_json=as_json, render=stated.render)


def session(
    noise: NoiseOption,
    threshold: ThresholdOption,
    sessions_per_user: Annotated[int, typer.Option(help="l_s: the first sessions of a user that count.")],
    queries_per_session: Annotated[int, typer.Option(help="l_q: the first queries of a session that count.")],
    noise_counts: Annotated[
        float | None, typer.Option(help="Noise of the sequence counts (default: --noise).")
    ] = None,
    same_counts: SameCountsFlag = False,
    once_per_user: Annotated[
        bool,
        typer.Option("--once-per-user", help="A user counts once for a sequence, however often it occurs."),
    ] = False,
    clicks_per_user: Annotated[
        int | None, typer.Option(help="l: with it, the click part is in the guarantee too.")
    ] = None,
    clicks_noise: Annotated[
        float | None, typer.Option(help="b of the click part (default: --noise).")
    ] = None,
    clicks_threshold: Annotated[
        float | None, typer.Option(help="K of the click part (default: --threshold).")
    ] = None,
    neighbours: NeighboursOption = "add-remove",
    as_json: JsonFlag = False,
) -> None:
    """A_Session: sequences of queries; alone, or with its click part if --clicks-per-user is given."""
    from tacit.privacy import Neighbours
    from tacit.release.analysis.session import SessionClicks, SessionParameters
    from tacit.release.analysis.stated import state_session

    for name, scale in (("noise", noise), ("noise_counts", noise_counts), ("clicks_noise", clicks_noise)):
        _positive(name, scale)
    if clicks_per_user is None and (clicks_noise is not None or clicks_threshold is not None):
        raise ParameterError(
            "the click part's noise or threshold was given, but not how many clicks a user gives.",
            "Add --clicks-per-user.",
        )
    K = _whole("threshold", threshold)
    clicks = None
    if clicks_per_user is not None:
        scale = noise if clicks_noise is None else clicks_noise
        clicks = SessionClicks(
            clicks_per_user,
            scale,
            K if clicks_threshold is None else _whole("clicks_threshold", clicks_threshold),
            None if same_counts else scale,
        )
    counts = None if same_counts else noise if noise_counts is None else noise_counts
    parameters = SessionParameters(
        sessions_per_user, queries_per_session, noise, K, counts, once_per_user, clicks
    )
    stated = state_session(parameters, Neighbours(neighbours), threshold)
    emit(stated.document, as_json=as_json, render=stated.render)


def k_query(
    k: Annotated[int, typer.Option("--k", help="The least number of users behind a published query.")],
    neighbours: NeighboursOption = "add-remove",
    as_json: JsonFlag = False,
) -> None:
    """k-query anonymity: what it promises, and that it is no differential privacy."""
    from tacit.privacy import Neighbours
    from tacit.release.analysis.k_query import KQueryParameters
    from tacit.release.analysis.stated import state_k_query

    stated = state_k_query(KQueryParameters(k), Neighbours(neighbours))
    emit(stated.document, as_json=as_json, render=stated.render)
