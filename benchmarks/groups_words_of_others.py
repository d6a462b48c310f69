"""Is what an attacker gains by cohorts' words about the victims, or about everybody?

The language attacker with public text attacks people of one half of a log. He sees the cohorts without words;
with words at ε of everybody; with words of the **other** half alone, to whom the victims gave nothing, and
half the noise. What he gains by words of others is what people search for in general, which no rule about the
victims' own records can hide.

Run: ``python benchmarks/groups_words_of_others.py LOG.parquet [--epsilon 2] [--draws 10]``
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tacit.groups.cohorts import Standing, load_cohorts
from tacit.groups.language import LanguageAttack, LanguageAttacker
from tacit.groups.reading import profiles_from_log
from tacit.groups.report import cohort_evidence, words_of
from tacit.groups.words import Generation
from tacit.privacy.noise.randomness import OperatingSystemRandomness


def main() -> None:
    """Print the mean gain over draws of the noise."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("log", type=Path)
    parser.add_argument("--epsilon", type=float, default=2.0)
    parser.add_argument("--draws", type=int, default=10)
    chosen = parser.parse_args()
    cohorts, source = load_cohorts(), OperatingSystemRandomness()
    evidence = profiles_from_log(chosen.log, whole_queries=True)
    told, standing = (
        words_of(evidence),
        dict(zip(evidence.users, cohorts.people(evidence, bytes(32)), strict=True)),
    )
    places = [standing[user].places for user in told.users]
    others = [standing[told.users[row]] for row in told.canonical_order(0)[::2]]  # as the attacker has it
    halved = Generation(chosen.epsilon)
    halved.__dict__["sigma"] = halved.sigma // 2

    def attacked(generation: Generation | None, people: Iterable[Standing]) -> tuple[int, LanguageAttack]:
        shown = generation.words((each.keys for each in people), cohorts, source) if generation else {}
        attacker = LanguageAttacker(told, cohort_evidence(told, places, shown, cohorts), 0)
        return sum(map(len, shown.values())), attacker.attack("public text", 1)

    for name, generation, people in (
        ("no words", None, []),
        (
            f"words of everybody at ε = {chosen.epsilon:g}",
            Generation(chosen.epsilon),
            list(standing.values()),
        ),
        ("words of others, half the noise", halved, others),
    ):
        found = [attacked(generation, people) for _ in range(chosen.draws if generation else 1)]
        words, gains = np.mean([n for n, _ in found]), np.array([attack.gain for _, attack in found])
        spread = f" ± {2 * gains.std(ddof=1) / len(gains) ** 0.5:.3f}" if len(gains) > 1 else ""
        print(f"{name}: {words:.1f} words, gain {gains.mean():+.3f}{spread}, {found[0][1].victims} victims")


if __name__ == "__main__":
    main()
