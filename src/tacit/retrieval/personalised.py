"""The server's side of what is sent: results scored by the topics of the people's taxonomy that came with a
query.

A result's words, without the query's, are compared with each topic that came (F, as the device does), each
weighing as its preference says (or all alike where none are told), and the order fuses that with the engine's
own::

    lam sum of preference(t) F(result, t) - ln(rank in the engine's order + kappa)
"""

from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt

from tacit.errors import InputError
from tacit.retrieval.people_topics import people_topics
from tacit.text.tokens import words
from tacit.text.vectors import plural_forms

STRENGTH, STEADINESS = 6.0, 25.0
"""lam and kappa."""


def exposed_leaves(
    topics: Sequence[str], preferences: Mapping[str, float] | None = None
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """The exposed topics with none exposed below them, and the preference for each, adding up to 1.

    Raises:
        TaxonomyError: a topic is not in the taxonomy.
        InputError: a preference is negative or no finite number.
    """
    tree = people_topics().people.tree
    numbers = {tree.find(label): label for label in topics}
    inner = {int(tree.parent[number]) for number in numbers if number}
    leaves = sorted(number for number in numbers if number and number not in inner)
    told = preferences or {}
    shares = np.array([told.get(numbers[leaf], 0.0) for leaf in leaves], np.float64)
    if not (np.isfinite(shares).all() and (shares >= 0).all()):
        raise InputError("preferences must be numbers of 0 or more.")
    total = shares.sum()
    even = np.full(len(leaves), 1 / max(1, len(leaves)))
    return np.array(leaves, np.int32), shares / total if total > 0 else even


def rank_by_topics(
    query: str, texts: Sequence[str], topics: Sequence[str], preferences: Mapping[str, float] | None = None
) -> list[int]:
    """The places of the results (in the engine's order) in the order that the topics of a person ask for.

    Args:
        query: the query, whose words all results share.
        texts: title and snippet (or text) of each result.
        topics: the labels that came with the query.
        preferences: the preference for each, where told.
    """
    leaves, shares = exposed_leaves(topics, preferences)
    if len(leaves) == 0 or len(texts) == 0:
        return list(range(len(texts)))
    people = people_topics()
    asked = {form for word in people.table.content(query) for form in plural_forms(word)}
    left = [" ".join(word for word in words(text) if word.removesuffix("'s") not in asked) for text in texts]
    scores = people.scores(left)
    # A general topic is as near as the nearest below it.
    tree = people.people.tree
    below = [(people.topics >= leaf) & (people.topics < tree.end[leaf]) for leaf in leaves.tolist()]
    nearest = np.stack([scores[:, columns].max(axis=1) for columns in below], axis=1)
    near = nearest.astype(np.float64) @ shares
    value = STRENGTH * near - np.log(np.arange(1, len(texts) + 1) + STEADINESS)
    order: list[int] = np.argsort(-value, kind="stable").tolist()
    return order
