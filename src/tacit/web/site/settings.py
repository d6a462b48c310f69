"""The settings page: what is remembered, the engines, and the site rules."""

import json
from dataclasses import fields, replace
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.errors import InputError, TacitError
from tacit.web.engines.catalogue import EMBEDDED, KINDS, engine_from_data
from tacit.web.engines.interface import LANGUAGES, SAFE
from tacit.web.rules import Action, check_pattern
from tacit.web.site.site import Site, own_address, posted
from tacit.web.state import (
    Settings,
    lenses,
    remove_engine,
    save_engine,
    save_lens,
    save_rules,
    save_settings,
)

_ENGINES, _RULES, _LENSES = "/settings#engines", "/settings#rules", "/settings#lenses"


def routes(site: Site) -> list[Route]:
    """The routes of the settings."""
    page = _SettingsPage(site)
    changes = {
        "": page.change,
        "/engine": page.add_engine,
        "/engine/change": page.change_engine,
        "/rule": page.add_rule,
        "/rule/remove": page.remove_rule,
        "/lens": page.change_lens,
    }
    return [
        Route("/settings", page.show),
        *(Route(f"/settings{path}", posted(one), methods=["POST"]) for path, one in changes.items()),
    ]


class _SettingsPage:
    def __init__(self, site: Site) -> None:
        self._site = site

    def show(self, request: Request) -> Response:
        """Show all choices."""
        site = self._site
        return site.render(
            request,
            "settings.html",
            engines=site.engines,
            given=bool(site.given),
            kinds=KINDS,
            rules=site.rules.rules,
            actions=list(Action),
            lenses=lenses(site.state),
            languages=LANGUAGES,
            safe=SAFE,
            address=f"http://127.0.0.1:{site.admission.port}{site.admission.place}/search?q=%s",
        )

    def change(self, _request: Request, form: FormData) -> Response:
        """Store the choices of the form.

        It names the switches it has, since browsers do not send those that are off.
        """
        before = self._site.settings
        switches = set(str(form.get("switches", "")).split()) & {field.name for field in fields(Settings)}
        chosen: dict[str, Any] = {name: form.get(name) == "on" for name in switches}
        chosen |= {name: str(form[name]) for name in ("language", "safe") if name in form}
        try:
            save_settings(self._site.state, replace(before, **chosen))
        except TacitError as error:
            return self._site.done("/settings", f"Nothing was changed: {error}", problem=True)
        self._site.changed()
        back, said = own_address(form.get("back"), "/settings"), "The settings are saved."
        return self._site.done(back, said, lambda: save_settings(self._site.state, before))

    def add_engine(self, _request: Request, form: FormData) -> Response:
        """Add an engine."""
        data: dict[str, Any] = {name: str(form.get(name, "")).strip() for name in ("kind", "address")}
        data["local"] = form.get("local") == "on"
        data |= {name: text for name in ("name", "carries") if (text := str(form.get(name, "")).strip())}
        try:
            if str(form.get("description", "")).strip():
                data["description"] = _decoded(str(form["description"]))
            if data["kind"] == EMBEDDED:
                data["name"] = EMBEDDED
            engine = save_engine(self._site.state, engine_from_data(data))
        except TacitError as error:
            return self._site.done(_ENGINES, f"The engine was not added: {error}", problem=True)
        self._site.changed()
        return self._site.done(_ENGINES, f"Searches go to {engine.name} too from now on.")

    def change_engine(self, _request: Request, form: FormData) -> Response:
        """Turn an engine on or off, or remove it."""
        name, action = str(form.get("name", "")), str(form.get("action", ""))
        known = {engine.name: engine for engine in self._site.engines}
        if name not in known:
            raise InputError("there is no such engine.")
        if action == "remove":
            remove_engine(self._site.state, name)
        else:
            changed = replace(known[name], enabled=action == "on")
            if not any(one.enabled for one in ({**known, name: changed}).values()):
                return self._site.done(_ENGINES, "One engine must stay turned on.", problem=True)
            save_engine(self._site.state, changed)
        self._site.changed()
        return self._site.done(_ENGINES, f"“{name}” is changed.")

    def add_rule(self, _request: Request, form: FormData) -> Response:
        """Add a site rule."""
        back = own_address(form.get("back"), _RULES)
        before = self._site.rules.rules
        try:
            action, pattern = Action(str(form.get("action", ""))), check_pattern(str(form.get("pattern", "")))
        except ValueError as error:
            raise InputError("choose block, lower, raise or pin.") from error
        except TacitError as error:
            return self._site.done(back, f"The rule was not added: {error}", problem=True)
        save_rules(self._site.state, before | {pattern: action})
        return self._rearranged(back, f"From now on: {action} {pattern}.", before)

    def remove_rule(self, _request: Request, form: FormData) -> Response:
        """Remove a rule."""
        before, gone = self._site.rules.rules, form.get("pattern")
        save_rules(self._site.state, {one: action for one, action in before.items() if one != gone})
        return self._rearranged(own_address(form.get("back"), _RULES), "The rule is removed.", before)

    def _rearranged(self, back: str, said: str, before: dict[str, Action]) -> Response:
        self._site.rearranged()
        return self._site.done(back, said, lambda: save_rules(self._site.state, before), order_only=True)

    def change_lens(self, _request: Request, form: FormData) -> Response:
        """Add a lens, change the one of that name, or remove it."""
        name, sites = str(form.get("name", "")), str(form.get("sites", "")).replace(",", " ").split()
        try:
            save_lens(self._site.state, name, sites)
        except TacitError as error:
            return self._site.done(_LENSES, f"The lens was not stored: {error}", problem=True)
        return self._site.done(_LENSES, f"The lens {name} is {'stored' if sites else 'removed'}.")


def _decoded(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise InputError("the description is not JSON.") from error
    if not isinstance(data, dict):
        raise InputError("the description must be a JSON object.")
    return data
