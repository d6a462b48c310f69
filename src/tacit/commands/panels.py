"""Which guard a verb belongs to: ``tacit --help`` lists the verbs under these headings, in this order."""

from __future__ import annotations

from enum import StrEnum

__all__ = ["Panel"]


class Panel(StrEnum):
    """A heading of ``tacit --help``; a command's module names one as ``PANEL``."""

    LOG = "Log: what was searched"
    RELEASE = "Release: publish a log under differential privacy"
    GROUPS = "Groups: profiles that link no term to a person"
    DEVICE = "Device: search without being profiled"
    POOL = "Pool: personal data that k people online share"
    EVALUATE = "Evaluate: what a guard costs and what an attacker learns"
    WORLD = "World: try everything on people who do not exist"
    MORE = "More"
