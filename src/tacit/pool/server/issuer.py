"""The issuer: it knows people by their accounts, and gives each account one token a period, days ahead.

Tokens are blind signatures (:mod:`tacit.pool.channel.tokens`): the issuer sees who gets one, and never where
it is used. A period's key never changes and no account gets a second token for it, also over restarts: both
are kept in one file of the issuer's own. Requests come sealed through the relay, which hides addresses.
"""

import asyncio
import base64
import hashlib
import os
import sqlite3
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from tacit.errors import InputError
from tacit.pool.channel.join import Announcement, Identity, JoinFile, read_secret
from tacit.pool.channel.tokens import BATCH_SIZE, MOST_TOKENS, BlindSigner, sign_token
from tacit.pool.server.front import HEADERS, TEXT, Endpoint, KeyRing, SealedFront, public_keys, server

_AHEAD = 2 * 86_400.0
_AT_ONCE = 4
"""Keys made before the issuer answers; the others follow while it runs."""
_TABLES = resources.files("tacit.pool.server") / "issuer.sql"


def account_digest(secret: str) -> str:
    """Hash an account for an issuer, which keeps nothing else of it."""
    return hashlib.sha256(f"tacit pool account {secret}".encode()).hexdigest()


class IssuerFile:
    """Accounts, keys by period, and who was given what, in one SQLite file that only its owner can read."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        if not self.path.exists():
            os.close(os.open(self.path, os.O_CREAT | os.O_WRONLY, 0o600))
        self._lock = threading.Lock()
        self._open: dict[int, sqlite3.Connection] = {}
        self._signers: dict[int, BlindSigner] = {}
        try:
            self._file.executescript(_TABLES.read_text("utf-8"))
        except sqlite3.DatabaseError as error:
            raise InputError(f"{path} is no issuer's file.", "Name a new one.") from error

    @property
    def _file(self) -> sqlite3.Connection:
        """A connection of this process: workers that were forked must not share one."""
        found = self._open.get(os.getpid())
        if found is None:
            found = sqlite3.connect(self.path, timeout=30, isolation_level=None, check_same_thread=False)
            found.execute("PRAGMA journal_mode = WAL")
            self._open[os.getpid()] = found
        return found

    def new_account(self, path: Path) -> int:
        """Make an account, with its secret in a new file; how many there are then."""
        if path.exists():
            raise InputError(f"{path} exists already.", "Name a new file for the account's secret.")
        Identity.kept(path, make=True)
        with self._lock:
            self._file.execute("INSERT INTO accounts VALUES (?)", (account_digest(read_secret(path)),))
        return self.accounts

    @property
    def accounts(self) -> int:
        """The number of accounts."""
        with self._lock:
            return int(self._file.execute("SELECT count(*) FROM accounts").fetchone()[0])

    def prepare(self, period: int) -> None:
        """Make the key of a period, unless there is one."""
        if period not in self.keys():
            secret = BlindSigner().to_bytes()  # outside the lock: it takes a while
            with self._lock:
                self._file.execute("INSERT OR IGNORE INTO keys VALUES (?, ?)", (period, secret))

    def forget(self, before: int) -> None:
        """Drop the keys of earlier periods, and who was given tokens for them."""
        with self._lock:
            self._file.execute("DELETE FROM keys WHERE period < ?", (before,))
            self._file.execute("DELETE FROM given WHERE period < ?", (before,))
            self._signers = {at: signer for at, signer in self._signers.items() if at >= before}

    def keys(self) -> dict[int, BlindSigner]:
        """The keys by period."""
        with self._lock:
            for period, secret in self._file.execute("SELECT period, secret FROM keys ORDER BY period"):
                if period not in self._signers:
                    self._signers[period] = BlindSigner.from_bytes(secret)
            return dict(self._signers)

    def sign(self, secret: str, requests: Mapping[int, bytes]) -> dict[int, bytes]:
        """Sign a known account's requests: one a period; asked the same again, the same comes out."""
        account, signers = account_digest(secret), self.keys()
        with self._lock:
            known = self._file.execute("SELECT 1 FROM accounts WHERE digest = ?", (account,)).fetchone()
        if known is None:
            raise InputError("there is no such account.")
        signed = {}
        for period, request in requests.items():
            if period in signers and self._first(account, period, request):
                signed[period] = sign_token(signers[period], request)
        return signed

    def _first(self, account: str, period: int, request: bytes) -> bool:
        known = "SELECT request FROM given WHERE account = ? AND period = ?"
        digest = hashlib.sha256(request).digest()
        with self._lock:
            self._file.execute("INSERT OR IGNORE INTO given VALUES (?, ?, ?)", (account, period, digest))
            row = self._file.execute(known, (account, period)).fetchone()
        return bool(row[0] == digest)


