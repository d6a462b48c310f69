"""Searchers with interests and attributes: what the pool guards, for users of a synthetic log.

The synthetic log knows each user's interests, but neither age nor country. Here every user is given a record
of the bundled Adult people, drawn so that what people read depends on who they are: each kind of topic has an
age at which it is liked most, places where it is at home and occupations it belongs to (as in
:mod:`tacit.evaluate.pool_usefulness`), and of a few random records a user gets one by how well it goes with
the kinds of the user's interests. The dependence is made up; people, interests and searches are as they were.

A service learns from the clicks of others what people with such a record read, and sees of each person just
what the guard lets through: the record d, its region d', or nothing but the domain d*.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tacit.evaluate.pool_usefulness import Numbers, affinities, learned, region_scores, topic_kinds
from tacit.pool.partition import partition
from tacit.pool.population import Population
from tacit.taxonomy import TopicTree

__all__ = ["AttributedPeople", "Corners", "ReadingModel", "kinds_of_topics"]

_CANDIDATES = 30
"""Of so many random records a user gets the one that suits."""
_DEPTH, _SMOOTHING = 2, 300.0
"""The best of twelve pairs tried: finer kinds and less smoothing follow single readers, and lose."""

Corners = tuple[Numbers, Numbers]
"""What is seen of each person: the lowest and highest value of every attribute."""


def kinds_of_topics(tree: TopicTree) -> Numbers:
    """The kind of each topic, numbered from 0."""
    return np.unique(topic_kinds(tree, _DEPTH), return_inverse=True)[1].astype(np.int64)


class AttributedPeople:
    """A record for each user.

    Args:
        interests: the topics of each user, strongest first.
        kind_of: the kind of each topic.
        population: whom records are drawn from.
        seed: of the affinities and of who gets which record.
    """

    def __init__(
        self, interests: Sequence[Sequence[int]], kind_of: Numbers, population: Population, seed: int
    ) -> None:
        random = np.random.default_rng(seed)
        self.template = population.template
        liked = affinities(int(kind_of.max()) + 1, self.template.sizes, random)
        self.records = np.empty((len(interests), len(self.template.sizes)), np.int64)
        for user, topics in enumerate(interests):
            candidates = population.draw(_CANDIDATES, random).astype(np.int64)
            suits = np.zeros(_CANDIDATES)
            for place, topic in enumerate(topics):
                for attribute, by_value in liked.items():
                    suits += by_value[candidates[:, attribute], kind_of[topic]] / (place + 1)
            self.records[user] = candidates[np.argmax(suits + random.gumbel(size=_CANDIDATES))]

    def seen(self, k: int) -> dict[str, Corners]:
        """What the service sees of everybody: d, the region d' that k people online share, and d*."""
        cells = partition(self.records.astype(np.uint16), self.template, k)
        top = np.tile(np.array(self.template.sizes, np.int64) - 1, (len(self.records), 1))
        everywhere = (np.zeros_like(top), top)
        shared = (cells.lows[cells.cell_of], cells.highs[cells.cell_of]) if len(cells) else everywhere
        return {"d": (self.records, self.records), "d'": shared, "d*": everywhere}


class ReadingModel:
    """What people with such a record read, learnt from clicks.

    Args:
        kinds: the kind of each click's page.
        reader: who clicked.
        corners: what the service sees of everybody.
        number: how many kinds there are.
        sizes: how many values each attribute has.
    """

    def __init__(
        self, kinds: Numbers, reader: Numbers, corners: Corners, number: int, sizes: Sequence[int]
    ) -> None:
        low, high = corners
        self._corners = corners
        # Each reader once a kind: a person's hundred clicks are one person's interest.
        reader, kinds = np.unique(np.stack([reader, kinds]), axis=1)
        self._model = learned(low[reader], high[reader], kinds, number, sizes, _SMOOTHING)
        self._model[0] = np.zeros(number)  # what everybody reads is in the engine's order already

    def order(self, user: int, results: Sequence[int], kinds: Numbers) -> list[int]:
        """The results by how likely people who look like the user want them.

        A result at the engine's rank r is wanted in proportion to 1/r, times how much more often than
        everybody such people read its kind.
        """
        low, high = self._corners
        liked = region_scores(self._model, low[user : user + 1], high[user : user + 1])[0][kinds]
        chance = liked - np.log(np.arange(1, len(results) + 1))
        return [results[place] for place in np.argsort(-chance, kind="stable").tolist()]
