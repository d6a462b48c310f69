"""What goes over the wire with a query: the one place that decides which of a profile's values leave.

Topics, and only if asked the user's preferences among the exposed leaves. Supports, costs,
sensitivities, the mass of what is hidden, and the topics that are hidden have no place in it.
"""

from __future__ import annotations

from typing import Any

from tacit.device.online import RuntimeProfile
from tacit.taxonomy import TopicTree

__all__ = ["outgoing"]


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
