"""The same as ``device_attention.py`` on other data: a synthetic log, encyclopaedia abstracts, random nouns.

    python benchmarks/device_elsewhere.py [--users 40]

- *Synthetic log*: its most active people. What they clicked in the first four fifths of their records is
  their history; of the queries after that, the document of the meaning they had in mind is relevant.
- *Abstracts*: simulated readers of three categories of an encyclopaedia. A query is one word of an article
  they have not read that occurs in many articles; articles of its category are relevant. Skipped with a
  word where the abstracts are absent.
- *Random nouns*: with how many of 1,000 random nouns a profile goes out at all, for people of the synthetic
  log, by the evidence in their history and by the paper's rule.

Average precision with 95% intervals by bootstrap over people; δ = 0.1, WordNet.
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from device_attention import DELTA, Measured, data_folder, row
from tacit.device import OnlineProfiler
from tacit.device.profile.arrays import Bags
from tacit.device.profile.repository import content_words
from tacit.device.profile.user import UserProfile
from tacit.device.sending.decision import EvidenceProfiler
from tacit.evaluate.guards.cases import HistoryCase
from tacit.retrieval import Document, EmbeddedEngine
from tacit.taxonomy import load_wordnet
from tacit.world.synth import SyntheticLog

SHOWN, NOUNS = 20, 1_000


def page(document: Document) -> dict[str, str]:
    return {
        "id": str(document.number),
        "url": document.url,
        "title": document.title,
        "snippet": document.text[:200],
    }


def log_cases(measured: Measured, users: int) -> Iterator[HistoryCase]:
    """What the most active people of a synthetic log looked for in the last fifth of their records."""
    repository = measured.repository
    log = SyntheticLog(3_000, seed=5)
    table, truth = log.table(), log.truth()
    lengths = np.array([len(meanings) for meanings in truth["meanings"].to_pylist()])
    begins = np.concatenate(([0], np.cumsum(lengths)))
    for user in [user for user in np.argsort(-lengths, kind="stable") if lengths[user] <= 2_000][:users]:
        records = table.slice(begins[user], lengths[user]).to_pylist()
        meant, kinds = (truth[name][int(user)].as_py() for name in ("meanings", "kinds"))
        cut = len(records) * 4 // 5
        clicked = [repository.number_of_url(record["url"]) for record in records[:cut] if record["url"]]
        history = [page(repository.corpus[number]) for number in clicked if number is not None]
        asked = {
            (record["query"], meaning)
            for record, meaning, kind in zip(records[cut:], meant[cut:], kinds[cut:], strict=True)
            if kind not in {"errand", "next-page"}
        }
        for query, meaning in sorted(asked, key=str)[:10]:
            results = [repository.corpus[hit.document] for hit in repository.engine.search(query, SHOWN)]
            if meaning in [document.number for document in results]:
                relevant = frozenset({str(meaning)})
                yield HistoryCase(str(user), query, str(meaning), list(map(page, results)), history, relevant)


def article_cases(articles: Path, folder: str, users: int) -> Iterator[HistoryCase]:
    """Words of unread articles, asked by readers of three categories."""
    with gzip.open(articles, "rt", encoding="utf-8") as lines:
        rows = [found for found in map(json.loads, lines) if found["categories"] and found["text"]]
    category = np.array([found["categories"][0] for found in rows])
    documents = [Document(n, r["title"], r["text"], r["url"], 0) for n, r in enumerate(rows)]
    engine = EmbeddedEngine.build(folder, documents)
    words = [set(content_words(f"{one.title} {one.text[:200]}")) for one in documents]
    frequency = Counter(word for found in words for word in found)
    large = [name for name, size in Counter(category.tolist()).items() if size >= 28]
    random = np.random.default_rng(5)
    for user in range(users):
        read: list[int] = []
        unread: list[int] = []
        for name in random.choice(large, 3, replace=False):
            shuffled = random.permutation(np.flatnonzero(category == name)).tolist()
            read, unread = read + shuffled[:12], unread + shuffled[12:16]
        history = [page(documents[number]) for number in read]
        for number in unread:
            usable = sorted(word for word in words[number] if 20 <= frequency[word] <= 300)
            if not usable:
                continue
            query = str(random.choice(usable))
            hits = [hit.document for hit in engine.search(query, 100) if hit.document not in read]
            relevant = frozenset(str(hit) for hit in hits if category[hit] == category[number])
            if relevant:
                results = [page(documents[hit]) for hit in hits]
                yield HistoryCase(str(user), query, str(number), results, history, relevant)


def rows(name: str, measured: Measured, cases: list[HistoryCase]) -> None:
    ways: dict[str, Callable[[HistoryCase], float]] = {
        "on the device": measured.on_device,
        "sent before results": lambda case: measured.exposed(case, after=False)[0],
        "sent after results": lambda case: measured.exposed(case, after=True)[0],
    }
    for way, value in ways.items():
        row(f"{name}, {way}", cases, value)


def nouns(measured: Measured, cases: list[HistoryCase]) -> None:
    """With how many random nouns a profile goes out, by evidence and by the paper's rule."""
    repository = measured.repository
    vocabulary = load_wordnet().vocabulary
    drawn = np.random.default_rng(1).choice(len(vocabulary), NOUNS, replace=False)
    people = {case.query_id: case.history for case in cases}
    counts: Counter[str] = Counter()
    asked = 0
    for history in list(people.values())[:5]:
        topics = Counter(int(entry["id"]) for entry in history)
        profile = UserProfile(repository.tree, {t: float(n) for t, n in topics.items()}, {})
        bags: Bags = measured.bags(history)
        ways: dict[str, OnlineProfiler] = {
            "by evidence": EvidenceProfiler(repository, profile, measured.finder, bags, DELTA),
            "by the paper's rule": OnlineProfiler(repository, profile, DELTA),
        }
        for number in drawn:
            asked += 1
            for way, profiler in ways.items():
                found = profiler.profile_query(vocabulary[number])
                counts[way] += found.personalised
                gain = found.generalisation.utility if found.generalisation is not None else 0.0
                counts[f"{way}, without predicted gain"] += found.personalised and gain <= 0
    for way in ("by evidence", "by the paper's rule"):
        useless = counts[f"{way}, without predicted gain"]
        print(
            f"random nouns with a profile, {way}: {NOUNS * counts[way] / asked:.0f} of {NOUNS:,}, "
            f"{NOUNS * useless / asked:.0f} of them without predicted gain"
        )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--users", type=int, default=40, help="people of each kind")
    users = parser.parse_args().users
    measured = Measured("wordnet")
    print("| what | cases | engine | AP [95% over people] | lose 0.05 |")
    print("|---|---|---|---|---|")
    logged = list(log_cases(measured, users))
    rows("synthetic log", measured, logged)
    shared = data_folder()
    if shared is None:
        print("The abstracts are absent: no folder shared/data beside the project.")
    else:
        with tempfile.TemporaryDirectory() as folder:
            cases = list(article_cases(shared / "wikispeedia_abstracts.jsonl.gz", folder, users))
            rows("abstracts", measured, cases)
    nouns(measured, logged)


if __name__ == "__main__":
    main()
