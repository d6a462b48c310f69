"""Profiles by meaning: synonym sets instead of words, with their hypernyms (paper, section 3.2).

Step 1 replaces each term by its synonym set; step 2 adds the hypernym sets within ``a`` steps, each
with the weight of the term it came from (Table 4). Where terms of a profile meet in one set, their
weights add up. A term that WordNet does not know stays as it is.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from tacit.compiled import compiled
from tacit.errors import ParameterError
from tacit.groups.paths import PathTable, choose_paths
from tacit.groups.profiles import Profiles, Rows
from tacit.groups.similarity import UnitVectors
from tacit.taxonomy import WordNet, load_wordnet

__all__ = ["MOST_STEPS", "Semantics", "plain_vectors"]

MOST_STEPS = 20
"""More hypernyms than lie above any noun of WordNet; asking for more only takes memory."""


def plain_vectors(profiles: Profiles) -> UnitVectors:
    """The profiles without semantics: two terms are alike only if they are the same word."""
    weights = profiles.weights.copy()
    return UnitVectors.of(profiles.offsets, profiles.terms, weights, len(profiles.vocabulary))


class Semantics:
    """Augments profiles from WordNet.

    Args:
        steps: the paper's a: how many steps up hypernyms are added; 0 replaces by synonym sets only.
        wordnet: the bundled one unless given.
    """

    def __init__(self, steps: int = 1, wordnet: WordNet | None = None) -> None:
        if not 0 <= steps <= MOST_STEPS:
            raise ParameterError.outside("augment", steps, f"from 0 to {MOST_STEPS}")
        self.steps = steps
        self.wordnet = wordnet or load_wordnet()

    def augment(self, profiles: Profiles) -> UnitVectors:
        """The augmented profiles, ready for eq. 4."""
        offsets, features, weights = self._augmented(profiles)
        return UnitVectors.of(offsets, features, weights, len(self.wordnet) + len(profiles.vocabulary))

    def augment_profile(self, profile: Mapping[str, float]) -> dict[str, float]:
        """One augmented profile, each synonym set under its WordNet name (Tables 3 and 4).

        >>> Semantics(1).augment_profile({"kitten": 1.0})
        {'kitten.n.01': 1.0, 'young_mammal.n.01': 1.0}
        """
        profiles = Profiles.from_mappings({"": profile})
        _, features, weights = self._augmented(profiles)
        known = len(self.wordnet)
        return {
            self.wordnet.name(f) if f < known else profiles.vocabulary[f - known]: round(float(w), 6)
            for f, w in zip(features.tolist(), weights.tolist(), strict=True)
        }

    def _augmented(
        self, profiles: Profiles
    ) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
        table = PathTable.of(self.wordnet, profiles.vocabulary, self.steps)
        chosen = choose_paths(profiles.rows, profiles.weights, table)
        width = len(self.wordnet) + len(profiles.vocabulary)
        return _add_features(profiles.rows, profiles.weights, chosen, table.features, width)


@compiled
def _add_features(
    rows: Rows,
    weights: NDArray[np.float32],
    chosen: NDArray[np.int32],
    path_features: NDArray[np.int32],
    width: int,
) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float32]]:
    """Replace each posting by the features of its path; count first, so that memory is exact."""
    users = rows.offsets.size - 1
    seen = np.full(width, -1, np.int64)
    offsets = np.zeros(users + 1, np.int64)
    for row in range(users):
        distinct = 0
        for at in range(rows.offsets[row], rows.offsets[row + 1]):
            for feature in path_features[chosen[at]]:
                if feature >= 0 and seen[feature] != row:
                    seen[feature] = row
                    distinct += 1
        offsets[row + 1] = offsets[row] + distinct
    features = np.empty(offsets[users], np.int32)
    sums = np.empty(offsets[users], np.float32)
    place = np.full(width, -1, np.int64)
    for row in range(users):
        end = offsets[row]
        for at in range(rows.offsets[row], rows.offsets[row + 1]):
            for feature in path_features[chosen[at]]:
                if feature < 0:
                    continue
                if place[feature] < offsets[row]:
                    place[feature] = end
                    features[end] = feature
                    sums[end] = 0
                    end += 1
                sums[place[feature]] += weights[at]
    return offsets, features, sums
