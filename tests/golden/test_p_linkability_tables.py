"""The paper's worked examples, from the bundled WordNet: Tables 1 to 4 and figure 1."""

import pytest

from tacit.groups import Profiles, Semantics
from tacit.groups.bundling import pairwise_similarity
from tacit.groups.semantics import hypernym_paths
from tacit.taxonomy import load_wordnet

UP_1 = {"kitten": 1.0, "riding": 0.8}
UP_2 = {"pup": 0.6, "equitation": 1.0}
UP_3 = {"mocha": 0.7, "java": 0.6, "coffee": 0.8}
UP_4 = {"programming language": 0.6, "java": 1.0, "c++": 0.4}


def augmented(steps: int, terms: dict[str, float]) -> dict[str, float]:
    """One augmented profile, each synonym set under its WordNet name."""
    profiles, wordnet = Profiles.from_mappings({"": terms}), load_wordnet()
    found = Semantics(steps).augment(profiles)
    names = [*map(wordnet.name, range(len(wordnet))), *profiles.vocabulary]
    return {names[f]: round(float(w), 6) for f, w in zip(found.indices, found.data, strict=True)}


def similarity(steps: int | None) -> float:
    """Eq. 4 of the first two profiles, as bundling compares them."""
    profiles = Profiles.from_mappings({"1": UP_1, "2": UP_2})
    rows = profiles.matrix() if steps is None else Semantics(steps).augment(profiles)
    return round(float(pairwise_similarity(rows)[0, 1]), 3)


def by_synonyms(profile: dict[str, float]) -> dict[frozenset[str], float]:
    """The profile as the paper prints it: sets of synonyms with weights."""
    wordnet = load_wordnet()
    return {frozenset(wordnet.lemmas(wordnet.synset(name))): weight for name, weight in profile.items()}


def test_table_3_synonym_sets() -> None:
    first, second = augmented(0, UP_1), augmented(0, UP_2)
    riding = frozenset({"riding", "horseback riding", "equitation"})
    assert by_synonyms(first) == {frozenset({"kitten", "kitty"}): 1.0, riding: 0.8}
    assert by_synonyms(second) == {frozenset({"pup", "whelp"}): 0.6, riding: 1.0}
    assert similarity(0) == 0.536


def test_table_4_one_step_of_hypernyms() -> None:
    first, second = augmented(1, UP_1), augmented(1, UP_2)
    young, sport = frozenset({"young mammal"}), frozenset({"sport", "athletics"})
    assert by_synonyms(first).items() >= {young: 1.0, sport: 0.8}.items()
    assert by_synonyms(second).items() >= {young: 0.6, sport: 1.0}.items()
    assert len(first) == len(second) == 4
    assert similarity(1) == 0.737


def test_without_semantics_the_two_have_nothing_in_common() -> None:
    assert similarity(None) == 0


@pytest.mark.parametrize("steps", [0, 1, 2, 3])
def test_java_is_coffee_for_one_and_a_language_for_the_other(steps: int) -> None:
    coffee, language, island = "coffee.n.01", "java.n.03", "java.n.01"
    drinker, programmer = augmented(steps, UP_3), augmented(steps, UP_4)
    assert coffee in drinker and language not in drinker
    assert language in programmer and coffee not in programmer
    assert island not in drinker and island not in programmer
    assert programmer["c++"] == 0.4  # unknown to WordNet: kept as it is


def test_without_context_java_is_what_wordnet_lists_first() -> None:
    assert set(augmented(0, {"java": 1.0, "kitten": 1.0})) == {"java.n.01", "kitten.n.01"}


def test_every_hypernym_path_is_a_candidate() -> None:
    wordnet = load_wordnet()
    dog = hypernym_paths(wordnet, wordnet.synset("dog.n.01"))
    above = {wordnet.name(path[1]) for path in dog}
    assert above == {"canine.n.02", "domestic_animal.n.01"}
    assert {wordnet.name(path[-1]) for path in dog} == {"entity.n.01"}
    pet = augmented(1, {"dog": 1.0, "domestic animal": 1.0})
    assert "domestic_animal.n.01" in pet and "canine.n.02" not in pet


def test_inflected_words_count_as_context() -> None:
    assert "coffee.n.01" in augmented(0, {"java": 1.0, "coffees": 1.0})
