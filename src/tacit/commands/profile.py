"""`tacit profile`: build, show, protect, export and forget an interest profile."""

from __future__ import annotations

import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.text import Text
from rich.tree import Tree

from tacit.commands.options import ForceFlag, JsonFlag, moment_option
from tacit.commands.verbs import Panel
from tacit.terminal import emit, progress


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


PANEL = Panel.DEVICE

ProfileFile = Annotated[Path, typer.Argument(metavar="PROFILE", help="The profile file.")]


def register(app: typer.Typer) -> None:
    """Add the group of verbs."""
    group = typer.Typer(
        help="Build, look at, protect and export an interest profile, kept in one private file.",
        epilog="Example: tacit profile build me.profile --log clicks.parquet --user 42",
        no_args_is_help=True,
    )
    group.command("build", epilog="Example: tacit profile build me.profile --history pages.csv")(build)
    group.command("show", epilog="Example: tacit profile show me.profile --top 20")(show)
    group.command("find", epilog="Example: tacit profile find me.profile java")(find)
    group.command("protect", epilog="Example: tacit profile protect me.profile Astronomy")(protect)
    group.command("sensitive", epilog="Example: tacit profile sensitive me.profile")(sensitive)
    group.command("export", epilog="Example: tacit profile export me.profile --output profile.json")(export)
    group.command("forget", epilog="Example: tacit profile forget me.profile --topic Football")(forget)
    app.add_typer(group, name="profile")


