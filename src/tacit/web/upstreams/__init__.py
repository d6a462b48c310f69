"""Search engines behind one interface: what each is asked, how its answer is read, what it may be told.

An :class:`Upstream` only writes requests and reads answers; :class:`Courier` carries them, within limits of
time and size, and records every byte before it leaves.
"""

from tacit.web.upstreams.answer import Answer, SearchResult
from tacit.web.upstreams.catalogue import KINDS, parse_engine, upstream_of
from tacit.web.upstreams.courier import Courier, Limits
from tacit.web.upstreams.engine import Carriage, EngineDescription, Upstream
from tacit.web.upstreams.wire import Outgoing

__all__ = [
    "KINDS",
    "Answer",
    "Carriage",
    "Courier",
    "EngineDescription",
    "Limits",
    "Outgoing",
    "SearchResult",
    "Upstream",
    "parse_engine",
    "upstream_of",
]
