"""How well what is sensitive for everybody is recognised, and how often an innocent page is caught.

    python benchmarks/recognition.py [--write]

Three kinds of text: encyclopaedia abstracts of categories with known meaning (title and 200 characters; none
of the sensitive ones was trained on), pages as results show them, written for this (``specimens/pages.txt``),
and glosses of WordNet meanings. Those with odd numbers were looked at while words and rules were written;
those with even numbers are held out. Last, the everyday and the private pages of the people of ``specimens``,
who were looked at while rules were written. ``--write`` keeps the held-out figures of each concept in the
data that the page shows. Claim, held out: at least 0.88 of sensitive articles and 0.95 of sensitive pages are
caught, and at most 0.13 of innocent ones of either kind.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

from people_topics import articles, articles_file
from tacit.retrieval.sensitive_pages import PASSED, Recogniser, page_text, recogniser

CATEGORIES = {
    "Health": ("Science/Biology/Health_and_medicine",),
    "Religion": ("Religion/Religious", "People/Religious_figures"),
    "Politics": ("Citizenship/Politics_and_government", "People/Political_People", "People/USA_Presidents"),
    "Origin & Ethnicity": ("Geography/Peoples",),
    "Crime & Law": ("Citizenship/Law",),
}
"""The categories of the encyclopaedia that are about a concept."""

UNCLEAR = (
    *(begins for several in CATEGORIES.values() for begins in several),
    "Citizenship",
    "History",
    "Religion",
    "Countries",
    "People/Historical_figures",
    "People/Military",
    "People/Monarchs",
    "People/Human_Scientists",
    "People/Philosophers",
    "Science/Biology/General",
    "Science/Biology/Evolution",
    "Everyday_life/Everyday_life",
    "Business_Studies/Economics",
    "Business_Studies/Business",
)
"""Categories whose articles may be about anything sensitive, so that they are no innocent texts."""

PAGES = Path(__file__).parent / "specimens" / "pages.txt"
TABLE = Path(__file__).parent.parent / "src" / "tacit" / "data" / "people" / "recognised.json"
HELD_OUT, DEVELOPMENT = 0, 1
READ = {"Crime & Law"}
"""All articles about it were read when words were added for those that escaped: no share is held out."""


def innocent_articles(half: int) -> list[str]:
    """Articles about nothing sensitive."""
    file = articles_file()
    rows = articles(file) if file is not None else []
    return [
        row["text"]
        for number, row in enumerate(rows)
        if number % 2 == half and not any(one.startswith(UNCLEAR) for one in row["categories"])
    ]


def sensitive_articles(half: int) -> dict[str, list[str]]:
    """Articles about each concept that the encyclopaedia has."""
    file = articles_file()
    rows = articles(file) if file is not None else []
    return {
        concept: [
            row["text"]
            for number, row in enumerate(rows)
            if number % 2 == half and any(one.startswith(begins) for one in row["categories"])
        ]
        for concept, begins in CATEGORIES.items()
    }


def pages(half: int) -> dict[str, list[str]]:
    """Pages as results show them, by concept; "-" for the innocent."""
    found: dict[str, list[str]] = {}
    for line in PAGES.read_text("utf-8").splitlines():
        if line and not line.startswith("#"):
            concept, title, snippet = line.split(" | ")
            found.setdefault(concept, []).append(f"{title} {snippet}")
    return {concept: texts[half::2] for concept, texts in found.items()}


def people() -> dict[str, list[str]]:
    """The pages of the people of ``specimens``, by kind: what stands in results, or title and address."""
    found: dict[str, list[str]] = {"page": [], "private page": []}
    for path in sorted(PAGES.parent.glob("*.txt")):
        lines = [] if path == PAGES else path.read_text("utf-8").splitlines()
        for kind, title, rest in (line.split(" | ", 2) for line in lines if "page | " in line[:16]):
            address = rest if rest.startswith("https://") else ""
            found[kind].append(page_text("", title, "" if address else rest, address))
    return found


def caught(judge: Recogniser, texts: list[str]) -> float:
    """The share of texts that are caught."""
    return float(np.mean(judge.concepts_of(texts) != PASSED)) if texts else float("nan")


def measured(judge: Recogniser, half: int) -> tuple[dict[str, float], dict[str, float]]:
    """The share caught of each concept's articles and of its pages; "-" for the innocent. Prints both."""
    innocent, sensitive = innocent_articles(half), sensitive_articles(half)
    by_article = {concept: caught(judge, texts) for concept, texts in sensitive.items()}
    by_page = {concept: caught(judge, texts) for concept, texts in pages(half).items()}
    for concept, share in by_page.items():
        print(f"  {concept:28} articles {by_article.get(concept, float('nan')):.2f}  pages {share:.2f}")
    sizes = {concept: len(texts) for concept, texts in sensitive.items()}
    overall = sum(by_article[one] * sizes[one] for one in sizes) / sum(sizes.values())
    shown = float(np.mean([share for concept, share in by_page.items() if concept != "-"]))
    by_article["-"] = caught(judge, innocent)
    print(
        f"  all: articles {overall:.3f}, pages {shown:.3f}; innocent articles {by_article['-']:.3f}, ", end=""
    )
    print(f"pages {by_page['-']:.3f}")
    return by_article, by_page


def main() -> None:
    if articles_file() is None:
        print("recognition: the encyclopaedia is absent")
        return
    judge = recogniser()
    print("development")
    measured(judge, DEVELOPMENT)
    print("held out")
    by_article, by_page = measured(judge, HELD_OUT)
    for kind, texts in people().items():
        print(f"people, {kind}s: {caught(judge, texts):.3f} of {len(texts)}")
    if "--write" in sys.argv:
        table = {
            concept: {
                "pages": round(share, 2),
                **(
                    {"articles": round(by_article[concept], 2)} if concept in by_article.keys() - READ else {}
                ),
            }
            for concept, share in by_page.items()
        }
        kept = {"command": "python benchmarks/recognition.py", "innocent": table.pop("-"), "concepts": table}
        TABLE.write_text(json.dumps(kept, indent=1) + "\n")


if __name__ == "__main__":
    main()
