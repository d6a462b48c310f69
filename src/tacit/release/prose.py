"""Prose about a plan: what parameters mean, the steps, the papers' figures, residual risks.

The sentences stand beside each mechanism, in its module of words (``click`` has ``click_words``); here they
are asked for by plan. A mechanism may leave any of them out but ``words`` and ``steps``.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from importlib import import_module
from typing import Any

import pyarrow as pa

from tacit.errors import ParameterError
from tacit.privacy.guarantee import Neighbours
from tacit.release.mechanism import Plan
from tacit.release.schedule import Part
from tacit.release.thresholds import mean_size, smallest, survival

AnyPlan = Plan[Any]
Finding = tuple[bool, str]
"""Whether a check holds, and what was found."""
Checks = Iterable[tuple[str, Callable[[], Finding]]]
"""What is checked, and how."""


@dataclass(frozen=True)
class DescribedStep:
    """A step of the mechanism as a reader of the release's page sees it."""

    title: str
    detail: str
    noisy: bool = False


FEWER_THAN = (
    "Where there is no count: so few that noise alone could have made it; the number of users is probably "
    "below this."
)
"""What the column ``fewer_than`` means."""


def laplace_step(scale: float, more: str = "") -> DescribedStep:
    """Whole-number Laplace noise on every count."""
    return DescribedStep(
        "Noise", f"add whole-number Laplace noise of scale {scale:g}{more} to every count", True
    )


@dataclass(frozen=True)
class Notes:
    """What ``tacit guarantee`` says of one mechanism beyond what it says of all."""

    title: str = ""  # in the place of the mechanism's own
    document: Mapping[str, Any] = field(default_factory=dict)  # more fields of the JSON document
    paper: Mapping[str, Any] = field(default_factory=dict)  # more fields of what the paper prints
    rows: Sequence[tuple[str, str, str]] = ()  # more rows (name, provable, the paper's)
    words: Sequence[str] = ()  # more sentences


@dataclass(frozen=True)
class PaperFigure:
    """What the paper prints for the same parameters, and in one line why the provable figure differs."""

    epsilon: float
    delta: float
    neighbours: Neighbours
    source: str
    why: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"neighbours": self.neighbours.value}


def _said(name: str, otherwise: Any = ()) -> Callable[..., Any]:
    """Ask the words beside a plan's mechanism for what they have under ``name``, if they have it."""

    def asked(plan: AnyPlan, *more: Any) -> Any:
        beside = import_module(f"{type(plan.mechanism).__module__}_words")
        return getattr(beside, name, lambda *_: otherwise)(plan, *more)

    return asked


words: Callable[[AnyPlan], Sequence[str]] = _said("words")
"""What the parameters mean and cost."""
steps: Callable[[AnyPlan], Sequence[DescribedStep]] = _said("steps")
"""What is done to the log, in order."""
columns: Callable[[AnyPlan], Mapping[str, Mapping[str, str]]] = _said("columns", {})
"""What each column of numbers means, by table: for the manifest, the page and the files themselves."""
figures: Callable[[AnyPlan], dict[str, float]] = _said("figures", {})
"""What the parameters cost in utility, by name."""
paper_figure: Callable[[AnyPlan], PaperFigure | None] = _said("paper_figure", None)
"""What the paper prints for these parameters, to stand beside the provable guarantee."""
paper_setting: Callable[[AnyPlan], dict[str, Any] | None] = _said("paper_setting", None)
"""The parameters that the paper would choose for the same request, ``source``, and ``why`` ours differ."""
notes: Callable[[AnyPlan], Notes] = _said("notes", Notes())
"""What is to be said about the guarantee beyond ε and δ."""
residual_risks: Callable[[AnyPlan], Sequence[str]] = _said("residual_risks")
"""What an attacker can learn in spite of it, beyond what holds for every mechanism of its kind."""
checks: Callable[[AnyPlan, Mapping[str, Any]], Checks] = _said("checks")
"""More that ``tacit verify`` checks of the parameters that a manifest states."""
table_checks: Callable[[AnyPlan, Callable[[str], pa.Table]], Checks] = _said("table_checks")
"""More that ``tacit verify`` checks of the tables, which are read by name."""


def selection_figures(part: Part) -> dict[str, float]:
    """Compute how large a count a key needs to be selected, and how far off its published count is."""
    least = part.above + 1
    return {
        "even_chance_at": least,
        "nearly_sure_at": least + smallest(lambda x: survival(part.scale, -x) >= 0.95),
        "expected_error": mean_size(part.error),
    }


def require_noise(*scales: float) -> None:
    """Refuse noise that is switched off, for which no paper has a figure."""
    for scale in scales:
        if scale <= 0:
            raise ParameterError.outside("noise", scale, "above 0 for the paper's figure")


def log_alpha(noise: float, threshold: float, pool_probability: float = 1.0) -> float:
    """ln α, what the thesis charges for selecting a query (Theorem 1, eq. 3.4) or a sequence (eq. 5.13).

        α = max( e^(1/b)/p_g,  1 + 1/(2 e^((K-1)/b) - 1) )

    Only the first term is real over a public domain; see docs/guarantees/click.md. The second term is
    -ln(1 - e^(-(K-1)/b)/2), and means nothing where that is no logarithm.
    """
    require_noise(noise)
    first = 1 / noise - math.log(pool_probability)
    exponent = (1 - threshold) / noise
    if exponent >= math.log(2):
        return first
    return max(first, -math.log1p(-math.exp(exponent) / 2))


def turning_point(noise: float, pool_probability: float = 1.0) -> float:
    """The thesis's K for a noise scale: where the two terms of α meet (eq. 3.11)."""
    require_noise(noise)
    # 2 e^((K-1)/b) - 1 = 1/(e^(1/b)/p_g - 1) = p_g/(e^(1/b) - p_g)
    rest = 0.0 if 1 / noise > 700 else pool_probability / (math.expm1(1 / noise) + 1 - pool_probability)
    return 1 + noise * math.log((1 + rest) / 2)
