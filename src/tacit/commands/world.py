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
from tacit.terminal import emit

PANEL = Panel.WORLD


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    world = typer.Typer(
        help="The embedded world: WordNet's 82,115 noun synsets as a searchable corpus.",
        epilog='Example: tacit world search "java coffee"',
        no_args_is_help=True,
    )
    world.command("search", epilog='Example: tacit world search "golden eagle" --top 5')(search)
    app.add_typer(world, name="world")


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
