"""``tacit world``: the embedded corpus and its search index."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.padding import Padding

from tacit.commands.options import JsonFlag
from tacit.commands.verbs import Panel
from tacit.terminal import emit, stderr

PANEL = Panel.WORLD


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    world = typer.Typer(
        help="The embedded world: WordNet's 82,115 noun synsets as a searchable corpus.",
        epilog='Example: tacit world search "java coffee"',
        no_args_is_help=True,
    )
    world.command("show", epilog="Example: tacit world show --json")(show)
    world.command("build", epilog="Example: tacit world build")(build)
    world.command("search", epilog='Example: tacit world search "golden eagle" --top 5')(search)
    app.add_typer(world, name="world")


def show(as_json: JsonFlag = False) -> None:
    """Say what the world holds and where its index lies."""
    from tacit.world import index_folder, wordnet_corpus

    corpus, folder = wordnet_corpus(), index_folder()
    size = sum(file.stat().st_size for file in folder.glob("*")) if folder.exists() else None
    result = {
        "documents": len(corpus),
        "words": len(corpus.wordnet.vocabulary),
        "levels": int(corpus.tree.depth.max()),
        "leaf_topics": len(corpus.tree.leaves()),
        "index": str(folder),
        "index_bytes": size,
    }

    def render(console: Console) -> None:
        console.print(
            f"{len(corpus):,} documents, each its own topic, {result['words']:,} words to find them by"
        )
        console.print(
            f"topic tree: {result['levels']} levels below the root, {result['leaf_topics']:,} leaves"
        )
        state = f"{size / 1e6:.1f} MB" if size is not None else "not built yet; the first search builds it"
        console.print(f"index: {escape(str(folder))} ({state})")

    emit(result, as_json=as_json, render=render)


def build(as_json: JsonFlag = False) -> None:
    """Build the search index anew."""
    from tacit.world.corpus import build_index, index_folder

    stderr().print("indexing…")
    begun = time.perf_counter()
    engine = build_index()
    seconds = time.perf_counter() - begun
    result = {"documents": len(engine), "seconds": round(seconds, 3), "index": str(index_folder())}
    emit(
        result,
        as_json=as_json,
        render=lambda console: console.print(f"{len(engine):,} documents indexed in {seconds:.1f} s"),
    )


def search(
    query: Annotated[str, typer.Argument(help="What to search for.")],
    k: Annotated[int, typer.Option("--top", min=1, max=1000, help="How many results.")] = 10,
    as_json: JsonFlag = False,
) -> None:
    """Search the embedded corpus from the terminal. Nothing leaves this machine; nothing is kept."""
    from tacit.world import wordnet_corpus, wordnet_engine

    engine, corpus = wordnet_engine(), wordnet_corpus()
    begun = time.perf_counter()
    hits = engine.search(query, k)
    milliseconds = (time.perf_counter() - begun) * 1000
    found = [(hit, corpus[hit.document]) for hit in hits]
    result = {
        "milliseconds": round(milliseconds, 3),
        "results": [
            {
                "rank": rank,
                "title": document.title,
                "text": document.text,
                "url": document.url,
                "topic": corpus.tree.label(document.topic),
                "score": round(hit.score, 4),
            }
            for rank, (hit, document) in enumerate(found, 1)
        ],
    }

    def render(console: Console) -> None:
        for rank, (_, document) in enumerate(found, 1):
            above = [
                name.partition(".")[0].replace("_", " ") for name in corpus.tree.path(document.topic)[-4:-1]
            ]
            console.print(
                f"[bold]{rank:>2}. {escape(document.title)}[/]  [dim]{escape(' › '.join(above))}[/]"
            )
            console.print(Padding(escape(document.text), (0, 0, 0, 4)))
        console.print(f"[dim]{len(found)} results in {milliseconds:.2f} ms[/]" if found else "nothing found")

    emit(result, as_json=as_json, render=render)
