"""``tacit world``: the embedded corpus and its search index."""

from __future__ import annotations

import time
from typing import Annotated

import typer
from rich.padding import Padding
from rich.text import Text

from tacit.commands.options import JsonFlag
from tacit.commands.verbs import Panel, verb, verb_group
from tacit.terminal import emit

PANEL = Panel.WORLD


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

    shown: list[Text | Padding] = []
    for rank, (_, document) in enumerate(found, 1):
        above = [name.partition(".")[0].replace("_", " ") for name in corpus.tree.path(document.topic)[-4:-1]]
        title = (f"{rank:>2}. {document.title}", "bold")
        shown += [
            Text.assemble(title, "  ", (" › ".join(above), "dim")),
            Padding(document.text, (0, 0, 0, 4)),
        ]
    said = f"{len(found)} results in {milliseconds:.2f} ms" if found else "nothing found"
    emit(result, *shown, Text(said, "dim"), as_json=as_json)


register = verb_group(
    "world",
    "The embedded world: WordNet's 82,115 noun synsets as a searchable corpus.",
    [verb(search, '"golden eagle" --top 5')],
)
