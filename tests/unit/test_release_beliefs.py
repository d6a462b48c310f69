"""The table of beliefs on a release's page says the truth, by an exact computation of the worst case."""

import math

import pytest

from tacit.privacy import Guarantee, GuaranteeKind, Neighbours
from tacit.release.document.page import _beliefs
from tacit.release.document.words import Strength, verdict_on


def posterior(prior: float, likelihood_ratio: float) -> str:
    return f"{prior * likelihood_ratio / (1 + prior * (likelihood_ratio - 1)):.1%}"


def test_what_somebody_did_moves_twice_as_far_as_presence_under_add_remove() -> None:
    """One noisy count each for two queries, scale b, q_f records: a user asks one or the other q_f times.

    The likelihood ratio of (high, low) against the swapped history is exp(2 q_f/b) = e^(2ε): attained.
    """
    q_f, b = 5, 5.0
    epsilon = q_f / b

    def mass(noisy: int, count: int) -> float:
        a = math.exp(-1 / b)
        return (1 - a) / (1 + a) * a ** abs(noisy - count)

    ratio = (mass(q_f, q_f) * mass(0, 0)) / (mass(q_f, 0) * mass(0, q_f))
    assert ratio == pytest.approx(math.exp(2 * epsilon))
    rows = _beliefs(Guarantee(GuaranteeKind.PURE, Neighbours.ADD_REMOVE, epsilon))
    assert (
        rows[-1]
        == ("50%", posterior(0.5, math.exp(epsilon)), posterior(0.5, ratio))
        == (
            "50%",
            "73.1%",
            "88.1%",
        )
    )
    assert _beliefs(Guarantee(GuaranteeKind.PURE, Neighbours.REPLACE, 2 * epsilon))[-1] == ("50%", "88.1%")


def test_the_table_never_disappears() -> None:
    nothing = _beliefs(Guarantee(GuaranteeKind.K_QUERY, Neighbours.ADD_REMOVE, k=5))
    assert nothing[0] == ("0.1%", "certain", "certain")
    assert _beliefs(Guarantee(GuaranteeKind.PURE, Neighbours.ADD_REMOVE, 800))[0] == (
        "0.1%",
        "over 99.9%",
        "over 99.9%",
    )


@pytest.mark.parametrize(
    ("epsilon", "strength", "sure"),
    [
        (0.5, Strength.STRONG, "at most 73.1% sure"),
        (1, Strength.STRONG, "at most 88.1% sure"),
        (2, Strength.MODERATE, "at most 98.2% sure"),
        (5, Strength.MODERATE, "practically sure (over 99.9%)"),
        (5.01, Strength.WEAK, "practically sure (over 99.9%)"),
        (10, Strength.WEAK, "practically sure (over 99.9%)"),
        (10.01, Strength.NONE_TO_SPEAK_OF, "practically sure (over 99.9%)"),
        (1000, Strength.NONE_TO_SPEAK_OF, "practically sure (over 99.9%)"),
    ],
)
def test_the_verdict_follows_from_epsilon(epsilon: float, strength: Strength, sure: str) -> None:
    found = verdict_on(Guarantee(GuaranteeKind.INDISTINGUISHABILITY, Neighbours.ADD_REMOVE, epsilon, 1e-6))
    assert (found.strength, found.sure, found.warns) == (strength, sure, epsilon > 5)
    assert sure in found.sentence and "1 in 1,000,000" in found.sentence


def test_without_epsilon_there_is_no_protection() -> None:
    found = verdict_on(Guarantee(GuaranteeKind.K_QUERY, Neighbours.ADD_REMOVE, k=5))
    assert (found.strength, found.sure, found.warns) == (Strength.NONE, "certain", True)
