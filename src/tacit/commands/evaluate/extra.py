"""Evaluation needs packages of an extra; say so before anything else is done."""

from __future__ import annotations


def require_report_extra() -> None:
    """Say what to install where charts or measures are missing."""
    from importlib.util import find_spec

    from tacit.errors import InputError

    missing = [name for name in ("altair", "ir_measures", "vl_convert") if find_spec(name) is None]
    if missing:
        raise InputError(
            f"evaluation needs {', '.join(missing)}, not installed here.", "Install tacit[report]."
        )
