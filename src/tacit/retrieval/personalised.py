"""The server's side of what is sent: results scored by the topics of the people's taxonomy that came with a
query.

A result's words, without the query's, are compared with each topic that came (F, as the device does), and the
order fuses that with the engine's own::

    lam mean of F(result, t) - ln(rank in the engine's order + kappa)
"""

from collections.abc import Sequence

import numpy as np

from tacit.retrieval.people_topics import people_topics
from tacit.text.tokens import words
from tacit.text.vectors import plural_forms

STRENGTH, STEADINESS = 6.0, 25.0
"""lam and kappa."""


def rank_by_topics(query: str, texts: Sequence[str], topics: Sequence[str]) -> list[int]:
    """The places of the results (in the engine's order) in the order that the topics of a person ask for.

    Args:
        query: the query, whose words all results share.
        texts: title and snippet (or text) of each result.
        topics: the labels that came with the query; those above others of them count no further.

    Raises:
        TaxonomyError: a topic is not in the taxonomy.
    """
    tree = people_topics().people.tree
    numbers = {tree.find(label) for label in topics}
    inner = {int(tree.parent[number]) for number in numbers if number}
    leaves = sorted(number for number in numbers if number and number not in inner)
    if len(leaves) == 0 or len(texts) == 0:
        return list(range(len(texts)))
    people = people_topics()
    asked = {form for word in people.table.content(query) for form in plural_forms(word)}
    left = [" ".join(word for word in words(text) if word.removesuffix("'s") not in asked) for text in texts]
    scores = people.scores(left)
    # A general topic is as near as the nearest below it.
    below = [(people.topics >= leaf) & (people.topics < tree.end[leaf]) for leaf in leaves]
    nearest = np.stack([scores[:, columns].max(axis=1) for columns in below], axis=1)
    near = nearest.mean(axis=1, dtype=np.float64)
    value = STRENGTH * near - np.log(np.arange(1, len(texts) + 1) + STEADINESS)
    order: list[int] = np.argsort(-value, kind="stable").tolist()
    return order
