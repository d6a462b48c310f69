"""A finished site for readers by group: read-only, behind OpenID Connect or an identity-aware proxy.

Over TCP people sign in at their provider; the cookie then holds a random id, and whoever deletes the id from
the file of sessions has signed them out at once. Over a Unix socket a proxy says who asks, in headers that
are believed nowhere else. Who may open what stands in one table, :data:`ROUTES`. A path is looked up in a
list of the site's files and never joined to a folder, so none leads out of it.
"""

import hashlib
import json
import os
import secrets
import socket
import sqlite3
import time
import warnings
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import IntEnum
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote, urlsplit

from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from tacit.errors import InputError, ParameterError
from tacit.pages import APART, render
from tacit.web.published.pages import MARKS

Role = IntEnum("Role", ["ANONYMOUS", "READER", "AUDITOR"])
"""Who may open a route; each may open what those before it may."""
_PATHS = (
    (Role.ANONYMOUS, "/sign-in /signed-in /sign-out /assets/site.css /assets/icon.svg"),
    (Role.AUDITOR, "/budget.html /reports.html /reports/{path:path} /approvals/{path:path}"),
    (Role.READER, "/account /{path:path}"),
)
ROUTES: Mapping[str, Role] = {path: role for role, paths in _PATHS for path in paths.split()}
"""The role that each route asks for, the first that fits; one that is not here is refused at the start."""
_LEEWAY, _LONGEST, _PATIENCE = 60, 500, 900
"""Seconds by which the provider's clock may differ; characters of an account; seconds for a sign-in."""
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'", "Cache-Control": "no-store",
    "Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
}  # fmt: skip
_ACCOUNT = '<a href="/account">Account</a></nav>'


def client_secret(file: Path | None) -> str:
    """Read the client's secret from a file that others cannot read, or from TACIT_OIDC_SECRET."""
    if file is not None and file.stat().st_mode & 0o007:
        raise InputError(f"{file} can be read by everybody.", f"Run chmod 600 {file}.")
    found = file.read_bytes().decode(errors="replace") if file else os.environ.get("TACIT_OIDC_SECRET", "")
    if not found.strip():
        raise InputError("the client's secret is empty.", "Use `secret_file`, or set TACIT_OIDC_SECRET.")
    return found.strip()


class Sessions:
    """The file of sessions, its owner's only: digests of ids, and the key that signs cookies."""

    def __init__(self, path: Path, hours: float = 8) -> None:
        self.seconds = int(hours * 3600)
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW, 0o600))
        self._db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
        self._db.create_function("digest", 1, lambda name: hashlib.sha256(name.encode()).hexdigest())
        self.close = self._db.close
        try:
            self._db.execute("CREATE TABLE IF NOT EXISTS kept (name PRIMARY KEY, account, role, ends)")
        except sqlite3.DatabaseError:
            self.close()
            raise InputError(f"{path} is no file of sessions.", "Name another with `sessions`.") from None
        self._db.execute("INSERT OR IGNORE INTO kept VALUES ('key', ?, 0, 1e12)", [secrets.token_urlsafe(32)])
        self.key = self._db.execute("SELECT account FROM kept WHERE name = 'key'").fetchone()[0]

    def begin(self, account: str, role: Role) -> str:
        made = secrets.token_urlsafe(32)
        self._keep(made, account, role.value, self.seconds)
        return made

    def expect(self, state: str) -> None:
        """Note the state of a sign-in that begins: somebody may come back with it once, within minutes."""
        self._keep(f"state {state}", "", 0, _PATIENCE)

    def expected(self, state: str) -> bool:
        """Whether a sign-in with this state is under way; from now on it is not, whatever comes of it."""
        asked = "DELETE FROM kept WHERE name = digest(?) AND ends > ? RETURNING 1"
        return self._db.execute(asked, [f"state {state}", time.time()]).fetchone() is not None

    def _keep(self, name: str, account: str, role: int, seconds: float) -> None:
        now = time.time()
        self._db.execute("DELETE FROM kept WHERE ends <= ?", [now])
        self._db.execute("INSERT INTO kept VALUES (digest(?), ?, ?, ?)", [name, account, role, now + seconds])

    def find(self, identity: str) -> tuple[str, Role]:
        """Return the account and role of an id; nobody's, if it has ended or never was."""
        asked = "SELECT account, role FROM kept WHERE name = digest(?) AND ends > ?"
        row = self._db.execute(asked, [identity, time.time()]).fetchone()
        return (row[0], Role(row[1])) if row else ("", Role.ANONYMOUS)

    def end(self, identity: str) -> None:
        self._db.execute("DELETE FROM kept WHERE name = digest(?)", [identity])

    def revoke(self, account: str) -> int:
        """End every session of an account, or with ``*`` of everybody; return how many there were."""
        return self._db.execute("DELETE FROM kept WHERE role AND ? IN ('*', account)", [account]).rowcount


