"""The thesis's own tables, as printed, come out of the ``paper`` figures."""

from __future__ import annotations

import pytest

from tacit.release.analysis import ClickParameters, SessionClicks, SessionParameters, click, session

TABLE_3_8 = {1: 0.43, 2: 0.85, 4: 1.71, 6: 2.56, 8: 3.42, 10: 4.27, 20: 8.54, 40: 17.08, 80: 34.16}
"""q_f = c_f → ε at K = b = 10. From 20 on the printed values are multiples of a rounded 0.427."""

TABLE_3_10 = [
    (0.5, 1, 6.0, 8.08),
    (0.5, 2, 14.0, 28.74),
    (0.5, 3, 22.0, 54.25),
    (0.5, 4, 30.0, 82.74),
    (0.5, 5, 38.0, 113.39),
    (1.0, 1, 3.0, 2.70),
    (1.0, 2, 7.0, 10.26),
    (1.0, 3, 11.0, 20.25),
    (1.0, 4, 15.0, 31.72),
    (1.0, 5, 19.0, 44.27),
    (1.0, 6, 23.0, 57.67),
    (1.0, 7, 27.0, 71.77),
    (1.0, 8, 31.0, 86.46),
    (1.0, 9, 35.0, 101.68),
    (1.0, 19, 75.0, 273.33),  # printed as q_f = 20, whose b would be 79
    (2.0, 2, 3.5, 3.45),
    (2.0, 4, 7.5, 11.41),
    (2.0, 6, 11.5, 21.61),
    (2.0, 8, 15.5, 33.24),
    (2.0, 10, 19.5, 45.90),
    (2.0, 12, 23.5, 59.40),
    (2.0, 14, 27.5, 73.58),
    (2.0, 16, 31.5, 88.34),
    (2.0, 18, 35.5, 103.61),
    (2.0, 20, 39.5, 119.33),
    (4.0, 5, 4.75, 5.60),
    (4.0, 10, 9.75, 16.94),
    (4.0, 15, 14.75, 30.97),
    (4.0, 20, 19.75, 46.73),
    (4.0, 25, 24.75, 63.76),
]
"""ε, q_f = c_f, b, K."""

TABLE_4_4 = [
    (1, 10, 1, 3, 8.00, 4.95e-3),  # cut, not rounded: 4.9575e-3
    (1, 20, 1, 3, 8.00, 2.25e-7),
    (1, 30, 1, 3, 8.00, 1.02e-11),
    (3, 10, 1, 3, 2.67, 2.70e-1),  # cut, not rounded: 2.7067e-1
    (3, 20, 1, 3, 2.67, 9.66e-3),
    (3, 30, 1, 3, 2.67, 3.44e-4),
    (1, 20, 1, 4, 22.00, 6.79e-4),
    (2, 30, 1, 4, 11.00, 4.12e-4),
    (1, 20, 2, 3, 16.00, 2.46e-5),
    (2, 30, 2, 3, 8.00, 6.68e-5),
]
"""b, K, l_s, l_q, ε, δ."""


@pytest.mark.parametrize(("bound", "printed"), TABLE_3_8.items())
def test_table_3_8_epsilon_without_transitions(bound: int, printed: float) -> None:
    parameters = ClickParameters.uniform(bound, bound, 10.0, 10, transitions=False)
    tolerance = 0.005 if bound <= 10 else bound * 0.0005
    assert click.paper_figure(parameters).epsilon == pytest.approx(printed, abs=tolerance)
    assert click.guarantee(parameters).epsilon == pytest.approx(3 * bound / 10)


@pytest.mark.parametrize(("epsilon", "bound", "noise", "threshold"), TABLE_3_10)
def test_table_3_10_noise_and_turning_point(
    epsilon: float, bound: int, noise: float, threshold: float
) -> None:
    assert (4 * bound - 1) / epsilon == noise
    assert click.turning_point(noise) == pytest.approx(threshold, abs=0.005001)
    parameters = ClickParameters.uniform(bound, bound, noise, int(threshold))
    assert click.paper_figure(parameters, threshold=click.turning_point(noise)).epsilon == pytest.approx(
        epsilon
    )


@pytest.mark.parametrize(("noise", "threshold", "sessions", "queries", "epsilon", "delta"), TABLE_4_4)
def test_table_4_4_sessions_alone(
    noise: float, threshold: int, sessions: int, queries: int, epsilon: float, delta: float
) -> None:
    parameters = SessionParameters(sessions, queries, noise, threshold, noise)
    figure = session.paper_figure(parameters)
    assert figure.epsilon == pytest.approx(epsilon, abs=0.005)
    last_digit = 10.0 ** (int(f"{delta:e}".split("e")[1]) - 2)
    assert figure.delta == pytest.approx(delta, abs=last_digit)
    provable = session.guarantee(parameters)
    assert provable.epsilon == pytest.approx(figure.epsilon)
    assert provable.delta < figure.delta


def test_the_run_of_section_4_4_2_costs_both_its_parts() -> None:
    clicks = SessionClicks(clicks_per_user=4, noise=1, threshold=20, noise_counts=1)
    figure = session.paper_with_clicks(SessionParameters(1, 3, 1, 20, 1, clicks=clicks))
    assert figure is not None
    assert figure.epsilon == pytest.approx(16.0)
    assert figure.delta == pytest.approx(4.5e-7, abs=0.005e-7)
