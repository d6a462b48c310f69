"""User profiles: weighted terms per user (paper, section 3), as one sparse matrix.

Rows are users, columns are terms. Columns are in alphabetical order and a row's terms ascend, so that
the same population is the same matrix however it was read; :meth:`Profiles.canonical_order` does the
same for rows.
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import InputError, ParameterError
from tacit.text import normalise


@dataclass(frozen=True, eq=False, repr=False)
class Profiles:
    """What each user is interested in, and how much.

    Attributes:
        users: the user ids, one a row; they never leave the operator's files.
        vocabulary: the terms, in alphabetical order.
        offsets, terms, weights: the rows, compressed: row u holds the columns
            ``terms[offsets[u]:offsets[u + 1]]``, ascending, with weights greater than 0.
        without_terms: how many users of the source have no usable term, and so no row.
        scrubbed_queries: how many distinct queries of the source were passed over as naming somebody.
    """

    users: Sequence[str]
    vocabulary: Sequence[str]
    offsets: NDArray[np.int64]
    terms: NDArray[np.int32]
    weights: NDArray[np.float32]
    without_terms: int = 0
    scrubbed_queries: int = 0

    def __len__(self) -> int:
        return len(self.users)

    def __repr__(self) -> str:
        return f"Profiles({len(self)} users, {len(self.vocabulary)} terms, {self.terms.size} postings)"

    @property
    def sizes(self) -> NDArray[np.int64]:
        """|U_j|, the number of terms of each user."""
        return np.diff(self.offsets)

    def held(self, row: int) -> slice:
        return slice(self.offsets[row], self.offsets[row + 1])

    def profile(self, row: int) -> dict[str, float]:
        held = self.held(row)
        pairs = zip(self.terms[held], self.weights[held], strict=True)
        return {self.vocabulary[term]: float(weight) for term, weight in pairs}

    def matrix(self) -> sparse.csr_array:
        """The profiles as a scipy matrix, sharing memory."""
        shape = (len(self), len(self.vocabulary))
        return sparse.csr_array((self.weights, self.terms, self.offsets), shape=shape)

    def canonical_order(self, seed: int) -> NDArray[np.int64]:
        """A random order of the users that depends on the seed and their ids, not on the input's order."""
        key = str(seed).encode()[:64]
        keyed = [hashlib.blake2b(user.encode(), key=key, digest_size=16).digest() for user in self.users]
        return np.array(sorted(range(len(self)), key=keyed.__getitem__), dtype=np.int64)

    @classmethod
    def from_mappings(cls, profiles: Mapping[str, Mapping[str, float]]) -> "Profiles":
        """Make profiles of ``{user: {term: weight}}``.

        >>> Profiles.from_mappings({"1": {"kitten": 1.0, "riding": 0.8}})
        Profiles(1 users, 2 terms, 2 postings)
        """
        known = sorted({term for terms in profiles.values() for term in terms})
        column = {term: index for index, term in enumerate(known)}
        rows = [row for row, held in enumerate(profiles.values()) for _ in held]
        terms = [column[term] for held in profiles.values() for term in held]
        weights = [weight for held in profiles.values() for weight in held.values()]
        return cls.from_postings(list(profiles), known, rows, terms, weights)

    @classmethod
    def from_postings(
        cls,
        users: Sequence[str],
        vocabulary: Sequence[str],
        rows: Iterable[int],
        terms: Iterable[int],
        weights: Iterable[float],
    ) -> "Profiles":
        """Make profiles of (user, term, weight) triples by index; weights of the same pair add up."""
        row, column = np.asarray(rows, dtype=np.int64), np.asarray(terms, dtype=np.int64)
        weight = np.asarray(weights, dtype=np.float64)
        if weight.size and not (np.isfinite(weight).all() and (weight > 0).all()):
            raise InputError("every weight must be a finite number greater than 0; some are not.")
        matrix = sparse.coo_array((weight, (row, column)), shape=(len(users), len(vocabulary))).tocsr()
        matrix.sum_duplicates()
        empty = int((np.diff(matrix.indptr) == 0).sum())
        if empty:
            raise InputError(f"{empty} of {len(users)} users have no term.", "Leave them out.")
        order = sorted(range(len(vocabulary)), key=vocabulary.__getitem__)
        matrix = matrix[:, order]
        matrix.sort_indices()
        return cls(
            list(users),
            [vocabulary[index] for index in order],
            matrix.indptr.astype(np.int64),
            matrix.indices.astype(np.int32),
            matrix.data.astype(np.float32),
        )


Period = tuple[datetime | None, datetime | None]


def check_period(period: Period) -> None:
    """Refuse a period without time in it, before anything is read."""
    since, until = period
    if since and until and since >= until:
        raise ParameterError.outside("since", since.isoformat(), "before `until`")


def newcomers_terms(user: str, terms: Mapping[str, float]) -> dict[str, float]:
    """A newcomer's terms, normalised as queries are; refused where nothing usable is among them."""
    if not user:
        raise InputError("a user's name must not be empty.")
    checked: dict[str, float] = {}
    for term, weight in terms.items():
        if not (isinstance(weight, int | float) and 0 < weight < float("inf")):
            raise InputError("every weight must be a finite number greater than 0; some are not.")
        text = normalise(term)
        if text:
            checked[text] = checked.get(text, 0.0) + float(weight)
    if not checked:
        raise InputError("a newcomer has no term.", "Serve people without a profile in the engine's order.")
    return checked