def build(
    profile: ProfileFile,
    log: Annotated[Path | None, typer.Option(help="A search log with your clicks (Parquet).")] = None,
    user: Annotated[
        str | None, typer.Option(help="Whose clicks in the log; needed if it has several.")
    ] = None,
    history: Annotated[
        Path | None, typer.Option(help="A browsing history: CSV with url, title, text.")
    ] = None,
    taxonomy: Annotated[
        str | None,
        typer.Option(help="For a new profile: people (default), wordnet or a taxonomy file."),
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Build a profile, or add to one: each document is filed under the topic it is about.

    What was counted before is skipped, so the same command can run every day.
    """
    from tacit.device import add_documents

    with progress("Filing documents under topics", unit="documents") as bar:
        report = add_documents(
            profile,
            log=log,
            user=user,
            history=history,
            taxonomy=taxonomy,
            advance=bar.advance,
        )

    def render(console: Console) -> None:
        console.print(
            f"{'Made' if report.created else 'Added to'} {profile}: {report.filed:,} documents filed, "
            f"{report.known:,} known already, {report.unplaced:,} about no topic; "
            f"{report.topics:,} topics in all.",
            markup=False,
        )

    emit({"profile": str(profile), **asdict(report)}, as_json=as_json, render=render)


def sensitive(profile: ProfileFile, as_json: JsonFlag = False) -> None:
    """Look at what is sensitive for everybody, and remember that you did: before that, queries go alone.

    Pages about any of it have no influence on what leaves this machine. How many are recognised was measured
    on texts that had no part in making the list; the others escape.
    """
    from tacit.device import Guard, ProfileStore

    ProfileStore.taxonomy_of(profile)  # a guard would make a new one
    with Guard(profile) as guard:
        listed = guard.concepts()
        guard.confirm()

    def render(console: Console) -> None:
        for concept in listed:
            shares = ", ".join(f"{share:.0%} of {kind}" for kind, share in concept.recognised.items())
            console.print(f"[bold]{concept.name}[/]  recognised: {shares}")
            console.print(f"  {', '.join(concept.covers)}", markup=False)

    emit({"concepts": [asdict(concept) for concept in listed]}, as_json=as_json, render=render)


def show(
    profile: ProfileFile,
    top: Annotated[int, typer.Option(help="Draw the topics with the most documents.", min=1)] = 25,
    as_json: JsonFlag = False,
) -> None:
    """Draw a profile: topics with the number of documents about them, what is sensitive, what was exposed."""
    from tacit.device import ExposureLedger, ProfileStore

    with ProfileStore.opened(profile) as store:
        loaded = store.profile()
        told = [
            {"upstream": one.upstream, "queries": one.queries, "with_topics": one.with_topics}
            for one in ExposureLedger(store).disclosed()
        ]
    tree = loaded.tree

    def describe(topic: int) -> Text:
        line = Text(f"{tree.names[topic]}  ")
        line.append(f"{loaded.support[topic]:g}", style="cyan")
        if topic in loaded.sensitivity:
            line.append(f"  sensitive {loaded.sensitivity[topic]:g}", style="bold red")
        return line

    def render(console: Console) -> None:
        busiest = sorted(loaded.documents, key=lambda topic: -loaded.documents[topic])[:top]
        shown = {
            above for topic in [*busiest, *loaded.sensitive] for above in [*tree.ancestors(topic), topic]
        }
        drawn: dict[int, Tree] = {}
        for topic in sorted(shown):
            above = drawn.get(int(tree.parent[topic]))
            drawn[topic] = Tree(describe(topic)) if above is None else above.add(describe(topic))
        console.print(drawn.get(0, Text("(empty)", style="dim")))
        console.print(
            f"{len(loaded.topics):,} topics, {loaded.support[0]:g} documents, "
            f"{len(loaded.sensitivity)} sensitive topics ({len(loaded.sensitive)} in the profile)"
            if len(loaded.topics)
            else "This profile is empty."
        )
        for one in told:
            console.print(
                f"{one['upstream']}: {one['queries']:,} queries, {one['with_topics']:,} of them with topics",
                markup=False,
            )

    emit(loaded.as_data() | {"upstreams": told}, as_json=as_json, render=render)


def find(
    profile: ProfileFile,
    word: Annotated[str, typer.Argument(help="A noun, to list its meanings; or part of a name.")],
    as_json: JsonFlag = False,
) -> None:
    """List the topics a word can mean, to name one to protect."""
    from tacit.device import ProfileStore
    from tacit.taxonomy import load_wordnet

    with ProfileStore.opened(profile) as store:
        loaded = store.profile()
    tree = loaded.tree
    wordnet = load_wordnet() if tree is load_wordnet().tree else None
    if wordnet is not None:
        topics = list(wordnet.senses(word))
    else:
        topics = [topic for topic, name in enumerate(tree.names) if word.lower() in name.lower()]
    rows = [
        {
            "topic": tree.names[topic],
            "label": tree.label(topic),
            "documents": float(loaded.support[topic]),
            "gloss": wordnet.gloss(topic) if wordnet is not None else tree.label(topic),
        }
        for topic in topics
    ]

    def render(console: Console) -> None:
        for row in rows:
            console.print(Text(f"{row['topic']:<28}{row['documents']:>6g}  {row['gloss']}"), soft_wrap=True)
        if not rows:
            console.print("No topic has that name.")

    emit({"topics": rows}, as_json=as_json, render=render)


def protect(
    profile: ProfileFile,
    topic: Annotated[str, typer.Argument(help="A topic's name (disease.n.01) or its path from the root.")],
    sensitivity: Annotated[
        float, typer.Option(min=1e-6, max=1e6, help="How severe its disclosure would be.")
    ] = 1.0,
    remove: Annotated[bool, typer.Option("--remove", help="Protect it no longer.")] = False,
    as_json: JsonFlag = False,
) -> None:
    """Make a topic sensitive. Sensitive topics must not lie inside one another."""
    from tacit.device import ProfileStore

    with ProfileStore.opened(profile) as store:
        number = store.tree.named(topic)
        if remove:
            store.unprotect(number)
        else:
            store.protect(number, sensitivity)
        loaded = store.profile()
    alone = float(loaded.cost[0] / loaded.wealth) if loaded.wealth > 0 else 0.0
    summary = {
        "topic": loaded.tree.label(number),
        "sensitivity": 0.0 if remove else sensitivity,
        "in_profile": bool(loaded.support[number] > 0),
        "sensitive_topics": len(loaded.sensitivity),
        "least_risk": alone,
    }

    def render(console: Console) -> None:
        state = "no longer sensitive" if remove else f"sensitive ({sensitivity:g})"
        console.print(f"{loaded.tree.names[number]} is {state}.", markup=False)
        if not remove and not summary["in_profile"]:
            console.print("It is not in the profile yet; it will count once it is.")
        console.print(f"Least risk of sending any profile at all: {alone:.4f}.")

    emit(summary, as_json=as_json, render=render)


def export(
    profile: ProfileFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Write here (readable by you only), not to stdout.")
    ] = None,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Write everything the profile file holds as JSON: topics, sensitive topics, history and exposures."""
    from tacit.device import Guard, ProfileStore
    from tacit.files import atomic_file, check_output

    del as_json  # an export is JSON either way
    if output is not None:
        check_output(output, force=force, inputs=[profile])
    ProfileStore.taxonomy_of(profile)  # a guard would make a new one
    with Guard(profile) as guard:
        data = guard.export()
    if output is None:
        emit(data, as_json=True, render=lambda _console: None)
        return
    with atomic_file(output, mode=0o600) as temporary:
        temporary.write_text(json.dumps(data, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
