"""Build src/tacit/data/wordnet from Debian's wordnet-base (WordNet 3.0).

Run it after ``apt-get install wordnet-base``::

    python scripts/build_wordnet.py [/usr/share/wordnet]

Writes ``nouns.parquet`` (a row a noun synset, in depth-first order of first hypernyms),
``senses.parquet`` (a row a word: its synsets in sense order) and ``inflections.parquet`` (irregular
plurals). The same input gives the same bytes.
"""

from __future__ import annotations

import sys
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.taxonomy.tree import TopicTree

OUTPUT = Path(__file__).parent.parent / "src/tacit/data/wordnet"


@dataclass
class Synset:
    lemmas: list[str]
    counts: list[int]
    hypernyms: list[int]
    gloss: str


def tag_counts(folder: Path) -> dict[tuple[str, int, int], int]:
    """How often each noun sense was tagged in Princeton's corpus, by (lemma, file, sense id)."""
    counts = {}
    for line in (folder / "cntlist.rev").read_text("ascii").splitlines():
        key, _sense, count = line.split()
        lemma, _, rest = key.partition("%")
        kind, lexical_file, sense_id, *_ = rest.split(":")
        if kind == "1":
            counts[lemma, int(lexical_file), int(sense_id)] = int(count)
    return counts


def synsets(folder: Path) -> dict[int, Synset]:
    """The noun synsets by their offset in data.noun (format: wndb(5WN))."""
    counts = tag_counts(folder)
    found = {}
    for line in (folder / "data.noun").read_text("ascii").splitlines():
        if line.startswith(" "):
            continue
        data, _, gloss = line.partition(" | ")
        fields = data.split()
        size = int(fields[3], 16)
        words = [(fields[4 + 2 * i], int(fields[5 + 2 * i], 16)) for i in range(size)]
        pointers = fields[4 + 2 * size + 1 :]
        hypernyms = [int(pointers[i + 1]) for i in range(0, len(pointers), 4) if pointers[i] in ("@", "@i")]
        found[int(fields[0])] = Synset(
            lemmas=[word.replace("_", " ") for word, _ in words],
            counts=[counts.get((word.lower(), int(fields[1]), sense), 0) for word, sense in words],
            hypernyms=hypernyms,
            gloss=gloss.strip(),
        )
    return found


def sense_order(folder: Path) -> dict[str, list[int]]:
    """The synset offsets of each noun, most frequent sense first."""
    found = {}
    for line in (folder / "index.noun").read_text("ascii").splitlines():
        if line.startswith(" "):
            continue
        fields = line.split()
        pointers = int(fields[3])
        found[fields[0].replace("_", " ")] = [int(offset) for offset in fields[6 + pointers :]]
    return found


def inflections(folder: Path) -> dict[str, list[str]]:
    """Irregular plurals: form to base forms."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in (folder / "noun.exc").read_text("ascii").splitlines():
        form, *bases = (part.replace("_", " ") for part in line.split())
        found[form].extend(base for base in bases if base not in found[form])
    return dict(found)


def main() -> None:
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/wordnet")
    nouns, senses = synsets(folder), sense_order(folder)
    offsets = sorted(nouns)
    number = {offset: i for i, offset in enumerate(offsets)}
    names = [f"{nouns[offset].lemmas[0].lower().replace(' ', '_')}" for offset in offsets]
    sense = {(lemma, offset): rank for lemma, all_ in senses.items() for rank, offset in enumerate(all_, 1)}
    names = [
        f"{name}.n.{sense[name.replace('_', ' '), offset]:02d}"
        for name, offset in zip(names, offsets, strict=True)
    ]
    parent = [number[nouns[o].hypernyms[0]] if nouns[o].hypernyms else -1 for o in offsets]
    tree = TopicTree.from_parents(parent, names)
    position = {name: node for node, name in enumerate(tree.names)}
    if len(position) != len(names):
        raise SystemExit("synset names are not unique")
    new = {offset: position[names[i]] for i, offset in enumerate(offsets)}
    ordered = sorted(offsets, key=new.__getitem__)
    rows = [nouns[offset] for offset in ordered]
    OUTPUT.mkdir(parents=True, exist_ok=True)
    write = {"compression": "zstd", "compression_level": 19, "write_statistics": False}
    pq.write_table(
        pa.table(
            {
                "name": pa.array(tree.names, pa.string()),
                "parent": pa.array(tree.parent, pa.int32()),
                "hypernyms": pa.array(
                    [[new[h] for h in row.hypernyms] for row in rows], pa.list_(pa.int32())
                ),
                "lemmas": pa.array([row.lemmas for row in rows], pa.list_(pa.string())),
                "counts": pa.array([row.counts for row in rows], pa.list_(pa.int32())),
                "gloss": pa.array([row.gloss for row in rows], pa.string()),
            }
        ),
        OUTPUT / "nouns.parquet",
        **write,
    )
    words = sorted(senses)
    pq.write_table(
        pa.table(
            {
                "word": pa.array(words, pa.string()),
                "synsets": pa.array([[new[o] for o in senses[word]] for word in words], pa.list_(pa.int32())),
            }
        ),
        OUTPUT / "senses.parquet",
        **write,
    )
    irregular = inflections(folder)
    forms = sorted(irregular)
    pq.write_table(
        pa.table(
            {
                "form": pa.array(forms, pa.string()),
                "bases": pa.array([irregular[form] for form in forms], pa.list_(pa.string())),
            }
        ),
        OUTPUT / "inflections.parquet",
        **write,
    )
    depth = int(np.max(tree.depth))
    print(f"{len(rows):,} synsets, {len(words):,} words, {depth} levels, {len(forms):,} irregular plurals")


if __name__ == "__main__":
    main()
