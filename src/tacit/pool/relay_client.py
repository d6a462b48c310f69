"""Both sides of a relay that keeps sealed records: agents bring them, the pool fetches batches."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tacit.errors import InputError, TacitError
from tacit.pool.batches import SealedMessage
from tacit.pool.protocol import VERSION, Reply, Rules

if TYPE_CHECKING:
    import httpx

__all__ = ["RelayClient", "RelayHandover", "RelayPromise", "RelayUnreachableError"]

_HEADERS = {"user-agent": "tacit-pool-agent", "accept": "application/json"}
_PAUSE = 0.1


class RelayUnreachableError(TacitError):
    """The relay does not answer, or not as a relay does."""


@dataclass(frozen=True)
class RelayPromise:
    """What a relay promises: the fewest messages of a batch, and for how many seconds it keeps them."""

    least: int
    hold: float
    issuer: str | None = None
    """Who admits people, where the relay takes no record without a pass."""

    def check(self, rules: Rules, issuer: str | None = None) -> None:
        """An error where the promise does not cover what the pool promises, or names another issuer."""
        if self.issuer is not None and issuer != self.issuer:
            raise InputError(
                f"the relay takes records with a pass of {self.issuer} only.",
                "Ask whoever runs that for an account, and name it with `issuer` and `account`.",
            )
        if self.least < rules.k:
            raise InputError(
                f"the relay hands over batches of {self.least}; the pool promises k = {rules.k}.",
                "Its operator must give it a k at least as large.",
            )
        needed = rules.identify + rules.form
        if self.hold < needed:
            raise InputError(
                f"the relay keeps records for {self.hold:g} s; the pool may ask for them after {needed:g} s.",
                "Its operator must let it hold them for longer.",
            )


class RelayClient:
    """An agent's view of a relay.

    Args:
        address: the relay's, such as ``https://relay.example``.
        http: how to reach it.
    """

    def __init__(self, address: str, http: httpx.AsyncClient) -> None:
        self.address = address.rstrip("/")
        self._http = http

    async def promise(self) -> RelayPromise:
        """What the relay promises."""
        import httpx

        try:
            answer = await self._http.get(self.address + "/v1/relay", headers=_HEADERS)
            if answer.status_code != 200:
                raise RelayUnreachableError(f"the relay answered {answer.status_code}.")
            given = answer.json()
            issuer = given.get("issuer")
            return RelayPromise(
                int(given["k"]), float(given["hold"]), None if issuer is None else str(issuer)
            )
        except httpx.HTTPError as error:
            raise RelayUnreachableError(f"the relay does not answer ({type(error).__name__}).") from error
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise RelayUnreachableError("the relay does not answer as a relay of a pool does.") from error

    async def send(self, message: SealedMessage) -> Reply | None:
        """Bring a message; None if the relay is busy or does not answer."""
        import httpx

        try:
            answer = await self._http.post(
                self.address + "/v1/sealed", json=message.as_dict(), headers=_HEADERS
            )
            return Reply(answer.json()["reply"])
        except (httpx.HTTPError, ValueError, KeyError):
            return None


class RelayHandover:
    """The pool's view of a relay; see :class:`tacit.pool.batches.Handover`.

    Args:
        address: the relay's.
        secret: what the relay wants to be shown.
        patience: for how many seconds a relay that does not answer is asked again.
    """

    def __init__(self, address: str, secret: str, patience: float) -> None:
        self.address = address.rstrip("/")
        self.reachable = True
        self._secret, self._patience = secret, patience

    def hand_over(self, announcements: Sequence[str]) -> dict[str, list[str]]:
        """The batches of those announcements that have one; none where the relay cannot be reached."""
        import httpx

        until = time.monotonic() + self._patience
        while True:
            try:
                found = self._ask(announcements)
            except (httpx.HTTPError, ValueError, KeyError, TypeError, AttributeError):
                found = None
            self.reachable = found is not None
            if found is not None or time.monotonic() + _PAUSE >= until:
                return found or {}
            time.sleep(_PAUSE)

    def _ask(self, announcements: Sequence[str]) -> dict[str, list[str]]:
        import httpx

        headers = {"authorization": f"Bearer {self._secret}", "user-agent": "tacit-pool"}
        asked = {"version": VERSION, "announcements": list(announcements)}
        with httpx.Client(timeout=max(self._patience, 0.5), trust_env=False) as http:  # once per epoch
            answer = http.post(self.address + "/v1/batches", json=asked, headers=headers)
        answer.raise_for_status()
        batches = answer.json()["batches"]
        return {
            announcement: [str(sealed) for sealed in batches[announcement]]
            for announcement in announcements
            if announcement in batches
        }
