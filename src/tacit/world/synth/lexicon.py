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
from tacit.world.synth.typos import neighbouring_keys
from tacit.world.synth.wording import AFTER, BEFORE, ERRANDS

__all__ = ["AFTER_IT", "BEFORE_IT", "ERRAND", "PLACE", "Lexicon", "Spelling", "World", "load_world", "zipf"]

BEFORE_IT, AFTER_IT, PLACE, ERRAND = range(4)
"""The four lists of usual phrases."""

_CONTEXT = 8  # words beside a topic, taken from its definition and the topics above it
_Int = npt.NDArray[np.int64]
_Float = npt.NDArray[np.float64]


class Lexicon(NamedTuple):
    """Meanings, phrases and how they go together: what queries are composed from.

    Lists of lists are flat: ``xs[x_bounds[i]:x_bounds[i + 1]]`` is the i-th. Weights are cumulative over
    the whole flat list, so that one binary search draws from any part of it.
    """

    parent: _Int
    end: _Int
    child_bounds: _Int
    children: _Int
    popularity: _Float
    """How often each meaning is looked for, cumulative."""
    lemma_bounds: _Int
    lemmas: _Int
    """The names of each meaning."""
    lemma_weight: _Float
    context_bounds: _Int
    context: _Int
    """Words from each meaning's definition and the meanings above it."""
    usual_bounds: _Int
    usual: _Int
    """Four lists for any meaning: what stands before and after it, places, errands."""
    usual_weight: _Float
    errand_meaning: _Int
    base: _Int
    """The noun that a phrase is searched as; -1 for words that only stand beside a topic."""
    length: _Int
    """Bytes of each phrase."""


class Spelling(NamedTuple):
    """The text of all phrases in UTF-8, one after the other, and the keyboard."""

    text: npt.NDArray[np.uint8]
    bounds: npt.NDArray[np.int64]
    keys: npt.NDArray[np.uint8]


class World(NamedTuple):
    """The lexicon, its spelling, the interests people may have, and the phrases themselves."""

    lexicon: Lexicon
    spelling: Spelling
    interests: Interests
    phrases: list[str]


def zipf(size: int, exponent: float, shift: float = 0.0) -> _Float:
    """Shares of ranks 1 to ``size``: in proportion to (rank + shift)^-exponent."""
    weight = (np.arange(1, size + 1, dtype=np.float64) + shift) ** -exponent
    share: _Float = weight / weight.sum()
    return share


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


def _flatten(rows: list[list[int]]) -> tuple[_Int, _Int]:
    bounds = np.cumsum([0, *map(len, rows)]).astype(np.int64)
    return bounds, np.array([value for row in rows for value in row], np.int64)


def _errands(wordnet: WordNet, phrases: _Phrases) -> tuple[_Int, _Int, _Float]:
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
            weights.append(share * shares[rank])
    return np.array(spelled, np.int64), np.array(meanings, np.int64), np.array(weights)


def _places(wordnet: WordNet, phrases: _Phrases) -> list[int]:
    """Names of towns, states and countries, in the order of how often people mean them."""
    found: dict[int, int] = {}
    for region in ("municipality.n.01", "administrative_district.n.01"):
        start = wordnet.synset(region)
        for meaning in range(start, int(wordnet.tree.end[start])):
            if wordnet.lemmas(meaning)[0][0].isupper():
                found[phrases.number[wordnet.lemmas(meaning)[0].lower()]] = wordnet.tag_count(meaning)
    return sorted(found, key=lambda phrase: (-found[phrase], phrase))


def _spell(phrases: list[str]) -> Spelling:
    column = normalise_column(pa.array(phrases, pa.large_string()))
    _, bounds, text = column.buffers()
    spelled = np.frombuffer(bounds, np.int64)[: len(phrases) + 1]
    return Spelling(np.frombuffer(text, np.uint8), spelled, neighbouring_keys())


def _cumulative(weights: npt.ArrayLike) -> _Float:
    return np.concatenate(([0.0], np.cumsum(weights)))


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
    tree = wordnet.tree
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
        length=np.array([len(phrase.encode()) for phrase in phrases.number], np.int64),
    )


@cache
def load_world() -> World:
    """The arrays over the bundled WordNet, made once per process."""
    wordnet = load_wordnet()
    phrases = _Phrases(wordnet.vocabulary)
    lexicon = _compile_lexicon(wordnet, phrases)
    spelled = list(phrases.number)
    return World(lexicon, _spell(spelled), choose_interests(wordnet), spelled)
