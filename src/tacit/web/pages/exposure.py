"""Exposure: what each engine has been told over time, as a picture with its bound, and byte for byte."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tacit.device import Exposure
from tacit.errors import InputError
from tacit.web.console import Console
from tacit.web.exposure_picture import Picture, draw
from tacit.web.topic_names import leaf_labels, readable_topic

__all__ = ["routes"]

_ON_A_PAGE = 50


@dataclass(frozen=True)
class _Told:
    """What one engine was told."""

    name: str
    queries: int
    with_topics: int
    first: datetime
    last: datetime
    used: float
    topics: list[str]
    picture: Picture


def routes(console: Console) -> list[Route]:
    """The routes of exposure."""
    room = _Room(console)
    return [
        Route("/exposure", room.show),
        Route("/exposure/requests.txt", room.text),
        Route("/exposure/forget", room.forget, methods=["POST"]),
    ]


class _Room:
    def __init__(self, console: Console) -> None:
        self._console = console

    async def show(self, request: Request) -> Response:
        """A picture for each engine, and the newest requests."""
        return await to_thread.run_sync(self._drawn, request)

    def _drawn(self, request: Request) -> Response:
        console = self._console
        engine = request.query_params.get("engine") or None
        text = request.query_params.get("page", "1")
        part = max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 7 else 1
        by_engine: dict[str, list[Exposure]] = {}
        for one in console.guard.exposures():
            by_engine.setdefault(one.upstream, []).append(one)
        counts = console.sent.count()
        total = counts.get(engine, 0) if engine else sum(counts.values())
        entries = {one.number: one for ones in by_engine.values() for one in ones}
        requests = [
            (sent, entries.get(sent.exposure) if sent.exposure is not None else None)
            for sent in console.sent.all(engine, _ON_A_PAGE, (part - 1) * _ON_A_PAGE)
        ]
        return console.render(
            request,
            "exposure.html",
            told=[self._told(name, ones) for name, ones in sorted(by_engine.items())],
            requests=requests,
            engine=engine,
            part=part,
            parts=-(-total // _ON_A_PAGE),
            total=total,
            leaves=lambda entry: [readable_topic(label) for label in leaf_labels(entry.labels)],
        )

    def _told(self, name: str, ones: list[Exposure]) -> _Told:
        bound = self._console.settings.exposure_bound
        since = bound.since(datetime.now(ones[-1].time.tzinfo))
        recent = [one for one in ones if since is None or one.time >= since]
        labels = sorted({label for one in recent for label in one.labels})
        return _Told(
            name=name,
            queries=len(ones),
            with_topics=sum(bool(one.labels) for one in ones),
            first=ones[0].time,
            last=ones[-1].time,
            used=recent[-1].union_risk if recent else 0.0,
            topics=[readable_topic(label) for label in leaf_labels(labels)],
            picture=draw(ones, bound.risk),
        )

    async def text(self, request: Request) -> Response:
        """All requests as they left, oldest first, each after a line that says when and to whom."""
        del request
        sent = await to_thread.run_sync(self._console.sent.all)
        pieces = [
            f"=== {one.time.isoformat()} to {one.engine} at {one.address}\n{one.text}\n"
            for one in reversed(sent)
        ]
        return PlainTextResponse(
            "\n".join(pieces), headers={"Content-Disposition": 'attachment; filename="tacit-requests.txt"'}
        )

    async def forget(self, request: Request) -> Response:
        """Forget the record of one query that was sent."""
        form = await request.form(max_files=0)
        which = str(form.get("exposure", ""))
        if not (which.isascii() and which.isdigit()):
            raise InputError("say which record to forget.")
        await to_thread.run_sync(self._console.sent.forget, {int(which)})
        await to_thread.run_sync(lambda: self._console.guard.forget(exposure=int(which)))
        return self._console.done(
            "/exposure", "The record is forgotten here. What an engine was told, it still knows."
        )
