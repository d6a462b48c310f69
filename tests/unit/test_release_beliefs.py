"""What a release's page says of beliefs is true, by exact computations of the worst case."""

import math
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit import Guarantee
from tacit.privacy import GuaranteeKind, Neighbours
from tacit.privacy.accounting.composition import Account, CompositionRule
from tacit.release.document.page import _beliefs
from tacit.release.document.words import (
    FEWEST,
    SHOWN,
    Strength,
    belief_after,
    may_show,
    percent,
    verdict_on,
)
from tacit.release.registry import mechanism_class


def promise(epsilon: float, delta: float = 1e-6, neighbours: Neighbours = Neighbours.ADD_REMOVE) -> Guarantee:
    kind = GuaranteeKind.APPROXIMATE if delta else GuaranteeKind.PURE
    return Guarantee(kind, neighbours, epsilon, delta)


def posterior(prior: float, likelihood_ratio: float) -> str:
    return percent(prior * likelihood_ratio / (1 + prior * (likelihood_ratio - 1)))


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
    heads, rows = _beliefs(promise(epsilon, 0), 0)
    assert len(heads) == 2 and "except" not in " ".join(heads)
    assert rows[-1] == ["50%", posterior(0.5, math.exp(epsilon)), posterior(0.5, ratio)]
    assert rows[-1] == ["50%", "73.2%", "88.1%"]
    assert _beliefs(promise(2 * epsilon, 0, Neighbours.REPLACE), 0)[1][-1] == ["50%", "88.1%"]


def test_the_table_never_disappears() -> None:
    assert _beliefs(promise(0.5), exact=1)[1][0] == ["0.1%", "certain", "certain"]
    assert _beliefs(promise(800, 0), 0)[1][0] == ["0.1%", "over 99.9%", "over 99.9%"]
    assert _beliefs(promise(0.5, 0.2), 0)[1][0] == ["0.1%", "over 99.9%", "over 99.9%"]


@pytest.mark.parametrize(
    ("epsilon", "strength", "sure"),
    [
        (0.5, Strength.STRONG, "at most 75.2% sure"),
        (1, Strength.STRONG, "at most 89.2% sure"),
        (1.25, Strength.MODERATE, "at most 93.2% sure"),
        (2, Strength.WEAK, "at most 98.4% sure"),
        (4, Strength.NONE_TO_SPEAK_OF, "practically sure (over 99.9%)"),
        (1000, Strength.NONE_TO_SPEAK_OF, "practically sure (over 99.9%)"),
    ],
)
def test_the_verdict_follows_from_the_belief(epsilon: float, strength: Strength, sure: str) -> None:
    found = verdict_on(promise(epsilon))
    assert (found.strength, found.sure, found.warns) == (strength, sure, epsilon > 1.5)
    assert sure in found.sentence and "1 in 1,000,000" in found.sentence
    if epsilon >= 4:
        assert verdict_on(promise(epsilon, 0)).strength is Strength.NONE_TO_SPEAK_OF


def test_without_epsilon_there_is_no_protection() -> None:
    exact = Guarantee(GuaranteeKind.K_QUERY, Neighbours.ADD_REMOVE, k=5)
    found = verdict_on(exact)
    assert (found.strength, found.sure, found.warns) == (Strength.NONE, "certain", True)


def test_the_verdict_is_about_all_that_was_spent_and_this_release_comes_second() -> None:
    found = verdict_on(promise(0.5), promise(11.5, 2e-6))
    assert (found.strength, found.alone) == (Strength.NONE_TO_SPEAK_OF, Strength.STRONG)
    assert "everything published from this data set so far" in found.sentences[0]
    assert found.sentences[-1].startswith("This release by itself: strong;")
    assert "by itself" not in verdict_on(promise(0.5), promise(0.5)).sentence


def test_exact_counts_that_went_out_before_leave_no_protection() -> None:
    found = verdict_on(promise(0.5), promise(0.5), exact=2)
    assert (found.strength, found.alone) == (Strength.NONE, Strength.STRONG)
    assert "2 k-query releases" in found.sentence and "exact counts" in found.headline


