"""The world as arrays: what people are interested in, the words they use for it, and their typing errors.

Interests are subtrees of WordNet, some of them sensitive. Words that people put around a topic, and the
errands that everybody runs, are the parts of queries that no taxonomy knows. Typing errors: two letters
swapped, one lost, doubled, or its neighbour hit.
"""

from functools import cache
from importlib import resources
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.taxonomy import WordNet, load_wordnet
from tacit.text import STOP_WORDS, normalise_column, words
from tacit.world.loops.queries import Floats, Lexicon
from tacit.world.loops.randomness import Wide


def _listed(name: str) -> tuple[str, ...]:
    """The lines of a file of phrases, most frequent first."""
    return tuple((resources.files("tacit.world") / "phrases" / name).read_text("utf-8").splitlines())


BEFORE, AFTER = _listed("before.txt"), _listed("after.txt")
"""What stands before a topic, and after it."""
ERRANDS = _listed("errands.txt")
"""Where everybody goes now and then: each is a noun that WordNet knows."""
SENSITIVE_TOPICS = tuple(f"{noun}.n.01" for noun in _listed("sensitive.txt"))


def neighbouring_keys() -> npt.NDArray[np.uint8]:
    """Map each letter a to z to the letters left and right of it on the keyboard."""
    keys = np.zeros((26, 2), np.uint8)
    for row in ("qwertyuiop", "asdfghjkl", "zxcvbnm"):
        around = row[1] + row + row[-2]  # a letter at the end of a row has its one neighbour twice
        for place, letter in enumerate(row):
            keys[ord(letter) - 97] = ord(around[place]), ord(around[place + 2])
    return keys


_SMALLEST, _LARGEST, _SHALLOWEST = 15, 350, 4


class Interests(NamedTuple):
    """The topics a user may be interested in, with cumulative popularity (from 0 to 1)."""

    ordinary: npt.NDArray[np.int32]
    ordinary_weight: Floats
    sensitive: npt.NDArray[np.int32]
    sensitive_weight: Floats


def zipf(size: int, exponent: float, shift: float = 0.0) -> Floats:
    """Shares of ranks 1 to ``size``: in proportion to (rank + shift)^-exponent."""
    weight = (np.arange(1, size + 1, dtype=np.float64) + shift) ** -exponent
    share: Floats = weight / weight.sum()
    return share


def _cumulative(weights: npt.ArrayLike) -> Floats:
    return np.concatenate(([0.0], np.cumsum(weights)))


def choose_interests(wordnet: WordNet) -> Interests:
    """Subtrees of a size that a person can be interested in, the best supported the most popular."""
    tree = wordnet.tree
    size = tree.end - np.arange(len(tree), dtype=np.int32)
    fits = (size >= _SMALLEST) & (size <= _LARGEST) & (tree.depth >= _SHALLOWEST)
    sensitive = np.array([wordnet.synset(name) for name in SENSITIVE_TOPICS], np.int32)
    for topic in sensitive:
        fits[topic : tree.end[topic]] = False
        fits[tree.ancestors(int(topic))] = False
    ordinary = np.flatnonzero(fits).astype(np.int32)
    # Things are searched for more than abstractions of the same support.
    things = ordinary < tree.end[wordnet.synset("physical_entity.n.01")]
    appeal = tree.support[ordinary] * np.where(things, 1.0, 0.25)
    ordinary = ordinary[np.argsort(-appeal, kind="stable")]
    weight, sensitive_weight = (_cumulative(zipf(len(each), 0.7, 2.0)) for each in (ordinary, sensitive))
    return Interests(ordinary, weight, sensitive, sensitive_weight)


_CONTEXT = 8  # words beside a topic, taken from its definition and the topics above it


class World(NamedTuple):
    """The lexicon, the interests people may have, and the phrases themselves."""

    lexicon: Lexicon
    interests: Interests
    phrases: list[str]


def _popularity(wordnet: WordNet) -> Floats:
    """Zipf over meanings: those that Princeton's annotators met often come first.

    Most were never met; a fixed shuffle orders them, so that popularity does not follow the alphabet.
    """
    shuffle = np.random.Generator(np.random.PCG64(20060301)).permutation(len(wordnet))
    order = np.lexsort((shuffle, -wordnet.tag_counts))
    weight = np.empty(len(wordnet))
    weight[order] = (np.arange(len(wordnet)) + 20.0) ** -0.75
    return _cumulative(weight)


class _Phrases:
    """Numbers phrases as they come."""

    def __init__(self, nouns: list[str]) -> None:
        self.number = {noun: number for number, noun in enumerate(nouns)}
        self.base = list(range(len(nouns)))

    def add(self, phrase: str, base: int = -1) -> int:
        """The number of ``phrase``, new or old."""
        found = self.number.get(phrase)
        if found is None:
            found = self.number[phrase] = len(self.base)
            self.base.append(base)
        return found


