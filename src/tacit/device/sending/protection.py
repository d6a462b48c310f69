"""What the guard answers: what goes out with a query, where a result was placed, what a topic holds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tacit.device.profile.user import UserProfile
from tacit.device.sending.decision import OnlineProfiler, RuntimeProfile
from tacit.device.sending.exposure import ExposureBound
from tacit.display import Displayed
from tacit.taxonomy import TopicTree


@dataclass(frozen=True)
class SentTopic:
    """A topic in the part of the profile that a query touches, with the topics below it."""

    label: str
    """Its path from the root, the name under which it is sent."""
    name: str
    share: float
    """The person's preference for it among the query's topics, in [0, 1]; 1 for the root."""
    risk: float
    """The share of the total sensitivity at risk if this topic alone is exposed."""
    sensitivity: float
    """sen(t), if its owner made it sensitive; otherwise 0."""
    sent: bool
    """Whether it goes out; otherwise it stays hidden on the device."""
    below: tuple[SentTopic, ...] = ()


@dataclass(frozen=True, repr=False)
class Protection(Displayed):
    """What was decided for one query: what goes out with it, and why."""

    query: str
    upstream: str
    sent: bool
    """Whether a profile goes out with the query."""
    reason: str
    """Why, or why not, in words."""
    message: Mapping[str, Any]
    """Exactly what may leave the device, ready for JSON: the query, and the topics if any."""
    delta: float
    """The bound on the risk of this exposure."""
    bound: float | None
    """The bound on the risk of everything this upstream was told; None if there is none."""
    used: float
    """The risk of everything this upstream was told, this exposure included."""
    topics: tuple[str, ...] = ()
    """The labels of the topics that are sent, from the root down; none where the query goes out alone."""
    tree: SentTopic | None = None
    """The part of the profile that the query touches, sent or hidden. It stays on the device."""
    risk: float = 0.0
    """The risk of what is sent (equation 15); 0 where nothing is."""
    utility: float = 0.0
    """The predicted gain in discriminating power (section 5.1.1); 0 where nothing is sent."""
    exposure: int | None = None
    """The entry's number in the exposure ledger; None for a preview, which is not recorded."""

    @property
    def names(self) -> tuple[str, ...]:
        """The readable names of the most specific topics that are sent."""
        inner = {label.rpartition("/")[0] for label in self.topics}
        leaves = [label for label in self.topics if label not in inner]
        return tuple(label.rpartition("/")[2].replace("%2F", "/").replace("%25", "%") for label in leaves)

    def _rows(self) -> list[tuple[str, str]]:
        bound = "" if self.bound is None else f" of at most {self.bound:g}"
        return [
            ("sent with it", ", ".join(self.topics) if self.topics else "nothing: the query goes alone"),
            ("why", self.reason),
            ("risk", f"{self.risk:.3g} of at most {self.delta:g}"),
            (f"risk of all that {self.upstream} was told", f"{self.used:.3g}{bound}"),
            ("recorded", "no: a preview" if self.exposure is None else f"as exposure {self.exposure}"),
        ]

    def _summary(self) -> str:
        return f"Query for {self.upstream}"


def protection(
    query: str,
    upstream: str,
    profiler: OnlineProfiler,
    found: RuntimeProfile,
    preferences: bool,
    bound: ExposureBound | None,
    used: float,
    exposure: int | None,
) -> Protection:
    """What was decided for a query, in the terms of its owner."""
    tree, sent, general = profiler.repository.tree, found.personalised, found.generalisation
    return Protection(
        query=query,
        upstream=upstream,
        sent=sent,
        reason=str(found.decision),
        message=outgoing(query, found, tree, preferences=preferences),
        topics=tuple(tree.label(topic) for topic in found.exposed),
        tree=_drawn(profiler.profile, found),
        risk=general.risk if sent and general is not None else 0.0,
        utility=general.utility if sent and general is not None else 0.0,
        delta=profiler.delta,
        bound=bound.risk if bound is not None else None,
        used=used,
        exposure=exposure,
    )


def _drawn(profile: UserProfile, found: RuntimeProfile) -> SentTopic | None:
    """The seed profile as a tree, for its owner's eyes."""
    if found.generalisation is None:
        return None
    seed = found.generalisation.seed
    exposed = set(found.exposed)
    below: dict[int, list[SentTopic]] = {}
    for place in range(len(seed) - 1, -1, -1):
        topic = int(seed.node[place])
        node = SentTopic(
            label=profile.tree.label(topic),
            name=profile.tree.names[topic],
            share=float(seed.mass[place]),
            risk=float(seed.cost[place] / seed.wealth) if seed.wealth > 0 else 0.0,
            sensitivity=profile.sensitivity.get(topic, 0.0),
            sent=topic in exposed,
            below=tuple(reversed(below.get(place, []))),
        )
        if place == 0:
            return node
        below.setdefault(int(seed.parent[place]), []).append(node)
    return None


def outgoing(
    query: str, found: RuntimeProfile, tree: TopicTree, *, preferences: bool = False
) -> dict[str, Any]:
    """The message to an upstream, ready for JSON.

    Args:
        query: the query, which is sent as it is.
        found: what may go out with it, after :meth:`OnlineProfiler.expose` has recorded it.
        tree: the taxonomy, public on both sides.
        preferences: whether to tell the user's preferences among the exposed leaves. The risk bound
            does not cover them.
    """
    message: dict[str, Any] = {"query": query, "topics": [tree.label(topic) for topic in found.exposed]}
    if preferences and found.personalised and found.generalisation is not None:
        exposed = found.generalisation
        message["preferences"] = {
            tree.label(topic): round(share, 2)
            for topic, share in zip(exposed.leaves.tolist(), exposed.preferences.tolist(), strict=True)
        }
    return message
