"""Who may talk to the server: a browser that was opened with the address printed at the start.

The address carries a secret that is new at every start. It is exchanged for a cookie that the browser keeps;
the profile file holds only the cookie's digest. From the cookie follows the token that every form carries, so
that a page of another site, which can make the browser send requests but cannot read ours, has none.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from datetime import UTC, datetime

from tacit.web.state import PageState

__all__ = ["COOKIE_DAYS", "Admission"]

COOKIE_DAYS = 400
"""For how long a browser is known; browsers keep no cookie longer."""


class Admission:
    """The secrets of one running server.

    Args:
        state: where known browsers are kept.
        port: the port of the server; cookies do not tell ports apart, so their name must.
    """

    def __init__(self, state: PageState, port: int) -> None:
        self._state = state
        self._known: set[bytes] = set()
        self.port = port
        self.opening = secrets.token_urlsafe(24)
        """The secret of this start."""
        self.cookie = f"tacit-{port}"
        known = state.setting("suggestion key")
        if known is None:
            known = secrets.token_urlsafe(24)
            state.set("suggestion key", known)
        self.suggestion_key = known
        """What the browser's search box presents, which sends no cookie; it opens suggestions only."""

    @property
    def address(self) -> str:
        """The address to open first."""
        return f"http://127.0.0.1:{self.port}/open?key={self.opening}"

    def admit(self, key: str) -> str | None:
        """A new cookie for who knows the secret of this start; None for others."""
        if not hmac.compare_digest(key.encode(), self.opening.encode()):
            return None
        token = secrets.token_urlsafe(32)
        with self._state.transaction() as connection:
            connection.execute(
                "INSERT INTO page_browser VALUES (?, ?)", (_digest(token), datetime.now(UTC).isoformat())
            )
        return token

    def knows(self, token: str) -> bool:
        """Whether the cookie was given out here and not withdrawn."""
        digest = _digest(token)
        if digest not in self._known and self._state.rows(
            "SELECT 1 FROM page_browser WHERE digest = ?", (digest,)
        ):
            self._known.add(digest)
        return digest in self._known

    def withdraw_all(self) -> None:
        """Forget all browsers; each must be opened with the printed address again."""
        with self._state.transaction() as connection:
            connection.execute("DELETE FROM page_browser")
        self._known.clear()

    def form_token(self, token: str) -> str:
        """What a form sends along, made from the cookie."""
        return hmac.new(token.encode(), b"tacit form", hashlib.sha256).hexdigest()

    def is_form_token(self, token: str, found: str) -> bool:
        """Whether a form's token belongs to the cookie."""
        return hmac.compare_digest(self.form_token(token).encode(), found.encode())

    def is_suggestion_key(self, found: str) -> bool:
        """Whether suggestions may be answered."""
        return hmac.compare_digest(self.suggestion_key.encode(), found.encode())


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()
