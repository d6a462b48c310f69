"""``tacit generalise``: what of a profile may go out with a query."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.text import Text

from tacit.commands.verbs import Panel, verb
from tacit.terminal import emit, progress

PANEL = Panel.DEVICE


def generalise(
    query: Annotated[str, typer.Argument(help="The query, as you would type it.")],
    profile: Annotated[Path, typer.Option("--profile", help="The profile file.")],
    delta: float = 0.1,
    algorithm: Literal["greedy-ratio", "greedy-il", "greedy-dp"] = "greedy-ratio",
    upstream: Annotated[
        str | None, typer.Option(help="Record the exposure in the profile as sent to this upstream.")
    ] = None,
) -> None:
    """Show which topics of your profile would go out with a query, and which stay hidden.

    Nothing is sent anywhere: the query is mapped to topics on this machine. With --upstream the result is
    recorded as exposed. --delta and --algorithm are for profiles over another taxonomy than the people's.
    """
    from tacit.device import Guard, ProfileStore

    ProfileStore.taxonomy_of(profile)  # a guard would make a new one
    with (
        progress("Getting ready (the first time compiles)"),
        Guard(profile, delta=delta, algorithm=algorithm) as guard,
    ):
        found = guard.preview(query) if upstream is None else guard.protect(query, upstream=upstream)
    summary: dict[str, Any] = {"personalised": found.sent, "decision": found.reason}
    summary |= {"exposed": list(found.topics), "hidden": list(found.hidden)}
    summary |= {"risk": found.risk, "utility": found.utility, "delta": delta, "algorithm": algorithm}

    lines = [
        Text(label, "bold green")
        if label in found.topics
        else Text.assemble((label, "dim strike"), ("  hidden", "dim"))
        for label in sorted((*found.topics, *found.hidden))
    ]
    told = f" {', '.join(found.names)} ({len(found.topics)} of {len(lines)} topics stay)."
    figures = f" Risk {found.risk:.4f} of at most {delta:g}, utility {found.utility:+.3f}."
    alone = Text.assemble(("The query goes alone:", "bold"), f" {found.reason}.")
    said = Text.assemble(("With the query goes:", "bold"), told, figures)
    emit(summary, *lines, said if found.sent else alone)


register = verb(generalise, '"java" --profile me.profile --delta 0.1 --json', by="tacit.device:Guard")