@pytest.mark.parametrize(
    ("delta", "users", "strength"),
    [
        (0.4, 226, Strength.NONE_TO_SPEAK_OF),
        (0.4, None, Strength.NONE_TO_SPEAK_OF),
        (1e-4, None, Strength.NONE_TO_SPEAK_OF),
        (2e-5, None, Strength.WEAK),
        (1e-5, None, Strength.STRONG),
        (1e-6, 200_000, Strength.WEAK),
        (1e-6, 2_000_000, Strength.NONE_TO_SPEAK_OF),
        (1e-6, 20_000, Strength.STRONG),
        (1e-3, 20, Strength.WEAK),
    ],
)
def test_a_delta_that_may_show_a_person_caps_the_verdict(
    delta: float, users: int | None, strength: Strength
) -> None:
    found = verdict_on(promise(0.3, delta), users=users)
    assert found.strength is strength
    assert bool(found.shown) == (strength is not Strength.STRONG) == bool(may_show(delta, users))
    assert found.shown in found.sentence


@given(
    epsilon=st.floats(0.001, 12),
    delta=st.one_of(st.just(0.0), st.floats(1e-12, 0.9)),
    before=st.floats(0, 12),
    users=st.one_of(st.none(), st.integers(1, 10**8)),
    neighbours=st.sampled_from(Neighbours),
)
def test_headline_belief_table_and_figures_never_contradict_each_other(
    epsilon: float, delta: float, before: float, users: int | None, neighbours: Neighbours
) -> None:
    alone, total = promise(epsilon, delta, neighbours), promise(epsilon + before, delta, neighbours)
    found = verdict_on(alone, total, users=users)
    heads, rows = _beliefs(total, 0)
    # the headline's belief is the table's row of an even chance, for what somebody did
    assert rows[-1][-1] == percent(found.after)
    assert found.sure == (
        "practically sure (over 99.9%)" if rows[-1][-1] == "over 99.9%" else f"at most {rows[-1][-1]} sure"
    )
    # it is never below what the stated ε alone would give, nor is the word stronger than the belief
    assert found.after >= belief_after(0.5, total.as_replace().epsilon) - 1e-12
    limits = {Strength.STRONG: 0.90, Strength.MODERATE: 0.95, Strength.WEAK: 0.99}
    assert found.after <= limits.get(found.strength, 1.0)
    assert found.warns == (found.strength not in (Strength.STRONG, Strength.MODERATE))
    if not found.warns:
        assert delta * max(users or 0, FEWEST) <= SHOWN * (1 + 1e-6)
    # all that was spent is never judged better than this release
    order = list(Strength)
    assert order.index(found.strength) >= order.index(found.alone)
    assert all(("except with" in head or "not bounded" in head) == bool(delta) for head in heads)


@pytest.mark.parametrize(("mechanism", "times"), [("zealous", 52), ("adaptive", 12)])
def test_the_year_that_the_how_to_recommends_is_called_a_protection(mechanism: str, times: int) -> None:
    text = (Path(__file__).parents[2] / "docs/how-to/weekly-releases.md").read_text()
    found = re.findall(r"--budget-epsilon (\S+) --budget-delta (\S+) --composition (\w+)", text)
    assert found
    for epsilon, delta, rule in found:
        budget = promise(float(epsilon), float(delta))
        assert not verdict_on(budget).warns
        release = re.search(
            rf"tacit release ({mechanism}) log.parquet --epsilon (\S+) --delta (\S+)(?: --per-user (\d+))?",
            text,
        )
        assert release is not None
        more = {"per_user": int(release[4])} if release[4] else {}
        made = mechanism_class(release[1])(epsilon=float(release[2]), delta=float(release[3]), **more).plan()
        weeks = Account(budget, CompositionRule(rule)).repetitions_left(made.event)
        assert weeks >= times
