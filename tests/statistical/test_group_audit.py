"""Groups under attack: the noise of cohorts, and fakes among newcomers of groups of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import hypergeom
from tests.drawn import SeededRandomness

from tacit.audit.groups import lower_bound
from tacit.groups.bundles import BATCH, FAKES, MOST_TERMS, WAITING, batches, stand_together
from tacit.groups.criterion import Criterion
from tacit.groups.words import Generation

RULE = Criterion(0.4)


@dataclass(frozen=True)
class Infiltrated:
    """What fakes among newcomers got.

    Attributes:
        batches: how many batches formed a group.
        beyond: the chance that a victim's batch holds more fakes than it withstands.
        exposed: the share of real members in these groups of whom a shown term is held by more than a share p
            of the real members, or more than a share p of what real people brought is theirs.
    """

    batches: int
    beyond: float
    exposed: float


def infiltrate(
    people: Sequence[NDArray[np.int32]], fakes: Sequence[NDArray[np.int32]], criterion: Criterion, key: bytes
) -> Infiltrated:
    """Let fakes wait with real newcomers, and look at the batches that form.

    Args:
        people, fakes: the terms of each, ascending.
        key: by which batches are drawn.
    """
    terms = {f"real-{n}": held for n, held in enumerate(people)}
    terms |= {f"fake-{n}": held for n, held in enumerate(fakes)}
    everybody = np.bincount(np.concatenate(list(terms.values())))
    formed, members, exposed = 0, 0, 0
    for batch in batches(terms, key):
        shown = stand_together([terms[each] for each in batch], criterion, lambda ids: everybody[ids])
        if shown is None:
            continue
        formed += 1
        real = [terms[each] for each in batch if each.startswith("real")]
        counts = np.array([sum(term in held for held in real) for term in shown.terms])
        brought = int((counts > 0).sum())
        members += len(real)
        for held in real:
            own = np.isin(shown.terms, held)
            linked = (counts[own] > criterion.p * len(real)).any()
            exposed += bool(linked or own.sum() > criterion.p * brought)
    beyond = (
        float(hypergeom.sf(FAKES, len(terms) - 1, len(fakes), BATCH - 1)) if len(terms) >= WAITING else 1.0
    )
    return Infiltrated(formed, beyond, exposed / members if members else 0.0)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_what_is_proved_of_epsilon_is_below_it(epsilon: float) -> None:
    generation = Generation(epsilon)
    proved = lower_bound(generation, source=SeededRandomness(1))
    assert proved <= epsilon and (proved > 0.3 or epsilon < 1)


def test_half_the_noise_is_found_out() -> None:
    careless = Generation(2.0)
    careless.__dict__["sigma"] = Generation(2.0).sigma // 3
    assert lower_bound(careless, source=SeededRandomness(1)) > 2.0


def newcomers(count: int, seed: int) -> list[np.ndarray[tuple[int], np.dtype[np.int32]]]:
    """People whose terms are common enough for batches to form."""
    draw = np.random.default_rng(seed)
    return [np.sort(draw.choice(130, 20, replace=False)).astype(np.int32) for _ in range(count)]


@pytest.mark.parametrize("junk", [True, False])
def test_as_many_fakes_as_a_batch_withstands_expose_nobody(junk: bool) -> None:
    formed = 0
    for seed in range(12):
        fakes = [
            np.sort(np.random.default_rng(seed).choice(130 if junk else 30, 20, replace=False)).astype(
                np.int32
            )
        ] * 10
        found = infiltrate(newcomers(90, seed), fakes, Criterion(0.5), seed.to_bytes(32, "little"))
        formed += found.batches
        assert found.beyond < 0.01
        assert found.exposed == 0.0
    assert formed > 5


def batch_of(*rows: list[int]) -> list[np.ndarray[tuple[int], np.dtype[np.int32]]]:
    return [np.array(row, np.int32) for row in rows]


def forty(shared: int) -> list[list[int]]:
    """Twenty people, person k of whom holds terms k, k+1, … among forty: each term has about ten holders."""
    return [sorted({(3 * k + j) % 60 for j in range(shared)}) for k in range(20)]


def test_newcomers_show_only_what_enough_of_the_population_hold() -> None:
    """Condition 4, with the fakes taken off: s + 2 holders in the population."""
    people = batch_of(*forty(9))
    shown = stand_together(people, RULE, lambda ids: np.full(len(ids), FAKES + 2))
    assert shown is not None
    assert stand_together(people, RULE, lambda ids: np.full(len(ids), FAKES + 1)) is None
    some = stand_together(people, RULE, lambda ids: np.where(np.array(ids) < 58, 99, 1))
    assert some is not None and set(some.terms.tolist()) == {t for t in shown.terms.tolist() if t < 58}


def test_newcomers_terms_have_three_holders_and_at_most_p_of_the_real_ones() -> None:
    people = batch_of(*forty(9))
    shown = stand_together(people, RULE, lambda ids: np.full(len(ids), 99))
    assert shown is not None
    for term, share in zip(shown.terms.tolist(), shown.shares.tolist(), strict=True):
        holders = sum(term in held for held in people)
        assert 3 <= holders <= 0.4 * (20 - FAKES) and share == pytest.approx(holders / 20)
    wide = stand_together(
        batch_of(*([*held, 999] for held in forty(9))), RULE, lambda ids: np.full(len(ids), 99)
    )
    assert wide is not None and 999 not in wide.terms, "what everybody holds is not shown"


def test_a_newcomer_who_holds_too_much_of_it_keeps_a_batch_from_forming() -> None:
    rows = forty(9)
    shown = stand_together(batch_of(*rows), RULE, lambda ids: np.full(len(ids), 99))
    assert shown is not None
    greedy = [*rows[:-1], list(range(60))]
    assert stand_together(batch_of(*greedy), RULE, lambda ids: np.full(len(ids), 99)) is None
    counted = {term for held in rows for term in held[:MOST_TERMS]}
    assert set(shown.terms.tolist()) <= counted


def test_batches_are_drawn_by_a_key() -> None:
    names = [f"u{n}" for n in range(100)]
    one, same, other = (list(batches(names, key)) for key in (b"1" * 32, b"1" * 32, b"2" * 32))
    assert one == same != other
    assert sorted(user for batch in one for user in batch) == sorted(names)
    assert {len(batch) for batch in one} == {20}
    assert list(batches(reversed(names), b"1" * 32)) == one
