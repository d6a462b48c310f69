"""The exposure page: what each engine received, and every request that was sent."""

from __future__ import annotations

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tacit.errors import InputError
from tacit.web.site.data import secrets_of, without_secrets
from tacit.web.site.site import Site
from tacit.web.state import engines
from tacit.web.topics import leaf_labels, readable_topic

_ON_A_PAGE = 50


def routes(site: Site) -> list[Route]:
    """The routes of exposure."""
    page = _ExposurePage(site)
    return [
        Route("/exposure", page.show),
        Route("/exposure/requests.txt", page.text),
        Route("/exposure/forget", page.forget, methods=["POST"]),
    ]


class _ExposurePage:
    def __init__(self, site: Site) -> None:
        self._site = site

    async def show(self, request: Request) -> Response:
        """What each engine received, and the newest requests."""
        return await to_thread.run_sync(self._drawn, request)

    def _drawn(self, request: Request) -> Response:
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
            leaves=lambda labels: [readable_topic(label) for label in leaf_labels(labels)],
        )

    async def text(self, request: Request) -> Response:
        """All requests as they left but for keys, each after a line that says when and to whom."""
        del request
        sent = await to_thread.run_sync(self._site.sent.all)
        pieces = [
            f"=== {one.time.isoformat()} to {one.engine} at {one.address}\n{one.text}\n"
            for one in reversed(sent)
        ]
        secrets = secrets_of([*self._site.engines, *engines(self._site.state)])
        return PlainTextResponse(
            without_secrets("\n".join(pieces), secrets),
            headers={"Content-Disposition": 'attachment; filename="tacit-requests.txt"'},
        )

    async def forget(self, request: Request) -> Response:
        """Forget the record of one query that was sent, or of all that one engine was."""
        form = await request.form(max_files=0)
        engine = str(form.get("engine", ""))
        if engine:
            return await to_thread.run_sync(self._forget_engine, engine)
        which = str(form.get("exposure", ""))
        if not (which.isascii() and which.isdigit()):
            raise InputError("say which record to forget.")
        await to_thread.run_sync(lambda: self._site.guard.forget(exposure=int(which)))
        return self._site.done(
            "/exposure", "The record is deleted here. The engine still knows what it received."
        )

    def _forget_engine(self, engine: str) -> Response:
        gone = self._site.guard.forget(upstream=engine).exposures
        return self._site.done(
            "/exposure",
            f"{gone:,} records about {engine} are deleted here. It still knows what it received.",
        )
