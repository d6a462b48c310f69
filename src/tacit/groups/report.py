"""The report on a bundling: sizes, linkability against p, what attackers still learn, information kept.

Every figure is an aggregate; the report names no user and no term.

Its attackers are described in docs/reference/python/groups.md.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cache
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.special import ndtr

from tacit.groups.bundling import Bundling
from tacit.groups.cohorts import Cohorts, Standing, load_cohorts
from tacit.groups.language import Evidence, Floats, LanguageAttack, language_attacks
from tacit.groups.profiles import Profiles
from tacit.groups.words import UNIT, Generation
from tacit.taxonomy import load_wordnet
from tacit.text import STOP_WORDS, words


@dataclass(frozen=True)
class Attack:
    """What attackers with so many known terms believe, over sampled victims.

    Attributes:
        known_terms: |V_b|.
        victims: how many users were attacked (those with more terms than that).
        belief_max, belief_mean: eq. 3; the largest over all victims and terms, and the mean over the
            victims' own released terms that the attacker did not know.
        belief_above_p: the share of victims about whom eq. 3 is above p for a term of theirs (none under the
            strict criterion).
    """

    known_terms: int
    victims: int
    belief_max: float
    belief_mean: float
    belief_above_p: float


class Attacker:
    """Sees every group's released terms with n_t and n, and knows how popular each term is."""

    def __init__(self, bundling: Bundling) -> None:
        released, users = bundling.released, len(bundling.profiles)
        terms = len(bundling.profiles.vocabulary)
        size_of = np.repeat(bundling.sizes, np.diff(released.offsets))
        shape = (len(released), terms)
        self._bundling = bundling
        self._shares = sparse.csr_array((released.holders / size_of, released.terms, released.offsets), shape)
        self._shares_by_term = self._shares.tocsc()
        holders = np.bincount(bundling.profiles.terms, minlength=terms)
        shown = np.bincount(released.terms, weights=released.holders, minlength=terms)
        present = np.bincount(released.terms, weights=size_of, minlength=terms)
        self._absent_rate = (holders - shown) / np.maximum(users - present, 1)  # a_t
        self._group_weight = bundling.sizes / users

    def attack(self, known_terms: int, victims: int = 200, seed: int = 0) -> Attack:
        """Attack ``victims`` users drawn at random, each with ``known_terms`` of their terms known."""
        bundling, profiles, released = self._bundling, self._bundling.profiles, self._bundling.released
        randomness = np.random.default_rng([seed, known_terms])
        order = profiles.canonical_order(seed)  # so that the victims do not depend on the input's order
        candidates = order[profiles.sizes[order] > known_terms]
        chosen = candidates[np.sort(randomness.permutation(candidates.size)[:victims])]
        if not chosen.size:
            return Attack(known_terms, 0, 0.0, 0.0, 0.0)
        largest, own_terms = [], []
        for user in chosen.tolist():
            terms = profiles.terms[profiles.held(user)]
            known = randomness.choice(terms, known_terms, replace=False)
            belief = self.beliefs(self.posterior(known))
            belief[known] = 0
            largest.append(belief.max())
            shown = released.terms[released.held(bundling.labels[user])]
            own_terms.append(belief[np.setdiff1d(np.intersect1d(terms, shown), known)])
        own = np.concatenate(own_terms)
        above = [(beliefs > bundling.criterion.p).any() for beliefs in own_terms]
        mean = float(own.mean()) if own.size else 0.0
        return Attack(known_terms, chosen.size, float(max(largest)), mean, float(np.mean(above)))

    def posterior(self, known: NDArray[np.int32]) -> NDArray[np.float64]:
        """P(V in G_i | V_b, G) for every group."""
        likelihood = self._group_weight.copy()
        for term in known:
            rate = np.full(likelihood.size, self._absent_rate[term])
            held = slice(self._shares_by_term.indptr[term], self._shares_by_term.indptr[term + 1])
            rate[self._shares_by_term.indices[held]] = self._shares_by_term.data[held]
            likelihood *= rate
            likelihood /= likelihood.sum()  # the true group always has a rate above 0
        return likelihood

    def beliefs(self, posterior: NDArray[np.float64]) -> NDArray[np.float64]:
        """Eq. 3 for each term."""
        # A mean of shares is none above the largest, whatever the rounding.
        found: Floats = np.asarray(self._shares.T @ posterior)
        return np.minimum(found, float(self._shares.data.max(initial=0.0)))


KNOWN_TERMS = (0, 1, 5, 10)
_HIGH = 0.05


