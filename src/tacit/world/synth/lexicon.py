"""The world as arrays: everything that the compiled loops look words and topics up in.

A **phrase** is a number: first come WordNet's nouns and noun phrases in order (these can be searched
for alone), then addresses of errands, then words that only stand beside a topic. A **meaning** is a
synset, which is also a document and a topic.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from tacit.taxonomy import WordNet, load_wordnet
from tacit.text import STOP_WORDS, normalise_column, words
from tacit.world.synth.interests import Interests, choose_interests
from tacit.world.synth.timing import week_rhythm
from tacit.world.synth.typos import neighbouring_keys
from tacit.world.synth.wording import AFTER, BEFORE, ERRANDS

__all__ = ["Lexicon", "World", "load_world", "zipf"]

_CONTEXT = 8  # words beside a topic, taken from its definition and the topics above it
_Int32 = npt.NDArray[np.int32]
_Float = npt.NDArray[np.float64]


class Lexicon(NamedTuple):
    """Phrases, meanings and how they go together."""

    text: npt.NDArray[np.uint8]
    """All phrases in UTF-8, one after the other."""
    text_bounds: npt.NDArray[np.int64]
    base: _Int32
    """The noun that a phrase is searched as; -1 for words that only stand beside a topic."""
    parent: _Int32
    end: _Int32
    child_bounds: _Int32
    children: _Int32
    lemma_bounds: _Int32
    """Where each meaning's names begin in ``lemmas``."""
    lemmas: _Int32
    lemma_weight: _Float
    """Cumulative over all meanings' names in order."""
    context_bounds: _Int32
    context: _Int32
    """Words from a meaning's definition and the meanings above it."""
    popularity: _Float
    """Cumulative over meanings: how often each is looked for."""
    before: _Int32
    before_weight: _Float
    after: _Int32
    after_weight: _Float
    places: _Int32
    places_weight: _Float
    errands: _Int32
    """Phrases of errands: plain and as addresses."""
    errand_meaning: _Int32
    errand_weight: _Float
    nouns: int
    """How many phrases are nouns of WordNet."""
    keys: npt.NDArray[np.uint8]
    rhythm: _Float


class World(NamedTuple):
    """The lexicon, the interests people may have, and the words themselves."""

    lexicon: Lexicon
    interests: Interests
    phrases: list[str]


def zipf(size: int, exponent: float, shift: float = 0.0) -> _Float:
    """Cumulative weights of ranks 1 to ``size``: weight ∝ (rank + shift)^-exponent, from 0 to 1."""
    weight = (np.arange(1, size + 1) + shift) ** -exponent
    return np.concatenate(([0.0], np.cumsum(weight) / weight.sum()))


def _popularity(wordnet: WordNet) -> _Float:
    """Zipf over meanings: those that Princeton's annotators met often come first.

    Most were never met; a fixed shuffle orders them, so that popularity does not follow the alphabet.
    """
    shuffle = np.random.Generator(np.random.PCG64(20060301)).permutation(len(wordnet))
    order = np.lexsort((shuffle, -wordnet.tag_counts))
    weight = np.empty(len(wordnet))
    weight[order] = (np.arange(len(wordnet)) + 20.0) ** -0.75
    return np.concatenate(([0.0], np.cumsum(weight)))


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


def _flatten(rows: list[list[int]]) -> tuple[_Int32, _Int32]:
    bounds = np.cumsum([0, *map(len, rows)]).astype(np.int32)
    return bounds, np.array([value for row in rows for value in row], np.int32)


def _errands(wordnet: WordNet, phrases: _Phrases) -> tuple[_Int32, _Int32, _Float]:
    """Each errand in three spellings: the name, name.com, www.name.com."""
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
            weights.append(share * (shares[rank + 1] - shares[rank]))
    total = np.concatenate(([0.0], np.cumsum(weights)))
    return np.array(spelled, np.int32), np.array(meanings, np.int32), total / total[-1]


def _places(wordnet: WordNet, phrases: _Phrases) -> _Int32:
    """Names of towns, states and countries, in the order of how often people mean them."""
    found: dict[int, int] = {}
    for region in ("municipality.n.01", "administrative_district.n.01"):
        start = wordnet.synset(region)
        for meaning in range(start, int(wordnet.tree.end[start])):
            if wordnet.lemmas(meaning)[0][0].isupper():
                found[phrases.number[wordnet.lemmas(meaning)[0].lower()]] = wordnet.tag_count(meaning)
    return np.array(sorted(found, key=lambda phrase: (-found[phrase], phrase)), np.int32)


def _spell(phrases: list[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    column = normalise_column(pa.array(phrases, pa.large_string()))
    _, bounds, text = column.buffers()
    return np.frombuffer(text, np.uint8), np.frombuffer(bounds, np.int64)[: len(phrases) + 1]


@cache
def load_world() -> World:
    """The arrays over the bundled WordNet, made once a process."""
    wordnet = load_wordnet()
    nouns = wordnet.vocabulary
    phrases = _Phrases(nouns)
    lemmas = [[phrases.number[lemma.lower()] for lemma in wordnet.lemmas(s)] for s in range(len(wordnet))]
    lemma_bounds, lemma_phrases = _flatten(lemmas)
    # A name that was never met in this meaning is still used now and then.
    met = np.array([count for s in range(len(wordnet)) for count in wordnet.lemma_counts(s)]) + 0.5
    errands, errand_meaning, errand_weight = _errands(wordnet, phrases)
    context = [[phrases.add(word) for word in _context_words(wordnet, s)] for s in range(len(wordnet))]
    context_bounds, context_words = _flatten(context)
    before = np.array([phrases.add(word) for word in BEFORE], np.int32)
    after = np.array([phrases.add(word) for word in AFTER], np.int32)
    places = _places(wordnet, phrases)
    spelled = list(phrases.number)
    text, text_bounds = _spell(spelled)
    tree = wordnet.tree
    lexicon = Lexicon(
        text=text,
        text_bounds=text_bounds,
        base=np.array(phrases.base, np.int32),
        parent=tree.parent,
        end=tree.end,
        child_bounds=tree.child_offsets,
        children=tree.child_nodes,
        lemma_bounds=lemma_bounds,
        lemmas=lemma_phrases,
        lemma_weight=np.concatenate(([0.0], np.cumsum(met))),
        context_bounds=context_bounds,
        context=context_words,
        popularity=_popularity(wordnet),
        before=before,
        before_weight=zipf(len(before), 0.9),
        after=after,
        after_weight=zipf(len(after), 0.9),
        places=places,
        places_weight=zipf(len(places), 0.8, 5.0),
        errands=errands,
        errand_meaning=errand_meaning,
        errand_weight=errand_weight,
        nouns=len(nouns),
        keys=neighbouring_keys(),
        rhythm=week_rhythm(),
    )
    return World(lexicon, choose_interests(wordnet), spelled)
