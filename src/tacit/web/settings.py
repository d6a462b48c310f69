"""What the person chose on the settings page, kept in the profile file."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields, replace
from datetime import timedelta
from typing import Any

from tacit.device import ExposureBound
from tacit.errors import InputError
from tacit.web.state import PageState
from tacit.web.upstreams.catalogue import EMBEDDED, check_engine, engine_from_data
from tacit.web.upstreams.engine import Carriage, EngineDescription

__all__ = ["Settings", "engines", "load_settings", "remove_engine", "save_engine", "save_settings"]

_KEY = "settings"


@dataclass(frozen=True)
class Settings:
    """Choices with their defaults."""

    delta: float = 0.1
    """The bound on the risk of what is sent with one query."""
    bound: float = 0.3
    """The bound on the risk of everything one engine was told in :attr:`days`."""
    days: int = 30
    personalise: bool = True
    """Whether results are put into personal order on the device."""
    remember_clicks: bool = True
    strip_tracking: bool = True
    own_suggestions: bool = True
    """Whether the person's own queries are among the suggestions."""
    post: bool = False
    """Whether the search box sends by POST, which keeps queries out of the browser's history."""
    query_in_title: bool = False
    new_tab: bool = False

    def __post_init__(self) -> None:
        for name in ("delta", "bound"):
            if not 0 <= getattr(self, name) <= 1:
                raise InputError(f"{name} must be in [0, 1]; found {getattr(self, name):g}.")
        if not 1 <= self.days <= 36_500:
            raise InputError(f"days must be in [1, 36500]; found {self.days}.")

    @property
    def exposure_bound(self) -> ExposureBound:
        """The bound as the ledger takes it."""
        return ExposureBound(self.bound, timedelta(days=self.days))


def load_settings(state: PageState) -> Settings:
    """The stored choices; defaults for what was never chosen, or is not understood any more."""
    stored: dict[str, Any] = json.loads(state.setting(_KEY) or "{}")
    known = {field.name for field in fields(Settings)}
    try:
        return replace(Settings(), **{name: value for name, value in stored.items() if name in known})
    except (InputError, TypeError):
        return Settings()


def save_settings(state: PageState, settings: Settings) -> None:
    """Store the choices."""
    state.set(_KEY, json.dumps(asdict(settings)))


def engines(state: PageState) -> list[EngineDescription]:
    """The engines that were added, in order; the embedded one alone where none ever was."""
    rows = state.rows("SELECT description FROM page_engine ORDER BY place, name")
    if not rows:
        return [EngineDescription(EMBEDDED, EMBEDDED, carriage=Carriage.HERE)]
    found = []
    for (text,) in rows:
        data = json.loads(str(text))
        enabled = bool(data.pop("enabled", True))
        found.append(replace(engine_from_data(data), enabled=enabled))
    return found


def save_engine(state: PageState, engine: EngineDescription) -> None:
    """Add an engine at the end, or change the one of that name."""
    check_engine(engine)
    present = engines(state)  # the embedded one is written down once something is chosen
    names = [one.name for one in present]
    kept = [engine if one.name == engine.name else one for one in present]
    if engine.name not in names:
        kept.append(engine)
    _store(state, kept)


def remove_engine(state: PageState, name: str) -> None:
    """Take an engine out of the list."""
    kept = [one for one in engines(state) if one.name != name]
    if not kept:
        raise InputError("one engine must stay.", "Add another first.")
    _store(state, kept)


def _store(state: PageState, kept: list[EngineDescription]) -> None:
    with state.transaction() as connection:
        connection.execute("DELETE FROM page_engine")
        for place, engine in enumerate(kept):
            data = {
                "name": engine.name,
                "kind": engine.kind,
                "address": engine.address,
                "carries": str(engine.carriage),
                "local": engine.local,
                "timeout": engine.timeout,
                "description": dict(engine.description),
                "enabled": engine.enabled,
            }
            connection.execute(
                "INSERT INTO page_engine VALUES (?, ?, ?)", (engine.name, place, json.dumps(data))
            )