class FollowingKeys(KeyRing):
    """Keys of which each follows from the one before, one way: workers that were forked have the same.

    Who sealed a request for the next key has it from a worker that went on to it: so does who opens it.
    """

    def _following(self) -> tuple[int, str]:
        identifier, secret = self.held()[0]
        told = hashlib.sha256(b"tacit: the next key of an issuer" + bytes.fromhex(secret))
        return (identifier + 1) % 256, told.hexdigest()

    def _add(self) -> None:
        if not self._keys:
            super()._add()
        else:
            self._keys = [(*self._following(), set()), *self._keys[:1]]

    async def secrets(self) -> list[tuple[int, str]]:
        return [*self.held(), self._following()]

    async def first_time(self, identifier: int, digest: bytes) -> bool:
        if identifier == self._following()[0]:
            self._add()
        return self.note(identifier, digest)


class Issuer:
    """One worker of an issuer, which has keys for ``ahead`` seconds from now.

    Workers that were forked have the same keys; ``clock`` gives seconds since 1970.
    """

    def __init__(
        self,
        join: JoinFile,
        identity: Identity,
        file: IssuerFile,
        *,
        ahead: float = _AHEAD,
        clock: Callable[[], float] = time.time,
    ) -> None:
        if identity.public != join.identities.get("issuer"):
            raise InputError("this is not the identity that the join file names for its issuer.")
        self.join, self.identity, self.file, self.clock = join, identity, file, clock
        self.ring = FollowingKeys()
        self.ahead = min(int(ahead // join.rules.period) + 1, MOST_TOKENS - 1)
        form = {"account": TEXT, "requests": {"type": "object", "maxProperties": MOST_TOKENS}}
        self.endpoints = (Endpoint("/tokens", self.tokens, form),)
        self._front = SealedFront(self.ring, self.endpoints, (BATCH_SIZE, BATCH_SIZE))

    async def tokens(self, given: dict[str, Any]) -> dict[str, Any]:
        """Sign an account's blinded tokens, one a period."""
        requests = {int(at): base64.b64decode(text) for at, text in given["requests"].items()}
        signed = await run_in_threadpool(self.file.sign, given["account"], requests)
        return {"signed": {str(at): base64.b64encode(found).decode() for at, found in signed.items()}}

    def prepare(self, most: int | None = None) -> None:
        """Make keys for the periods ahead, ``most`` of them at most."""
        present = int(self.clock() // self.join.rules.period)
        self.file.forget(present - 1)
        for period in range(present - 1, present + self.ahead)[:most]:
            self.file.prepare(period)

    async def keys(self, _request: Request) -> Response:
        """The directory of token keys by period, and the key to seal requests for."""
        signers = await run_in_threadpool(self.file.keys)
        found = {at: signer.public.to_bytes() for at, signer in signers.items()}
        said = Announcement("issuer", self.join.digest, public_keys(self.ring.held()), found)
        return JSONResponse(said.as_dict(self.identity), headers=HEADERS)

    def app(self) -> Starlette:
        """The ASGI application."""

        async def lifespan(_app: Starlette) -> AsyncIterator[None]:
            await run_in_threadpool(self.prepare, _AT_ONCE)

            async def go_on() -> None:
                while True:
                    await run_in_threadpool(self.prepare)
                    await asyncio.sleep(min(60.0, self.join.rules.period / 4))

            making = asyncio.create_task(go_on())
            yield
            making.cancel()
            await asyncio.gather(making, return_exceptions=True)

        routes = [Route("/", self._front.take, methods=["POST"]), Route("/keys", self.keys, methods=["GET"])]
        return server("Tacit issuer", routes, inner=self.endpoints, lifespan=lifespan)
