"""The language attacker, beside the same attacker without the groups: only the difference is ours.

Who he is: docs/guarantees/groups.md, "Attackers, measured". How he weighs what he knows is learnt by
conditional logistic regression on the half that is not attacked, whose own words never count as evidence
about themselves.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import minimize
from scipy.special import logsumexp

from tacit.groups.profiles import Profiles
from tacit.taxonomy import load_wordnet
from tacit.text import words

_VICTIMS = 400
_LEARNT_FROM = 250
_RIDGE = 1e-3
_SMOOTH = 2.0

Floats = NDArray[np.float64]
Cases = list[tuple[Floats, NDArray[np.bool_]]]
"""For each person the features of terms, and which terms are the person's."""
Evidence = Callable[[int], Floats]
"""What groups show about a person's terms: for a row of the profiles, features by terms. The first is above 0
where the term is shown by name."""


@dataclass(frozen=True)
class LanguageAttack:
    """How often one further term is named rightly.

    Attributes:
        knows: where the attacker's knowledge of language comes from: ``another log`` or ``public text``.
        known_terms: how many terms of the victim are known already.
        without, right: the share named rightly without the groups, and with them.
        gain: the difference, which is what the groups give away, with its 95 % interval over victims.
        surest_without, surest: the same two of the surest tenth of guesses.
    """

    knows: str
    known_terms: int
    victims: int
    without: float
    right: float
    gain: float
    gain_interval: tuple[float, float]
    surest_without: float
    surest: float


class LanguageAttacker:
    """Knows a population's words by half of its people, and by public text.

    Args:
        people: the terms of everybody.
        shown: what groups show about each person's terms; None to attack without.
        seed: of halves, victims and known terms.
    """

    def __init__(self, people: Profiles, shown: Evidence, seed: int = 0) -> None:
        self._people, self._shown, self._seed = people, shown, seed
        order = people.canonical_order(seed)
        self._held = people.matrix().astype(np.float64)
        self._held.data[:] = 1.0
        self._others, self._attacked = np.sort(order[::2]), np.sort(order[1::2])
        log = self._held[self._others]
        self._holders: Floats = np.asarray(log.sum(axis=0), np.float64).ravel()
        self._together = sparse.csr_array(log.T @ log)
        self._glosses = gloss_words(tuple(people.vocabulary))

    def attack(self, knows: str, known_terms: int, victims: int = _VICTIMS) -> LanguageAttack:
        """Attack people of one half, with what was learnt from the other."""
        found = []
        for groups in (False, True):
            learnt = self._cases(self._others, knows, known_terms, _LEARNT_FROM, groups)
            tested = self._cases(self._attacked, knows, known_terms, victims, groups)
            if not tested or not any(own.any() for _, own in learnt):
                return LanguageAttack(knows, known_terms, 0, 0.0, 0.0, 0.0, (0.0, 0.0), 0.0, 0.0)
            found.append(_guesses(learnt, tested))
        without, with_groups = found
        gains = with_groups[0] - without[0]
        drawn = np.random.default_rng(self._seed).choice(gains, (2000, gains.size)).mean(axis=1)
        low, high = np.quantile(drawn, [0.025, 0.975]).tolist()
        blind, right, gain = (float(each.mean()) for each in (without[0], with_groups[0], gains))
        surest = (_surest(*found) for found in (without, with_groups))
        return LanguageAttack(knows, known_terms, gains.size, blind, right, gain, (low, high), *surest)

    def _cases(self, rows: NDArray[np.int64], knows: str, known_terms: int, most: int, groups: bool) -> Cases:
        """Collect for some people each nameable term's features, and which terms are theirs."""
        draw = np.random.default_rng([self._seed, known_terms])
        sizes = np.diff(self._held.indptr)[rows]
        chosen = draw.permutation(rows[sizes > known_terms])[:most]
        own = bool(np.isin(chosen, self._others).any())
        cases = []
        for row in chosen.tolist():
            held = self._people.terms[self._people.held(row)]
            known = draw.choice(held, known_terms, replace=False)
            heard, language = self._language(known, held, own, knows)
            if groups:
                shown = self._shown(row)
                heard |= shown[0] > 0
                language = np.concatenate((language, shown), axis=0)
            heard[known] = False
            open_terms = np.flatnonzero(heard)
            cases.append((language[:, open_terms], np.isin(open_terms, held)))
        return cases

    def _language(
        self, known: NDArray[np.int32], held: NDArray[np.int32], own: bool, knows: str
    ) -> tuple[NDArray[np.bool_], Floats]:
        """Find the terms he has heard of, how common each is, and how much more so beside the known."""
        if knows == "public text":
            holders, together = self._glosses.counts, self._glosses.beside(known)
        else:
            holders = self._holders.copy()
            together = np.asarray(self._together[known].toarray(), np.float64)
            if own:  # what a person does is no evidence about that person
                holders[held] -= 1
                together[:, held] -= 1
        common = (holders + 0.5) / (holders.sum() + 1)
        beside = (together + _SMOOTH * common) / (together.sum(axis=1, keepdims=True) + _SMOOTH)
        lift = np.log(beside / common)
        return holders > 0, np.array([np.log(common), lift.max(axis=0), lift.mean(axis=0)])


