"""Who may talk to the page: a browser that was opened with the address printed at the start, and nobody else.

The address carries a secret that is new at every start. It is exchanged for a cookie; the profile file holds
only the cookie's digest. Browsers send cookies to every port of a host, so this one belongs to a *place*: a
path with a secret, which a server on another port cannot name, since pages there see neither our addresses
(Referrer-Policy) nor our storage. The path without the cookie opens nothing, nor does the cookie without the
path. What neighbours, other sites and names that point here can try stands in the reference of ``tacit
serve``.
"""

import hashlib
import hmac
import secrets
from collections.abc import Callable
from datetime import UTC, datetime
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from tacit.web.state import PageState

COOKIE_DAYS = 400
"""For how long a browser is known; browsers keep no cookie longer."""


class Admission:
    """The secrets of one running server.

    Args:
        state: where known browsers are kept.
        port: the port of the server; cookies do not tell ports apart, so their name does.
    """

    def __init__(self, state: PageState, port: int) -> None:
        self._state = state
        self._known: set[bytes] = set()
        self.port = port
        self.opening = secrets.token_urlsafe(24)
        self.cookie = f"tacit-{port}"
        self.place = f"/at-{self._kept('place', 12)}"
        """The path under which all private pages lie; kept, so that bookmarks and cookies stay good."""
        self.suggestion_key = self._kept("suggestion key", 24)
        """What the browser's search box presents, which sends no cookie; it opens suggestions only."""

    def _kept(self, name: str, size: int) -> str:
        known = self._state.setting(name)
        if known is None:
            known = secrets.token_urlsafe(size)
            self._state.set(name, known)
        return known

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
            known = _digest(token), datetime.now(UTC).isoformat()
            connection.execute("INSERT INTO page_browser VALUES (?, ?)", known)
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
        """Sign out all browsers; each must be opened with the printed address again."""
        with self._state.transaction() as connection:
            connection.execute("DELETE FROM page_browser")
        self._known.clear()

    def form_token(self, token: str) -> str:
        return hmac.new(token.encode(), b"tacit form", hashlib.sha256).hexdigest()

    def is_suggestion_key(self, found: str) -> bool:
        return hmac.compare_digest(self.suggestion_key.encode(), found.encode())


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode()).digest()


POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'; manifest-src 'self'"
)

_HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "geolocation=(), camera=(), microphone=(), browsing-topics=()",
    "Cache-Control": "no-store",
    "X-DNS-Prefetch-Control": "off",
}

_OPEN_TO_ALL = ("/static/", "/open", "/suggest/", "/opensearch/")
"""Answered without a cookie: nothing personal, or guarded by a secret in the address itself."""


class Shield:
    """Middleware that refuses whatever does not come from the person's own browser window.

    Args:
        app: the application it protects.
        admission: which browsers are known.
        refusal: makes the page for a browser that is not known, or that another site sent here.
    """

    def __init__(
        self, app: ASGIApp, admission: Admission, refusal: Callable[[Request, str], Response]
    ) -> None:
        self._app = app
        self._admission = admission
        self._refusal = refusal
        port = admission.port
        self._hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self._place = admission.place

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or refuse it here."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] != "http":
            return

        inside = scope["path"].startswith(f"{self._place}/")
        if inside:
            scope = {**scope, "path": scope["path"].removeprefix(self._place)}

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                location = headers.get("location", "")
                if inside and location.startswith("/") and not location.startswith(f"{self._place}/"):
                    headers["location"] = self._place + location
            await send(message)

        refused = self._examine(scope, inside=inside)
        await (refused or self._app)(scope, receive, send_guarded)

    def _examine(self, scope: Scope, *, inside: bool) -> Response | None:
        """The refusal of a request; None where it is passed on."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or hosts[0] not in self._hosts:
            return PlainTextResponse("This server answers only under its own address.\n", 421)
        own = f"http://{hosts[0]}"
        origin, site = headers.get("origin"), headers.get("sec-fetch-site")
        if origin is not None and origin != own and not (origin == "null" and site == "none"):
            return PlainTextResponse("A page of another site may not do this.\n", 403)
        if any(headers.get(name, "").startswith("prefetch") for name in ("sec-purpose", "purpose", "x-moz")):
            return PlainTextResponse("Nothing is fetched ahead of you.\n", 503)
        path = scope["path"]
        foreign = site not in {None, "same-origin", "none"}
        if scope["method"] not in {"GET", "HEAD", "POST"}:
            return PlainTextResponse("Only GET and POST are answered.\n", 405)
        if path.startswith(_OPEN_TO_ALL) and not inside:
            page = headers.get("sec-fetch-mode") == "navigate"
            return PlainTextResponse("Not for other sites.\n", 403) if foreign and not page else None
        if foreign:
            return self._refusal(Request(scope), "foreign")
        if not inside:  # the browser's own doing, if it says so; our script then knows where to go
            return self._refusal(Request(scope), "unknown" if site is None else "elsewhere")
        cookie = next(filter(self._admission.knows, self._cookies(headers)), None)
        if cookie is None:
            return self._refusal(Request(scope), "unknown")
        scope["state"] = {**scope.get("state", {}), "place": self._place}
        scope["state"]["form_token"] = self._admission.form_token(cookie)
        if scope["method"] == "POST":
            return self._examine_change(scope, headers, cookie, origin, site)
        return None

    def _cookies(self, headers: Headers) -> list[str]:
        """Return all cookies of our name: one set by a neighbour must not hide the browser's own."""
        pairs = [pair.partition("=") for pair in headers.get("cookie", "").split(";")]
        return [value.strip() for name, _, value in pairs if name.strip() == self._admission.cookie]

    def _examine_change(
        self, scope: Scope, headers: Headers, cookie: str, origin: str | None, site: str | None
    ) -> Response | None:
        """A POST must come from one of our own pages; only a search may come from the browser itself."""
        from_browser = scope["path"] == "/search" and site == "none"
        if from_browser:
            return None
        if origin is None and site is None:
            return PlainTextResponse("The browser does not say where this form comes from.\n", 403)
        query = parse_qs(scope["query_string"].decode("latin-1"))
        found = headers.get("x-tacit-form") or (query.get("form") or [""])[0]
        if not hmac.compare_digest(self._admission.form_token(cookie).encode(), found.encode()):
            outdated = "The form is out of date. Go back, reload the page and try again.\n"
            return PlainTextResponse(outdated, 403)
        return None
