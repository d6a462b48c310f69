"""Exposure: what each engine has been told over time, as a picture with its bound, and byte for byte."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tacit.device import ExposureCourse
from tacit.errors import InputError
from tacit.web.console import Console
from tacit.web.exposure_picture import Picture, draw
from tacit.web.topic_names import leaf_labels, readable_topic

__all__ = ["routes"]

_ON_A_PAGE = 50


@dataclass(frozen=True)
class _Told:
    """What one engine was told."""

    course: ExposureCourse
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
        counts = console.sent.count()
        total = counts.get(engine, 0) if engine else sum(counts.values())
        listed = console.sent.all(engine, _ON_A_PAGE, (part - 1) * _ON_A_PAGE)
        entries = console.guard.exposure_entries(
            sent.exposure for sent in listed if sent.exposure is not None
        )
        requests = [
            (sent, entries.get(sent.exposure) if sent.exposure is not None else None) for sent in listed
        ]
        since = console.settings.exposure_bound.since(datetime.now(UTC))
        return console.render(
            request,
            "exposure.html",
            told=[self._told(course) for course in console.guard.courses(since)],
            requests=requests,
            engine=engine,
            part=part,
            parts=-(-total // _ON_A_PAGE),
            total=total,
            leaves=lambda entry: [readable_topic(label) for label in leaf_labels(entry.labels)],
        )

    def _told(self, course: ExposureCourse) -> _Told:
        return _Told(
            course,
            [readable_topic(label) for label in leaf_labels(course.labels)],
            draw(course.points, self._console.settings.exposure_bound.risk),
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
        """Forget the record of one query that was sent, or of all that one engine was."""
        form = await request.form(max_files=0)
        engine = str(form.get("engine", ""))
        if engine:
            return await to_thread.run_sync(self._forget_engine, engine)
        which = str(form.get("exposure", ""))
        if not (which.isascii() and which.isdigit()):
            raise InputError("say which record to forget.")
        await to_thread.run_sync(self._console.sent.forget, {int(which)})
        await to_thread.run_sync(lambda: self._console.guard.forget(exposure=int(which)))
        return self._console.done(
            "/exposure", "The record is forgotten here. What an engine was told, it still knows."
        )

    def _forget_engine(self, engine: str) -> Response:
        self._console.sent.forget_upstream(engine)
        gone = self._console.guard.forget(upstream=engine).exposures
        return self._console.done(
            "/exposure",
            f"{gone:,} records about {engine} are forgotten here. What it was told, it still knows; "
            "its bound starts anew.",
        )
