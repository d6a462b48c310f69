"""The seed profile: the part of a user's profile that a query touches (section 4, Online-1).

All generalisation works on this small tree. It is a set of flat arrays in depth-first pre-order, so
that a parent always stands before its children and one backward pass aggregates bottom-up.

**Shadows.** What is hidden below a topic s is merged into the *shadow* of s, which stands for "any
other subtopic of s" (section 5.3.3, footnote 4). Shadows count as leaves: in mass, in prior and for
the least common ancestor. The shadow's share follows from what is kept::

    shadow mass(s)  = mass(s)  - sum of mass(c)  over the kept children c of s
    shadow prior(s) = prior(s) - sum of prior(c) over the kept children c of s

A leaf is a topic with everything in its shadow, so one formula serves leaves and inner topics alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from tacit.errors import ParameterError

__all__ = ["Floats", "Flags", "Integers", "SeedProfile"]

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int32]
Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class SeedProfile:
    """A rooted subtree of the user's profile with everything that utility and risk depend on.

    Attributes:
        node: topic numbers in the taxonomy, ascending (pre-order); position 0 is the root.
        parent: position (not number) of each topic's parent; -1 for the root.
        prior: Pr(t), the share of topic t in the taxonomy (equations 2 and 3); 1 for the root.
        mass: Pr(t | q, H), the normalised preference (equation 7); 1 for the root.
        cost: cost(t), the sensitivity at risk when t is exposed (equation 6).
        absent: risk of topic t when it is *not* sent now; above 0 only if it was sent before.
        base: risk below topic t from topics outside this tree that were sent before.
        wealth: total sensitivity of the profile, the sum of sen(s) (equation 15).
        lca: position of the least common ancestor of the query's topics.
        expected_content: expected IC of the query's topics, half the normaliser of equation 12.
        baseline: DP(q, R), the discriminating power of the query alone.
    """

    node: Integers
    parent: Integers
    prior: Floats
    mass: Floats
    cost: Floats
    absent: Floats
    base: Floats
    wealth: float
    lca: int
    expected_content: float
    baseline: float = 0.0

    def __len__(self) -> int:
        return len(self.node)

    @classmethod
    def from_arrays(
        cls,
        parent: Sequence[int] | Integers,
        prior: Sequence[float] | Floats,
        leaf_mass: Sequence[float] | Floats,
        cost: Sequence[float] | Floats,
        wealth: float,
        *,
        node: Sequence[int] | Integers | None = None,
        baseline: float = 0.0,
    ) -> SeedProfile:
        """Build a seed profile from its tree and the (unnormalised) preferences of its leaves."""
        parents = np.asarray(parent, np.int32)
        size = len(parents)
        if size == 0 or parents[0] != -1 or bool(np.any(parents[1:] >= np.arange(1, size))):
            raise ParameterError("a seed profile must list its root first and parents before children.")
        priors = np.asarray(prior, np.float64)
        if not bool(np.all(priors > 0)):
            raise ParameterError.outside("prior", float(priors.min()), "greater than 0 for every topic")
        mass = np.asarray(leaf_mass, np.float64).copy()
        inner = np.zeros(size, bool)
        inner[parents[1:]] = True
        mass[inner] = 0.0
        if not mass.sum() > 0:
            raise ParameterError.outside("preference", 0, "greater than 0 for some leaf")
        mass /= mass.sum()
        content = -np.log(priors)
        expected = float(np.sum(mass * content))
        for position in range(size - 1, 0, -1):
            mass[parents[position]] += mass[position]
        lca = 0
        while True:
            children = np.flatnonzero(parents == lca)
            if len(children) != 1:
                break
            lca = int(children[0])
        return cls(
            node=np.arange(size, dtype=np.int32) if node is None else np.asarray(node, np.int32),
            parent=parents,
            prior=priors,
            mass=mass,
            cost=np.asarray(cost, np.float64),
            absent=np.zeros(size),
            base=np.zeros(size),
            wealth=float(wealth),
            lca=lca,
            expected_content=expected,
            baseline=baseline,
        )

    def restrict(self, kept: Flags) -> SeedProfile:
        """The same query's profile with only the ``kept`` topics; what is dropped stays in the shadows."""
        places = np.flatnonzero(kept)
        position = np.full(len(self) + 1, -1, np.int32)
        position[places] = np.arange(len(places), dtype=np.int32)
        lca = self.lca
        while not kept[lca]:
            lca = int(self.parent[lca])
        return replace(
            self,
            node=self.node[places],
            parent=position[self.parent[places]],
            prior=self.prior[places],
            mass=self.mass[places],
            cost=self.cost[places],
            absent=self.absent[places],
            base=self.base[places],
            lca=int(position[lca]),
        )
