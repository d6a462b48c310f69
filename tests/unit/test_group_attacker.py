"""The attacker's arithmetic against the formulas, written out with fractions."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit import InfeasibleError
from tacit.groups import Bundler, Bundling, Profiles
from tacit.groups.language import Floats, LanguageAttack, LanguageAttacker
from tacit.groups.report import Attacker, SingledOut, report

People = dict[str, set[str]]
people = st.dictionaries(
    st.integers(0, 99).map(str),
    st.sets(st.sampled_from("abcdefghij"), min_size=2, max_size=5),
    min_size=4,
    max_size=12,
)


def bundle(population: People, criterion: str, p: float = 0.5) -> Bundling | None:
    profiles = Profiles.from_mappings({user: dict.fromkeys(terms, 1.0) for user, terms in population.items()})
    try:
        return Bundler(p=p, criterion=criterion, fewest_holders=1, fewest_in_group=1).fit(profiles)
    except InfeasibleError:
        return None


def believe(bundling: Bundling, known: Sequence[str]) -> tuple[Floats, Floats]:
    """P(V in G_i | V_b, G) for every group, and eq. 3 for every term."""
    attacker, column = Attacker(bundling), bundling.profiles.vocabulary.index
    posterior = attacker.posterior(np.array([column(term) for term in known], np.int32))
    return posterior, attacker.beliefs(posterior)


def groups_of(bundling: Bundling) -> list[list[str]]:
    users = np.array(bundling.profiles.users)
    return [users[bundling.labels == group].tolist() for group in range(len(bundling.sizes))]


@given(people, st.sampled_from(["strict", "paper"]), st.integers(0, 2))
@settings(max_examples=60)
def test_beliefs_are_equations_2_and_3(population: People, criterion: str, known_terms: int) -> None:
    bundling = bundle(population, criterion)
    if bundling is None:
        return
    groups = groups_of(bundling)
    shown = [set(representative.terms) for representative in bundling.representatives]
    users = len(population)

    def rate(term: str, index: int) -> Fraction:
        if term in shown[index]:
            return Fraction(sum(term in population[user] for user in groups[index]), len(groups[index]))
        silent = [user for i, members in enumerate(groups) if term not in shown[i] for user in members]
        return Fraction(sum(term in population[user] for user in silent), len(silent))

    victim = max(population)
    for known in combinations(sorted(population[victim]), known_terms):
        likelihood = []
        for index, members in enumerate(groups):
            product = Fraction(len(members), users)
            for term in known:
                product *= rate(term, index)
            likelihood.append(product)
        posterior = [value / sum(likelihood) for value in likelihood]
        groups_believed, found_belief = believe(bundling, known)
        assert groups_believed == pytest.approx([float(value) for value in posterior])
        for column, term in enumerate(bundling.profiles.vocabulary):
            believed = sum(posterior[i] * rate(term, i) for i in range(len(groups)) if term in shown[i])
            assert found_belief[column] == pytest.approx(float(believed), abs=1e-12)
        if criterion == "strict":
            assert found_belief.max() <= bundling.criterion.p


def test_nobody_has_enough_terms() -> None:
    bundling = bundle({str(n): {f"a{n}", f"b{n}"} for n in range(10)}, "strict", p=0.4)
    assert bundling is not None
    assert Attacker(bundling).attack(10).victims == 0


def test_report_counts_what_it_says() -> None:
    population = {str(n): {"all", f"a{n}", f"b{n}", f"c{n % 2}"} for n in range(12)}
    bundling = bundle(population, "strict", p=0.4)
    assert bundling is not None
    found = report(bundling)
    assert (found["users"], found["users_without_terms"], found["scrubbed_queries"]) == (12, 0, 0)
    shown = min(len(representative.terms) for representative in bundling.representatives)
    assert found["linkability"]["paper_ratio_max"] == pytest.approx(4 / shown)
    share, withheld, kept = [], [], 0
    for members, representative in zip(groups_of(bundling), bundling.representatives, strict=True):
        for term in set().union(*(population[user] for user in members)):
            holders = sum(term in population[user] for user in members)
            if term in representative.terms:
                share.append(holders / len(members))
                kept += holders
            else:
                withheld.append(holders / len(members))
    assert found["linkability"]["max"] == max(share) <= 0.4
    assert found["linkability"]["mean"] == pytest.approx(np.mean(share))
    assert found["linkability"]["withheld_max"] == max(withheld) == 1.0
    assert found["information"]["terms_kept"] == pytest.approx(kept / 48)
    assert [line["known_terms"] for line in found["attackers"]] == [0, 1, 5, 10]


def attack(gain: float, known_terms: int = 1) -> LanguageAttack:
    return LanguageAttack("another log", known_terms, 9, 0.1, 0.1 + gain, gain, (0.0, 0.0), 0.0, 0.0)


def test_the_headline_is_high_for_beliefs_and_for_language() -> None:
    calm = [attack(0.01), attack(-0.02), attack(0.9, known_terms=5)]
    assert not SingledOut.of(0.0, calm).high
    assert SingledOut.of(0.2, calm).high, "beliefs above p count"
    assert SingledOut.of(0.0, [*calm, attack(0.2)]).high, "and so does language"
    assert SingledOut.of(0.0, [*calm, attack(0.2)]).by_language == pytest.approx(0.3)


def test_nobodys_own_words_are_evidence_about_that_person_itself() -> None:
    """Terms that one person alone holds beside another are unknown to the attacker who learns from it."""
    people = Profiles.from_mappings({str(n): {f"a{n}": 1.0, f"b{n}": 1.0, "c": 1.0} for n in range(40)})
    attacker = LanguageAttacker(people, lambda _row: np.zeros((2, len(people.vocabulary))))
    row = int(attacker._others[0])
    held = people.terms[people.held(row)]
    known = held[:1]
    heard, language = attacker._language(known, held, True, "another log")
    assert not heard[held[1]] and heard[people.vocabulary.index("c")]
    beside = language[1, held[1]]
    strangers = [term for term in range(len(people.vocabulary)) if term not in held]
    assert beside <= max(language[1, strangers]) + 1e-9
    _, naive = attacker._language(known, held, False, "another log")
    assert naive[1, held[1]] > beside + 0.5


def test_the_language_attacker_finds_what_a_group_gives_away() -> None:
    draw = np.random.default_rng(1)
    rows = {str(n): {f"w{t}": 1.0 for t in draw.choice(60, 6, replace=False)} for n in range(120)}
    people = Profiles.from_mappings(rows)

    def betrayed(row: int) -> np.ndarray[tuple[int, int], np.dtype[np.float64]]:
        shown = np.zeros((2, len(people.vocabulary)))
        shown[:, people.terms[people.held(row)]] = 1.0
        return shown

    silent = LanguageAttacker(people, lambda _row: np.zeros((2, len(people.vocabulary)))).attack(
        "another log", 1
    )
    told = LanguageAttacker(people, betrayed).attack("another log", 1)
    assert told.right == 1.0 and told.gain > 0.7
    assert abs(silent.gain) < 0.05 and silent.without == told.without


def test_the_worst_attacker_of_eq_3_makes_the_headline() -> None:
    """Under the paper's criterion who knows more believes more: the headline is the worst of them."""
    population = {str(n): {*(f"a{n % 3}{k}" for k in range(6)), f"own{n}"} for n in range(12)}
    bundling = bundle(population, "paper", p=0.4)
    assert bundling is not None
    found = report(bundling, language=True)
    shares = [line["belief_above_p"] for line in found["attackers"]]
    assert found["singled_out"]["by_release"] == max(shares)
    assert max(shares) > shares[0], "somebody who knows nothing believes less"