@dataclass(frozen=True)
class SingledOut:
    """What an attacker learns about people, in one line.

    Attributes:
        by_release: the share of users of whom eq. 3 is more than p sure of a term of theirs.
        by_language: the share of whom the language attacker who knows one term names another rightly, with
            the groups; from whichever source of language gains more by them.
        without: the same attacker without the groups.
        high: whether the groups add more than 0.05 to it, or eq. 3 is above p for more than 5 %.
    """

    by_release: float
    by_language: float
    without: float
    high: bool

    @classmethod
    def of(cls, by_release: float, language: Sequence[LanguageAttack]) -> Self:
        """The headline of some attacks."""
        worst = max((each for each in language if each.known_terms == 1), key=lambda each: each.gain)
        high = max(by_release, worst.gain) > _HIGH
        return cls(by_release, worst.right, worst.without, high)


def report(bundling: Bundling, victims: int = 200, seed: int = 0, *, language: bool = True) -> dict[str, Any]:
    """Measure a bundling.

    Args:
        victims: how many users to attack for each number of known terms.
        language: whether the language attacker is measured too, which takes most of the time; without him
            there is no headline.
    """
    attacker, rule, profiles = Attacker(bundling), bundling.criterion, bundling.profiles
    attacks = [attacker.attack(known, victims, seed) for known in KNOWN_TERMS]
    by_release = max(attack.belief_above_p for attack in attacks)
    told = language_attacks(profiles, bundle_evidence(bundling), seed) if language else []
    kept = _kept(bundling)
    return {
        "users": len(profiles),
        "users_without_terms": profiles.without_terms,
        "scrubbed_queries": profiles.scrubbed_queries,
        "groups": len(bundling.released),
        "smallest": int(bundling.sizes.min()),
        "mean_size": float(bundling.sizes.mean()),
        "largest": int(bundling.sizes.max()),
        "criterion": rule.kind,
        "fewest_holders": rule.fewest_holders,
        "fewest_in_group": rule.fewest_in_group,
        "singled_out": asdict(SingledOut.of(by_release, told)) if told else None,
        "linkability": _linkability(bundling, kept),
        "attackers": [asdict(attack) for attack in attacks],
        "language": [asdict(attack) for attack in told],
        "information": {"terms_kept": float(kept.mean())},  # pairs of a user and a term that the group shows
    }


def bundle_evidence(bundling: Bundling) -> Evidence:
    """Make features of what a group shows: whether it shows them, and how many of its members hold them."""
    released, width = bundling.released, len(bundling.profiles.vocabulary)

    def features(row: int) -> Floats:
        held = released.held(int(bundling.labels[row]))
        found = np.zeros((2, width))
        found[0, released.terms[held]] = 1.0
        found[1, released.terms[held]] = np.log(released.holders[held] / bundling.sizes[bundling.labels[row]])
        return found

    return features


def _kept(bundling: Bundling) -> NDArray[np.bool_]:
    """Mark every posting whose term the user's group releases."""
    profiles, released = bundling.profiles, bundling.released
    width = len(profiles.vocabulary)
    held = np.repeat(bundling.labels.astype(np.int64), profiles.sizes) * width + profiles.terms
    shown = np.repeat(np.arange(len(released)), np.diff(released.offsets)) * width + released.terms
    return np.isin(held, shown)


