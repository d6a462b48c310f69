"""The pages of what is kept: import, export and erase it; what each engine received, request by request."""

from __future__ import annotations

import json
import re
import shutil
import tempfile
import threading
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from tacit.device.profile.imports import browser_histories, browsing_history
from tacit.errors import InputError, TacitError
from tacit.web.engines.interface import EngineDescription
from tacit.web.site.site import Notice, Site
from tacit.web.state import engines, lenses


@dataclass
class _Import:
    what: str
    done: int = 0
    new: int = 0
    finished: bool = False
    problem: str = ""

    def advance(self, pages: int) -> None:
        self.done += pages


_PATIENCE = 1.5
"""Seconds that a page waits for a short import to finish."""


def routes(site: Site) -> list[Route]:
    page, exposure = _DataPage(site), _ExposurePage(site)
    return [
        Route("/exposure", exposure.show),
        Route("/exposure/requests.txt", exposure.text),
        site.form("/exposure/forget", exposure.forget, "/exposure"),
        Route("/data", page.show),
        Route("/data/progress", page.progress),
        Route("/data/export", page.export),
        site.form("/data/import", page.import_file, "/data", files=1),
        site.form("/data/browser", page.import_browser, "/data"),
        site.form("/data/erase", page.erase, "/data#erase"),
        site.form("/data/sign-out", page.sign_out, "/data"),
    ]


class _DataPage:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._latest: _Import | None = None
        self._lock = threading.Lock()

    def show(self, request: Request) -> Response:
        return self._site.render(request, "data.html", histories=browser_histories(), job=self._latest)

    def progress(self, _request: Request) -> Response:
        return JSONResponse(asdict(self._latest or _Import("nothing", finished=True)))

    def import_file(self, form: FormData) -> Notice:
        given = form.get("file")
        if not isinstance(given, UploadFile) or not given.filename:
            return Notice("Choose a file first.", problem=True)
        folder = Path(tempfile.mkdtemp(prefix="tacit-import-"))  # readable by its owner only
        with (folder / "given").open("wb") as copy:
            shutil.copyfileobj(given.file, copy)
        return self._start("the file", folder / "given", lambda: shutil.rmtree(folder, ignore_errors=True))

    def import_browser(self, form: FormData) -> Notice:
        """Import the history of a browser on this machine; its file is copied first."""
        known = {str(one.path): one for one in browser_histories()}
        chosen = known.get(str(form.get("path", "")))
        if chosen is None:
            raise InputError("there is no such history.", "Choose one from the list.")
        return self._start(f"the history of {chosen.browser}", chosen.path, lambda: None)

    def _start(self, what: str, path: Path, after: Callable[[], None]) -> Notice:
        with self._lock:
            if self._latest is not None and not self._latest.finished:
                after()
                return Notice("Another import is under way.", problem=True)
            self._latest = job = _Import(what)
        work = (job, path, after)
        thread = threading.Thread(target=self._learn, args=work, name="tacit-import", daemon=True)
        thread.start()
        thread.join(_PATIENCE)
        if not job.finished:
            return Notice(f"Importing {what}…")
        if job.problem:
            return Notice(f"Nothing was imported: {job.problem}", problem=True)
        known = f", {job.done - job.new:,} were known." if job.done > job.new else "."
        return Notice(f"{job.new:,} pages were added to your profile{known}")

    def _learn(self, job: _Import, path: Path, after: Callable[[], None]) -> None:
        try:
            pages = (
                (one.query, {"url": one.url, "title": one.title, "snippet": one.text}, one.time)
                for one in browsing_history(path)
            )
            job.new = self._site.guard.learn(pages, job.advance)
            job.problem = "" if job.done else "it has no pages with a title."
            self._site.changed()
        except TacitError as error:
            job.problem = str(error)
        except Exception as error:  # whatever a foreign file provokes; its content must not be shown
            job.problem = f"the file could not be read ({type(error).__name__})."
        finally:
            after()
            job.finished = True

    def export(self, _request: Request) -> Response:
        text = json.dumps(export_everything(self._site), indent=2, ensure_ascii=False)
        headers = {"Content-Disposition": f'attachment; filename="tacit-{datetime.now().date()}.json"'}
        return Response(text, media_type="application/json", headers=headers)

    def erase(self, form: FormData) -> Notice:
        """Erase the profile, the record and all choices. Only this browser stays known."""
        if str(form.get("sure", "")).strip().lower() != "erase":
            return Notice("Nothing was erased: write “erase” to confirm.", problem=True)
        with self._site.state.transaction() as connection:
            for table in ("page_sent", "page_query"):
                connection.execute(f"DELETE FROM {table}")
            connection.execute(
                "DELETE FROM page_setting WHERE key IN ('settings', 'engines', 'lenses', 'rules')"
            )
        try:
            self._site.guard.forget(everything=True)  # writes the file anew
        finally:
            self._site.forget_notices()
            self._site.changed()
        return Notice("Everything is erased from this machine. Engines keep what they received.")

    def sign_out(self, _form: FormData) -> Notice:
        """Sign out all browsers; the page that follows is closed to this one too."""
        self._site.admission.withdraw_all()
        return Notice("All browsers are signed out.")