@dataclass
class SiteServer:
    """The pages of a site and the groups that may see them; without sessions a proxy says who asks."""

    site: Path
    readers: Collection[str]
    auditors: Collection[str]
    log: Callable[[str], None]
    sessions: Any = None
    issuer: str = ""
    client: str = ""
    secret: str = field(default="", repr=False)
    address: str = ""
    scope: str = "openid"
    group_claim: str = "groups"

    def __post_init__(self) -> None:
        if not all((self.site / name).is_file() for name in MARKS):
            raise InputError(f"{self.site} is no site.", "Make one with `tacit site RELEASES… -o SITE`.")
        if not all(groups := [*self.readers, *self.auditors]) or not groups:
            raise ParameterError("`reader_group` must name a group, or nobody could read.")
        found = [Path(folder) / name for folder, _, names in os.walk(self.site) for name in names]
        plain = [each for each in found if each.is_file() and not each.is_symlink()]
        self._files = {f"/{each.relative_to(self.site).as_posix()}": each for each in plain}
        self._files["/"] = self.site / "index.html"
        for name, value in (("oidc", self.issuer), ("address", self.address)) if self.sessions else ():
            parts = urlsplit(value)
            local = parts.scheme == "http" and parts.hostname in ("localhost", "127.0.0.1")
            if not (parts.scheme == "https" or local) or (name == "address" and parts.path):
                raise ParameterError.outside(name, value, "such as https://host (http on this machine only)")
        if self.sessions:
            import authlib.deprecate

            with warnings.catch_warnings():  # it asks for a successor of httpx, which it does not need
                warnings.simplefilter("ignore", authlib.deprecate.AuthlibDeprecationWarning)
                from authlib.integrations.starlette_client import OAuth
            says = f"{self.issuer.rstrip('/')}/.well-known/openid-configuration"
            asked = {"scope": self.scope, "code_challenge_method": "S256", "timeout": 10}
            known = {"client_id": self.client, "client_secret": self.secret, "client_kwargs": asked}
            self._client = OAuth().register("oidc", server_metadata_url=says, **known)

    def role(self, groups: object) -> Role:
        """Return the role that a claim of groups gives: a list of names, or one name."""
        named = [groups] if isinstance(groups, str) else groups if isinstance(groups, list) else []
        held = {each for each in named if isinstance(each, str)}
        reader = Role.READER if held & set(self.readers) else Role.ANONYMOUS
        return Role.AUDITOR if held & set(self.auditors) else reader

    def asks(self, request: Request) -> tuple[str, Role]:
        """Return the account and role of who asks."""
        if self.sessions:
            return self.sessions.find(request.session.get("id", ""))  # type: ignore[no-any-return]
        users, groups = (request.headers.getlist(f"x-forwarded-{name}") for name in ("user", "groups"))
        # A Unix socket has no port. A header that comes twice was added by somebody before the proxy.
        unix = (request.scope.get("server") or ("", 0))[1] is None
        if not unix or len(users) != 1 or len(groups) != 1 or not users[0]:
            return "", Role.ANONYMOUS
        return users[0], self.role([each.strip() for each in groups[0].split(",")])

    def guarded(self, wanted: Role, endpoint: Callable[[Request], Any]) -> Callable[[Request], Any]:
        """Return an endpoint that answers who has the role, and sends others away before it looks."""

        async def answer(request: Request) -> Any:
            request.state.account, request.state.role = account, role = self.asks(request)
            if role >= wanted:
                return await endpoint(request)
            if self.sessions and not account:
                request.session["to"] = request.scope["path"][:_LONGEST]
                return RedirectResponse("/sign-in", 303)
            return self.page("refused", 403, account)

        return answer

    def page(self, kind: str, status: int = 200, account: str = "", role: str = "") -> Response:
        values = {"kind": kind, "account": account, "role": role, "provided": bool(self.sessions)}
        return HTMLResponse(render("tacit.web.published", "account.html.j2", **values), status)

    async def file(self, request: Request) -> Response:
        found = self._files.get(request.scope["path"])
        if found is None or not found.is_file():
            raise HTTPException(404)
        if found.suffix == ".html" and found.parent == self.site:
            return HTMLResponse(found.read_text("utf-8").replace("</nav>", _ACCOUNT, 1))
        apart = {"Content-Security-Policy": APART} if found.suffix == ".html" else None
        return FileResponse(found, headers=apart)

    async def account(self, request: Request) -> Response:
        return self.page("account", 200, request.state.account, request.state.role.name.lower())

    async def sign_in(self, request: Request) -> Any:
        try:
            await self._metadata()
            answer = await self._client.authorize_redirect(request, f"{self.address}/signed-in")
            self.sessions.expect(parse_qs(urlsplit(answer.headers["location"]).query)["state"][0])
            return answer
        except Exception:  # its text may hold what was answered
            return self.page("unreachable", 502)

    async def signed_in(self, request: Request) -> Response:
        """Take a person back from the provider, if all that it says is true and meant for this browser."""
        session, to = request.session, request.session.get("to", "/")
        self.sessions.end(session.get("id", ""))
        wanted = {"iss": self.issuer, "aud": self.client}
        options = {name: {"essential": True, "value": value} for name, value in wanted.items()}
        try:
            if not self.sessions.expected(request.query_params.get("state", "")):
                raise ValueError  # a provider may take its code twice; a state is taken here but once
            await self._metadata()
            token = await self._client.authorize_access_token(request, claims_options=options, leeway=_LEEWAY)
            account, groups = token["userinfo"]["sub"], token["userinfo"].get(self.group_claim)
            if not isinstance(account, str) or not 0 < len(account) <= _LONGEST:
                raise ValueError
        except Exception:  # Authlib's errors quote tokens and codes: none of it may reach a page or a log
            session.clear()
            return self.page("failed", 403)
        session.clear()
        request.state.account, role = account, self.role(groups)
        if role is Role.ANONYMOUS:
            return self.page("refused", 403, account)
        session["id"] = self.sessions.begin(account, role)
        return RedirectResponse(self.address + quote(to), 303)

    async def sign_out(self, request: Request) -> Response:
        self.sessions.end(request.session.get("id", ""))
        request.session.clear()
        answer = self.page("out")
        answer.headers["Clear-Site-Data"] = '"cache", "storage"'
        return answer

    async def watched(self, request: Request, answered: Callable[[Request], Any]) -> Any:
        """Set the headers of an answer, and write a line of log."""
        answer = await answered(request)
        for name, value in _HEADERS.items():
            answer.headers.setdefault(name, value)
        # What people type may be personal: only methods and pages that there are are written down.
        method = request.method if request.method in ("GET", "HEAD", "POST") else "other"
        path = path if (path := request.scope["path"]) in {*ROUTES, *self._files} else "unknown"
        account, now = getattr(request.state, "account", ""), datetime.now(UTC).isoformat(timespec="seconds")
        line = {"time": now, "account": account, "method": method, "path": path}
        self.log(json.dumps({**line, "status": answer.status_code}))
        return answer

    async def _metadata(self) -> None:
        """Load what the provider says of itself; only the issuer that was named is believed."""
        known = await self._client.load_server_metadata()
        if known.get("issuer") != self.issuer:
            known.clear()
            raise ValueError


