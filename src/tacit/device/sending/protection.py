"""The guard's answer: what goes out with a query, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tacit.device.sending.decision import OnlineProfiler, RuntimeProfile
from tacit.device.sending.interests import Chosen
from tacit.display import Displayed
from tacit.taxonomy import TopicTree


@dataclass(frozen=True, repr=False)
class Protection(Displayed):
    """What was decided for one query: what goes out with it, and why."""

    query: str
    upstream: str
    sent: bool
    """Whether a profile goes out with the query."""
    reason: str
    """Why, or why not, in words."""
    delta: float
    """The bound on the risk of this exposure."""
    topics: tuple[str, ...] = ()
    """The labels of the topics that are sent, from the root down; none where the query goes out alone."""
    hidden: tuple[str, ...] = ()
    """The labels of the topics that the query touches and that stay on the device."""
    risk: float = 0.0
    """The risk of what is sent (equation 15); 0 where nothing is."""
    utility: float = 0.0
    """The predicted gain in discriminating power (section 5.1.1); 0 where nothing is sent."""
    exposure: int | None = None
    """The entry's number in the exposure ledger; None for a preview, which is not recorded."""

    @property
    def message(self) -> dict[str, Any]:
        """Exactly what may leave the device, ready for JSON: the query, and the topics if any."""
        return {"query": self.query, "topics": list(self.topics)}

    @property
    def names(self) -> tuple[str, ...]:
        """The readable names of the most specific topics that are sent."""
        inner = {label.rpartition("/")[0] for label in self.topics}
        leaves = [label for label in self.topics if label not in inner]
        return tuple(label.rpartition("/")[2].replace("%2F", "/").replace("%25", "%") for label in leaves)

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("sent with it", ", ".join(self.topics) if self.topics else "nothing: the query goes alone"),
            ("why", self.reason),
            ("risk", f"{self.risk:.3g} of at most {self.delta:g}"),
            ("recorded", "no: a preview" if self.exposure is None else f"as exposure {self.exposure}"),
        ]

    def _summary(self) -> str:
        return f"Query for {self.upstream}"


def paper_protection(
    query: str, upstream: str, profiler: OnlineProfiler, found: RuntimeProfile
) -> Protection:
    """Say in the terms of its owner what was decided as in the paper."""
    tree, general = profiler.profile.tree, found.generalisation
    touched = general.seed.node.tolist() if general is not None else []
    return Protection(
        query=query,
        upstream=upstream,
        sent=found.personalised,
        reason=str(found.decision),
        delta=profiler.delta,
        topics=tuple(tree.label(topic) for topic in found.exposed),
        hidden=tuple(tree.label(topic) for topic in touched if topic not in found.exposed),
        risk=general.risk if general is not None and found.personalised else 0.0,
        utility=general.utility if general is not None and found.personalised else 0.0,
    )


def interest_protection(
    query: str, upstream: str, tree: TopicTree, chosen: Chosen, delta: float
) -> Protection:
    """Say in the terms of its owner which interests were chosen. Nothing marked is sent: the risk is 0."""
    topics = sorted({one for topic in chosen.topics for one in (*tree.ancestors(topic), topic)})
    return Protection(
        query=query,
        upstream=upstream,
        sent=bool(topics),
        reason=str(chosen.decision),
        delta=delta,
        topics=tuple(tree.label(topic) for topic in topics),
    )