class _Glosses:
    """Which words of a vocabulary stand together in WordNet's glosses."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        wordnet, column = load_wordnet(), {word: place for place, word in enumerate(vocabulary)}
        rows, columns = list[int](), list[int]()
        for synset in range(len(wordnet)):
            text = f"{' '.join(wordnet.lemmas(synset))} {wordnet.gloss(synset)}".replace("_", " ")
            found = {column[word] for word in words(text) if word in column}
            rows += [synset] * len(found)
            columns += found
        shape = (len(wordnet), len(vocabulary))
        self._texts = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
        self._by_word = self._texts.T.tocsr()
        self.counts: Floats = np.asarray(self._texts.sum(axis=0), np.float64).ravel()

    def beside(self, known: NDArray[np.int32]) -> Floats:
        """In how many glosses each word stands beside each of the known ones."""
        return np.asarray((self._by_word[known] @ self._texts).toarray(), np.float64)


gloss_words = cache(_Glosses)


def _guesses(learnt: Cases, tested: Cases) -> tuple[Floats, Floats]:
    """Whether each guess is right, and how sure the attacker is, by conditional logistic regression."""
    useful = [case for case in learnt if case[1].any()]
    stacked = np.concatenate([features for features, _ in useful], axis=1)
    scale = stacked.std(axis=1) + 1e-9
    stacked /= scale[:, None]
    begins = np.cumsum([0, *(own.size for _, own in useful[:-1])])
    person = np.repeat(np.arange(len(useful)), [own.size for _, own in useful])
    mine = np.concatenate([own / own.sum() for _, own in useful])

    def loss(weights: Floats) -> tuple[float, Floats]:
        value = weights @ stacked
        value -= np.maximum.reduceat(value, begins)[person]
        chance = np.exp(value)
        total = np.add.reduceat(chance, begins)
        slope = stacked @ (chance / total[person] - mine) / len(useful) + 2 * _RIDGE * weights
        found = (np.log(total).sum() - mine @ value) / len(useful) + _RIDGE * weights @ weights
        return float(found), slope

    weights = minimize(loss, np.zeros(scale.size), jac=True, method="L-BFGS-B").x / scale
    right, sure = [], []
    for features, own in tested:
        value = weights @ features
        best = int(value.argmax()) if value.size else 0
        right.append(float(own[best]) if value.size else 0.0)
        sure.append(value[best] - float(logsumexp(value)) if value.size else -np.inf)
    return np.array(right), np.array(sure)


def _surest(right: Floats, sure: Floats) -> float:
    """The share that is right among the surest tenth."""
    return float(right[np.argsort(-sure, kind="stable")[: max(1, right.size // 10)]].mean())


def language_attacks(people: Profiles, shown: Evidence, seed: int = 0) -> list[LanguageAttack]:
    """The attacks of a report."""
    attacker = LanguageAttacker(people, shown, seed)
    return [
        attacker.attack(knows, known)
        for knows, known in (("another log", 1), ("another log", 5), ("public text", 1))
    ]
