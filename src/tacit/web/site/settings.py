"""Settings: the bounds, what is remembered, the engines, and rules on addresses."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

from anyio import to_thread
from starlette.datastructures import FormData, UploadFile
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.errors import InputError, TacitError
from tacit.web.engines.catalogue import EMBEDDED, KINDS, engine_from_data
from tacit.web.rules import Action, SiteRule, check_pattern, read_rules
from tacit.web.site.console import Console
from tacit.web.state import Settings, remove_engine, save_engine, save_settings

_LARGEST_RULES = 20_000_000


def routes(console: Console) -> list[Route]:
    """The routes of the settings."""
    room = _Room(console)
    return [
        Route("/settings", room.show),
        Route("/settings", room.change, methods=["POST"]),
        Route("/settings/engine", room.add_engine, methods=["POST"]),
        Route("/settings/engine/change", room.change_engine, methods=["POST"]),
        Route("/settings/rule", room.add_rule, methods=["POST"]),
        Route("/settings/rules/import", room.import_rules, methods=["POST"]),
        Route("/settings/rule/remove", room.remove_rule, methods=["POST"]),
    ]


class _Room:
    def __init__(self, console: Console) -> None:
        self._console = console

    async def show(self, request: Request) -> Response:
        """All choices."""
        console = self._console
        rules = console.rules.rules
        sources = sorted({rule.source for rule in rules} - {"own"})
        return console.render(
            request,
            "settings.html",
            engines=console.engines,
            given=bool(console.given),
            kinds=KINDS,
            embedded=EMBEDDED,
            own=[rule for rule in rules if rule.source == "own"],
            lists=[(source, sum(rule.source == source for rule in rules)) for source in sources],
            actions=list(Action),
            address=f"http://127.0.0.1:{console.admission.port}/search?q=%s",
        )

    async def change(self, request: Request) -> Response:
        """Store the choices of the form."""
        form = await request.form(max_files=0)
        before = self._console.settings
        try:
            chosen = replace(before, **_chosen(form))
        except (ValueError, TacitError) as error:
            said = str(error) if isinstance(error, TacitError) else "a number is expected."
            return self._console.done("/settings", f"Nothing was changed: {said}", problem=True)
        await to_thread.run_sync(save_settings, self._console.state, chosen)
        self._console.changed()

        def undo() -> str:
            save_settings(self._console.state, before)
            return "The settings are as they were before."

        return self._console.done(_back(form), "The settings are stored.", undo)

    async def add_engine(self, request: Request) -> Response:
        """Add an engine."""
        form = await request.form(max_files=0)
        data: dict[str, Any] = {
            "kind": str(form.get("kind", "")),
            "address": str(form.get("address", "")).strip(),
        }
        if str(form.get("name", "")).strip():
            data["name"] = str(form["name"]).strip()
        carries = str(form.get("carries", ""))
        if carries:
            data["carries"] = carries
        data["local"] = form.get("local") == "on"
        try:
            if str(form.get("description", "")).strip():
                data["description"] = _decoded(str(form["description"]))
            if data["kind"] == EMBEDDED:
                data["name"] = EMBEDDED
            engine = engine_from_data(data)
            await to_thread.run_sync(save_engine, self._console.state, engine)
        except TacitError as error:
            return self._console.done("/settings#engines", f"The engine was not added: {error}", problem=True)
        self._console.changed()
        return self._console.done("/settings#engines", f"“{engine.name}” is asked from now on.")

    async def change_engine(self, request: Request) -> Response:
        """Turn an engine on or off, or take it out."""
        form = await request.form(max_files=0)
        name, action = str(form.get("name", "")), str(form.get("action", ""))
        known = {engine.name: engine for engine in self._console.engines}
        if name not in known:
            raise InputError("there is no such engine.")
        if action == "remove":
            await to_thread.run_sync(remove_engine, self._console.state, name)
        else:
            changed = replace(known[name], enabled=action == "on")
            if not any(one.enabled for one in ({**known, name: changed}).values()):
                return self._console.done(
                    "/settings#engines", "One engine must stay turned on.", problem=True
                )
            await to_thread.run_sync(save_engine, self._console.state, changed)
        self._console.changed()
        return self._console.done("/settings#engines", f"“{name}” is changed.")

    async def add_rule(self, request: Request) -> Response:
        """Add a rule on addresses."""
        form = await request.form(max_files=0)
        back = _back(form, "/settings#rules")
        try:
            rule = SiteRule(Action(str(form.get("action", ""))), check_pattern(str(form.get("pattern", ""))))
        except ValueError as error:
            raise InputError("choose block, lower, raise or pin.") from error
        except TacitError as error:
            return self._console.done(back, f"The rule was not added: {error}", problem=True)
        await to_thread.run_sync(self._store, [rule])
        self._console.changed()

        def undo() -> str:
            with self._console.state.transaction() as connection:
                connection.execute(
                    "DELETE FROM page_rule WHERE pattern = ? AND source = 'own'", (rule.pattern,)
                )
            return "The rule is gone."

        return self._console.done(back, f"From now on: {rule.action} {rule.pattern}.", undo)

    async def import_rules(self, request: Request) -> Response:
        """Import a uBlacklist or Goggles file."""
        async with request.form(max_files=1) as form:
            given = form.get("file")
            if not isinstance(given, UploadFile) or not given.filename:
                return self._console.done("/settings#rules", "Choose a file first.", problem=True)
            content = await given.read(_LARGEST_RULES + 1)
            name = given.filename[:60]
        if len(content) > _LARGEST_RULES:
            return self._console.done("/settings#rules", "The file is larger than 20 MB.", problem=True)
        try:
            read = await to_thread.run_sync(
                read_rules, content.decode("utf-8", errors="replace"), f"file {name}"
            )
        except TacitError as error:
            return self._console.done("/settings#rules", f"Nothing was imported: {error}", problem=True)
        await to_thread.run_sync(self._store, list(read.rules))
        self._console.changed()
        passed = f" {read.passed_over:,} lines could not be used." if read.passed_over else ""
        return self._console.done("/settings#rules", f"{len(read.rules):,} rules were imported.{passed}")

    def _store(self, rules: list[SiteRule]) -> None:
        with self._console.state.transaction() as connection:
            connection.executemany(
                "DELETE FROM page_rule WHERE pattern = ? AND source = ?",
                [(one.pattern, one.source) for one in rules],
            )
            connection.executemany(
                "INSERT OR IGNORE INTO page_rule (action, pattern, source) VALUES (?, ?, ?)",
                [(str(one.action), one.pattern, one.source) for one in rules],
            )

    async def remove_rule(self, request: Request) -> Response:
        """Take out one rule, or all of an imported file."""
        form = await request.form(max_files=0)
        column = "number" if "number" in form else "source"
        rows = await to_thread.run_sync(
            self._console.state.rows,
            f"SELECT action, pattern, source FROM page_rule WHERE {column} = ?",
            (str(form.get(column, "")),),
        )
        with self._console.state.transaction() as connection:
            connection.execute(f"DELETE FROM page_rule WHERE {column} = ?", (str(form.get(column, "")),))
        self._console.changed()

        def undo() -> str:
            self._store([SiteRule(Action(str(a)), str(p), str(s)) for a, p, s in rows])
            return "The rules are back."

        return self._console.done("/settings#rules", f"{len(rows):,} rules are gone.", undo)


def _chosen(form: FormData) -> dict[str, Any]:
    """The values in the form. It names the switches it has, since browsers do not send those that are off."""
    switches = set(str(form.get("switches", "")).split())
    chosen: dict[str, Any] = {}
    for field in fields(Settings):
        if field.name in switches:
            chosen[field.name] = form.get(field.name) == "on"
        elif field.name in form and field.name in {"delta", "bound"}:
            chosen[field.name] = float(str(form[field.name]))
        elif field.name in form and field.name == "days":
            chosen[field.name] = int(str(form[field.name]))
    return chosen


def _decoded(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise InputError("the description is not JSON.") from error
    if not isinstance(data, dict):
        raise InputError("the description must be a JSON object.")
    return data


def _back(form: FormData, usual: str = "/settings") -> str:
    text = str(form.get("back", ""))
    return text if text.startswith("/") and not text.startswith("//") and "\n" not in text else usual
