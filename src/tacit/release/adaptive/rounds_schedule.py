"""What an adaptive release draws and compares, as data: whole numbers only.

Weights lie on a lattice: a user's vector has Euclidean norm at most :data:`ONE` = 2^16, the lattice's unit
of weight. Each round adds discrete Gaussian noise to every item that somebody holds; the **standing** of an
item after round r is Σ_{j ≤ r} coefficient_j·(noisy weight in round j). It is found in round r iff its
standing is at least that round's threshold. Otherwise the standing says, through a table, how much weight
its holders give it in the next round, or that it is out for good.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tacit.errors import ParameterError
from tacit.privacy.gaussian_loss import ROUNDING

__all__ = ["LARGEST_VALUE", "ONE", "Round", "RoundsSchedule", "StepFunction", "TallySchedule"]

ONE = 1 << 16
"""The largest norm of one user's weights in a round."""

LARGEST_VALUE = 255
"""Relative weights are whole numbers up to this."""


@dataclass(frozen=True)
class StepFunction:
    """A step function of an item's own noisy number: ``values[j]`` from ``cuts[j]`` on, 0 below the first."""

    cuts: tuple[int, ...]
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        if len(self.cuts) != len(self.values) or not self.cuts:
            raise ParameterError("a step function has one value per cut, and at least one.")
        if any(a >= b for a, b in zip(self.cuts, self.cuts[1:], strict=False)):
            raise ParameterError("the cuts of a step function increase.")
        if not all(0 <= value <= LARGEST_VALUE for value in self.values):
            raise ParameterError.outside("a relative weight", max(self.values), f"from 0 to {LARGEST_VALUE}")


@dataclass(frozen=True)
class Round:
    """One round of selection.

    Args:
        sigma: of the discrete Gaussian noise, on the lattice.
        coefficient: with which the noisy weight enters the standing.
        threshold: the least standing at which an item is found in this round.
        steering: from the standing to the relative weight in the next round; None after the last.
    """

    sigma: int
    coefficient: int
    threshold: int
    steering: StepFunction | None = None

    def __post_init__(self) -> None:
        if self.sigma <= ROUNDING and self.sigma != 0:
            raise ParameterError.outside("sigma of a round", self.sigma, f"above {ROUNDING}")
        if self.coefficient < 1:
            raise ParameterError.outside("the coefficient of a round", self.coefficient, "at least 1")


@dataclass(frozen=True)
class TallySchedule:
    """How the found items are counted.

    Args:
        norm_sigma: of the noise on the histogram of users' norms, on the lattice: a user adds 2^16 to one
        cell.
        norm_edges: the cells' upper edges, norms in units of relative weight; the last one takes all above.
        covered: the part of users whose norm should lie within the limit that is chosen from that histogram.
        sigma: of the noise on the weighted counts, on the lattice.
        weighing: from an item's noisy weight in the first round to its relative weight in the count.
    """

    norm_sigma: int
    norm_edges: tuple[int, ...]
    covered: float
    sigma: int
    weighing: StepFunction

    def __post_init__(self) -> None:
        if not all(self.weighing.values):
            raise ParameterError("every found item has a weight in the count.")
        for sigma in (self.norm_sigma, self.sigma):
            if sigma <= ROUNDING and sigma != 0:
                raise ParameterError.outside("sigma of the counts", sigma, f"above {ROUNDING}")


@dataclass(frozen=True)
class RoundsSchedule:
    """All that is drawn and compared.

    Args:
        held: k₀, the most items of a user that take part in selection.
        rounds: of selection.
        tally: of the counts; None publishes keys alone.
    """

    held: int
    rounds: tuple[Round, ...]
    tally: TallySchedule | None = None

    def __post_init__(self) -> None:
        if self.held < 1 or not self.rounds:
            raise ParameterError("a selection needs at least one item per user, and one round.")
        if any(step.steering is None for step in self.rounds[:-1]) or self.rounds[-1].steering is not None:
            raise ParameterError("every round but the last steers the next.")

    def to_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return {
            "unit": ONE,
            "held": self.held,
            "rounds": [_listed(asdict(step)) for step in self.rounds],
            "tally": None if self.tally is None else _listed(asdict(self.tally)),
        }


def _listed(form: Mapping[str, Any]) -> dict[str, Any]:
    """Tuples as the lists that JSON has."""
    made: dict[str, Any] = {}
    for name, value in form.items():
        if isinstance(value, Mapping):
            made[name] = _listed(value)
        else:
            made[name] = list(value) if isinstance(value, tuple) else value
    return made
