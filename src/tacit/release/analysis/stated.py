"""The guarantee of given parameters, stated with its parts, its words and the paper's figure beside it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tacit.privacy import Guarantee, Kind, Neighbours
from tacit.release.analysis import click, k_query, session, zealous
from tacit.release.analysis.charge import PaperFigure
from tacit.release.analysis.click import ClickMode, ClickParameters
from tacit.release.analysis.k_query import KQueryParameters
from tacit.release.analysis.session import SessionClicks, SessionParameters
from tacit.release.analysis.statement import (
    Statement,
    figure_document,
    guarantee_document,
    parameters_document,
    parts_document,
)
from tacit.release.analysis.zealous import ZealousParameters

__all__ = ["state_click", "state_k_query", "state_session", "state_zealous"]

THESIS_CLICKS = 4
"""l, the clicks a user in the thesis's runs of A_Session (section 4.4.2)."""


def _meaning(found: Guarantee) -> str:
    change = (
        "added or removed" if found.neighbours is Neighbours.ADD_REMOVE else "replaced by another history"
    )
    if found.kind is Kind.PURE:
        bound = "no output becomes more than e^ε times as likely."
    else:
        bound = "no set of outputs becomes more likely than e^ε times before, plus δ."
    return f"Whatever one user did: with that user {change}, {bound}"


def _rows(found: Guarantee, figure: PaperFigure) -> list[tuple[str, str, str]]:
    return [
        ("epsilon", f"{found.epsilon:.4g}", f"{figure.epsilon:.4g}"),
        ("delta", f"{found.delta:.3g}", f"{figure.delta:.3g}"),
        ("neighbours", found.neighbours.value, figure.neighbours.value),
    ]


def state_zealous(
    parameters: ZealousParameters, neighbours: Neighbours, users: int | None, threshold_2: float | None = None
) -> Statement:
    """Both guarantees of ZEALOUS; the probabilistic one where the number of users is given."""
    found = zealous.guarantee(parameters, neighbours)
    figure = zealous.paper_figure(parameters, threshold_2)
    paper = figure_document(figure)
    paper["indistinguishability"] = {"epsilon": figure.epsilon, "delta": figure.delta}
    document: dict[str, Any] = {
        "mechanism": "zealous",
        **guarantee_document(found),
        "parameters": parameters_document(parameters),
        "parts": parts_document(zealous.charges(parameters), neighbours),
        "indistinguishability": guarantee_document(found),
        "probabilistic": None,
    }
    rows = _rows(found, figure)
    words = [_meaning(found)]
    if users is None:
        words.append("Give --users for the probabilistic guarantee, which depends on how many there are.")
    else:
        probable = zealous.probabilistic_guarantee(parameters, users, neighbours)
        printed = zealous.paper_probabilistic(parameters, users)
        document["probabilistic"] = {**guarantee_document(probable), "users": users}
        paper["probabilistic"] = figure_document(printed)
        rows.append(("probabilistic delta", f"{probable.delta:.3g}", f"{printed.delta:.3g}"))
        kind = "a public upper bound on" if neighbours is Neighbours.ADD_REMOVE else "the public number of"
        words.append(
            f"Probabilistic: outside outputs of chance {probable.delta:.3g}, ε holds output by output; "
            f"{users:,} is taken as {kind} users."
        )
    return Statement("ZEALOUS", {**document, "words": words, "paper": paper}, rows, words, figure.why)


def state_click(
    parameters: ClickParameters, neighbours: Neighbours, threshold: float | None = None
) -> Statement:
    """The guarantee of A_Click; ``threshold`` is the thesis's real-valued K for its figure."""
    found, figure = click.guarantee(parameters, neighbours), click.paper_figure(parameters, threshold)
    words = [_meaning(found)]
    if parameters.mode is ClickMode.PURE:
        words.append(
            "It holds for queries, urls and transitions of public sets that do not depend on the log; all "
            "else is dropped."
        )
    if parameters.pool_probability < 1:
        words.append("The pool is sampled: it must be drawn anew for each release and never shown.")
    document = {
        "mechanism": "click",
        **guarantee_document(found),
        "parameters": parameters_document(parameters),
        "parts": parts_document(click.charges(parameters), neighbours),
        "words": words,
        "paper": figure_document(figure),
    }
    return Statement("A_Click", document, _rows(found, figure), words, figure.why)


def state_session(
    parameters: SessionParameters, neighbours: Neighbours, threshold: float | None = None
) -> Statement:
    """The guarantee of A_Session for exactly these parameters, and with a click part beside it.

    The thesis's Table 4.4 is about sessions alone. Without a click part that is what the statement is about
    too, and ``with_clicks`` says what the thesis's click part (four clicks a user, same noise and threshold)
    would bring the total to.
    """
    found, figure = session.guarantee(parameters, neighbours), session.paper_figure(parameters, threshold)
    assumed = parameters.clicks is None
    both = parameters
    if assumed:
        part = SessionClicks(THESIS_CLICKS, parameters.noise, parameters.threshold, parameters.noise_counts)
        both = replace(parameters, clicks=part)
    whole = session.guarantee(both, neighbours)
    printed = session.paper_with_clicks(both)
    assert both.clicks is not None and printed is not None
    clicks = {
        **guarantee_document(whole),
        "clicks_per_user": both.clicks.clicks_per_user,
        "assumed": assumed,
    }
    alone = session.guarantee(replace(parameters, clicks=None), neighbours)
    words = [
        _meaning(found),
        f"A user adds at most {parameters.sensitivity} counts, and at most {parameters.largest_move} to one "
        "sequence.",
        (
            f"With {THESIS_CLICKS} clicks a user at the same noise"
            if assumed
            else "Sessions and clicks together"
        )
        + f": ε = {whole.epsilon:.4g}, δ = {whole.delta:.3g}; the two parts add.",
    ]
    document = {
        "mechanism": "session",
        **guarantee_document(found),
        "parameters": parameters_document(parameters),
        "parts": parts_document(session.charges(parameters), neighbours),
        "sessions_alone": guarantee_document(alone),
        "with_clicks": clicks,
        "words": words,
        "paper": {**figure_document(figure), "with_clicks": figure_document(printed)},
    }
    title = "A_Session, sessions alone" if assumed else "A_Session with clicks (the paper's: sessions alone)"
    return Statement(title, document, _rows(found, figure), words, figure.why)


def state_k_query(parameters: KQueryParameters, neighbours: Neighbours) -> Statement:
    """k-query anonymity, with what it is not."""
    found = k_query.guarantee(parameters, neighbours)
    words = [
        f"Every published query was asked by at least {parameters.k} users.",
        "No protection against an active attacker: with k - 1 accounts of their own, anyone learns whether "
        "one more person asked a query. There is no epsilon.",
    ]
    why = "the paper uses it as a baseline and says the same: active attackers defeat it."
    paper = {"k": parameters.k, "epsilon": None, "delta": None, "source": "Adar, as in paper 004", "why": why}
    document = {
        "mechanism": "k-query",
        **guarantee_document(found),
        "parameters": parameters_document(parameters),
        "words": words,
        "paper": paper,
    }
    rows = [("k", str(parameters.k), str(parameters.k)), ("epsilon", "none", "none")]
    return Statement("k-query anonymity", document, rows, words, why)
