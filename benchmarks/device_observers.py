"""What observers of the topics sent with queries learn of a sensitive interest, before and after the filter.

    python benchmarks/device_observers.py [--people 200] [--concept NAME ...] [--before | --unmarked]

Simulated people have 20 pages of each of 4 innocent categories of the encyclopaedia; half of them have 20
(or 60) more about a sensitive concept. Everybody asks the same 80 or 200 queries: near the concept, everyday
ones, and words of innocent topics. Two observers see which topics came with which query and guess who has
the interest, in ten folds: naive Bayes, and boosted stumps; shown is the mean over five draws of people and
queries, since one draw alone has a standard error of 0.04. ``--before`` puts the old behaviour back by
letting every page and every topic pass. The same for interests that their readers marked, against people
who read nothing about them; ``--unmarked`` takes the marks away. Claim: before, an observer is nearly certain
for health, religion and politics; now none exceeds 0.60 at 20 pages, nor 0.65 at 60, nor 0.62 where the
interest was marked.
"""

from __future__ import annotations

import argparse
from functools import cache
from itertools import zip_longest

import numpy as np

from people_topics import articles, articles_file
from recognition import CATEGORIES, UNCLEAR
from tacit.device.ranking.attention import Attention
from tacit.device.sending import interests
from tacit.device.sending.interests import InterestChooser, JudgedTexts, PassedPages
from tacit.retrieval.sensitive_pages import PASSED, recogniser
from tacit.taxonomy import load_people
from tacit.text.vectors import load_word_table

EVERYDAY = (
    "history music art river war water light ship train bird stone city island science energy school "
    "language film food plant animal book theatre planet engine law court church god people party health king"
).split()
NEAR = {
    "Health": "disease virus treatment blood cell brain heart medicine infection bacteria drug cancer",
    "Religion": "church faith bible temple saint pope prayer prophet theology monk ritual scripture",
    "Politics": "election president parliament government vote policy party minister state republic",
    "Crime & Law": "court law judge crime justice trial rights constitution legal police contract",
    "Origin & Ethnicity": "tribe people culture language native ethnic settlers nomads indigenous africa",
    "Trains & Railways": "railway train locomotive steam station metro tram track rail bridge underground",
    "Astronomy": "star planet galaxy moon orbit comet nebula jupiter telescope astronomer mars saturn",
    "Video Games": "game console nintendo playstation player arcade multiplayer level graphics handheld",
}
MARKED = {
    "Trains & Railways": ("Design_and_Technology/Railway_transport",),
    "Astronomy": ("Science/Physics/Space_Astronomy", "Science/Physics/The_Planets"),
    "Video Games": ("Everyday_life/Computer_and_Video_games",),
}
"""Innocent topics that their readers marked, and the categories of the encyclopaedia that are about them."""
QUERIES = (80, 200)
FOLDS, STUMPS, RATE = 10, 60, 0.3
DRAWS = 5


def auc(scores: np.ndarray, truth: np.ndarray) -> float:
    """The area under the curve: how often one with the interest scores above one without."""
    difference = scores[truth][:, None] - scores[~truth][None, :]
    return float((difference > 0).mean() + 0.5 * (difference == 0).mean())


