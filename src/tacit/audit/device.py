"""Observers of one device over many queries: what do topics that are sent say about sensitive reading?

Everything is tried in a copy of a profile, which is in memory: the same person without what was caught,
observers of people who are made up, and guesses below what is sent. What each may find:
docs/reference/commands/audit.md.
"""

import sqlite3
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.bounds import ALARM, at_least
from tacit.audit.canaries import spill
from tacit.audit.found import FOREVER, Deadline, GuardAudit, bar, table
from tacit.device import Guard, UserProfile, generalise
from tacit.device.generalise.mapping import map_topics
from tacit.device.profile.repository import load_repository
from tacit.device.profile.store import ProfileStore
from tacit.device.ranking.attention import Attention
from tacit.device.sending.interests import InterestChooser, passed_texts
from tacit.errors import InputError
from tacit.retrieval.sensitive_pages import page_text
from tacit.taxonomy import PEOPLE, TopicTree
from tacit.text.tokens import words
from tacit.text.vectors import load_word_table
from tacit.validation import flag, place, whole

QUERIES = (
    "history music art river water light ship train bird stone city island science energy school "
    "language film food plant animal book theatre planet engine football physics game computer mountain "
    "law party people"
).split()
SENSITIVE: Mapping[str, str] = {
    "Health": "disease virus treatment infection cancer medicine patient",
    "Religion": "church faith bible temple saint prayer priest",
    "Politics": "election president parliament government vote policy party",
}
"""Words that texts about a concept hold, which are asked for too."""
MOST_CHANGED = 0.1
"""The share of people whose messages may change when they read twenty such texts. That 72 of 400 do is no
chance, but for one in a million: a share of 0.2 is noticed six times out of seven, and one of 0.25 always."""
PAIRS, READ = 400, 20
_FOLDS, _STUMPS, _RATE = 10, 60, 0.3
Flags = NDArray[np.bool_]
Seen = NDArray[np.float64]
"""Which topic came with which query (columns), of each person (rows)."""


def naive_bayes(seen: Seen, truth: Flags, asked: Seen) -> NDArray[np.float64]:
    """Log odds that these people read it, by independent topics, learned from others."""
    chance = [(seen[truth == read].sum(axis=0) + 0.5) / ((truth == read).sum() + 1) for read in (True, False)]
    on, off = np.log(chance[0] / chance[1]), np.log((1 - chance[0]) / (1 - chance[1]))
    return np.asarray(asked @ on + (1 - asked) @ off)


def boosted(seen: Seen, truth: Flags, asked: Seen) -> NDArray[np.float64]:
    """The same by gradient boosting of stumps on the logistic loss."""
    total, scores, on = np.zeros(len(seen)), np.zeros(len(asked)), seen.sum(axis=0)
    for _ in range(_STUMPS):
        residual = truth - 1 / (1 + np.exp(-total))
        with_topic = residual @ seen
        without = residual.sum() - with_topic
        gain = with_topic**2 / np.maximum(on, 1) + without**2 / np.maximum(len(seen) - on, 1)
        best = int(gain.argmax())
        up, down = with_topic[best] / max(on[best], 1), without[best] / max(len(seen) - on[best], 1)
        total += _RATE * 4 * np.where(seen[:, best] > 0, up, down)
        scores += _RATE * 4 * np.where(asked[:, best] > 0, up, down)
    return scores


