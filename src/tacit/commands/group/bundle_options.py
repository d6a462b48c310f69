"""What ``tacit group bundle`` may be told, one name for each option."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

_LOG = "Profiles from a log"
_SHOWN = "What a group may show"

ProfilesFile = Annotated[
    Path, typer.Argument(help='A search log, or profiles as JSON lines: {"user": …, "terms": {term: 1}}.')
]
Probability = Annotated[
    float, typer.Option("--p", help="The most sure an attacker may be that a member holds a term.")
]
Augment = Annotated[
    int, typer.Option(help="Steps of WordNet hypernyms added to compare users; 0 is synonyms only.")
]
Plain = Annotated[bool, typer.Option("--plain", help="Compare words as they are, without WordNet.")]
Method = Annotated[
    Literal["auto", "greedy", "cells"],
    typer.Option(help="Everybody at once (greedy), or in parts (cells, for large populations)."),
]

Criterion = Annotated[
    Literal["strict", "paper"],
    typer.Option(
        help="p for every term and member (strict), or as an average (paper; not a guarantee).",
        rich_help_panel=_SHOWN,
    ),
]
KnownTerms = Annotated[
    int,
    typer.Option(
        help="Terms of a member that the attacker may know already; costs most terms.", rich_help_panel=_SHOWN
    ),
]
Keep = Annotated[
    float,
    typer.Option(
        help="Least share of members' terms a group must release; larger groups.", rich_help_panel=_SHOWN
    ),
]
FewestHolders = Annotated[
    int,
    typer.Option(
        help="Release only terms that at least so many users have, whatever p allows.", rich_help_panel=_SHOWN
    ),
]
FewestInGroup = Annotated[
    int,
    typer.Option(
        help="Release only terms that at least so many members of the group have.", rich_help_panel=_SHOWN
    ),
]
Representative = Annotated[
    Literal["share", "centroid", "union"],
    typer.Option(
        help="Weights of released terms: the share of members who have it, or the paper's centroid or union, "
        "which tell more.",
        rich_help_panel=_SHOWN,
    ),
]

Weights = Annotated[
    Literal["count", "sessions", "binary", "tf-idf"],
    typer.Option(
        help="Weights of a user's terms: in how many queries, in how many sessions, all the same, or rarer "
        "terms more.",
        rich_help_panel=_LOG,
    ),
]
MaxTerms = Annotated[
    int | None,
    typer.Option(min=1, help="Keep at most so many terms of each user, the heaviest.", rich_help_panel=_LOG),
]