def test_what_an_attacker_knows_is_not_what_he_learns() -> None:
    """Of people with two shown terms one is known: the other alone is believed."""
    population = {str(n): {"all", f"pair{n % 4}"} for n in range(12)}
    bundling = bundle(population, "paper", p=0.6)
    assert bundling is not None
    attacker = Attacker(bundling)
    line = attacker.attack(1)
    beliefs = []
    draw = np.random.default_rng([0, 1])
    order = bundling.profiles.canonical_order(0)
    for user in order[np.sort(draw.permutation(order.size)[:200])].tolist():
        terms = bundling.profiles.terms[bundling.profiles.held(user)]
        known = draw.choice(terms, 1, replace=False)
        found = believe(bundling, [bundling.profiles.vocabulary[known[0]]])[1]
        beliefs += [found[term] for term in terms if term not in known]
    assert line.belief_mean == pytest.approx(np.mean(beliefs))


def test_what_is_shown_can_be_named_though_no_log_has_it() -> None:
    population = {f"{n:02d}": {"common", f"t{n % 5}"} for n in range(40)} | {"victim": {"common", "rare"}}
    people = Profiles.from_mappings({user: dict.fromkeys(held, 1.0) for user, held in population.items()})
    rare = np.array([[float(term == "rare") for term in people.vocabulary]])
    row, more = people.users.index("victim"), []
    for seed in range(12):
        attacker = LanguageAttacker(people, lambda _: rare, seed)
        if row in attacker._attacked:  # then nobody of the other half holds it
            plain, told = (
                attacker._cases(np.array([row]), "another log", 1, 1, groups)[0][1].size
                for groups in (False, True)
            )
            more.append(told - plain)
    assert set(more) == {0, 1}, "one term more, unless it is the one that is known"
