"""A request as the bytes that leave the machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from tacit.errors import InputError

__all__ = ["Outgoing", "outgoing_request"]


@dataclass(frozen=True)
class Outgoing:
    """An HTTP/1.1 request in full: nothing is added to it on its way to the socket."""

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    """All of them, the host first."""
    body: bytes = b""

    @property
    def target(self) -> str:
        """The path with its query, as the request line has it."""
        parts = urlsplit(self.url)
        return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def wire(self) -> bytes:
        """The exact bytes."""
        lines = [
            f"{self.method} {self.target} HTTP/1.1",
            *(f"{name}: {value}" for name, value in self.headers),
        ]
        return "\r\n".join(lines).encode("ascii") + b"\r\n\r\n" + self.body


def outgoing_request(
    method: str, url: str, headers: Mapping[str, str] | None = None, body: bytes = b"", content: str = ""
) -> Outgoing:
    """A request with the few headers that every engine gets: the same for all people.

    No version, no language, no cookie and no referrer tell people apart. Compressed answers are not asked
    for: a small answer could then unpack into a huge one.
    """
    if not url.isascii() or any(ord(letter) < 33 for letter in url):
        raise InputError("the address of an engine must be plain ASCII without spaces.", "Percent-encode it.")
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        raise InputError("the address of an engine must begin with http:// or https://.")
    usual = {"Host": parts.netloc.rpartition("@")[2], "User-Agent": "tacit", "Accept": "*/*"}
    usual["Accept-Encoding"] = "identity"
    if body:
        usual["Content-Type"] = content
        usual["Content-Length"] = str(len(body))
    for name, value in (headers or {}).items():
        known = {present.lower(): present for present in usual}
        if name.lower() in {"host", "content-length", "transfer-encoding", "connection", "accept-encoding"}:
            raise InputError(f"an engine's description may not set the header {name}.", "Leave it out.")
        if not (name + value).isascii() or any(ord(letter) < 32 for letter in name + value):
            raise InputError(f"the header {name[:40]!r} must be plain ASCII in one line.")
        usual[known.get(name.lower(), name)] = value
    return Outgoing(method, url, tuple(usual.items()), body)
