"""What a history is worth on real results for ambiguous queries: on the device, and at a server told topics.

    python benchmarks/device_attention.py [--sensitive] [--half even] [--thin 2] [--only WordNet] [--choose]

AMBIENT's queries with about 100 judged results each. Average precision of the results of one meaning, for a
person whose history holds some clicks on it among other pages (clicked results are taken out of the list);
95% intervals by bootstrap over queries. Every second query is **held out**: figures are of those (``--half
odd``, the default), and parameters are chosen on the others: ``--choose`` tries values around each of them,
one at a time, on the even half.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from tacit.device import load_repository
from tacit.device.generalise.algorithms import generalise
from tacit.device.profile.arrays import Bags
from tacit.device.profile.history import NEAREST
from tacit.device.profile.user import UserProfile
from tacit.device.ranking.attention import Attention, AttentionParameters
from tacit.device.sending.decision import InterestFinder
from tacit.device.sending.withholding import NEAR_SHARE, Withholding
from tacit.evaluate.guards.cases import (
    HistoryCase,
    history_cases,
    interval_over_queries,
    load_ambient,
    precision_of,
)
from tacit.retrieval import personalised
from tacit.retrieval.personalised import rank_by_profile
from withholding import abstract_pages

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

    def own_topic(self, case: HistoryCase) -> int:
        """What the clicks on the case's meaning are about, taken together."""
        clicked = [page for page in case.history if page.get("id", "").split(".")[0] == case.query_id]
        topics, _ = self.vectors.nearest(self.vectors.table.directions([" ".join(map(text, clicked))]), 1)
        return int(topics[0, 0])

    def above(self, topic: int) -> int:
        """The parent of a topic; a topic directly below the root stands for itself."""
        return int(self.repository.tree.parent[topic]) or topic

    def with_filter(self, case: HistoryCase, sensitive: list[int], judge: str) -> float:
        """The server's precision if some topics are sensitive, under a filter."""
        tree = self.repository.tree
        outer = [t for t in sensitive if not any(t != o and tree.is_ancestor(o, t) for o in sensitive)]
        sensitivity = dict.fromkeys(outer, 1.0)
        keep = None
        if judge != "no filter":
            texts = [text(page) for page in case.history]
            directions = self.vectors.table.directions(texts)
            near, _ = self.vectors.nearest(directions, NEAREST)
            share = 0.0 if judge == "ten nearest alone" else NEAR_SHARE
            filtering = Withholding(self.vectors, sensitivity, strict=judge == "strict", near=share)
            keep = ~filtering.caught(near, directions)
        return self.exposed(case, after=False, sensitivity=sensitivity, keep=keep)[0]


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
    parser.add_argument("--choose", action="store_true", help="try other parameters, on the even half")
    parser.add_argument("--half", choices=("odd", "even", "all"), default="odd", help="of which queries")
    parser.add_argument("--thin", type=int, default=1, help="only every so many-th case")
    parser.add_argument("--only", help="one taxonomy: WordNet, Open Directory or Topics")
    chosen = parser.parse_args()
    folder = data_folder()
    if folder is None:
        print("AMBIENT is absent: no folder shared/data/ambient beside the project; nothing was measured.")
        return
    ambient = load_ambient(folder / "ambient")
    others = abstract_pages(folder / "wikispeedia_abstracts.jsonl.gz")
    half = "even" if chosen.choose else chosen.half
    names = list(ambient.queries)
    wanted = set({"even": names[::2], "odd": names[1::2], "all": names}[half])

    def cases(clicks: int, size: int, interest: str) -> list[HistoryCase]:
        found = history_cases(ambient, others, clicks, size, interest=interest)
        return [case for case in found if case.query_id in wanted][:: chosen.thin]

    print(f"{half} queries: {len(wanted)}")
    if chosen.choose:
        choose(Measured("wordnet"), [cases(*setting) for setting in SETTINGS if setting[1] <= 200])
        return
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
            sensitive_rows(name, measured, cases(3, 200, "same"))
            continue
        if name == "WordNet":
            for clicks, size, interest in SETTINGS:
                found = cases(clicks, size, interest)
                row(f"on the device, {clicks} of {size}, {interest}", found, measured.on_device)
        exposed_rows(name, measured, cases)


def sensitive_rows(name: str, measured: Measured, cases: list[HistoryCase]) -> None:
    """The server's precision with the case's own topic sensitive, its parent, or topics of other queries."""
    own = {case.meaning: measured.own_topic(case) for case in cases}
    elsewhere = {
        case.meaning: random.Random(case.meaning).sample(
            [own[other.meaning] for other in cases if other.query_id != case.query_id], 3
        )
        for case in cases
    }
    sensitive: dict[str, Callable[[str], list[int]]] = {
        "the topic itself": lambda meaning: [own[meaning]],
        "its parent": lambda meaning: [measured.above(own[meaning])],
        "three others": lambda meaning: elsewhere[meaning],
        "three others' parents": lambda meaning: [measured.above(t) for t in elsewhere[meaning]],
    }
    for what, topics in sensitive.items():
        for judge in ("no filter", "ten nearest alone", "filtered", "strict"):

            def value(
                case: HistoryCase, topics: Callable[[str], list[int]] = topics, judge: str = judge
            ) -> float:
                return measured.with_filter(case, topics(case.meaning), judge)

            row(f"{name}, sensitive: {what}, {judge}", cases, value)


def exposed_rows(name: str, measured: Measured, cases: Callable[[int, int, str], list[HistoryCase]]) -> None:
    for after, when in ((False, "before"), (True, "after")):

        def value(case: HistoryCase, after: bool = after) -> float:
            return measured.exposed(case, after=after)[0]

        for clicks, size, interest in ((3, 200, "same"), (3, 2000, "same"), (0, 200, "none")):
            found = cases(clicks, size, interest)
            row(f"{name}, {when} results, {clicks} of {size}, {interest}", found, value)

    def told(case: HistoryCase) -> float:
        return measured.exposed(case, after=False, preferences=True)[0]

    row(f"{name}, before results, with preferences", cases(3, 200, "same"), told)


def choose(measured: Measured, settings: list[list[HistoryCase]]) -> None:
    """Mean precision on the device with each parameter as it is, and moved either way."""
    usual = AttentionParameters()

    def mean(parameters: AttentionParameters) -> float:
        measured.attention.parameters = parameters
        return float(np.mean([np.mean([measured.on_device(case) for case in cases]) for cases in settings]))

    print(f"as it is: {mean(usual):.4f}", flush=True)
    for name in ("vector", "coverage", "temperature", "null", "strength", "steadiness"):
        value = getattr(usual, name)
        moved = {factor: mean(replace(usual, **{name: value * factor})) for factor in (0.67, 0.8, 1.25, 1.5)}
        tried = ", ".join(f"{value * factor:.3g}: {found:.4f}" for factor, found in moved.items())
        print(f"{name} {value:g} instead {tried}", flush=True)
    measured.attention.parameters = usual
    for strength in (12.0, 16.0, 20.0, 25.0, 30.0):
        for steadiness in (10.0, 25.0, 40.0):
            personalised.STRENGTH, personalised.STEADINESS = strength, steadiness
            found = np.mean([measured.exposed(case, after=False)[0] for case in settings[2]])
            print(f"server: strength {strength:g}, steadiness {steadiness:g}: {found:.4f}", flush=True)


if __name__ == "__main__":
    main()
