"""One way to release a log, as a sweep tries it: a mechanism with its options."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from tacit.privacy import Guarantee, GuaranteeKind
from tacit.release.mechanism import Mechanism
from tacit.release.registry import mechanism_class

__all__ = ["ORIGINAL", "ReleaseSetting"]


@dataclass(frozen=True)
class ReleaseSetting:
    """A mechanism and what it is asked.

    Args:
        mechanism: its name in the registry, or ``original`` for the log itself.
        options: its parameters by name.
        series: what the setting is part of: ``budget``, ``k``, or the impact of a parameter.
        only: the tables that are used of the release, by name; all unless given.
        resampled: judge the synthetic log that is made from the release, rather than its tables.
    """

    mechanism: str
    options: Mapping[str, Any] = field(default_factory=dict)
    series: str = "budget"
    only: tuple[str, ...] = ()
    resampled: bool = False

    @property
    def key(self) -> str:
        """A short name for files: the same for the same mechanism and options."""
        parts = [self.name, dict(self.options), *self.only]
        form = json.dumps(parts, sort_keys=True, default=str)
        return hashlib.sha256(form.encode()).hexdigest()[:16]

    @property
    def name(self) -> str:
        """The mechanism as charts name it."""
        return f"{self.mechanism}, resampled" if self.resampled else self.mechanism

    @property
    def is_original(self) -> bool:
        """Whether nothing is held back."""
        return self.mechanism == "original"

    def make(self) -> Mechanism[Any]:
        """The mechanism, planned."""
        return mechanism_class(self.mechanism)(**self.options)

    @cached_property
    def promise(self) -> Guarantee | None:
        """What it guarantees; nothing for the original."""
        return None if self.is_original else self.make().guarantee()

    @property
    def exact(self) -> bool:
        """Whether it draws no noise, so that once is enough."""
        return self.promise is None or self.promise.kind is GuaranteeKind.K_QUERY

    def describe(self) -> dict[str, Any]:
        """What the report says of it: the mechanism, its options, and what it guarantees."""
        form: dict[str, Any] = {
            "mechanism": self.name,
            "series": self.series,
            "options": {name: _plain(value) for name, value in self.options.items()},
            "epsilon": None,
            "delta": None,
            "k": None,
            "asked_epsilon": self.options.get("epsilon"),
        }
        if self.promise is None:
            return form
        if self.promise.kind is GuaranteeKind.K_QUERY:
            return form | {"k": self.promise.k}
        return form | {"epsilon": self.promise.epsilon, "delta": self.promise.delta}

    def label(self) -> str:
        """As a legend shows it: ``zealous ε=2``."""
        shown = {
            "epsilon": "ε",
            "noise": "b",
            "threshold": "K",
            "queries_per_user": "q_f",
            "per_user": "m",
            "clicks_per_user": "c_f",
        }
        parts = [
            f"{shown.get(name, name)}={value:g}"
            for name, value in self.options.items()
            if isinstance(value, int | float) and not isinstance(value, bool) and name != "delta"
        ]
        return " ".join([self.name, *parts, *(f"({name} only)" for name in self.only)])


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


ORIGINAL = ReleaseSetting("original")
"""The log itself, without privacy."""