_SECRET = re.compile(r"key|token|secret|passw|auth|signature|session|cookie", re.IGNORECASE)
LEFT_OUT = "(left out)"


def secrets_of(engines: Iterable[EngineDescription]) -> list[str]:
    """The keys that engines were given: values of headers, and of parameters whose names say so."""
    found: set[str] = set()

    def gather(name: str, value: object) -> None:
        if isinstance(value, dict):
            for inner, below in value.items():
                gather(str(inner), below)
        elif isinstance(value, list):
            for below in value:
                gather(name, below)
        elif isinstance(value, str) and _SECRET.search(name):
            found.add(value)

    for engine in engines:
        headers = engine.description.get("headers", {})
        found |= {str(value) for value in headers.values()} if isinstance(headers, dict) else set()
        gather("", engine.description.get("body"))
        for address in (engine.address, str(engine.description.get("path", ""))):
            for piece in re.split(r"[?&]", address)[1:]:
                gather(piece.partition("=")[0], piece.partition("=")[2])
    return sorted((one for one in found if one and "{query}" not in one), key=len, reverse=True)


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, LEFT_OUT)
    return text


def export_everything(site: Site) -> dict[str, Any]:
    """Export all that the file holds about the person, ready for JSON; the keys of engines are left out."""
    secrets = secrets_of([*site.engines, *engines(site.state)])

    def cleaned(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: cleaned(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [cleaned(inner) for inner in value]
        return without_secrets(value, secrets) if isinstance(value, str) else value

    state = site.state
    return {
        **site.guard.export(),
        "requests": cleaned(
            [
                {name: getattr(one, name) for name in ("engine", "address", "exposure")}
                | {"time": one.time.isoformat(), "request": one.text}
                for one in reversed(site.sent.all())
            ]
        ),
        "queries": [
            {"query": query, "last": last, "times": times}
            for query, last, times in state.rows("SELECT query, time, times FROM page_query ORDER BY time")
        ],
        "settings": state.kept("settings"),
        "engines": cleaned(list(state.kept("engines"))),
        "lenses": lenses(state),
        "rules": site.rules.rules,
    }


_ON_A_PAGE = 50


class _ExposurePage:
    def __init__(self, site: Site) -> None:
        self._site = site

    def show(self, request: Request) -> Response:
        site = self._site
        text = request.query_params.get("page", "1")
        part = max(1, int(text)) if text.isascii() and text.isdigit() and len(text) < 7 else 1
        total = sum(site.sent.count().values())
        listed = site.sent.all(_ON_A_PAGE, (part - 1) * _ON_A_PAGE)
        entries = site.guard.exposure_entries(sent.exposure for sent in listed if sent.exposure is not None)
        requests = [(one, entries.get(one.exposure) if one.exposure is not None else None) for one in listed]
        parts = -(-total // _ON_A_PAGE)
        return site.render(request, "exposure.html", requests=requests, part=part, parts=parts, total=total)

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

    def forget(self, form: FormData) -> Notice:
        """Forget the record of one query that was sent, or of all that one engine was."""
        engine, which = str(form.get("engine", "")), str(form.get("exposure", ""))
        if engine:
            gone = self._site.guard.forget(upstream=engine).exposures
            return Notice(
                f"{gone:,} records about {engine} are deleted here. It still knows what it received."
            )
        if not (which.isascii() and which.isdigit()):
            raise InputError("say which record to forget.")
        self._site.guard.forget(exposure=int(which))
        return Notice("The record is deleted here. The engine still knows what it received.")
