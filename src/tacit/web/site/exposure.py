"""The exposure page: each engine's cumulative risk under its bound, and every request that was sent."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from anyio import to_thread
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from tacit.device import CoursePoint, ExposureCourse
from tacit.errors import InputError
from tacit.web.site.site import Site
from tacit.web.topics import leaf_labels, readable_topic

_ON_A_PAGE = 50
_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 180, 56, 12, 26


@dataclass(frozen=True)
class Picture:
    """Places in a drawing of 640 by 180."""

    line: str
    """The steps of the risk of the union, as points of a polyline."""
    area: str
    dots: tuple[tuple[float, float], ...]
    """Queries that took topics along."""
    bound: float
    """Where the bound lies."""
    levels: tuple[tuple[float, str], ...]
    """Grid lines with their names."""
    times: tuple[tuple[float, str], ...]
    highest: float
    top: float


def draw(course: Sequence[CoursePoint], bound: float) -> Picture:
    """The picture of the course of one engine's exposures, oldest first."""
    begin, end = course[0].time, course[-1].time
    span = max((end - begin).total_seconds(), 1.0)
    highest = max(one.union_risk for one in course)
    top = min(1.0, max(1.25 * max(bound, highest), 0.05))

    def x(time: datetime) -> float:
        return round(_LEFT + (time - begin).total_seconds() / span * (_WIDTH - _LEFT - 10), 1)

    def y(risk: float) -> float:
        return round(_HEIGHT - _BOTTOM - risk / top * (_HEIGHT - _TOP - _BOTTOM), 1)

    points: list[tuple[float, float]] = [(_LEFT, y(0.0))]
    for one in course:
        points += [(x(one.time), points[-1][1]), (x(one.time), y(one.union_risk))]
    points.append((_WIDTH - 10, points[-1][1]))
    line = " ".join(f"{across},{down}" for across, down in points)
    return Picture(
        line=line,
        area=f"{line} {points[-1][0]},{y(0.0)}",
        dots=tuple((x(one.time), y(one.union_risk)) for one in course if one.with_topics),
        bound=y(bound),
        levels=tuple((y(top * share), f"{100 * top * share:.3g}\u00a0%") for share in (0.0, 0.5, 1.0)),
        times=((_LEFT, _day(begin)), (_WIDTH - 10, _day(end))),
        highest=highest,
        top=top,
    )


def _day(time: datetime) -> str:
    return time.astimezone().strftime("%-d %b %Y, %H:%M")


@dataclass(frozen=True)
class _EngineExposure:
    """What one engine received."""

    course: ExposureCourse
    topics: list[str]
    picture: Picture


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
        """A picture for each engine, and the newest requests."""
        return await to_thread.run_sync(self._drawn, request)

    def _drawn(self, request: Request) -> Response:
        site = self._site
        engine = request.query_params.get("engine") or None
        text = request.query_params.get("page", "1")
        part = max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 7 else 1
        counts = site.sent.count()
        total = counts.get(engine, 0) if engine else sum(counts.values())
        listed = site.sent.all(engine, _ON_A_PAGE, (part - 1) * _ON_A_PAGE)
        entries = site.guard.exposure_entries(sent.exposure for sent in listed if sent.exposure is not None)
        requests = [
            (sent, entries.get(sent.exposure) if sent.exposure is not None else None) for sent in listed
        ]
        since = site.settings.exposure_bound.since(datetime.now(UTC))
        return site.render(
            request,
            "exposure.html",
            exposures=[self._exposure(course) for course in site.guard.courses(since)],
            requests=requests,
            engine=engine,
            part=part,
            parts=-(-total // _ON_A_PAGE),
            total=total,
            leaves=lambda entry: [readable_topic(label) for label in leaf_labels(entry.labels)],
        )

    def _exposure(self, course: ExposureCourse) -> _EngineExposure:
        return _EngineExposure(
            course,
            [readable_topic(label) for label in leaf_labels(course.labels)],
            draw(course.points, self._site.settings.exposure_bound.risk),
        )

    async def text(self, request: Request) -> Response:
        """All requests as they left, oldest first, each after a line that says when and to whom."""
        del request
        sent = await to_thread.run_sync(self._site.sent.all)
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
        await to_thread.run_sync(lambda: self._site.guard.forget(exposure=int(which)))
        return self._site.done(
            "/exposure", "The record is deleted here. The engine still knows what it received."
        )

    def _forget_engine(self, engine: str) -> Response:
        gone = self._site.guard.forget(upstream=engine).exposures
        return self._site.done(
            "/exposure",
            f"{gone:,} records about {engine} are deleted here. It still knows what it received; "
            "its cumulative risk starts again at zero.",
        )
