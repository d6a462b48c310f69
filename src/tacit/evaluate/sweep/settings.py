"""The settings that a sweep tries: mechanisms at budgets.

A mechanism that takes a k is swept over k, any other over ε. One that publishes a choice of items publishes
all of them, so that every task has something to work with; its ε is shared among them.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from typing import Any

from tacit.errors import ParameterError
from tacit.privacy import Guarantee, GuaranteeKind
from tacit.release.mechanism import Plan
from tacit.release.registry import MECHANISMS, mechanism_class


@dataclass(frozen=True)
class ReleaseSetting:
    """A mechanism with its parameters.

    Args:
        mechanism: its name in the registry, ``original`` for the log itself, or ``nothing``.
        options: its parameters by name.
    """

    mechanism: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """A short name for files: the same for the same mechanism and options."""
        form = json.dumps([self.mechanism, dict(self.options)], sort_keys=True, default=str)
        return hashlib.sha256(form.encode()).hexdigest()[:16]

    @property
    def is_anchor(self) -> bool:
        """Whether it is one of the two that releases lie between: nothing released, and the log itself."""
        return self.mechanism in ("nothing", "original")

    def make(self) -> Plan[Any]:
        return mechanism_class(self.mechanism)(**self.options).plan()

    @cached_property
    def promise(self) -> Guarantee | None:
        """Its guarantee; None for an anchor."""
        return None if self.is_anchor else self.make().guarantee

    @property
    def exact(self) -> bool:
        """Whether it draws no noise, so that once is enough."""
        return self.promise is None or self.promise.kind is GuaranteeKind.K_QUERY

    def describe(self) -> dict[str, Any]:
        """Describe it for the report: the mechanism, its options, and what it guarantees."""
        form: dict[str, Any] = {
            "mechanism": self.mechanism,
            "options": {name: list(v) if isinstance(v, tuple) else v for name, v in self.options.items()},
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
        shown = [
            f"{'ε' if name == 'epsilon' else name}={value:g}"
            for name, value in self.options.items()
            if name in ("epsilon", "k")
        ]
        return " ".join([self.mechanism, *shown])


NOTHING = ReleaseSetting("nothing")
"""No release at all: what anybody can do with public knowledge."""
ORIGINAL = ReleaseSetting("original")
"""The log itself, without privacy, used as well as we know."""
LEAST = (1, 2, 3, 5, 10, 20, 50)
"""The log is used whole, and without what fewer than so many users had, whichever serves a task best."""


BUDGETS = (1.0, 2.0, 4.0, 8.0, 16.0)
"""ε of the curves, for adding or removing a user."""
DELTA = 1e-6
"""δ of every differentially private release in a sweep."""
KS = (5, 10, 20, 50)
"""k of k-query anonymity."""
_ITEMS = ("keywords", "queries", "clicks", "pairs")


def grid(
    mechanisms: Sequence[str] = (),
    epsilons: Sequence[float] = BUDGETS,
    ks: Sequence[int] = KS,
    delta: float = DELTA,
) -> tuple[ReleaseSetting, ...]:
    """Both anchors, then every mechanism (all that publish queries, or those named) at every ε or k."""
    settings = [NOTHING, ORIGINAL]
    usable = [name for name in MECHANISMS if mechanism_class(name).publishes_queries]
    for name in mechanisms or usable:
        if name not in usable:
            raise ParameterError.outside("the mechanism", name, f"one of {', '.join(usable)}")
        taken = {each.name for each in fields(mechanism_class(name))}
        base = {"items": _ITEMS} if "items" in taken else {}
        if "k" in taken:
            settings += [ReleaseSetting(name, base | {"k": k}) for k in ks]
        else:
            settings += [ReleaseSetting(name, base | {"epsilon": e, "delta": delta}) for e in epsilons]
    for setting in settings:  # refused now rather than after an hour
        _ = setting.promise
    return tuple(settings)
