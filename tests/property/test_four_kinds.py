"""Every table that a mechanism can publish has four kinds of tests: exact with noise off; right distribution,
failing for 30% more or less noise; contract; divergence through the executed schedule.

:data:`MATRIX` names the test of each, or says why there is none. It is held against the tables that the
mechanisms of the registry declare: a new table, or mechanism, fails here until it has all four.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from typing import Any

import pytest

from tacit import Plan
from tacit.release.mechanisms.adaptive import HeldItem
from tacit.release.parameters import Item
from tacit.release.registry import MECHANISMS, mechanism_class

EXACT, DISTRIBUTION, CONTRACT, DIVERGENCE = KINDS = (
    "exact with noise off",
    "right distribution",
    "contract",
    "divergence through the executed schedule",
)
SCHEDULES = "tests.property.test_schedule_checks"
MUTANTS = "tests.property.test_schedule_mutants"
ADAPTIVE = "tests.property.test_adaptive_tables"
ROUNDS = "tests.statistical.test_adaptive_divergence"
RELEASES = "tests.contract.test_release_contract"


@dataclass(frozen=True)
class Named:
    """A test, and the case of it that is about the table."""

    module: str
    test: str
    case: str


@dataclass(frozen=True)
class Senseless:
    """Why there is no test of this kind, and which one stands in its place."""

    because: str
    instead: Named | None = None


Cells = dict[str, "Named | Senseless"]


def scheduled(case: str, contract: str) -> Cells:
    """A table that is made by carrying out a schedule of parts."""
    return {
        EXACT: Named(SCHEDULES, "test_exact_with_noise_off", case),
        DISTRIBUTION: Named(SCHEDULES, "test_the_right_distribution", case),
        CONTRACT: Named(RELEASES, "test_what_is_written_verifies_and_reads_back", contract),
        DIVERGENCE: Named(SCHEDULES, "test_the_divergence", case),
    }


def once(table: str) -> Cells:
    """A table of an adaptive release by a single count of each item."""
    case = f"{table}, single count"
    return {
        EXACT: Named(ADAPTIVE, "test_exact_with_noise_off", case),
        DISTRIBUTION: Named(ADAPTIVE, "test_the_right_distribution", case),
        CONTRACT: Named(RELEASES, "test_what_is_written_verifies_and_reads_back", "adaptive-one-all"),
        DIVERGENCE: Named(ADAPTIVE, "test_the_divergence", case),
    }


def rounds(table: str) -> Cells:
    """A table of an adaptive release by rounds, which see numbers of items and not their kind."""
    case = f"{table}, rounds"
    return {
        EXACT: Named(ADAPTIVE, "test_exact_with_noise_off", case),
        DISTRIBUTION: Named(ADAPTIVE, "test_the_right_distribution", case),
        CONTRACT: Named(RELEASES, "test_what_is_written_verifies_and_reads_back", "adaptive-all"),
        DIVERGENCE: Named(ROUNDS, "test_no_output_tells_more_than_is_stated", "two rounds, two items"),
    }


def not_private() -> Cells:
    """A table of k-query anonymity."""
    hidden = Named(SCHEDULES, "test_rare_queries_stay_hidden", "")
    return {
        EXACT: Named(SCHEDULES, "test_exact_with_noise_off", "k-query"),
        DISTRIBUTION: Senseless("it draws no noise: true counts are published"),
        CONTRACT: Named(RELEASES, "test_what_is_written_verifies_and_reads_back", "k-query"),
        DIVERGENCE: Senseless("it promises no ε; it promises that a query has k users", hidden),
    }


MATRIX: dict[tuple[str, str, str], Cells] = {
    ("zealous", "", "queries"): scheduled("zealous", "zealous-all"),
    ("zealous", "", "clicks"): scheduled("zealous", "zealous-all"),
    ("zealous", "", "keywords"): scheduled("zealous, words and steps", "zealous-all"),
    ("zealous", "", "pairs"): scheduled("zealous, words and steps", "zealous-all"),
    ("click", "pure", "queries"): scheduled("click, pure", "click-pure"),
    ("click", "pure", "clicks"): scheduled("click, pure", "click-pure"),
    ("click", "pure", "transitions"): scheduled("click, pure", "click-pure-steps"),
    ("click", "approximate", "queries"): scheduled("click, approximate", "click-approximate"),
    ("click", "approximate", "clicks"): scheduled("click, approximate", "click-approximate"),
    ("click", "approximate", "transitions"): scheduled("click, approximate", "click-steps"),
    ("session", "", "sessions"): scheduled("session, once per user", "session"),
    ("session", "", "clicks"): scheduled("session, once per user", "session"),
    ("session", "each", "sessions"): scheduled("session", "session-each"),
    ("session", "each", "clicks"): scheduled("session", "session-each"),
    ("topics", "", "topics"): scheduled("topics", "topics"),
    ("k-query", "", "keywords"): not_private(),
    ("k-query", "", "queries"): not_private(),
    ("k-query", "", "clicks"): not_private(),
    ("k-query", "", "pairs"): not_private(),
    ("adaptive", "rounds", "queries"): rounds("queries"),
    ("adaptive", "rounds", "keywords"): rounds("keywords"),
    ("adaptive", "rounds", "clicks"): rounds("clicks"),
    ("adaptive", "rounds", "pairs"): rounds("pairs"),
    ("adaptive", "rounds", "sessions"): rounds("sessions"),
    ("adaptive", "single", "queries"): once("queries"),
    ("adaptive", "single", "keywords"): once("keywords"),
    ("adaptive", "single", "clicks"): once("clicks"),
    ("adaptive", "single", "pairs"): once("pairs"),
    ("adaptive", "single", "sessions"): once("sessions"),
}
"""By mechanism, its mode, and table."""

WIDEST: dict[tuple[str, str], dict[str, Any]] = {
    ("zealous", ""): {"epsilon": 1.0, "delta": 1e-6, "items": tuple(Item)},
    ("click", "pure"): {"epsilon": 4.0, "transitions": True, "queries_per_user": 3},
    ("click", "approximate"): {"epsilon": 4.0, "delta": 1e-6, "transitions": True, "queries_per_user": 3},
    ("session", ""): {"epsilon": 4.0, "delta": 1e-6},
    ("session", "each"): {"epsilon": 4.0, "delta": 1e-6, "once_per_user": False},
    ("topics", ""): {"epsilon": 1.0},
    ("k-query", ""): {"k": 5, "items": tuple(Item)},
    ("adaptive", "rounds"): {"epsilon": 1.0, "delta": 1e-6, "items": tuple(HeldItem)},
    ("adaptive", "single"): {"epsilon": 1.0, "delta": 1e-6, "items": tuple(HeldItem), "per_user": 1},
}
"""Options with which each mode of a mechanism publishes all tables that it can."""


@cache
def widest(name: str, mode: str) -> Plan[Any]:
    options = dict(WIDEST[name, mode])
    if name == "click" and mode == "pure":
        options |= {"surfaced": import_module(RELEASES).URLS}
    return mechanism_class(name)(**options).plan()


def named_tests(cells: Cells) -> Iterator[Named]:
    for cell in cells.values():
        found = cell if isinstance(cell, Named) else cell.instead
        if found is not None:
            yield found


def values_of(named: Named) -> dict[str, Any]:
    """The cases over which a test runs, by the name that pytest gives them."""
    if named.module == RELEASES:
        return {case: case for case in import_module(RELEASES).MECHANISMS_BY_CASE}  # of the fixture `made`
    found: dict[str, Any] = {}
    for mark in getattr(getattr(import_module(named.module), named.test), "pytestmark", []):
        if mark.name != "parametrize":
            continue
        ids = mark.kwargs.get("ids")
        for value in mark.args[1]:
            if type(value).__name__ == "ParameterSet":
                found[str(value.id)] = value.values[0]
            else:
                found[ids(value) if callable(ids) else str(value)] = value
    return found


def published_by(named: Named) -> Plan[Any] | None:
    """The mechanism of the case; None where the case is about rounds as such."""
    value = values_of(named)[named.case]
    if isinstance(value, Plan):
        return value
    if named.module == SCHEDULES:
        made: Plan[Any] = value.make()
        return made
    if named.module == RELEASES:
        listed: dict[str, Plan[Any]] = import_module(RELEASES).MECHANISMS_BY_CASE
        return listed[value]
    return None


def test_every_table_of_every_mechanism_is_in_the_matrix() -> None:
    assert {name for name, _ in WIDEST} == set(MECHANISMS)
    declared = {(*way, part.table) for way in WIDEST for part in widest(*way).schedule}
    assert declared == set(MATRIX)
    for module in (SCHEDULES, RELEASES):  # no case publishes what the matrix does not know
        if module == SCHEDULES:
            mechanisms = [case.make() for case in import_module(module).CASES]
        else:
            mechanisms = list(import_module(module).MECHANISMS_BY_CASE.values())
        for made in mechanisms:
            for part in made.schedule:
                assert any(key[0] == made.name and key[2] == part.table for key in MATRIX)


@pytest.mark.parametrize("way", MATRIX, ids=lambda way: " ".join(filter(None, way)))
def test_the_four_kinds_are_there(way: tuple[str, str, str]) -> None:
    """The tests exist, run over the case named, and the case publishes the table."""
    cells = MATRIX[way]
    assert tuple(cells) == KINDS
    for named in named_tests(cells):
        assert callable(getattr(import_module(named.module), named.test))
        if not named.case:
            continue
        assert named.case in values_of(named)
        made = published_by(named)
        if made is not None:
            assert made.name == way[0]
            assert way[2] in {part.table for part in made.schedule}


@pytest.mark.parametrize("way", MATRIX, ids=lambda way: " ".join(filter(None, way)))
def test_a_kind_is_missing_only_where_there_is_no_noise(way: tuple[str, str, str]) -> None:
    name, mode, table = way
    part = widest(name, mode).schedule.part(table)
    for kind, cell in MATRIX[way].items():
        if isinstance(cell, Senseless):
            assert name == "k-query" and part.noise is None and kind in (DISTRIBUTION, DIVERGENCE)


@pytest.mark.parametrize("way", MATRIX, ids=lambda way: " ".join(filter(None, way)))
def test_the_test_of_the_distribution_fails_for_other_noise(way: tuple[str, str, str]) -> None:
    """Among the mutants that must be caught, or beside the test: 30% more and 30% less."""
    cell = MATRIX[way][DISTRIBUTION]
    if isinstance(cell, Senseless):
        return
    if cell.module == ADAPTIVE:
        beside = Named(ADAPTIVE, "test_another_distribution_is_noticed", cell.case)
        assert {cell.case, "0.7", "1.3"} <= set(values_of(beside))
        return
    said = {str(mutant) for mutant in import_module(MUTANTS).MUTANTS}
    for much in ("30% less", "30% more"):
        assert f"{cell.case}: {much} of the compared noise of {way[2]}" in said
