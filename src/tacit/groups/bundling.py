"""Bundling: groups of similar users that meet their criterion (Algorithm 1), and what they may show.

>>> from tacit.groups import Bundler, Profiles
>>> people = {"a": {"kitten": 1.0}, "b": {"pup": 1.0}, "c": {"java": 1.0}, "d": {"riding": 1.0}}
>>> bundling = Bundler(p=0.5).fit(Profiles.from_mappings(people))
>>> sorted(bundling.sizes.tolist())
[2, 2]

**Greedy** (Algorithm 1): start at a user, take the furthest as the first seed; add the user closest to the
group so far until the group meets its criterion; take the user furthest from that seed as the next one.
"Closest" is the largest sum of similarities to the members. Ties go to the user who is first in the canonical
order, so the result depends on the population and the seed alone. Cost: one similarity matrix of n users,
then O(n) for each user added.

**Leftovers** join the closest group that still meets its criterion with them; the paper assigns them to the
closest group and stops, which can break a criterion that held. If no group can take a user in, groups merge
around the user, the closest first. If even everybody together does not meet the criterion, there is no
grouping to give.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.errors import InfeasibleError, ParameterError
from tacit.groups.criterion import Criterion, Judge, ReleasedTerms, Representative, release
from tacit.groups.profiles import Profiles
from tacit.taxonomy import load_wordnet
from tacit.validation import whole

_BLOCK = 512
MOST_STEPS = 20  # more hypernyms than lie above any noun of WordNet


def augmented(profiles: Profiles, steps: int) -> sparse.csr_array:
    """Weigh synonym sets instead of words, with their hypernyms (paper, section 3.2, Tables 3 and 4).

    Each term gives way to its most frequent synonym set, and the sets up to so many steps above it weigh as
    much. A term that WordNet does not know stays as it is.
    """
    wordnet, sets = load_wordnet(), list[list[int]]()
    for column, term in enumerate(profiles.vocabulary):
        path = [*wordnet.senses(term)[:1]] or [len(wordnet) + column]
        while path[-1] < len(wordnet) and len(path) <= steps and (above := wordnet.hypernyms(path[-1])):
            path.append(above[0])
        sets.append(path)
    offsets = np.cumsum([0, *map(len, sets)])
    columns = np.array([each for path in sets for each in path], np.int32)
    shape = (len(sets), len(wordnet) + len(sets))
    return profiles.matrix() @ sparse.csr_array((np.ones(columns.size, np.float32), columns, offsets), shape)


def pairwise_similarity(rows: sparse.csr_array) -> NDArray[np.float32]:
    """Eq. 4, the cosine, of every pair of rows, none of which is empty, as a square matrix."""
    lengths = np.sqrt(np.add.reduceat(np.square(rows.data), rows.indptr[:-1], dtype=np.float64))
    lengths[lengths == 0] = 1.0  # weights too small for a float
    scaled = (rows.data / np.repeat(lengths, np.diff(rows.indptr))).astype(np.float32)
    unit = sparse.csr_array((scaled, rows.indices, rows.indptr), shape=rows.shape)
    found = np.empty((rows.shape[0], rows.shape[0]), np.float32)
    for begin in range(0, len(found), _BLOCK):
        (unit[begin : begin + _BLOCK] @ unit.T).toarray(out=found[begin : begin + _BLOCK])
    return found


def grow_groups(
    similarities: NDArray[np.float32], users: NDArray[np.int64], judge: Judge
) -> NDArray[np.int32]:
    """Algorithm 1 up to its leftovers.

    Args:
        similarities: eq. 4 of each pair of ``users``.
        users: the rows to group, in canonical order; the first is the random start.
        judge: judges groups by their original terms.

    Returns:
        the group of each user, from 0, or -1 for those left in a group that does not meet the criterion.
    """
    labels, free = np.full(users.size, -1, np.int32), np.ones(users.size, np.bool_)
    seed, group = 0, 0
    while free.any():
        chosen = seed = int(np.where(free, -similarities[seed], -np.inf).argmax())
        members, closeness = [seed], np.zeros(users.size)
        free[seed] = False
        while not (holds := judge.judge(users[members]).holds) and free.any():
            closeness += similarities[chosen]
            chosen = int(np.where(free, closeness, -np.inf).argmax())
            members.append(chosen)
            free[chosen] = False
        if holds:
            labels[members] = group
            group += 1
    return labels


def place_leftovers(
    labels: NDArray[np.int32], similarities: NDArray[np.float32], users: NDArray[np.int64], judge: Judge
) -> NDArray[np.int32] | None:
    """Give every user a group (labels from 0, without gaps), or None where that cannot be done."""
    labels = labels.copy()
    for place in np.flatnonzero(labels < 0).tolist():
        ranked = _groups_by_closeness(labels, similarities[place])
        # The closest group that can take the user in; failing that, the closest ones merged around the user.
        alone = (ranked[at : at + 1] for at in range(ranked.size))
        merged = (ranked[:taken] for taken in range(2, ranked.size + 1))
        for groups in chain(alone, merged):
            together = np.isin(labels, groups)
            together[place] = True
            if judge.judge(users[together]).holds:
                labels[together] = groups[0]
                break
        else:
            return None
    _, dense = np.unique(labels, return_inverse=True)
    return dense.astype(np.int32)


def _groups_by_closeness(labels: NDArray[np.int32], closeness: NDArray[np.float32]) -> NDArray[np.int64]:
    """The groups, the one with the largest mean similarity first."""
    placed = labels >= 0
    sizes = np.bincount(labels[placed])
    sums = np.bincount(labels[placed], weights=closeness[placed])
    present = np.flatnonzero(sizes)
    return present[np.argsort(-sums[present] / sizes[present], kind="stable")]


MOST_USERS = 20_000
"""Everybody is compared with everybody: the matrix of so many takes 1.6 GB."""


@dataclass(frozen=True, eq=False, repr=False)
class Bundling:
    """Users in groups, each of which meets the criterion.

    Attributes:
        labels: the group of each user, in the order of ``profiles.users``.
        released: what each group shows; group numbers follow from it alone.
    """

    criterion: Criterion
    profiles: Profiles
    labels: NDArray[np.int32]
    released: ReleasedTerms

    def __repr__(self) -> str:
        return f"Bundling({len(self.profiles)} users in {len(self.released)} groups, {self.criterion})"

    @cached_property
    def sizes(self) -> NDArray[np.int64]:
        return np.bincount(self.labels, minlength=len(self.released))

    @cached_property
    def representatives(self) -> list[Representative]:
        """The release of each group: its number of members and weighted terms, no user ids."""
        released, vocabulary = self.released, self.profiles.vocabulary
        found = []
        for group, size in enumerate(self.sizes.tolist()):
            held = released.held(group)
            pairs = zip(released.terms[held].tolist(), released.holders[held].tolist(), strict=True)
            shares = {vocabulary[term]: float(f"{n / size:.6g}") for term, n in pairs}
            found.append(Representative(group, size, shares))
        return found


@dataclass(frozen=True)
class Bundler:
    """Groups user profiles until no released term links to a member with more than probability p.

    Args:
        p, criterion, fewest_holders, fewest_in_group: of the :class:`~tacit.groups.criterion.Criterion`.
        augment: the paper's a: steps of hypernyms added before users are compared, 0 for synonyms only.
        seed: makes the run reproducible. The result depends on it and the population, not on the order
            in which users come.
    """

    p: float = 0.4
    criterion: str = "strict"
    augment: int = 1
    fewest_holders: int = 2
    fewest_in_group: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        self.rule_of_release  # noqa: B018  (refuses a wrong parameter now, not after hours)
        object.__setattr__(self, "seed", whole("seed", self.seed))
        if whole("augment", self.augment) > MOST_STEPS:
            raise ParameterError.outside("augment", self.augment, f"from 0 to {MOST_STEPS}")

    @property
    def rule_of_release(self) -> Criterion:
        """The criterion these parameters ask for."""
        return Criterion(self.p, self.criterion, self.fewest_holders, self.fewest_in_group)

    def fit(self, profiles: Profiles, advance: Callable[[int], None] = lambda _users: None) -> Bundling:
        """Group the users.

        Args:
            advance: called with the number of users grouped since the last call.

        Raises:
            InfeasibleError: where no grouping that meets the criterion was found.
        """
        judge = Judge(self.rule_of_release, profiles)
        judge.refuse_hopeless()
        if len(profiles) > MOST_USERS:
            problem = f"groups of words are for at most {MOST_USERS:,} users; found {len(profiles):,}."
            raise InfeasibleError(problem, "Make cohorts, which take any number.")
        order = profiles.canonical_order(self.seed)
        similarities = pairwise_similarity(augmented(profiles, self.augment)[order])
        placed = place_leftovers(grow_groups(similarities, order, judge), similarities, order, judge)
        advance(len(profiles))
        if placed is None:
            raise InfeasibleError(
                f"no grouping of these {len(profiles)} users was found that meets p = {self.p:g} "
                f"({self.criterion} criterion).",
                "Allow a larger p or fewer holders, or bring more users.",
            )
        grown = np.split(order[np.argsort(placed, kind="stable")], np.cumsum(np.bincount(placed))[:-1])
        released, groups, hold = release([np.sort(members) for members in grown], judge)
        if not hold:  # the recheck after leftovers; unreachable unless the bundling is wrong
            raise InfeasibleError("a group fails the final check.", "Report this.")
        labels = np.empty(len(profiles), np.int32)
        labels[np.concatenate(groups)] = np.repeat(np.arange(len(groups)), [*map(len, groups)])
        return Bundling(self.rule_of_release, profiles, labels, released)
