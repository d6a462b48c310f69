"""From a decision to what its owner is shown and what may be sent."""

from __future__ import annotations

from tacit.device.online import OnlineProfiler, RuntimeProfile
from tacit.device.profile import UserProfile
from tacit.device.protection import Protection, SentTopic
from tacit.device.upstream import outgoing

__all__ = ["protection", "protection_of_query_alone"]


def protection(
    query: str,
    upstream: str,
    profiler: OnlineProfiler,
    found: RuntimeProfile,
    *,
    preferences: bool,
    bound: float | None,
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
        bound=bound,
        used=used,
        exposure=exposure,
    )


def protection_of_query_alone(
    query: str, upstream: str, delta: float, bound: float | None, used: float, exposure: int
) -> Protection:
    """What is said of a query to an upstream that takes no profile."""
    return Protection(
        query=query,
        upstream=upstream,
        sent=False,
        reason="this engine is told queries only",
        message={"query": query, "topics": []},
        topics=(),
        tree=None,
        risk=0.0,
        utility=0.0,
        delta=delta,
        bound=bound,
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