def naive_bayes(seen: np.ndarray, truth: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Log odds of the interest by independent topics."""
    chance = [
        (seen[truth == which].sum(axis=0) + 0.5) / ((truth == which).sum() + 1) for which in (True, False)
    ]
    on, off = np.log(chance[0] / chance[1]), np.log((1 - chance[0]) / (1 - chance[1]))
    return asked @ on + (1 - asked) @ off


def boosted(seen: np.ndarray, truth: np.ndarray, asked: np.ndarray) -> np.ndarray:
    """Gradient boosting of stumps on the logistic loss."""
    total, scores = np.zeros(len(seen)), np.zeros(len(asked))
    for _ in range(STUMPS):
        residual = truth - 1 / (1 + np.exp(-total))
        on = seen.sum(axis=0)
        with_topic = residual @ seen
        without = residual.sum() - with_topic
        gain = with_topic**2 / np.maximum(on, 1) + without**2 / np.maximum(len(seen) - on, 1)
        best = int(gain.argmax())
        up, down = with_topic[best] / max(on[best], 1), without[best] / max(len(seen) - on[best], 1)
        total += RATE * 4 * np.where(seen[:, best] > 0, up, down)
        scores += RATE * 4 * np.where(asked[:, best] > 0, up, down)
    return scores


def observed(seen: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """AUC of both observers over all folds."""
    fold = np.random.default_rng(1).permutation(len(truth)) % FOLDS
    scores = np.zeros((2, len(truth)))
    for number in range(FOLDS):
        out, rest = fold == number, fold != number
        for row, observer in enumerate((naive_bayes, boosted)):
            scores[row, out] = observer(seen[rest], truth[rest], seen[out])
    return auc(scores[0], truth), auc(scores[1], truth)


def queries_near(concept: str, draw: int = 0) -> list[str]:
    """Everybody's queries: near a concept and everyday ones first, then words of innocent topics."""
    people = interests.people_topics().people
    listed = {
        phrase[0]
        for t, told in people.words.items()
        if people.concept[t] < 0
        for phrase in told
        if not phrase[1:]
    }
    others = np.random.default_rng((5, draw)).permutation(sorted(listed)).tolist()
    return list(dict.fromkeys([*NEAR[concept].split(), *EVERYDAY, *others]))[: max(QUERIES)]


Messages = list[set[tuple[str, int]]]


def seen_of(rows: Messages, queries: list[str]) -> np.ndarray:
    """Which topic came with which of these queries, a row a person."""
    asked = set(queries)
    columns = sorted(pair for pair in set().union(*rows) if pair[0] in asked)
    return np.array([[column in row for column in columns] for row in rows], float).reshape(len(rows), -1)


def messages(histories: list[list[str]], queries: list[str], marks: list[tuple[int, ...]] = []) -> Messages:  # noqa: B006
    """The topics that went out with each query, by person."""
    attention, rows = Attention(load_word_table()), []
    for texts, marked in zip_longest(histories, marks, fillvalue=()):
        pages = PassedPages(JudgedTexts(list(texts)))
        pages.refresh(marked)
        chooser = InterestChooser(pages, attention)
        rows.append({(query, topic) for query in queries for topic in chooser.choose(query).topics})
    return rows


def remember_queries() -> None:
    """Score each query once: everybody asks the same."""
    topics, score = interests.people_topics(), interests.people_topics().scores
    once = cache(lambda text: score([text]))
    topics.scores = lambda texts: once(*texts) if len(texts) == 1 else score(texts)  # type: ignore[method-assign]


def people(
    concept: str, count: int, read: int, rows: list[dict], draw: int = 0
) -> tuple[list[list[str]], np.ndarray]:
    """Histories, and who of them has the interest."""
    random = np.random.default_rng((7, draw))
    pools: dict[str, list[str]] = {}
    begins = MARKED.get(concept) or CATEGORIES[concept]
    for row in rows:
        if not any(one.startswith((*UNCLEAR, *begins)) for one in row["categories"]):
            pools.setdefault(row["categories"][0], []).append(row["text"])
    innocent = [texts for texts in pools.values() if len(texts) >= 25]
    about = [row["text"] for row in rows if any(c.startswith(begins) for c in row["categories"])]
    truth = np.arange(count) % 2 == 1
    histories = []
    for interested in truth:
        chosen = random.choice(len(innocent), 4, replace=False)
        texts = [text for pool in chosen for text in random.choice(innocent[pool], 20, replace=False)]
        if interested:
            texts += list(random.choice(about, min(read, len(about)), replace=False))
        histories.append(texts)
    return histories, truth


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--people", type=int, default=200)
    parser.add_argument("--concept", action="append", choices=[*CATEGORIES, *MARKED])
    parser.add_argument("--before", action="store_true")
    parser.add_argument("--unmarked", action="store_true")
    chosen = parser.parse_known_args()[0]
    file = articles_file()
    if file is None:
        print("device_observers: the encyclopaedia is absent")
        return
    rows = articles(file)
    remember_queries()
    for concept in chosen.concept or (*CATEGORIES, *MARKED):
        mark = (load_people().tree.named(concept),) if concept in MARKED and not chosen.unmarked else ()
        for read in (20, 60) if concept in CATEGORIES else (20,):
            found = np.zeros((len(QUERIES), 2))
            for draw in range(DRAWS):
                queries = queries_near(concept, draw)
                histories, truth = people(concept, chosen.people, read, rows, draw)
                marks = [mark if interested else () for interested in truth]
                before = chosen.before and concept in CATEGORIES
                sent = without_filter(histories, queries) if before else messages(histories, queries, marks)
                found += [observed(seen_of(sent, queries[:count]), truth) for count in QUERIES]
            for count, (bayes, boost) in zip(QUERIES, found / DRAWS, strict=True):
                print(f"{concept:20} {read:3} pages {count:4} queries  {bayes:.2f}/{boost:.2f}", flush=True)


def without_filter(histories: list[list[str]], queries: list[str]) -> Messages:
    """The same with everything let pass: caught pages, sensitive topics and queries, neighbours."""
    judge, people = recogniser(), interests.people_topics().people
    kept = people.concept.copy(), judge.concept_of_query, interests.neighbours, interests.PassedPages.refresh
    refresh = kept[3]

    def unfiltered(pages: PassedPages, marks: tuple[int, ...]) -> None:
        pages._index.pages["concept"] = PASSED
        refresh(pages, marks)

    people.concept[:] = -1
    judge.concept_of_query = lambda _: PASSED  # type: ignore[method-assign]
    interests.neighbours = lambda: frozenset()  # type: ignore[assignment]
    interests.PassedPages.refresh = unfiltered  # type: ignore[assignment,method-assign]
    try:
        return messages(histories, queries)
    finally:
        people.concept[:] = kept[0]
        judge.concept_of_query = kept[1]  # type: ignore[method-assign]
        interests.neighbours = kept[2]
        interests.PassedPages.refresh = kept[3]  # type: ignore[method-assign]


if __name__ == "__main__":
    main()
