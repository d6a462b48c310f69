"""The desk as a web application, behind the door of the search page (:mod:`tacit.web.site.door`).

One person, no accounts: whoever has the printed address has what the account that started it has. What the
desk does, it does by starting commands; it changes nothing itself.
"""

import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from tacit import __version__
from tacit.bodies import read_body
from tacit.errors import InputError, TacitError
from tacit.pages import APART, templates
from tacit.web.desk.actions import ACTIONS, Shelf, verdict_after
from tacit.web.desk.jobs import Jobs, JobStanding
from tacit.web.site.door import COOKIE_DAYS, Admission, Shield
from tacit.web.state import DOOR, PageState

_LARGEST_FORM = 100_000
_LARGEST_PAGE = 64 << 20
_PAGES = ("release.html", "report.html", "-audit.html")


class Desk:
    """A running desk.

    Args:
        home: the folder in which commands are run, with the logs, ledgers and releases.
        state: where browsers that were let in are kept.
        port: where it is served.
    """

    def __init__(self, home: Path, state: PageState, port: int) -> None:
        self.home, self.jobs = home, Jobs(home)
        self.admission = Admission(state, port)
        self._environment = templates("tacit.web.desk")

    def render(self, request: Request, template: str, status: int = 200, **values: Any) -> Response:
        body = self._environment.get_template(template).render(
            place=getattr(request.state, "place", ""),
            form_token=getattr(request.state, "form_token", ""),
            here=request.scope["path"].strip("/").partition("/")[0],
            actions=ACTIONS,
            home=self.home,
            version=__version__,
            **values,
        )
        return HTMLResponse(body, status)

    # -- pages ---------------------------------------------------------------------------------------

    def data_sets(self, request: Request) -> Response:
        return self.render(request, "data_sets.html.j2", shelf=Shelf(self.home), jobs=self.jobs.all()[:5])

    def ledger(self, request: Request) -> Response:
        name = request.path_params["name"]
        found = Shelf(self.home).ledgers.get(name)
        if found is None or isinstance(found, str):
            said = found or "there is none."
            raise InputError(f"this ledger cannot be shown: {said}", "See tacit ledger verify.")
        return self.render(request, "ledger.html.j2", name=name, state=found)

    def action(self, request: Request) -> Response:
        """The form of an action; filled, the command it stands for and what it would mean."""
        action = ACTIONS.get(request.path_params["action"])
        if action is None:
            return self.missing(request, None)
        values = parse_qs(request.url.query, max_num_fields=500)
        shelf, problem, words, verdict = Shelf(self.home), None, None, None
        if values.pop("filled", None):
            try:
                words = action.words(shelf, values)
                if action.name in ("plan", "release"):
                    verdict = verdict_after(shelf, values)
            except TacitError as error:
                problem, words = error, None
        crossing = [file for name in values.get("releases", ()) if words for file in shelf.crossing(name)]
        return self.render(
            request,
            "action.html.j2",
            action=action,
            shelf=shelf,
            values=values,
            problem=problem,
            command=shlex.join(["tacit", *words]) if words else None,
            verdict=verdict,
            crossing=crossing,
        )

    async def start(self, request: Request) -> Response:
        action = ACTIONS.get(request.path_params["action"])
        if action is None:
            return self.missing(request, None)
        body = await read_body(request, _LARGEST_FORM)
        values = parse_qs(body.decode("utf-8", errors="replace"), max_num_fields=500)
        form = f"{action.name}?{urlencode(values, doseq=True)}"
        job = self.jobs.start(action.words(Shelf(self.home), values), action.shows(values), form)
        return RedirectResponse(f"/jobs/{job.name}", 303)

    def all_jobs(self, request: Request) -> Response:
        return self.render(request, "jobs.html.j2", jobs=self.jobs.all())

    def job(self, request: Request) -> Response:
        job = self.jobs.find(request.path_params["name"])
        standing, shows = job.standing, job.asked.get("shows")
        made = shows if standing is JobStanding.DONE and shows and (self.home / shows).is_file() else None
        return self.render(request, "job.html.j2", job=job, standing=standing, made=made)

    def stop(self, request: Request) -> Response:
        job = self.jobs.find(request.path_params["name"])
        job.stop()
        return RedirectResponse(f"/jobs/{job.name}", 303)

    def page(self, request: Request) -> Response:
        asked = Path(request.path_params["path"])
        path = self.home / asked
        inside = path.resolve().is_relative_to(self.home.resolve()) and asked.name.endswith(_PAGES)
        if not inside or not path.is_file() or path.stat().st_size > _LARGEST_PAGE:
            return self.missing(request, None)
        return Response(path.read_bytes(), media_type="text/html", headers={"Content-Security-Policy": APART})

    def missing(self, request: Request, _error: Exception | None) -> Response:
        return self.render(request, "trouble.html.j2", 404, problem="There is no such page.", remedy="")

    def trouble(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, TacitError)
        return self.render(request, "trouble.html.j2", 400, problem=error.problem, remedy=error.remedy)

    # -- the door ------------------------------------------------------------------------------------

    def admit(self, request: Request) -> Response:
        """Let a browser in that knows the secret of this start."""
        token = self.admission.admit(request.query_params.get("key", ""))
        if token is None:
            return self.refuse(request, "unknown")
        request.state.place = self.admission.place
        answer = self.render(request, "door.html.j2", kind="open")
        name, age, path = self.admission.cookie, COOKIE_DAYS * 86_400, f"{self.admission.place}/"
        answer.set_cookie(name, token, max_age=age, httponly=True, samesite="strict", path=path)
        return answer

    def refuse(self, request: Request, kind: str) -> Response:
        return self.render(request, "door.html.j2", 200 if kind == "elsewhere" else 403, kind=kind)


def desk_application(desk: Desk) -> Starlette:
    return Starlette(
        routes=[
            Route("/", desk.data_sets),
            Route("/open", desk.admit),
            Mount("/static", StaticFiles(packages=[("tacit.web.desk", "static"), ("tacit.web", "static")])),
            Route("/ledger/{name}", desk.ledger),
            Route("/jobs", desk.all_jobs),
            Route("/jobs/{name}", desk.job),
            Route("/jobs/{name}/stop", desk.stop, methods=["POST"]),
            Route("/page/{path:path}", desk.page),
            Route("/{action}", desk.action, methods=["GET"]),
            Route("/{action}", desk.start, methods=["POST"]),
        ],
        middleware=[Middleware(Shield, admission=desk.admission, refusal=desk.refuse)],
        exception_handlers={TacitError: desk.trouble, 404: desk.missing},
    )


@contextmanager
def open_desk(home: Path, port: int) -> Iterator[Desk]:
    """Open a desk over a folder, which exists."""
    if not home.is_dir():
        raise InputError(f"there is no folder {home}.", "Name the one with your logs and ledgers.")
    jobs = Jobs(home)
    state = PageState(jobs.folder / ".desk.sqlite", DOOR)
    try:
        yield Desk(home, state, port)
    finally:
        state.close()
