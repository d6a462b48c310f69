"""The search page, served for a test on a free port of 127.0.0.1 with a profile of its own."""

from __future__ import annotations

import re
import socket
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from tests.local_server import running

from tacit.web.engines.interface import EngineDescription
from tacit.web.site.application import page_application
from tacit.web.site.site import Site, open_site

__all__ = ["ServedPage", "served_page"]


@dataclass
class ServedPage:
    """A running page."""

    address: str
    site: Site
    profile: Path

    @property
    def inside(self) -> str:
        """The address under which the private pages lie."""
        return self.address + self.site.admission.place

    @property
    def opening(self) -> str:
        """The address with the secret of this start."""
        return self.site.admission.address

    @contextmanager
    def browser(self) -> Iterator[httpx.Client]:
        """A client that was let in, and that says of itself what a browser would."""
        with httpx.Client(
            base_url=self.inside, trust_env=False, headers={"Sec-Fetch-Site": "same-origin"}, timeout=60
        ) as client:
            assert client.get(self.opening).status_code == 200
            yield client

    def token(self, client: httpx.Client) -> str:
        """The token that the page's forms carry."""
        found = re.search(r'data-form="([0-9a-f]+)"', client.get("/").text)
        assert found is not None
        return found[1]

    def post(self, client: httpx.Client, path: str, **fields: str) -> httpx.Response:
        """Send a form of the page's own, and follow to where it leads."""
        answer = client.post(
            f"{path}?form={self.token(client)}",
            data=fields,
            headers={"Origin": self.address},
            follow_redirects=True,
        )
        assert answer.status_code == 200, answer.text
        return answer


@contextmanager
def served_page(folder: Path, engines: Sequence[EngineDescription] = ()) -> Iterator[ServedPage]:
    """Serve the page with the given engines (the embedded one, if none)."""
    path = folder / "me.profile"
    opened = socket.create_server(("127.0.0.1", 0))
    with (
        open_site(path, opened.getsockname()[1], engines) as site,
        running(page_application(site), opened) as address,
    ):
        yield ServedPage(address, site, path)
