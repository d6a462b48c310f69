"""Asking an issuer: an agent for its pass of the period, a relay for the key that passes are checked with."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import random
import secrets
import time
from typing import TYPE_CHECKING

from tacit.errors import InputError, TacitError
from tacit.pool.admission import PASSES_AT_ONCE, AdmissionPass, IssuedKey, PassVerifier
from tacit.pool.blind_rsa import VerifyingKey
from tacit.pool.protocol import VERSION

if TYPE_CHECKING:
    import httpx

__all__ = ["IssuerUnreachableError", "PassClient", "PassGate", "issued_key"]

_PAUSE = 1.0


class IssuerUnreachableError(TacitError):
    """The issuer does not answer, or not as an issuer does."""


async def issued_key(address: str, http: httpx.AsyncClient) -> IssuedKey:
    """The issuer's key of the period."""
    import httpx

    try:
        answer = await http.get(address + "/v1/issuer")
        if answer.status_code != 200:
            raise IssuerUnreachableError(f"the issuer answered {answer.status_code}.")
        return IssuedKey.parse(answer.json())
    except (httpx.HTTPError, ValueError, AttributeError) as error:
        raise IssuerUnreachableError(f"the issuer does not answer ({type(error).__name__}).") from error


class PassClient:
    """An agent's passes.

    Args:
        address: the issuer's.
        account: the secret of the person's account.
        http: how the issuer is reached; it knows the account anyway.
    """

    def __init__(self, address: str, account: str, http: httpx.AsyncClient) -> None:
        self.address = address.rstrip("/")
        self.trouble = ""
        self._account, self._http = account, http
        self._had = -1

    async def fetch(self, passes: dict[int, AdmissionPass]) -> IssuedKey:
        """Put the pass of this period among ``passes``, if it was not fetched yet; drop what is over."""
        import httpx

        issued = await issued_key(self.address, self._http)
        for period in [each for each in passes if each <= issued.period - PASSES_AT_ONCE]:
            del passes[period]
        if issued.period <= self._had:
            return issued
        key, token = VerifyingKey.from_bytes(issued.key), secrets.token_hex(16)
        blinded = key.blind(token.encode())
        asked = {
            "version": VERSION,
            "period": issued.period,
            "blinded": base64.b64encode(blinded.request).decode(),
        }
        headers = {"authorization": f"Bearer {self._account}"}
        try:
            answer = await self._http.post(self.address + "/v1/passes", json=asked, headers=headers)
            given = answer.json()
        except (httpx.HTTPError, ValueError) as error:
            raise IssuerUnreachableError(f"the issuer does not answer ({type(error).__name__}).") from error
        if answer.status_code == 401:
            raise InputError("the issuer does not know this account.", "Ask whoever runs it for one.")
        if answer.status_code == 200:
            signed = base64.b64decode(str(given.get("signed", "")))
            passes[issued.period] = AdmissionPass.finished(issued.period, token, key, blinded, signed)
        if answer.status_code in (200, 409):  # 409: another agent of this account was there before
            self._had = issued.period
        return issued

    async def keep(self, passes: dict[int, AdmissionPass]) -> None:
        """Fetch a pass each period, at a random moment of its first half, until cancelled."""
        while True:
            try:
                issued = await self.fetch(passes)
                self.trouble, pause = "", issued.ends_in + random.uniform(0.0, issued.every / 2)
            except (TacitError, ValueError) as error:
                self.trouble, pause = str(error), _PAUSE * random.uniform(1.0, 3.0)
            await asyncio.sleep(pause)


class PassGate:
    """A relay's check of passes, with the issuer's key fetched when a period begins.

    Args:
        address: the issuer's.
    """

    def __init__(self, address: str) -> None:
        self.address = address.rstrip("/")
        self._verifier = PassVerifier()
        self._asked = float("-inf")
        self._lock = asyncio.Lock()

    async def admits(self, shown: AdmissionPass | None, announcement: str) -> bool:
        """Does the pass admit its message? Each does so once."""
        if shown is None:
            return False
        async with self._lock:
            now = time.monotonic()
            if self._verifier.stale(now, shown.period) and now - self._asked >= _PAUSE:
                self._asked = now
                with contextlib.suppress(TacitError):  # the keys that are known go on
                    await self._learn()
        return self._verifier.spend(shown, announcement)

    async def _learn(self) -> None:
        import httpx

        async with httpx.AsyncClient(trust_env=False, timeout=5.0) as http:  # once a period
            self._verifier.learn(await issued_key(self.address, http), time.monotonic())
