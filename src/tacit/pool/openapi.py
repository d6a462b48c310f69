"""The HTTP API in OpenAPI's words: what agents, clients and tests read."""

from __future__ import annotations

from typing import Any

from tacit import __version__
from tacit.pool.protocol import VERSION

__all__ = ["description"]

_ERROR = {"type": "object", "properties": {"error": {"type": "string"}}, "required": ["error"]}
_WHOLE = {"type": "integer"}
_REGION = {
    "type": "array",
    "description": "Lower and upper corner, both included, a code an attribute.",
    "minItems": 2,
    "maxItems": 2,
    "items": {"type": "array", "items": {"type": "integer", "minimum": 0}},
}


def _message(sealed: bool) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "version": {"const": VERSION},
        "epoch": _WHOLE | {"description": "The epoch of the table that was used."},
        "group": _WHOLE | {"description": "The group; -1 asked with d*, -2 holds a query back."},
        "token": {"type": "string", "pattern": "^[0-9a-f]{32}$", "description": "Drawn anew each epoch."},
    }
    if sealed:
        properties["sealed"] = {
            "type": "string",
            "minLength": 1,
            "maxLength": 4096,
            "description": "The record, sealed for the epoch's key (HPKE), in base64.",
        }
    return {
        "type": "object",
        "properties": properties,
        "required": [name for name in properties if name != "version"],
        "additionalProperties": False,
    }


def _answer(words: str, schema: dict[str, Any], kind: str = "application/json") -> dict[str, Any]:
    return {"description": words, "content": {kind: {"schema": schema}}}


def _replies() -> dict[str, Any]:
    reply = {"type": "object", "properties": {"reply": {"type": "string"}}, "required": ["reply"]}
    return {
        "200": _answer("Accepted, or repeated: the same message came before and counts once.", reply),
        "403": _answer("No such group, or a second message without its first.", reply),
        "410": _answer("Another epoch or phase.", reply),
        "422": _answer("Not a message.", _ERROR),
        "503": _answer("Full or busy; come again.", {"type": "object"}),
    }


def _get(summary: str, answer: dict[str, Any]) -> dict[str, Any]:
    busy = _answer("Not ready, or busy; come again.", _ERROR)
    return {"get": {"summary": summary, "responses": {"200": answer, "503": busy}}}


def _post(summary: str, sealed: bool) -> dict[str, Any]:
    body = {"required": True, "content": {"application/json": {"schema": _message(sealed)}}}
    return {"post": {"summary": summary, "requestBody": body, "responses": _replies()}}


def description() -> dict[str, Any]:
    """The OpenAPI 3.1 document."""
    table = {
        "type": "object",
        "required": ["version", "epoch", "regions", "sizes", "surviving", "everyone", "primed"],
        "properties": {
            "version": {"const": VERSION},
            "epoch": _WHOLE,
            "regions": {"type": "array", "items": _REGION},
            "sizes": {"type": "array", "items": _WHOLE},
            "surviving": {"type": "array", "items": _REGION},
            "everyone": {"type": "boolean"},
            "primed": {"type": "array", "items": _WHOLE},
        },
    }
    standing = {
        "type": "object",
        "required": ["epoch", "phase"],
        "properties": {
            "epoch": _WHOLE,
            "phase": {"enum": ["open", "count", "identify", "form"]},
            "asked": {"type": "array", "items": _WHOLE},
            "ends_in": {"type": "number", "minimum": 0, "description": "Seconds, of the phase."},
        },
    }
    shown = _answer(
        "The table, the key to seal records for, and for how many seconds it may be used.",
        {
            "type": "object",
            "required": ["table", "public_key", "expires_in"],
            "properties": {
                "table": table,
                "public_key": {"type": "string"},
                "expires_in": {"type": "number", "minimum": 0},
            },
        },
    )
    stream = _answer("Server-sent events named after the phases.", {"type": "string"}, "text/event-stream")
    anything = {"type": "object"}
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Tacit pool",
            "version": __version__,
            "description": "Personal data is coarsened until k people online share it.",
        },
        "paths": {
            "/v1/pool": _get("Rules and template.", _answer("Rules and template.", anything)),
            "/v1/table": _get("The table of regions, from which an agent finds its own.", shown),
            "/v1/standing": _get("Epoch and phase, for who cannot follow.", _answer("Standing.", standing)),
            "/v1/events": _get("Epoch and phase as they change.", stream),
            "/v1/first": _post("M1: somebody of this group asked in the overlap.", False),
            "/v1/second": _post("M2: the sealed record of a sender of M1.", True),
            "/v1/statistics": _get("What the operator sees.", _answer("Groups and numbers.", anything)),
        },
    }