def _context_words(wordnet: WordNet, meaning: int) -> list[str]:
    """Content words of the definition, and the heads of the topics above."""
    definition = wordnet.gloss(meaning).partition(";")[0]
    own = set(words(" ".join(wordnet.lemmas(meaning))))
    found = [word for word in words(definition) if len(word) > 2 and word.isalpha()]
    above = [words(wordnet.lemmas(upper)[0])[-1:] for upper in wordnet.hypernyms(meaning)]
    candidates = [*found, *(word for head in above for word in head)]
    fresh = [word for word in candidates if word not in STOP_WORDS and word not in own]
    return list(dict.fromkeys(fresh))[:_CONTEXT]


def _flatten(rows: list[list[int]]) -> tuple[Wide, Wide]:
    bounds = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return bounds, np.array([value for row in rows for value in row], np.int64)


def _errands(wordnet: WordNet, phrases: _Phrases) -> tuple[Wide, Wide, Floats]:
    """Spell each errand in three ways: the name, name.com, www.name.com."""
    shares = zipf(len(ERRANDS), 1.0, 3.0)
    spelled: list[int] = []
    meanings: list[int] = []
    weights: list[float] = []
    for rank, errand in enumerate(ERRANDS):
        plain = phrases.number[errand]
        address = errand.replace(" ", "").replace("'", "") + ".com"
        forms = (plain, phrases.add(address, plain), phrases.add("www." + address, plain))
        for form, share in zip(forms, (0.72, 0.18, 0.10), strict=True):
            spelled.append(form)
            meanings.append(wordnet.senses(errand)[0])
            weights.append(share * shares[rank])
    return np.array(spelled, np.int64), np.array(meanings, np.int64), np.array(weights)


def _places(wordnet: WordNet, phrases: _Phrases) -> list[int]:
    """Names of towns, states and countries, in the order of how often people mean them."""
    found: dict[int, int] = {}
    for region in ("municipality.n.01", "administrative_district.n.01"):
        start = wordnet.synset(region)
        for meaning in range(start, int(wordnet.tree.end[start])):
            if wordnet.lemmas(meaning)[0][0].isupper():
                found[phrases.number[wordnet.lemmas(meaning)[0].lower()]] = int(wordnet.tag_counts[meaning])
    return sorted(found, key=lambda phrase: (-found[phrase], phrase))


def _compile_lexicon(wordnet: WordNet, phrases: _Phrases) -> Lexicon:
    synsets = range(len(wordnet))
    lemma_bounds, lemmas = _flatten(
        [[phrases.number[lemma.lower()] for lemma in wordnet.lemmas(synset)] for synset in synsets]
    )
    # A name that was never met in this meaning is still used now and then.
    met = np.array([count for synset in synsets for count in wordnet.lemma_counts(synset)]) + 0.5
    errands, errand_meaning, errand_share = _errands(wordnet, phrases)
    context_bounds, context = _flatten(
        [[phrases.add(word) for word in _context_words(wordnet, synset)] for synset in synsets]
    )
    before = [phrases.add(word) for word in BEFORE]
    after = [phrases.add(word) for word in AFTER]
    places = _places(wordnet, phrases)
    usual_bounds, usual = _flatten([before, after, places, list(errands)])
    usual_share = [zipf(len(before), 0.9), zipf(len(after), 0.9), zipf(len(places), 0.8, 5.0), errand_share]
    tree, phrase = wordnet.tree, list(phrases.number)
    _, bounds, text = normalise_column(pa.array(phrase, pa.large_string())).buffers()
    return Lexicon(
        parent=tree.parent.astype(np.int64),
        end=tree.end.astype(np.int64),
        child_bounds=tree.child_offsets.astype(np.int64),
        children=tree.child_nodes.astype(np.int64),
        popularity=_popularity(wordnet),
        lemma_bounds=lemma_bounds,
        lemmas=lemmas,
        lemma_weight=_cumulative(met),
        context_bounds=context_bounds,
        context=context,
        usual_bounds=usual_bounds,
        usual=usual,
        usual_weight=_cumulative(np.concatenate(usual_share)),
        errand_meaning=errand_meaning,
        base=np.array(phrases.base, np.int64),
        length=np.array([len(each.encode()) for each in phrase], np.int64),
        text=np.frombuffer(text, np.uint8),
        text_bounds=np.frombuffer(bounds, np.int64)[: len(phrase) + 1],
        keys=neighbouring_keys(),
    )


@cache
def load_world() -> World:
    """The arrays over the bundled WordNet, made once per process."""
    wordnet = load_wordnet()
    phrases = _Phrases(wordnet.vocabulary)
    lexicon = _compile_lexicon(wordnet, phrases)
    return World(lexicon, choose_interests(wordnet), list(phrases.number))