def site_application(server: SiteServer, routes: Mapping[str, Role] = ROUTES) -> Starlette:
    """Return the application that serves a site; an error where a route has no declared role."""
    own: dict[str, Callable[[Request], Any]] = {"/account": server.account}
    made, around = [], [Middleware(BaseHTTPMiddleware, dispatch=server.watched)]
    if server.sessions:
        from starlette.middleware.sessions import SessionMiddleware

        own |= {"/sign-in": server.sign_in, "/signed-in": server.signed_in, "/sign-out": server.sign_out}
        secure = server.address.startswith("https:")
        kept = {"secret_key": server.sessions.key, "max_age": server.sessions.seconds, "https_only": secure}
        name = "__Host-tacit-site" if secure else "tacit-site"
        around.append(Middleware(SessionMiddleware, session_cookie=name, **kept))
    for path in dict.fromkeys([*own, *ROUTES, *routes]):
        if not isinstance(role := routes.get(path), Role):
            raise ParameterError(f"the route {path} has no declared role.", "Declare one in ROUTES.")
        endpoint = server.guarded(role, own.get(path, server.file))
        made.append(Route(path, endpoint, methods=["POST" if path == "/sign-out" else "GET"]))
    return Starlette(routes=made, middleware=around)


def unix_socket(path: Path) -> socket.socket:
    """A Unix socket for its owner and group, in place of one on which nobody listens any more."""
    opened, usual = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM), os.umask(0o117)
    try:
        if path.is_socket() and opened.connect_ex(str(path)) != 0:
            path.unlink()
        opened.bind(str(path))
    finally:
        os.umask(usual)
    return opened
