"""The paper's worked examples, from the bundled WordNet: Tables 1 to 4 and figure 1."""

from tacit.groups import Profiles
from tacit.groups.bundling import augmented, pairwise_similarity
from tacit.taxonomy import load_wordnet

UP_1 = {"kitten": 1.0, "riding": 0.8}
UP_2 = {"pup": 0.6, "equitation": 1.0}


def augmentation(steps: int, terms: dict[str, float]) -> dict[str, float]:
    """One augmented profile, each synonym set under its WordNet name."""
    profiles, wordnet = Profiles.from_mappings({"": terms}), load_wordnet()
    found = augmented(profiles, steps)
    names = [*map(wordnet.name, range(len(wordnet))), *profiles.vocabulary]
    return {names[f]: round(float(w), 6) for f, w in zip(found.indices, found.data, strict=True)}


def similarity(steps: int) -> float:
    """Eq. 4 of the first two profiles, as bundling compares them."""
    profiles = Profiles.from_mappings({"1": UP_1, "2": UP_2})
    return round(float(pairwise_similarity(augmented(profiles, steps))[0, 1]), 3)


def by_synonyms(profile: dict[str, float]) -> dict[frozenset[str], float]:
    """The profile as the paper prints it: sets of synonyms with weights."""
    wordnet = load_wordnet()
    return {frozenset(wordnet.lemmas(wordnet.synset(name))): weight for name, weight in profile.items()}


def test_table_3_synonym_sets() -> None:
    first, second = augmentation(0, UP_1), augmentation(0, UP_2)
    riding = frozenset({"riding", "horseback riding", "equitation"})
    assert by_synonyms(first) == {frozenset({"kitten", "kitty"}): 1.0, riding: 0.8}
    assert by_synonyms(second) == {frozenset({"pup", "whelp"}): 0.6, riding: 1.0}
    assert similarity(0) == 0.536


def test_table_4_one_step_of_hypernyms() -> None:
    first, second = augmentation(1, UP_1), augmentation(1, UP_2)
    young, sport = frozenset({"young mammal"}), frozenset({"sport", "athletics"})
    assert by_synonyms(first).items() >= {young: 1.0, sport: 0.8}.items()
    assert by_synonyms(second).items() >= {young: 0.6, sport: 1.0}.items()
    assert len(first) == len(second) == 4
    assert similarity(1) == 0.737


def test_words_alone_have_nothing_in_common() -> None:
    rows = Profiles.from_mappings({"1": UP_1, "2": UP_2}).matrix()
    assert pairwise_similarity(rows)[0, 1] == 0


def test_a_word_of_several_meanings_is_what_wordnet_lists_first() -> None:
    assert set(augmentation(0, {"java": 1.0, "kitten": 1.0})) == {"java.n.01", "kitten.n.01"}


def test_a_word_that_wordnet_does_not_know_is_kept_as_it_is() -> None:
    assert augmentation(2, {"c++": 0.4, "entity": 1.0}) == {"c++": 0.4, "entity.n.01": 1.0}
