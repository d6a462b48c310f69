"""`tacit profile`: build, show, protect, export and forget an interest profile."""

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.text import Text

from tacit.commands.options import ForceFlag, moment_option
from tacit.commands.verbs import Panel, verb, verb_group
from tacit.terminal import emit, progress, table

PANEL = Panel.DEVICE

ProfileFile = Annotated[Path, typer.Argument(metavar="PROFILE", help="The profile file.")]


def build(
    profile: ProfileFile,
    log: Path | None = None,
    user: str | None = None,
    history: Path | None = None,
    taxonomy: str | None = None,
) -> None:
    """Build a profile, or add to one: each document is filed under the topic it is about.

    What was counted before is skipped, so the same command can run every day.
    """
    from tacit.device import add_documents

    with progress("Filing documents under topics", unit="documents") as bar:
        report = add_documents(
            profile, log=log, user=user, history=history, taxonomy=taxonomy, advance=bar.advance
        )
    said = (
        f"{'Made' if report.created else 'Added to'} {profile}: {report.filed:,} documents filed, "
        f"{report.known:,} known already, {report.unplaced:,} about no topic; {report.topics:,} topics in "
        "all."
    )
    emit({"profile": str(profile), **asdict(report)}, said)


def sensitive(profile: ProfileFile) -> None:
    """Look at what is sensitive for everybody, and remember that you did: before that, queries go alone.

    Pages about any of it have no influence on what leaves this machine. How many are recognised was measured
    on texts that had no part in making the list; the others escape.
    """
    from tacit.device import Guard, ProfileStore

    ProfileStore.taxonomy_of(profile)  # a guard would make a new one
    with Guard(profile) as guard:
        listed = guard.concepts()
        guard.confirm()

    shown: list[str | Text] = []
    for concept in listed:
        shares = ", ".join(f"{share:.0%} of {kind}" for kind, share in concept.recognised.items())
        shown.append(Text.assemble((concept.name, "bold"), f"  recognised: {shares}"))
        shown.append(f"  {', '.join(concept.covers)}")
    emit({"concepts": [asdict(concept) for concept in listed]}, *shown)


def show(
    profile: ProfileFile,
    top: Annotated[int, typer.Option(help="List the topics with the most documents.", min=1)] = 25,
) -> None:
    """List a profile: topics with the number of documents about them, what is sensitive, what was exposed."""
    from tacit.device import ExposureLedger, ProfileStore

    with ProfileStore.open(profile) as store:
        loaded = store.profile()
        names = ("upstream", "queries", "with_topics")
        told = [{n: getattr(one, n) for n in names} for one in ExposureLedger(store).disclosed()]
    busiest = sorted(loaded.documents, key=lambda topic: -loaded.documents[topic])[:top]
    rows = [
        (loaded.tree.label(topic), f"{loaded.support[topic]:g}", f"sensitive {kept:g}" if kept else "")
        for topic in sorted({*busiest, *loaded.sensitive})
        for kept in [loaded.sensitivity.get(topic, 0.0)]
    ]
    summary = "This profile is empty."
    if len(loaded.topics):
        summary = (
            f"{len(loaded.topics):,} topics, {loaded.support[0]:g} documents, {len(loaded.sensitivity)} "
        )
        summary += f"sensitive topics ({len(loaded.sensitive)} in the profile)"
    exposed = (
        "{upstream}: {queries:,} queries, {with_topics:,} of them with topics".format(**t) for t in told
    )
    listed = [table(("topic", "documents", ""), rows)] if rows else []
    emit(loaded.as_data() | {"upstreams": told}, *listed, summary, *exposed)


def protect(
    profile: ProfileFile,
    topic: Annotated[str, typer.Argument(help="A topic's name (disease.n.01) or its path from the root.")],
    sensitivity: Annotated[
        float, typer.Option(min=1e-6, max=1e6, help="How severe its disclosure would be.")
    ] = 1.0,
    remove: Annotated[bool, typer.Option("--remove", help="Protect it no longer.")] = False,
) -> None:
    """Make a topic sensitive. Sensitive topics must not lie inside one another."""
    from tacit.device import ProfileStore

    with ProfileStore.open(profile) as store:
        number = store.tree.named(topic)
        if remove:
            store.unprotect(number)
        else:
            store.protect(number, sensitivity)
        loaded = store.profile()
    alone = float(loaded.cost[0] / loaded.wealth) if loaded.wealth > 0 else 0.0
    summary = {"topic": loaded.tree.label(number), "sensitivity": 0.0 if remove else sensitivity}
    summary |= {"in_profile": bool(loaded.support[number] > 0)}
    summary |= {"sensitive_topics": len(loaded.sensitivity), "least_risk": alone}

    state = "no longer sensitive" if remove else f"sensitive ({sensitivity:g})"
    shown = [f"{loaded.tree.names[number]} is {state}."]
    if not remove and not summary["in_profile"]:
        shown.append("It is not in the profile yet; it will count once it is.")
    shown.append(f"Least risk of sending any profile at all: {alone:.4f}.")
    emit(summary, *shown)


def export(
    profile: ProfileFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write here (readable by you only), not to stdout.")
    ] = None,
    force: ForceFlag = False,
) -> None:
    """Write everything the profile file holds as JSON: topics, sensitive topics, history and exposures."""
    from tacit.device import Guard, ProfileStore
    from tacit.files import atomic_file, check_output

    if output is not None:
        check_output(output, force=force, inputs=[profile])
    ProfileStore.taxonomy_of(profile)  # a guard would make a new one
    with Guard(profile) as guard:
        data = guard.export()
    if output is None:
        emit(data, even_if_unasked=True)
        return
    with atomic_file(output, mode=0o600) as temporary:
        temporary.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def forget(
    profile: ProfileFile,
    click: int | None = None,
    topic: str | None = None,
    since: Annotated[datetime | None, moment_option("Documents and exposures from then on (UTC).")] = None,
    until: Annotated[datetime | None, moment_option("Documents and exposures up to then (UTC).")] = None,
    exposure: int | None = None,
    upstream: str | None = None,
    everything: Annotated[bool, typer.Option("--everything")] = False,
) -> None:
    """Forget a document, a topic, a period, an exposure, all that one upstream was told, or everything.

    The file is written anew without it. What an upstream was told before, it still knows.
    """
    asked = {name: value for name, value in locals().items() if name != "profile"}
    from tacit.device import Guard, ProfileStore

    asked |= {name: asked[name].replace(tzinfo=UTC) for name in ("since", "until") if asked[name]}
    ProfileStore.taxonomy_of(profile)  # a guard would make a new one
    with Guard(profile) as guard:
        gone = guard.forget(**asked)
    summary = {"documents": gone.clicks, "exposures": gone.exposures, "sensitive_topics": gone.topics}
    kinds = f"{gone.clicks:,} documents, {gone.exposures:,} exposures and {gone.topics:,} sensitive topics"
    emit(summary, f"Forgot {kinds}.", *gone.warnings)


register = verb_group(
    "profile",
    "Build, look at, protect and export an interest profile, kept in one private file.",
    [
        verb(build, "me.profile --log clicks.parquet --user 42", by="tacit.device:add_documents"),
        verb(show, "me.profile --top 20"),
        verb(protect, "me.profile Astronomy"),
        verb(sensitive, "me.profile"),
        verb(export, "me.profile --output profile.json"),
        verb(forget, "me.profile --topic Football", by="tacit.device:Guard.forget"),
    ],
)
