"""WordNet 3.0's nouns as bundled: exact counts and chosen entries."""

import subprocess
import sys

import pytest

from tacit.errors import TaxonomyError
from tacit.taxonomy import load_wordnet


def test_counts_are_those_of_wordnet_3_0() -> None:
    wordnet = load_wordnet()
    assert len(wordnet) == 82_115
    assert len(wordnet.vocabulary) == 117_798
    assert sum(len(wordnet.hypernyms(s)) for s in range(len(wordnet))) == 75_850 + 8_577
    assert [s for s in range(len(wordnet)) if not wordnet.hypernyms(s)] == [wordnet.synset("entity.n.01")]
    assert int(wordnet.tag_counts.sum()) == 96_958


def test_java_means_an_island_coffee_or_a_language() -> None:
    wordnet = load_wordnet()
    assert [wordnet.name(s) for s in wordnet.senses("java")] == ["java.n.01", "coffee.n.01", "java.n.03"]
    coffee = wordnet.synset("coffee.n.01")
    assert wordnet.lemmas(coffee) == ("coffee", "java")
    assert wordnet.gloss(coffee).startswith("a beverage consisting of an infusion of ground coffee beans")
    assert wordnet.name(wordnet.hypernyms(coffee)[0]) == "beverage.n.01"


def test_tree_nodes_are_synsets_and_parents_first_hypernyms() -> None:
    wordnet = load_wordnet()
    tree = wordnet.tree
    assert tree.names[0] == "entity.n.01"
    assert all(tree.parent[s] == wordnet.hypernyms(s)[0] for s in range(1, len(wordnet)))
    dog = wordnet.synset("dog.n.01")
    assert [wordnet.name(s) for s in wordnet.hypernyms(dog)] == ["canine.n.02", "domestic_animal.n.01"]
    assert wordnet.tag_counts[dog] == 42
    carnivore = wordnet.synset("carnivore.n.01")
    assert tree.is_ancestor(carnivore, dog) and tree.is_ancestor(carnivore, wordnet.synset("cat.n.01"))


@pytest.mark.parametrize(
    ("word", "lemma"),
    [
        ("dogs", "dog"),
        ("Geese", "goose"),
        ("churches", "church"),
        ("cities", "city"),
        ("firemen", "fireman"),
        ("horseback_riding", "horseback riding"),
        ("glasses", "glasses"),
        ("xyzzy", None),
        ("", None),
    ],
)
def test_inflected_words_find_their_base(word: str, lemma: str | None) -> None:
    assert load_wordnet().lemma(word) == lemma


def test_unknown_synset_is_an_error_without_the_name_in_it() -> None:
    with pytest.raises(TaxonomyError) as caught:
        load_wordnet().synset("secret-canary.n.01")
    assert "canary" not in str(caught.value)


def test_loading_takes_under_a_second() -> None:
    """A second of the processor's time, which a busy machine does not lengthen much; 0.15 on an idle one."""
    code = (
        "import numpy, pyarrow.parquet, time; begun = time.process_time();"
        "from tacit.taxonomy import load_wordnet; load_wordnet().tree; print(time.process_time() - begun)"
    )
    seconds = min(
        float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout)
        for _ in range(3)
    )
    assert seconds < 1.0
