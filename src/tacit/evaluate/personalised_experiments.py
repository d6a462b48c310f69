"""The paper's four experiments on group profiles, under both criteria (section 4, figures 2 to 6).

1. benefit: ranking by group profiles (p = 0.4, a = 1) against no personalisation;
2. semantics: augmentation a in 0..3 at p = 0.4;
3. privacy: p in 0.1..0.4 at a = 1, with the mean size of groups;
4. actual linkability against p: n_t / n, and what attackers believe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from tacit.evaluate.personalised import Precision, SearchTask, group_weights, own_weights
from tacit.groups import Bundler, Profiles
from tacit.groups.criterion import CRITERIA
from tacit.groups.report import Report, report
from tacit.world import wordnet_corpus, wordnet_engine

__all__ = ["Experiments", "BundlingRun", "run_experiments", "settings"]

BENEFIT = (0.4, 1)
AUGMENTS = (0, 1, 2, 3)
BOUNDS = (0.1, 0.2, 0.3, 0.4)


@dataclass(frozen=True)
class BundlingRun:
    """One bundling: its parameters, the precision of ranking by its groups, and its report."""

    criterion: str
    p: float
    augment: int
    precision: Precision
    report: Report


@dataclass(frozen=True)
class Experiments:
    """All runs over one population.

    Attributes:
        queries: how many queries were ranked.
        engine: precision without personalisation.
    """

    users: int
    terms_a_user: float
    queries: int
    engine: Precision
    runs: tuple[BundlingRun, ...]

    def as_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def at(self, criterion: str, p: float, augment: int) -> BundlingRun:
        """The run with these parameters."""
        return next(
            run for run in self.runs if (run.criterion, run.p, run.augment) == (criterion, p, augment)
        )


def settings() -> Iterator[tuple[str, float, int]]:
    """Criterion, p and a of every run."""
    for criterion in CRITERIA:
        for p in BOUNDS:
            yield criterion, p, BENEFIT[1]
        for augment in AUGMENTS:
            if augment != BENEFIT[1]:
                yield criterion, BENEFIT[0], augment


def run_experiments(
    profiles: Profiles,
    *,
    queries_a_user: int = 2,
    seed: int = 0,
    advance: Callable[[int], None] = lambda _runs: None,
) -> Experiments:
    """Run everything over the embedded corpus; reproducible by seed."""
    task = SearchTask(profiles, wordnet_corpus(), wordnet_engine(), queries_a_user, seed)
    gold = task.ranked(own_weights(profiles))
    runs = []
    for criterion, p, augment in settings():
        bundling = Bundler(p=p, criterion=criterion, augment=augment, seed=seed).fit(profiles)
        precision = task.precision(task.ranked(group_weights(bundling)), gold)
        runs.append(BundlingRun(criterion, p, augment, precision, report(bundling, seed=seed)))
        advance(1)
    return Experiments(
        len(profiles),
        float(profiles.sizes.mean()),
        len(task),
        task.precision(task.ranked(None), gold),
        tuple(runs),
    )
