"""What a history is worth on real results for ambiguous queries: on the device, and at a server told topics.

    python benchmarks/device_attention.py [--sensitive] [--thin 2] [--only WordNet]

AMBIENT's queries with about 100 judged results each. Average precision of the results of one meaning, for a
person whose history holds some clicks on it among other pages (clicked results are taken out of the list);
95% intervals by bootstrap over queries. The parameters of attention were chosen by five-fold cross-validation
over the queries: four folds chose the same, the fifth differed in one of them.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from tacit.device import load_repository
from tacit.device.attention import Attention
from tacit.device.bags import Bags
from tacit.device.construction import filings
from tacit.device.generalise import generalise
from tacit.device.history_index import NEAREST
from tacit.device.interest import InterestFinder
from tacit.device.profile import UserProfile
from tacit.device.withholding import Withholding
from tacit.evaluate.ambiguous import (
    HistoryCase,
    abstract_pages,
    history_cases,
    interval_over_queries,
    load_ambient,
    precision_of,
)
from tacit.retrieval.personalised import rank_by_profile

DELTA = 0.1
SETTINGS = [
    (1, 20, "same"), (3, 20, "same"), (3, 200, "same"), (3, 2000, "same"),
    (0, 200, "none"), (0, 2000, "none"), (3, 200, "other"),
]  # fmt: skip


def data_folder() -> Path | None:
    for ancestor in Path(__file__).resolve().parents[1:]:
        if (ancestor / "shared" / "data" / "ambient").is_dir():
            return ancestor / "shared" / "data"
    return None


def text(page: dict[str, str]) -> str:
    return f"{page['title']} {page['snippet']}"


class Measured:
    """Runs cases over one taxonomy."""

    def __init__(self, taxonomy: str) -> None:
        self.repository = load_repository(taxonomy)
        self.vectors = self.repository.vectors
        self.attention = Attention(self.vectors.table)
        self.finder = InterestFinder(self.vectors, self.attention)
        self._bags: dict[str, tuple[int, bytes]] = {}

    def bags(self, pages: list[dict[str, str]]) -> Bags:
        return Bags.of_texts(self.vectors.table, map(text, pages))

    def on_device(self, case: HistoryCase) -> float:
        attended = self.attention.attend(case.query, self.bags(case.results), self.bags(case.history))
        return precision_of(case, [case.results[place] for place in self.attention.order(attended)])

    def exposed(
        self,
        case: HistoryCase,
        *,
        after: bool,
        preferences: bool = False,
        sensitivity: dict[int, float] | None = None,
        keep: np.ndarray | None = None,
    ) -> tuple[float, bool]:
        """Average precision at the server, and whether a profile was sent."""
        history = (
            case.history if keep is None else [p for p, kept in zip(case.history, keep, strict=True) if kept]
        )
        profile = UserProfile(self.repository.tree, {}, sensitivity or {}, everywhere=True)
        shown = self.bags(case.results) if after else None
        interest = self.finder.find(case.query, self.bags(history), shown)
        seed = interest.seed(profile, self.repository.prior, 0.0)
        if seed is None:
            return precision_of(case, case.results), False
        found = generalise(seed, DELTA)
        if not found.feasible or not found.kept[1:].any():
            return precision_of(case, case.results), False
        tree = self.repository.tree
        labels = [tree.label(int(topic)) for topic in found.topics]
        shares = (
            {tree.label(int(t)): float(s) for t, s in zip(found.leaves, found.preferences, strict=True)}
            if preferences
            else None
        )
        order = rank_by_profile(
            self.vectors, case.query, [text(page) for page in case.results], labels, shares
        )
        return precision_of(case, [case.results[place] for place in order]), True

    def with_filter(self, case: HistoryCase, level: int, strict: bool | None) -> tuple[float, bool]:
        """The server's gain if the query's own topic (level 0) or its parent (1) is sensitive."""
        clicked = [page for page in case.history if page.get("id", "").split(".")[0] == case.query_id]
        topics, _ = self.vectors.nearest(self.vectors.table.directions([" ".join(map(text, clicked))]), 1)
        topic = int(topics[0, 0])
        tree = self.repository.tree
        for _ in range(level):
            topic = int(tree.parent[topic]) or topic
        sensitivity = {topic: 1.0}
        keep = None
        if strict is not None:
            near = np.full((len(case.history), NEAREST), -1, np.int32)
            texts = [text(page) for page in case.history]
            for place, filing in enumerate(filings(self.repository, texts)):
                near[place, : len(filing)] = filing["topic"]
            judge = Withholding(self.vectors, sensitivity, strict=strict)
            keep = ~judge.caught(near, self.vectors.table.directions(texts))
        return self.exposed(case, after=False, sensitivity=sensitivity, keep=keep)


def row(name: str, cases: list[HistoryCase], value: Callable[[HistoryCase], float]) -> list[float]:
    begun = time.perf_counter()
    values = [value(case) for case in cases]
    engine = [precision_of(case, case.results) for case in cases]
    lost = np.mean([v < e - 0.05 for v, e in zip(values, engine, strict=True)])
    interval = interval_over_queries([case.query_id for case in cases], values)
    print(
        f"| {name} | {len(cases)} | {np.mean(engine):.3f} | {interval} | {lost:.0%} |"
        f"  <!-- {1000 * (time.perf_counter() - begun) / len(cases):.0f} ms a case -->",
        flush=True,
    )
    return values


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sensitive", action="store_true", help="only what the filter leaves to the server")
    parser.add_argument("--thin", type=int, default=1, help="only every so many-th case")
    parser.add_argument("--only", help="one taxonomy: WordNet, Open Directory or Topics")
    chosen = parser.parse_args()
    folder = data_folder()
    if folder is None:
        print("AMBIENT is absent: no folder shared/data/ambient beside the project; nothing was measured.")
        return
    ambient = load_ambient(folder / "ambient")
    others = abstract_pages(folder / "wikispeedia_abstracts.jsonl.gz")
    cases = {
        setting: list(history_cases(ambient, others, setting[0], setting[1], interest=setting[2]))[
            :: chosen.thin
        ]
        for setting in SETTINGS
    }
    print("| what | cases | engine | AP [95% over queries] | lose 0.05 |")
    print("|---|---|---|---|---|")
    taxonomies = {
        "WordNet": "wordnet",
        "Open Directory": str(folder / "odp_topics_level4_background.tsv"),
        "Topics": str(folder / "topics_taxonomy_v2.md"),
    }
    for name, taxonomy in taxonomies.items():
        if chosen.only not in (None, name):
            continue
        measured = Measured(taxonomy)
        if chosen.sensitive:
            sensitive_rows(name, measured, cases[3, 200, "same"])
            continue
        if name == "WordNet":
            for (clicks, size, interest), found in cases.items():
                row(f"on the device, {clicks} of {size}, {interest}", found, measured.on_device)
        exposed_rows(name, measured, cases)


def sensitive_rows(name: str, measured: Measured, cases: list[HistoryCase]) -> None:
    for level, what in ((0, "the topic itself"), (1, "its parent")):
        for strict, how in ((None, "no filter"), (False, "filtered"), (True, "strict")):

            def gain(case: HistoryCase, level: int = level, strict: bool | None = strict) -> float:
                return measured.with_filter(case, level, strict)[0]

            row(f"{name}, sensitive: {what}, {how}", cases, gain)


def exposed_rows(name: str, measured: Measured, cases: dict[tuple[int, int, str], list[HistoryCase]]) -> None:
    for after, when in ((False, "before"), (True, "after")):

        def value(case: HistoryCase, after: bool = after) -> float:
            return measured.exposed(case, after=after)[0]

        for setting in ((3, 200, "same"), (3, 2000, "same"), (0, 200, "none")):
            clicks, size, interest = setting
            row(f"{name}, {when} results, {clicks} of {size}, {interest}", cases[setting], value)

    def told(case: HistoryCase) -> float:
        return measured.exposed(case, after=False, preferences=True)[0]

    row(f"{name}, before results, with preferences", cases[3, 200, "same"], told)


if __name__ == "__main__":
    main()
