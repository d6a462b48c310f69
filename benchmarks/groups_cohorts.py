"""What cohorts are worth on real results: AMBIENT, beside another person's cohorts.

Simulated people have six meanings of ambiguous queries each and have read three results of each; the rest is
ranked. Average Precision is that of the engine's order, by the person's own cohorts, and by those of another
person; *falls* is the share of queries that lose more than 0.05. λ is what the people vote for on one of the
three read results, and every λ is listed. The odd queries were tuned on; the even ones were run once.

Claims: the gain is above 0.04 and above that by another person's cohorts; fewer than an eighth fall.

With ``--world`` people of the synthetic world vote on what they had in mind in held-out searches: there the
engine's order wins.

Run: ``python benchmarks/groups_cohorts.py [--half even] [--people 1000] [--epsilon 2] [--world]``
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from tacit.evaluate.cases import load_ambient
from tacit.evaluate.personalised import Searchers
from tacit.groups.cohort_service import PastRequest, votes_of
from tacit.groups.cohorts import load_cohorts, order_of
from tacit.groups.profiles import Profiles
from tacit.groups.reading import profiles_from_log
from tacit.groups.words import STRENGTHS, Generation
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.retrieval import average_precision

JUDGED = 150
"""Of so many people the rankings are judged; all of them mark words."""


def in_the_world() -> None:
    """Print Average Precision by λ in the synthetic world, and what its people vote for."""
    world, cohorts = Searchers(60, 1000, 5), load_cohorts()
    with tempfile.TemporaryDirectory() as folder:
        pq.write_table(world.earlier, Path(folder) / "earlier.parquet")
        evidence = profiles_from_log(Path(folder) / "earlier.parquet", whole_queries=True)
    people = dict(zip(evidence.users, cohorts.people(evidence, bytes(32)), strict=True))
    generation = Generation(2.0, 1e-6, 0.25)
    words = generation.words((p.keys for p in people.values()), cohorts, OperatingSystemRandomness())
    found: dict[str, list[list[float]]] = {}
    for case in world.cases:
        documents = [world.repository.corpus[number] for number in case.results]
        results = [{"title": each.title, "snippet": each.text} for each in documents]
        name = case.user
        _, scores, gate = cohorts.told(people[name].places, words, results, case.query)  # type: ignore[arg-type]
        orders = ([case.results[place] for place in order_of(scores, gate, each)] for each in STRENGTHS)
        found.setdefault(name, []).append([average_precision(order, case.relevant) for order in orders])
    means = np.concatenate(list(found.values())).mean(axis=0)
    print("by λ: " + ", ".join(f"{each:g} {mean:.3f}" for each, mean in zip(STRENGTHS, means, strict=True)))
    votes = {name: STRENGTHS[int(np.mean(each, axis=0).argmax())] for name, each in found.items()}
    drawn = Counter(generation.strength(votes, OperatingSystemRandomness()) for _ in range(300))
    print(f"voted by {len(votes)} people in 300 draws: {dict(drawn)}")


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser()
    options.add_argument("--half", choices=["odd", "even"], default="odd")
    options.add_argument("--people", type=int, default=1000)
    options.add_argument("--epsilon", type=float, default=None)
    options.add_argument("--world", action="store_true")
    asked = options.parse_args()
    if asked.world:
        in_the_world()
        return
    folder = next(
        a / "shared/data/ambient" for a in Path(__file__).resolve().parents if (a / "shared").is_dir()
    )
    ambient, cohorts, draw = load_ambient(folder), load_cohorts(), random.Random(1)
    queries = list(ambient.queries)[0 if asked.half == "odd" else 1 :: 2]
    meanings = [(query, meaning) for query in queries for meaning in ambient.meanings_of(query)]
    text = {p["id"]: f"{p['title']} {p['snippet']}" for q in queries for p in ambient.results[q]}
    read: dict[str, list[tuple[str, str, list[str]]]] = {}
    evidence: dict[str, dict[str, float]] = {}
    for number in range(asked.people):
        chosen = draw.sample(meanings, 6)
        read[str(number)] = [(q, m, draw.sample(sorted(ambient.meanings[m]), 3)) for q, m in chosen]
        evidence[str(number)] = {text[each]: 1.0 for _, _, ids in read[str(number)] for each in ids}
    profiles = Profiles.from_mappings(evidence)
    people = dict(zip(profiles.users, cohorts.people(profiles, bytes(32)), strict=True))
    generation = Generation(asked.epsilon, 1e-6, 0.25)
    words = generation.words((p.keys for p in people.values()), cohorts, OperatingSystemRandomness())
    shown = {cohort: {word: float(n) for word, n in found.items()} for cohort, found in words.items()}
    requests, rows = [], []
    for user in list(read)[: 2 * JUDGED]:
        for query, meaning, ids in read[user]:
            kept = [page for page in ambient.results[query] if page["id"] not in ids]
            relevant = ambient.meanings[meaning] - set(ids)
            seen = [page for page in ambient.results[query] if page["id"] not in ids[1:]]
            clicked = frozenset(place for place, page in enumerate(seen) if page["id"] == ids[0])
            requests.append(PastRequest(user, ambient.queries[query], seen, clicked))
            if len(rows) < 6 * JUDGED:
                other = str((int(user) + 7) % asked.people)
                pair = [
                    cohorts.told(people[u].places, shown, kept, ambient.queries[query]) for u in (user, other)
                ]
                rows.append(([page["id"] for page in kept], relevant, pair))
    votes = votes_of(people.get, cohorts, words, requests)
    voted = generation.strength(votes, OperatingSystemRandomness())
    plain = np.array([average_precision(ids, relevant) for ids, relevant, _ in rows])
    print(
        f"{asked.half}, {asked.people:,} people, ε = {asked.epsilon}; {sum(map(len, shown.values()))} words"
    )
    print(f"engine {plain.mean():.3f}; voted λ = {voted:g} by {len(votes)} people")
    for strength in STRENGTHS[1:]:
        gains = []
        for which in (0, 1):
            order = [
                average_precision((ids[p] for p in order_of(*pair[which][1:], strength)), relevant)
                for ids, relevant, pair in rows
            ]
            gains.append(np.array(order) - plain)
        falls, rises = (gains[0] < -0.05).mean(), (gains[0] > 0.05).mean()
        print(
            f"λ = {strength:4g}: gain {gains[0].mean():+.3f}, another person's {gains[1].mean():+.3f}; "
            f"falls {falls:.3f}, rises {rises:.3f}"
        )


if __name__ == "__main__":
    main()
