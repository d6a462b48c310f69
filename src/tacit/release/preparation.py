"""What is done to the records before a mechanism sees them: a period, scrubbing, and cutting into sessions.

Period and scrubbing keep or drop a record by that record alone and public constants; sessions are cut by one
user's records alone. So neither changes a guarantee.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tacit.errors import ParameterError
from tacit.release.engines import Engine
from tacit.release.scrub import plainly_harmless
from tacit.searchlog.session_cut import BY_PAUSES, SessionCut

__all__ = ["Preparation"]


@dataclass(frozen=True)
class Preparation:
    """Which records take part.

    Args:
        since: only records at this time or later (public, chosen without looking at the log).
        until: only records before this time.
        scrub: leave out records that plainly hold an address, and publish no key that looks like it names
            somebody (:mod:`tacit.release.scrub`).
        sessions: how histories are cut into sessions, for pairs, transitions and sequences of queries.
    """

    since: datetime | None = None
    until: datetime | None = None
    scrub: bool = True
    sessions: SessionCut = BY_PAUSES

    def __post_init__(self) -> None:
        if self.since and self.until and self.since >= self.until:
            raise ParameterError.outside("since", self.since.isoformat(), "before `until`")

    def apply(self, engine: Engine, log: Any) -> Any:
        """The records that take part."""
        if self.since is not None:
            log = log.filter(log.time >= self.since)
        if self.until is not None:
            log = log.filter(log.time < self.until)
        log = plainly_harmless(log) if self.scrub else log
        return log if self.sessions == BY_PAUSES else engine.with_sessions(log, self.sessions)

    def to_dict(self) -> dict[str, Any]:
        """For the manifest."""
        return {
            "since": self.since.isoformat() if self.since else None,
            "until": self.until.isoformat() if self.until else None,
            "scrub": self.scrub,
            "sessions": self.sessions.to_dict(),
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Preparation:
        """What ``to_dict`` wrote."""
        since, until = form["since"], form["until"]
        return cls(
            datetime.fromisoformat(since) if since else None,
            datetime.fromisoformat(until) if until else None,
            form["scrub"],
            SessionCut.from_dict(form["sessions"]) if "sessions" in form else BY_PAUSES,
        )