def observed(seen: Seen, truth: Flags) -> dict[str, float]:
    """Measure how well each observer tells readers from others (AUC, in ten folds)."""
    # Twins are in one fold: an observer that knew one would take the other for it.
    fold = np.repeat(np.random.default_rng(1).permutation(len(truth) // 2) % _FOLDS, 2)
    found = {}
    for name, observer in (("naive Bayes", naive_bayes), ("boosted stumps", boosted)):
        scores = np.zeros(len(truth))
        for number in range(_FOLDS if seen.size else 0):
            out, rest = fold == number, fold != number
            scores[out] = observer(seen[rest], truth[rest], seen[out])
        difference = scores[truth][:, None] - scores[~truth][None, :]
        found[name] = float((difference > 0).mean() + 0.5 * (difference == 0).mean())
    return found


def messages(texts: Sequence[str], queries: Sequence[str]) -> list[tuple[int, ...]]:
    """Collect what goes out with each query where these are the pages of a history."""
    chooser = InterestChooser(passed_texts(texts), Attention(load_word_table()))
    return [chooser.choose(query).topics for query in queries]


def passing(texts: Sequence[str]) -> list[str]:
    """Select the texts that are not caught as sensitive."""
    return [text for text, passed in zip(texts, passed_texts(texts).passed, strict=True) if passed]


def compare(
    texts: Sequence[str],
    about: Sequence[str],
    queries: Sequence[str],
    people: int,
    rng: np.random.Generator,
    deadline: Deadline = FOREVER,
) -> dict[str, Any]:
    """Observe people who each read some of the texts, and with them sensitive ones; fewer if time is up."""
    sent: list[list[tuple[int, ...]]] = []
    changed = leaked = 0
    while len(sent) < 2 * people and not (deadline.passed and len(sent) >= 2 * _FOLDS):
        read = [texts[n] for n in rng.permutation(len(texts))[: max(READ, len(texts) // 2)]]
        more = [about[n] for n in rng.permutation(len(about))[:READ]]
        sent += [messages(read, queries), having := messages([*read, *more], queries)]
        if having != sent[-2]:
            changed += 1
            leaked += having != messages([*read, *passing(more)], queries)
    rows = [{(place, topic) for place, topics in enumerate(row) for topic in topics} for row in sent]
    columns = sorted(set[tuple[int, int]]().union(*rows))
    seen = np.array([[column in row for column in columns] for row in rows], float).reshape(len(rows), -1)
    d, truth = 2 * changed / len(rows), np.arange(len(rows)) % 2 == 1
    found = {"changed": changed, "by_caught": leaked, "people": len(rows) // 2}
    return found | {"largest_auc": 0.5 + d - d * d / 2} | observed(seen, truth)


def texts_about(concept: str) -> list[str]:
    """Find public texts, glosses of WordNet, that hold several words of a sensitive concept."""
    wanted = set(SENSITIVE[concept].split())
    glosses = (f"{page.title}. {page.text}" for page in load_repository().corpus)
    return [text for text in glosses if len(wanted & set(words(text))) > 1]


def recovered(profile: UserProfile, cut: Iterable[int]) -> float:
    """The share of the severity recovered by following the taxonomy down from a cut at random (UPS, 4.2)."""
    tree = profile.tree

    def expected(topic: int) -> float:
        below = [s for s in profile.sensitivity if topic <= s < tree.end[topic] and profile.support[s] > 0]
        if not below or topic in below:
            return profile.sensitivity[topic] if below else 0.0
        children = tree.children(topic)
        mean = sum(float(tree.support[child]) * expected(int(child)) for child in children)
        return mean / float(tree.support[children].sum())

    return sum(map(expected, cut)) / profile.wealth


def skating() -> UserProfile:
    """UPS's example: of two kinds of skating one is severe, and readers of either are as many."""
    paths = [(("Ice", "Figure"), 1), (("Ice", "Speed"), 1), (("Ball", "Foot"), 4), (("Ball", "Hand"), 4)]
    tree = TopicTree.from_paths(paths)
    figure = tree.find("Top/Ice/Figure")
    return UserProfile(tree, {figure: 1, tree.find("Top/Ball/Foot"): 3}, {figure: 1.0})


def hidden_alone() -> tuple[str, bool, str]:
    """The closed form of the example: where the topic alone is hidden, guessing recovers half."""
    profile = skating()
    tree = profile.tree
    ice, foot = tree.find("Top/Ice"), tree.find("Top/Ball/Foot")
    mean = recovered(profile, (ice, foot))
    mapped = map_topics(profile, tree.support / tree.support[0], np.array([ice + 1, foot], np.int32))
    assert mapped.seed is not None
    exposed = set(generalise(mapped.seed, 0.2).topics.tolist())
    holds = abs(mean - 0.5) < 1e-9 and ice not in exposed
    return "UPS's example: hiding alone gives away 50%, generalising nothing.", holds, f"{mean:.1%} recovered"


def audit_device(
    profile: str | Path,
    *,
    people: int = PAIRS,
    queries: Sequence[str] = QUERIES,
    pages: Mapping[str, Sequence[str]] | None = None,
    seed: int = 0,
    seconds: float | None = None,
    synthetic: bool = False,
    report: Callable[[str], object] = str,
) -> GuardAudit:
    """Attack what a profile sends with many queries.

    Args:
        profile: the profile file, which is only read.
        people: how many people are made up of its pages, each once with sensitive reading and once without.
        pages: texts about sensitive concepts, by the concept; glosses of WordNet unless given.
        seed: who reads what.
        seconds: leave out what there is no time for.
        synthetic: you vouch that the profile is nobody's: the result may be shown.
    """
    path, deadline = place("profile", profile), Deadline.after(seconds)
    rng, number = np.random.default_rng(whole("seed", seed)), whole("people", people, 2)
    if not path.is_file():
        raise InputError(f"there is no profile {path}.", "Make one with `tacit profile build`.")
    ProfileStore.taxonomy_of(path)  # refuses what is no profile
    with tempfile.TemporaryDirectory(dir=spill(), prefix="tacit-audit-") as folder:
        copy = Path(folder) / "copy.profile"
        with (
            closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as kept,
            closing(sqlite3.connect(copy)) as other,
        ):
            kept.backup(other)
        copy.chmod(0o600)
        with Guard(copy) as guard:
            texts, held = _without_what_was_caught(guard, queries, report)
            own, risky = guard.sensitive_topics(), ProfileStore.taxonomy_of(copy) != PEOPLE
            if risky and own:
                held.append(_guessed(guard, copy, queries, report))
    held.append(hidden_alone())
    rows, found, left_out = [], [], []
    for concept in [] if risky else SENSITIVE:
        if deadline.passed:
            left_out.append(concept)
            continue
        report(f"observers of reading about {concept}")
        about = pages[concept] if pages is not None else texts_about(concept)
        asked = [*queries, *SENSITIVE[concept].split()]
        each = compare(texts, about, asked, number, rng, deadline)
        found.append({"concept": concept} | each)
        row = bar(f"Reading about {concept}: messages that change", each["changed"], each["people"], None)
        rows.append(row | {"worst": 100 * MOST_CHANGED})
        said = f"{each['changed']} of {each['people']}; AUC at most {each['largest_auc']:.2f}"
        says = f"Reading about {concept} changes messages of at most {MOST_CHANGED:.0%} of people"
        held += [
            (f"{says}.", at_least(each["changed"], each["people"], ALARM) <= MOST_CHANGED, said),
            (f"{concept}: caught texts change none.", not each["by_caught"], f"{each['by_caught']} people"),
        ]
    most = max((max(each["naive Bayes"], each["boosted stumps"]) for each in found), default=0.5)
    columns = {"concept": "Read about", "changed": "Changed", "naive Bayes": "AUC, naive Bayes"}
    columns |= {"boosted stumps": "AUC, boosted", "largest_auc": "No observer above"}
    return GuardAudit(
        audit="device",
        about=f"{len(texts):,} pages of the history passed; {len(queries)} queries were asked.",
        claim="pages caught as sensitive change nothing that is sent, and what is sent is never marked.",
        held=held,
        sentence=f"What was caught changes no message; who observes {number} people, before and after such "
        f"reading, tells them apart with AUC {most:.2f}; ½ is a coin.",
        measured={"observers": found, "left_out": left_out, "queries": len(queries), "pages": len(texts)},
        rows=rows,
        tables=[table("Observers of many queries", found, columns, (1,), "AUC ½ is a coin.")] * bool(found),
        not_claimed=(
            "that every sensitive page is recognised: those that are missed are what changes messages.",
            "anything about the query itself, which goes out as it is.",
        ),
        sensitive=not flag("synthetic", synthetic),
        figure={"begin": 0, "coin": 0, "worst": "more would be a leak", "counted": "Of 100 people so many."}
        | {"question": "Do messages change when somebody reads about it?"},
    )


def _without_what_was_caught(
    guard: Guard, queries: Sequence[str], report: Callable[[str], object]
) -> tuple[list[str], list[tuple[str, bool, str]]]:
    """The texts that passed; and whether any query's message changes when all others are forgotten."""
    report("every query with the whole history, and without what was caught")
    guard.confirm()
    history, marked = guard.history(limit=1_000_000), guard.sensitive_topics()
    before = [guard.preview(query).topics for query in queries]
    caught = [page.number for page in history if page.withheld]
    below = sum(t == mark or t.startswith(f"{mark}/") for row in before for t in row for mark in marked)
    texts = [page_text(page.query, page.title, "", page.url) for page in history if not page.withheld]
    for number in caught:
        guard.forget(click=number)
    after = [guard.preview(query).topics for query in queries]
    changed = sum(one != two for one, two in zip(before, after, strict=True))
    said = f"{changed} of {len(queries)} messages without {len(caught):,} pages"
    held = [("Pages that were caught change nothing that is sent.", not changed, said)]
    if marked and ProfileStore.taxonomy_of(guard.path) == PEOPLE:
        held.append(("Nothing that its owner marked is sent.", not below, f"{below} topics"))
    return texts, held


def _guessed(
    guard: Guard, path: Path, queries: Sequence[str], report: Callable[[str], object]
) -> tuple[str, bool, str]:
    """Guess below what each query exposes: the most that is recovered, against the guard's bound."""
    report("guessing below exposed topics")
    tree = load_repository(ProfileStore.taxonomy_of(path)).tree
    with ProfileStore.open(path, tree) as store:
        profile = store.profile()
    worst = 0.0
    for query in queries:
        exposed = {tree.find(label) for label in guard.preview(query).topics}
        leaves = [t for t in exposed if not exposed & {int(child) for child in tree.children(t)}]
        worst = max(worst, recovered(profile, leaves))
    holds = worst <= guard.delta + 1e-9
    return f"Guessing recovers at most {guard.delta:g} of what is severe.", holds, f"{worst:.1%} at most"
