"""The thesis's own tables, as printed, come out of the ``paper`` figures."""

from __future__ import annotations

import pytest
from tests.claims import click, session
from tests.short_forms import session_parameters, uniform_click
from tests.thesis_tables import TABLE_3_8, TABLE_3_10, TABLE_4_4


@pytest.mark.parametrize(("bound", "printed"), TABLE_3_8.items())
def test_table_3_8_epsilon_without_transitions(bound: int, printed: float) -> None:
    parameters = uniform_click(bound, bound, 10.0, 10, transitions=False)
    tolerance = 0.005 if bound <= 10 else bound * 0.0005
    assert click.paper_figure(parameters).epsilon == pytest.approx(printed, abs=tolerance)
    assert click.guarantee(parameters).epsilon == pytest.approx(3 * bound / 10)


@pytest.mark.parametrize(("epsilon", "bound", "noise", "threshold"), TABLE_3_10)
def test_table_3_10_noise_and_turning_point(
    epsilon: float, bound: int, noise: float, threshold: float
) -> None:
    assert (4 * bound - 1) / epsilon == noise
    assert click.turning_point(noise) == pytest.approx(threshold, abs=0.005001)
    parameters = uniform_click(bound, bound, noise, int(threshold))
    assert click.paper_figure(parameters, threshold=click.turning_point(noise)).epsilon == pytest.approx(
        epsilon
    )


@pytest.mark.parametrize(("noise", "threshold", "sessions", "queries", "epsilon", "delta"), TABLE_4_4)
def test_table_4_4_sessions_alone(
    noise: float, threshold: int, sessions: int, queries: int, epsilon: float, delta: float
) -> None:
    parameters = session_parameters(sessions, queries, noise, threshold, noise)
    figure = session.paper_figure(parameters)
    assert figure.epsilon == pytest.approx(epsilon, abs=0.005)
    last_digit = 10.0 ** (int(f"{delta:e}".split("e")[1]) - 2)
    assert figure.delta == pytest.approx(delta, abs=last_digit)
    provable = session.guarantee(parameters)
    assert provable.epsilon == pytest.approx(figure.epsilon)
    assert provable.delta < figure.delta


def test_the_run_of_section_4_4_2_costs_both_its_parts() -> None:
    clicks = (4, 1, 20, 1)
    figure = session.paper_figure(session_parameters(1, 3, 1, 20, 1, clicks=clicks))
    assert figure.epsilon == pytest.approx(16.0)
    assert figure.delta == pytest.approx(4.5e-7, abs=0.005e-7)
