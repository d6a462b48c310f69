"""Make the bundled cohorts from the people's taxonomy: topics written by hand, each with its words.

    python scripts/build_cohorts.py

``src/tacit/data/people/topics.txt`` has a line a topic, ``Branch/Topic: words``; an exclamation mark first
marks a sensitive one. A topic's direction is the sum of its words' vectors, each at length 1 and by how
telling it is, less the mean over all topics. The topics that may be told are joined until 64 are left, always
the two of one branch that are most alike for their sizes (Ward's rule), so that a cohort has a name that
people can read. Sensitive topics stay as they are: what falls to them is told to nobody. No person's data
takes part, nor chance: the same taxonomy gives the same bytes.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from tacit.text.vectors import WordTable, load_word_table

COHORTS = 64
STEPS = 127
"""A centre's numbers are whole, up to this one; so scores are sums of whole numbers, alike everywhere."""

Floats = NDArray[np.float64]


DATA = Path(__file__).parent.parent / "src/tacit/data"


def main() -> None:
    """Read the taxonomy, write ``cohorts.json``."""
    taxonomy = DATA / "people" / "topics.txt"
    table, names, private, sums = load_word_table(), list[str](), list[bool](), list[Floats]()
    for line in taxonomy.read_text(encoding="utf-8").splitlines():
        path, found, listed = line.partition(": ")
        if found and not line.startswith("#"):
            names.append(path.lstrip("! "))
            private.append(path.startswith("!"))
            sums.append(direction(table, listed))
    directions = unit(np.array(sums))
    mean = directions.mean(axis=0)
    centred, sensitive = unit(directions - mean), np.array(private)
    innocent = np.flatnonzero(~sensitive)
    parts = joined(centred[innocent], [names[topic].split("/")[0] for topic in innocent])
    cohorts = [
        described([names[topic] for topic in innocent[part]], centred[innocent[part]].sum(axis=0), False)
        for part in parts
    ]
    cohorts += [described([names[topic]], centred[topic], True) for topic in np.flatnonzero(sensitive)]
    body = {"mean": [float(f"{value:.6g}") for value in mean], "cohorts": cohorts}
    text = json.dumps(body, ensure_ascii=False, separators=(",", ":")).replace('{"name"', '\n{"name"')
    (DATA / "cohorts" / "cohorts.json").write_text(text + "\n", encoding="utf-8")


def direction(table: WordTable, listed: str) -> Floats:
    """The sum of the vectors of a topic's words, each at length 1 and weighed by how telling it is."""
    numbers = [table.number(word) for word in listed.replace("-", " ").split()]
    known = [number for number in numbers if number < len(table)]
    vectors = table.vectors[known].astype(np.float64) * table.scale
    found: Floats = (table.weight[known][:, None] * unit(vectors)).sum(axis=0)
    return found


def joined(topics: Floats, branches: list[str]) -> list[list[int]]:
    """Join topics of one branch, the most alike for their sizes first, until so many cohorts are left."""
    parts = [[topic] for topic in range(len(topics))]
    while len(parts) > COHORTS:
        centres = unit(np.array([topics[part].sum(axis=0) for part in parts]))
        sizes = np.array([len(part) for part in parts])
        apart = (1 - centres @ centres.T) * (sizes[:, None] * sizes / (sizes[:, None] + sizes))
        branch = np.array([branches[part[0]] for part in parts])
        apart[(branch[:, None] != branch) | np.tri(len(parts), dtype=bool)] = np.inf
        left, right = np.unravel_index(apart.argmin(), apart.shape)
        parts[left] += parts.pop(right)
    return parts


def described(paths: list[str], centre: Floats, sensitive: bool) -> dict[str, object]:
    """A cohort as it is written: the names of its topics, and its centre in whole numbers."""
    branch = paths[0].split("/")[0]
    topics = sorted(path.split("/")[-1] for path in paths)
    name = f"{branch}: {', '.join(topics)}" if topics != [branch] else branch
    numbers = np.rint(unit(centre[None])[0] * STEPS).astype(int).tolist()
    return {"name": name, "sensitive": sensitive, "centre": numbers}


def unit(rows: Floats) -> Floats:
    """The rows at length 1."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    return np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)


if __name__ == "__main__":
    main()
