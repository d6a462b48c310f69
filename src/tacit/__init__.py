"""Tacit: private search, from the query to the published log.

A query is guarded at the four places of its life where it leaves somebody's hands::

    person ──▶ device ──▶ pool ──▶ service ──▶ log ──▶ release ──▶ researcher
               │          │        │                   │
               │          │        │                   └ release: the log is published under
               │          │        │                     differential privacy
               │          │        └ groups: profiles are bundled until no term links to a person
               │          └ pool: personal data is coarsened until k people online share it
               └ device: the interest profile is generalised per query under a risk bound

Shared parts: :mod:`tacit.searchlog` (what was searched), :mod:`tacit.taxonomy` (topic trees),
:mod:`tacit.text` (words), :mod:`tacit.privacy` (guarantees, ledger, noise), :mod:`tacit.retrieval`
(search), :mod:`tacit.world` (a synthetic world to try everything on).
"""

from tacit.errors import TacitError

__version__ = "0.1.0"

__all__ = ["TacitError", "__version__"]
