"""``tacit generalise``: what of a profile may go out with a query."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.text import Text

from tacit.commands.options import JsonFlag
from tacit.commands.verbs import Panel
from tacit.terminal import emit, progress

if TYPE_CHECKING:
    from tacit.device import OnlineProfiler, RuntimeProfile


PANEL = Panel.DEVICE

AlgorithmName = Literal["greedy-ratio", "greedy-il", "greedy-dp", "brute-force"]
SendingName = Literal["filtered", "strict", "unfiltered", "paper"]

_Delta = Annotated[
    float, typer.Option(help="Highest acceptable risk: the share of your total sensitivity, from 0 to 1.")
]
_Algorithm = Annotated[AlgorithmName, typer.Option(help="How to look for the best profile within the bound.")]
_Sending = Annotated[
    SendingName,
    typer.Option(
        help="Which documents may influence what is sent: none that may be about a sensitive topic "
        "(filtered), nor any that is near one (strict), all (unfiltered), or all with the paper's own "
        "mapping (paper)."
    ),
]
_Upstream = Annotated[
    str | None,
    typer.Option(help="Record the exposure in the profile as sent to this upstream."),
]
_Bound = Annotated[
    float | None,
    typer.Option(help="Highest risk of everything this upstream was told (needs --upstream)."),
]
_Days = Annotated[
    float | None,
    typer.Option("--days", help="Over how many days the bound counts; else for all time."),
]


def register(app: typer.Typer) -> None:
    """Add the verb."""
    app.command(
        "generalise",
        epilog='Example: tacit generalise "java" --profile me.profile --delta 0.1 --json',
    )(generalise)


def generalise(
    query: Annotated[str, typer.Argument(help="The query, as you would type it.")],
    profile: Annotated[Path, typer.Option("--profile", help="The profile file.")],
    delta: _Delta = 0.1,
    algorithm: _Algorithm = "greedy-ratio",
    sending: _Sending = "filtered",
    upstream: _Upstream = None,
    bound: _Bound = None,
    period: _Days = None,
    as_json: JsonFlag = False,
) -> None:
    """Show which topics of your profile would go out with a query, and which stay hidden.

    Nothing is sent anywhere: the query is mapped to topics on this machine. With --upstream the result is
    recorded as exposed, and --bound limits what that upstream learns over time.
    """
    from tacit.device import Guard, ProfileStore
    from tacit.errors import ParameterError

    if bound is not None and upstream is None:
        raise ParameterError("--bound needs --upstream: it limits what one upstream learns.")
    ProfileStore.taxonomy_of(profile)  # a guard would make a new one
    used = None
    with (
        progress("Getting ready (the first time compiles)"),
        Guard(
            profile, delta=delta, bound=bound, period=period, sending=sending, algorithm=algorithm
        ) as guard,
    ):
        guard.decide(query)  # so that what is measured is not the compiler
        profiler, result = guard.decide(query, upstream=upstream)
        if bound is not None and upstream is not None:
            used = guard.used(upstream)
    summary = _summary(profiler, result)
    if used is not None:
        summary |= {"upstream": upstream, "bound": bound, "days": period, "bound_used": used}

    def render(console: Console) -> None:
        _draw(console, profiler, result)
        if used is not None:
            over = f" in {period:g} days" if period is not None else ""
            console.print(
                f"Everything {upstream} was told{over}: risk {used:.4f} of at most {bound:g}", markup=False
            )

    emit(summary, as_json=as_json, render=render)


def _summary(profiler: OnlineProfiler, result: RuntimeProfile) -> dict[str, Any]:
    tree = profiler.repository.tree
    found = result.generalisation
    exposed = result.exposed
    hidden = [] if found is None else [t for t in found.seed.node.tolist() if t not in set(exposed)]
    return {
        "personalised": result.personalised,
        "decision": str(result.decision),
        "exposed": [tree.label(topic) for topic in exposed],
        "hidden": [tree.label(topic) for topic in hidden],
        "sensitive": [tree.label(topic) for topic in profiler.profile.sensitive],
        "risk": found.risk if found is not None and result.personalised else 0.0,
        "utility": found.utility if found is not None and result.personalised else 0.0,
        "power": found.power if found is not None and result.personalised else result.mapped.power,
        "query_power": result.mapped.power,
        "delta": profiler.delta,
        "algorithm": str(profiler.algorithm),
        "microseconds": round(result.microseconds, 1),
    }


def _draw(console: Console, profiler: OnlineProfiler, result: RuntimeProfile) -> None:
    from tacit.commands.profile import topic_tree

    tree = profiler.repository.tree
    found = result.generalisation
    exposed = set(result.exposed)
    sensitivity = profiler.profile.sensitivity

    def describe(topic: int) -> Text:
        line = Text(tree.names[topic])
        if topic in exposed:
            line.stylize("bold green")
        else:
            line.stylize("dim strike")
            line.append("  hidden", style="dim not strike")
        if topic in sensitivity:
            line.append(f"  sensitive {sensitivity[topic]:g}", style="bold red not strike")
        elif profiler.profile.cost[topic] > 0:
            share = profiler.profile.cost[topic] / profiler.profile.wealth
            line.append(f"  risk {share:.3f} alone", style="yellow not strike not dim")
        return line

    if found is not None:
        console.print(topic_tree(tree, found.seed.node.tolist(), describe))
    if result.personalised and found is not None:
        console.print(
            f"[bold]{len(exposed)} of {len(found.seed)} topics stay[/]  risk {found.risk:.4f} of at most "
            f"{profiler.delta:g}  utility {found.utility:+.3f} (power {found.power:.3f}, of the query alone "
            f"{result.mapped.power:.3f})  {result.microseconds:.0f} µs"
        )
    else:
        console.print(
            f"[bold]No profile is sent:[/] {result.decision}.  Power of the query alone "
            f"{result.mapped.power:.3f}  {result.microseconds:.0f} µs"
        )
