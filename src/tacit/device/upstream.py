"""What goes over the wire with a query, and to whom: the one place that decides which values leave.

Topics, and only if asked the user's preferences among the exposed leaves. Supports, costs,
sensitivities, the mass of what is hidden, and the topics that are hidden have no place in it.
"""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from tacit.errors import InputError
from tacit.taxonomy import TopicTree

if TYPE_CHECKING:
    from tacit.device.online import RuntimeProfile

__all__ = ["canonical_upstream", "outgoing"]


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


def canonical_upstream(name: str) -> str:
    """One spelling of an upstream's name, so that one who is told under two spellings is counted once.

    Addresses become their host: scheme, user, port, path, a leading ``www.`` and a final dot go, and letters
    are folded as the name system does. Other names are folded and their white space is collapsed.

    >>> canonical_upstream("HTTPS://www.Example.org:443/search?q="), canonical_upstream(" My  Engine ")
    ('example.org', 'my engine')

    Raises:
        InputError: nothing is left of the name.
    """
    folded = " ".join(unicodedata.normalize("NFKC", name).casefold().split())
    if "://" in folded or (" " not in folded and ("." in folded or ":" in folded or "/" in folded)):
        host = urlsplit(folded if "://" in folded else f"//{folded}").hostname or ""
        host = host.rstrip(".").removeprefix("www.")
        try:
            folded = host.encode("idna").decode() if not host.isascii() else host
        except UnicodeError:
            folded = host
    if not folded:
        raise InputError("an upstream needs a name.", "Give its address, or any word.")
    return folded
