"""A_Click: what its parameters guarantee, provably, and what the thesis (002) prints for them.

A user gives the first q_f queries (in the domain or not, one budget), the first c_f clicks on them, and the
q_f - 1 steps between them. Query q is **selected** iff its count + X > K, X of scale b; its count is
published as it was compared, or with fresh noise b_q; its clicks with b_c, its transitions with b_t. Two
modes:

- ``pure``: queries, urls and transitions come from sets that are public and do not depend on the log. Every
  key of the sets gets noise, whether it occurs or not. Thresholds are post-processing: they cost nothing.
- ``approximate``: what occurs outside the public sets is published too, if its noisy count passes a
  threshold. That costs δ.

Derivation: docs/guarantees/click.md.
"""

from __future__ import annotations

from tacit.errors import ParameterError
from tacit.privacy import Guarantee, Neighbours
from tacit.privacy.events import Event
from tacit.release.analysis.accounting import charges_of, event_of, guarantee_of
from tacit.release.analysis.charge import Charge, PaperFigure
from tacit.release.analysis.theorem_1 import log_alpha, turning_point
from tacit.release.click.parameters import ClickParameters
from tacit.release.click.schedule import click_schedule

__all__ = ["charges", "event", "guarantee", "paper_figure", "turning_point"]


def charges(parameters: ClickParameters) -> tuple[Charge, ...]:
    """What each published thing costs: which queries (and their counts), clicks, transitions."""
    return charges_of(click_schedule(parameters))


def guarantee(parameters: ClickParameters, neighbours: Neighbours | None = None) -> Guarantee:
    """The provable guarantee: pure, or (ε,δ)-indistinguishability in ``approximate`` mode.

    With p_g = 1: ε = q_f/b + q_f/b_q + c_f/b_c + (q_f - 1)/b_t for any K, twice as much under replacing. δ is
    the most that one user attains in the three tables together, less than what each could alone.
    """
    return guarantee_of(click_schedule(parameters), neighbours or parameters.neighbours)


def event(parameters: ClickParameters, neighbours: Neighbours | None = None) -> Event:
    """Selection, query counts, clicks and transitions; outside the public sets, a rare disclosure."""
    return event_of(click_schedule(parameters), neighbours or parameters.neighbours)


def paper_figure(parameters: ClickParameters, threshold: float | None = None) -> PaperFigure:
    """What the thesis prints: Theorem 1 (eq. 3.4), with the transition term of Table 3.10 where asked for.

    Args:
        parameters: the release's parameters; mode and minimum frequency do not enter the printed formula.
        threshold: K as the thesis has it, a real number, where it differs from the whole one.
    """
    p = parameters
    scales = (p.noise, p.noise_counts, p.noise_clicks, p.noise_transitions)
    if p.noise is None or p.threshold is None or 0 in scales:
        raise ParameterError.outside("noise", 0, "above 0 for the paper's figure")
    K = p.threshold if threshold is None else threshold
    epsilon = p.queries_per_user * log_alpha(p.noise, K, p.pool_probability)
    epsilon += p.queries_per_user / (p.noise if p.noise_counts is None else p.noise_counts)
    if p.clicks_per_user and p.noise_clicks is not None:
        epsilon += p.clicks_per_user / p.noise_clicks
    if p.steps_per_user and p.noise_transitions is not None:
        epsilon += p.steps_per_user / p.noise_transitions
    return PaperFigure(
        epsilon,
        0.0,
        Neighbours.ADD_REMOVE,
        "thesis 002, Theorem 1 (eq. 3.4)"
        + (" with the transition term of Table 3.10" if p.transitions else ""),
        "the second term of Theorem 1's α is an artefact: over a public domain a threshold is "
        "post-processing, and a query costs 1/b whatever K is; outside a public domain δ is not 0."
        if p.pure
        else "Theorem 1 claims δ = 0, which holds only for queries, urls and transitions of a public domain.",
    )
