"""The exposure page: what each engine received, and every request that was sent."""

from __future__ import annotations

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tacit.errors import InputError
from tacit.web.site.data import secrets_of, without_secrets
from tacit.web.site.site import Site, posted
from tacit.web.state import engines

_ON_A_PAGE = 50


def routes(site: Site) -> list[Route]:
    """The routes of exposure."""
    page = _ExposurePage(site)
    return [
        Route("/exposure", page.show),
        Route("/exposure/requests.txt", page.text),
        Route("/exposure/forget", posted(page.forget), methods=["POST"]),
    ]


class _ExposurePage:
    def __init__(self, site: Site) -> None:
        self._site = site

    def show(self, request: Request) -> Response:
        """Show what each engine received, and the newest requests."""
        site = self._site
        text = request.query_params.get("page", "1")
        part = max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 7 else 1
        total = sum(site.sent.count().values())
        listed = site.sent.all(_ON_A_PAGE, (part - 1) * _ON_A_PAGE)
        entries = site.guard.exposure_entries(sent.exposure for sent in listed if sent.exposure is not None)
        requests = [
            (sent, entries.get(sent.exposure) if sent.exposure is not None else None) for sent in listed
        ]
        return site.render(
            request,
            "exposure.html",
            disclosed=site.guard.disclosed(),
            requests=requests,
            part=part,
            parts=-(-total // _ON_A_PAGE),
            total=total,
        )

    def text(self, _request: Request) -> Response:
        """List all requests as they left but for keys, each after a line that says when and to whom."""
        pieces = [
            f"=== {one.time.isoformat()} to {one.engine} at {one.address}\n{one.text}\n"
            for one in reversed(self._site.sent.all())
        ]
        secrets = secrets_of([*self._site.engines, *engines(self._site.state)])
        return PlainTextResponse(
            without_secrets("\n".join(pieces), secrets),
            headers={"Content-Disposition": 'attachment; filename="tacit-requests.txt"'},
        )

    def forget(self, _request: Request, form: FormData) -> Response:
        """Forget the record of one query that was sent, or of all that one engine was."""
        engine, which = str(form.get("engine", "")), str(form.get("exposure", ""))
        if engine:
            gone = self._site.guard.forget(upstream=engine).exposures
            said = f"{gone:,} records about {engine} are deleted here. It still knows what it received."
            return self._site.done("/exposure", said)
        if not (which.isascii() and which.isdigit()):
            raise InputError("say which record to forget.")
        self._site.guard.forget(exposure=int(which))
        said = "The record is deleted here. The engine still knows what it received."
        return self._site.done("/exposure", said)
