"""The parameters of an A_Click release."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, ClassVar, Self

from tacit.release.parameters import (
    GIVEN,
    Choice,
    Parameters,
    check_given_together,
    declared,
    declared_noise,
    declared_take,
    refuse_given_alone,
    refuse_two_kinds_of_counts,
)

__all__ = ["BUNDLED_SIZE", "PARAMETERS", "ClickMode", "ClickParameters", "StatedSet"]

BUNDLED_SIZE = 150_913
"""Queries in the bundled public domain (:func:`tacit.release.public_domain.bundled_domain`)."""

_PLANNED_WITH_THE_REST = (
    "noise_counts",
    "noise_clicks",
    "noise_transitions",
    "threshold_clicks",
    "threshold_transitions",
)


class ClickMode(StrEnum):
    """Whether only public keys may be published."""

    PURE = "pure"
    """Queries, urls and transitions come from public sets; thresholds are post-processing. δ = 0."""
    APPROXIMATE = "approximate"
    """What occurs outside the public sets is published too, if its noisy count passes a threshold."""


@dataclass(frozen=True)
class StatedSet:
    """A public set as a manifest states it: enough for the guarantee, not to publish."""

    form: Mapping[str, Any]

    @property
    def name(self) -> str:
        """What it is called."""
        return str(self.form.get("name", ""))

    def __len__(self) -> int:
        size = self.form.get("queries", 0)
        return size if type(size) is int and size > 0 else 0

    def __bool__(self) -> bool:
        return True

    def to_dict(self) -> dict[str, Any]:
        """As it was stated."""
        return dict(self.form)


@dataclass(frozen=True, kw_only=True)
class ClickParameters(Parameters):
    """q_f, c_f, b, K, b_q, b_c, b_t, p_g, the public sets and the mode."""

    name: ClassVar[str] = "click"
    title: ClassVar[str] = "A_Click"
    summary: ClassVar[str] = "A_Click: counts of queries, of clicks on them, and of steps between them."
    example: ClassVar[str] = "--epsilon 1 --queries-per-user 5"
    given_example: ClassVar[str] = (
        "--noise 10 --threshold 10 --queries-per-user 5 --clicks-per-user 5 --no-transitions"
    )

    queries_per_user: int = declared(
        1, "q_f: how many searches of a user count; steps between them need two.", least=1
    )
    clicks_per_user: int | None = declared(
        None, "c_f: how many clicks on them count (as many as queries; 0 without public urls).", least=0
    )
    once_per_user: bool = declared(
        False,
        "Count a user once for a query, a click or a step, or each time.",
        option="--once-per-user/--count-each",
    )
    transitions: bool = declared(
        True, "Whether steps from a query to the next are published.", option="--transitions/--no-transitions"
    )
    mode: ClickMode | None = declared(
        None, "pure: public keys only; approximate: others too, for a delta (by whether a delta is given)."
    )
    domain: Any = declared(
        None,
        "Public queries: wordnet, none or a file with one query per line (wordnet in the pure mode).",
        option_type=str | None,
    )
    surfaced: Any = declared(
        None,
        "Public urls of queries, for the pure mode: wordnet, none or a file of query, tab, url.",
        option_type=str | None,
    )
    spurious: float = declared(
        10.0, "How many keys that nobody used may be expected in each table.", above=0, planning=True
    )
    expected_queries: int = declared(
        1_000,
        "About how many queries will be selected; their urls and pairs are public.",
        least=1,
        planning=True,
    )
    pool_probability: float = declared(
        1.0,
        "p_g: chance that a public query which nobody asked takes part; below 1 it costs ε.",
        above=0,
        most=1,
    )
    same_counts: bool | None = declared(
        None,
        "Publish the number that was compared, or a fresh one under noise of its own (planned: compared).",
        option="--same-counts/--fresh-counts",
    )
    take: Choice = declared_take()
    noise: float | None = declared_noise("b: the scale of the selection's noise.")
    threshold: float | None = declared(
        None, "K: a query with a noisy count above it is published.", least=0, panel=GIVEN
    )
    noise_counts: float | None = declared_noise("b_q: fresh noise of the query counts (as `noise`).")
    noise_clicks: float | None = declared_noise("b_c: noise of the clicks (as `noise`).")
    noise_transitions: float | None = declared_noise("b_t: noise of the transitions (as `noise`).")
    threshold_clicks: float | None = declared(
        None, "Click counts above it are published (as `threshold`).", least=0, panel=GIVEN
    )
    threshold_transitions: float | None = declared(
        None, "Counts of transitions above it are published (as `threshold`).", least=0, panel=GIVEN
    )
    minimum_frequency: int = declared(
        1, "Queries with a smaller bounded count take no part in the selection.", least=1, panel=GIVEN
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_given_together(self, "noise", "threshold")
        given = [name for name in _PLANNED_WITH_THE_REST if getattr(self, name) is not None]
        if not self.given:
            rarest = ["minimum_frequency"] if self.minimum_frequency > 1 else []
            refuse_given_alone(given or rarest, "noise", "threshold")
        refuse_two_kinds_of_counts(self.same_counts, self.noise_counts)

    @property
    def given(self) -> bool:
        """Whether noise and threshold were given."""
        return self.noise is not None

    @property
    def pure(self) -> bool:
        """Whether only public keys are published: said so, or no δ is granted."""
        return self.mode is ClickMode.PURE if self.mode is not None else not self.delta

    @property
    def domain_asked(self) -> Any:
        """The public queries: in the pure mode those of WordNet unless others are named."""
        if self.domain is None and self.pure:
            return "wordnet"
        return None if self.domain == "none" else self.domain

    @property
    def surfaced_asked(self) -> Any:
        """The public urls."""
        return None if self.surfaced == "none" else self.surfaced

    @property
    def steps_per_user(self) -> int:
        """The most transitions of a user: q_f queries have q_f - 1 steps between them."""
        return self.queries_per_user - 1 if self.transitions else 0

    def completed(self) -> ClickParameters:
        """With everything settled that does not depend on a plan: mode, clicks, what ``noise`` stands for."""
        from dataclasses import replace

        clicks = self.clicks_per_user
        if clicks is None:
            clicks = self.queries_per_user if not self.pure or self.surfaced_asked is not None else 0
        settled = replace(
            self,
            clicks_per_user=clicks,
            mode=ClickMode.PURE if self.pure else ClickMode.APPROXIMATE,
            domain=self.domain_asked,
            surfaced=self.surfaced_asked,
        )
        if self.noise is None or self.threshold is None:
            return settled
        K, same = math.floor(self.threshold), bool(self.same_counts)
        of_clicks, of_steps = self.threshold_clicks, self.threshold_transitions
        return replace(
            settled,
            same_counts=same,
            threshold=K,
            noise_counts=None if same else _first(self.noise_counts, self.noise),
            noise_clicks=_first(self.noise_clicks, self.noise) if clicks else None,
            noise_transitions=_first(self.noise_transitions, self.noise) if self.steps_per_user else None,
            threshold_clicks=(K if of_clicks is None else math.floor(of_clicks)) if clicks else None,
            threshold_transitions=(
                (K if of_steps is None else math.floor(of_steps)) if self.steps_per_user else None
            ),
        )

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Self:
        """What the mechanism wrote; the public sets by name and digest."""
        sets = {name: StatedSet(form[name]) if form[name] else "none" for name in ("domain", "surfaced")}
        return super().from_dict({**form, **sets})


def _first(given: float | None, otherwise: float) -> float:
    return otherwise if given is None else given


PARAMETERS = ClickParameters