def _linkability(bundling: Bundling, kept: NDArray[np.bool_]) -> dict[str, float]:
    """n_t / n over every released term of every group, against p.

    ``paper_ratio_max`` is the largest |U|_avg / |G_i|, a ratio of numbers of terms and no probability;
    ``owned_max`` the largest share of its group's released terms that one member holds; ``insider_max`` the
    largest n_t / (n - 1), what a member without t computes; ``withheld_max`` the largest n_t / n among
    withheld terms: what the absence of a term can betray to somebody who knows that a member holds it.
    """
    profiles, released, p = bundling.profiles, bundling.released, bundling.criterion.p
    shown = np.diff(released.offsets)
    size_of = np.repeat(bundling.sizes, shown)
    share = released.holders / size_of
    owned = np.add.reduceat(kept, profiles.offsets[:-1], dtype=np.int64) / shown[bundling.labels]
    width = len(profiles.vocabulary)
    group = np.repeat(bundling.labels.astype(np.int64), profiles.sizes)[~kept]
    pairs, holders = np.unique(group * width + profiles.terms[~kept], return_counts=True)
    return {
        "p": p,
        "max": float(share.max()),
        "mean": float(share.mean()),
        "above_p": float((share > p).mean()),
        "paper_ratio_max": float(profiles.sizes.mean() / shown.min()),
        "owned_max": float(owned.max()),
        "insider_max": float(np.minimum(released.holders / np.maximum(size_of - 1, 1), 1.0).max()),
        "withheld_max": float((holders / bundling.sizes[pairs // width]).max(initial=0.0)),
    }


GENERATIONS = (1, 4)
_FAKED = 400


def words_of(evidence: Profiles) -> Profiles:
    """The words that people hold, from whole queries: what an attacker would like to know."""
    wordnet = load_wordnet()

    @cache
    def usable(word: str) -> bool:
        return word not in STOP_WORDS and wordnet.lemma(word) is not None

    people = {
        user: {word: 1.0 for text in evidence.profile(row) for word in words(text) if usable(word)}
        for row, user in enumerate(evidence.users)
    }
    return Profiles.from_mappings({user: held for user, held in people.items() if held})


def cohort_evidence(
    people: Profiles, places: Sequence[Sequence[int]], shown: dict[int, dict[int, float]], cohorts: Cohorts
) -> Evidence:
    """Make features of what all three places and the cohorts' words say about terms."""
    numbers = [cohorts.table.number(term) for term in people.vocabulary]
    near = cohorts.scores(cohorts.directions([{number: 1} for number in numbers]))[:, : len(cohorts)].T

    def features(row: int) -> Floats:
        mine = list(places[row])
        if not mine:
            return np.zeros((4, len(numbers)))
        counts = np.array([[shown.get(place, {}).get(number, 0.0) for number in numbers] for place in mine])
        most = counts.max(axis=0)
        return np.array([most > 0, near[mine].max(axis=0), near[mine].mean(axis=0), np.log1p(most)])

    return features


def fake_accounts(
    people: Sequence[Standing], generation: Generation, generations: int, seed: int
) -> tuple[float, float]:
    """Measure how often a pair of the one real person is named, with the words and by popularity alone."""
    draw = np.random.default_rng(seed)
    holders = Counter(pair for person in people for pair in person.keys)
    victims = [person for person in people if person.keys]
    if not victims or not generation.epsilon:
        return 0.0, 0.0
    pairs = list(holders)
    counts, noise = np.array([holders[pair] for pair in pairs]), generation.sigma / math.sqrt(generations)
    right, popular = [], []
    for person in (victims[place] for place in draw.permutation(len(victims))[:_FAKED]):
        own = np.array([pair in set(person.keys) for pair in pairs])
        chance = np.maximum(counts - own, 0.5) / len(people)
        weight = math.isqrt(UNIT * UNIT // len(person.keys))
        seen = weight * own + draw.normal(0, noise, own.size)
        odds = np.log(chance / (1 - np.minimum(chance, 0.999))) + weight * (seen - weight / 2) / noise**2
        right.append(own[odds.argmax()])
        popular.append(own[chance.argmax()])
    return float(np.mean(right)), float(np.mean(popular))


def cohort_report(
    evidence: Profiles,
    people: Sequence[Standing],
    shown: dict[int, dict[int, float]],
    strength: float,
    generation: Generation,
    seed: int,
) -> dict[str, Any]:
    """The report on cohorts: how many are where, what was charged, and what attackers learn."""
    cohorts, told = load_cohorts(), words_of(evidence)
    row_of = {user: row for row, user in enumerate(evidence.users)}
    places = [people[row_of[user]].places for user in told.users]
    sizes = np.bincount([place for person in people for place in person.places], minlength=len(cohorts))
    bare = attacks = language_attacks(told, cohort_evidence(told, places, {}, cohorts), seed)
    if shown:
        attacks = language_attacks(told, cohort_evidence(told, places, shown, cohorts), seed)
    event = generation.event
    fakes = []
    for number in GENERATIONS if generation.epsilon else ():
        right, popular = fake_accounts(people, generation, number, seed)
        guess = float(ndtr(math.sqrt(number) * generation.mu / 2))
        fakes.append({"generations": number, "right": right, "without": popular, "told_apart": guess})
    return {
        "criterion": "cohorts",
        "users": len(people),
        "users_without_terms": evidence.without_terms,
        "users_without_place": sum(not person.places for person in people),
        "scrubbed_queries": evidence.scrubbed_queries,
        "groups": len(cohorts),
        "in_use": int((sizes > 0).sum()),
        "smallest": int(sizes[sizes > 0].min()) if sizes.any() else 0,
        "words_shown": sum(map(len, shown.values())),
        "cohorts_with_words": len(shown),
        "strength": strength,
        "guarantee": event.guarantee.to_dict() if event else None,
        "sigma": generation.sigma if generation.epsilon else None,
        "singled_out": asdict(SingledOut.of(0.0, attacks)),
        "gain_without_words": max(each.gain for each in bare if each.known_terms == 1),
        "language": [asdict(attack) for attack in attacks],
        "fake_accounts": fakes,
    }
