"""``tacit profile forget``: take something out of a profile for good."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from tacit.commands.options import JsonFlag, moment_option
from tacit.terminal import emit

__all__ = ["forget"]


def forget(
    profile: Annotated[Path, typer.Argument(metavar="PROFILE", help="The profile file.")],
    click: Annotated[int | None, typer.Option(help="One document, by its number.")] = None,
    topic: Annotated[str | None, typer.Option(help="Every document filed under a topic or below.")] = None,
    since: Annotated[
        datetime | None, moment_option("Documents and exposures from this day or time on (UTC).")
    ] = None,
    until: Annotated[datetime | None, moment_option("Documents and exposures up to then (UTC).")] = None,
    exposure: Annotated[int | None, typer.Option(help="One entry of the exposure ledger.")] = None,
    upstream: Annotated[
        str | None, typer.Option(help="Every entry of the exposure ledger about one upstream.")
    ] = None,
    everything: Annotated[
        bool, typer.Option("--everything", help="The history, all exposures and all sensitive topics.")
    ] = False,
    as_json: JsonFlag = False,
) -> None:
    """Forget a document, a topic, a period, an exposure, all that one upstream was told, or everything.

    The file is written anew without it. What an upstream was told before, it still knows.
    """
    from tacit.device import Guard, ProfileStore

    ProfileStore.taxonomy_of(profile)  # a guard would make a new one
    with Guard(profile) as guard:
        gone = guard.forget(
            click=click,
            topic=topic,
            since=since.replace(tzinfo=UTC) if since else None,
            until=until.replace(tzinfo=UTC) if until else None,
            exposure=exposure,
            upstream=upstream,
            everything=everything,
        )
    summary = {"documents": gone.clicks, "exposures": gone.exposures, "sensitive_topics": gone.topics}

    def render(console: Console) -> None:
        kinds = (
            f"{gone.clicks:,} documents, {gone.exposures:,} exposures and {gone.topics:,} sensitive topics"
        )
        console.print(f"Forgot {kinds}.")
        for warning in gone.warnings:
            console.print(warning)

    emit(summary, as_json=as_json, render=render)
