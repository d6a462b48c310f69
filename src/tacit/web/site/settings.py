"""The settings page: what is remembered, the engines, and the site rules."""

import json
from dataclasses import fields, replace
from typing import Any

from starlette.datastructures import FormData
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.errors import InputError
from tacit.web import state
from tacit.web.engines.catalogue import KINDS, engine_from_data
from tacit.web.engines.interface import LANGUAGES, SAFE
from tacit.web.rules import Action, check_pattern
from tacit.web.site.site import Notice, Site


def routes(site: Site) -> list[Route]:
    page = _SettingsPage(site)
    return [
        Route("/settings", page.show),
        site.form("/settings", page.change, "/settings"),
        site.form("/settings/engine", page.add_engine, "/settings#engines"),
        site.form("/settings/engine/change", page.change_engine, "/settings#engines"),
        site.form("/settings/rule", page.add_rule, "/settings#rules"),
        site.form("/settings/rule/remove", page.remove_rule, "/settings#rules"),
        site.form("/settings/lens", page.change_lens, "/settings#lenses"),
    ]


class _SettingsPage:
    def __init__(self, site: Site) -> None:
        self._site = site

    def show(self, request: Request) -> Response:
        site = self._site
        return site.render(
            request,
            "settings.html",
            kinds=KINDS,
            actions=list(Action),
            lenses=state.lenses(site.state),
            languages=LANGUAGES,
            safe=SAFE,
        )

    def change(self, form: FormData) -> Notice:
        """Store the choices of the form.

        It names the switches it has, since browsers do not send those that are off.
        """
        before = self._site.settings
        known = {field.name for field in fields(state.Settings)}
        switches = known.intersection(str(form.get("switches", "")).split())
        chosen: dict[str, Any] = {name: form.get(name) == "on" for name in switches}
        chosen |= {name: str(form[name]) for name in ("language", "safe") if name in form}
        state.save_settings(self._site.state, replace(before, **chosen))
        return Notice("The settings are saved.", lambda: state.save_settings(self._site.state, before))

    def add_engine(self, form: FormData) -> Notice:
        given = {name: str(form.get(name, "")).strip() for name in ("name", "carries", "description")}
        data: dict[str, Any] = {name: text for name, text in given.items() if text}
        data |= {name: str(form.get(name, "")).strip() for name in ("kind", "address")}
        data["local"] = form.get("local") == "on"
        if "description" in data:
            data["description"] = _decoded(data["description"])
        state.save_engine(self._site.state, engine_from_data(data))
        asked = [one.name for one in state.engines(self._site.state) if one.enabled]
        return Notice(f"Searches go to {' and '.join(asked)} from now on.")

    def change_engine(self, form: FormData) -> Notice:
        name, action = str(form.get("name", "")), str(form.get("action", ""))
        known = {engine.name: engine for engine in self._site.engines}
        if name not in known:
            raise InputError("there is no such engine.")
        if action == "remove":
            state.remove_engine(self._site.state, name)
        else:
            changed = replace(known[name], enabled=action == "on")
            if not any(one.enabled for one in ({**known, name: changed}).values()):
                raise InputError("one engine must stay turned on.")
            state.save_engine(self._site.state, changed)
        return Notice(f"“{name}” is changed.")

    def add_rule(self, form: FormData) -> Notice:
        try:
            action = Action(str(form.get("action", "")))
        except ValueError as error:
            raise InputError("choose block, lower, raise or pin.") from error
        pattern = check_pattern(str(form.get("pattern", "")))
        said = f"{pattern} is {_MEANS[action]} from now on."
        return self._ruled(said, self._site.rules.rules | {pattern: action})

    def remove_rule(self, form: FormData) -> Notice:
        rules = self._site.rules.rules
        kept = {pattern: action for pattern, action in rules.items() if pattern != form.get("pattern")}
        return self._ruled("The rule is removed.", kept)

    def _ruled(self, said: str, rules: dict[str, Action]) -> Notice:
        before = self._site.rules.rules
        state.save_rules(self._site.state, rules)
        return Notice(said, lambda: state.save_rules(self._site.state, before), order_only=True)

    def change_lens(self, form: FormData) -> Notice:
        """Add a lens, change the one of that name, or remove it."""
        name, sites = str(form.get("name", "")), str(form.get("sites", "")).replace(",", " ").split()
        state.save_lens(self._site.state, name, sites)
        return Notice(f"The lens {name} is {'stored' if sites else 'removed'}.", order_only=True)


_MEANS = dict(
    zip(Action, ("never shown", "shown further down", "shown further up", "always shown first"), strict=True)
)


def _decoded(text: str) -> dict[str, Any]:
    try:
        data = json.loads(text)
    except ValueError as error:
        raise InputError("the description is not JSON.") from error
    if not isinstance(data, dict):
        raise InputError("the description must be a JSON object.")
    return data
