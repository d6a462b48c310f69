"""k-query anonymity (Adar), the baseline, carried out on a log. Derivation: docs/guarantees/k-query.md."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from tacit.privacy import Guarantee, GuaranteeKind
from tacit.privacy.accounting.events import Event, KQueryRelease
from tacit.release.analysis import Charge
from tacit.release.contribution import items_of
from tacit.release.engines import Engine
from tacit.release.mechanism import Counting, DescribedStep, FurtherStatement, ScheduledMechanism
from tacit.release.mechanisms import k_query_words as words
from tacit.release.mechanisms.k_query import KQueryParameters, k_query_schedule
from tacit.release.parameters import ITEM_KEYS
from tacit.release.planning import PaperSetting
from tacit.release.schedule import Schedule


class KQuery(ScheduledMechanism[KQueryParameters]):
    """A k-query anonymous release: it has no ε, and is recorded in the ledger without a charge."""

    Parameters = KQueryParameters

    def plan(self, asked: KQueryParameters) -> KQueryParameters:
        """k at which the honest users asked for share each published query, unless it is given."""
        return asked if asked.given else replace(asked, k=max(2, asked.hide_among + asked.attacker_accounts))

    @property
    def k(self) -> int:
        """The least number of users of a published query."""
        assert self.parameters.k is not None
        return self.parameters.k

    def schedule(self) -> Schedule:
        """Exact histograms."""
        return k_query_schedule(self.parameters)

    def guarantee(self) -> Guarantee:
        """k, and nothing else."""
        return Guarantee(GuaranteeKind.K_QUERY, self.neighbours, k=self.k)

    def charges(self) -> tuple[Charge, ...]:
        """None: no ε describes it."""
        return ()

    def event(self) -> Event:
        """Recorded, not charged."""
        return KQueryRelease(self.k)

    def paper_setting(self) -> PaperSetting | None:
        """Adar's rule."""
        return PaperSetting(
            {"k": float(self.asked.k or self.asked.hide_among)},
            "Adar's rule as paper 004 gives it",
            "the paper counts all users, and says itself that an attacker's accounts defeat it.",
        )

    def figures(self) -> dict[str, float]:
        """How many others share a published query."""
        return {"honest_users": float(self.parameters.honest_users(self.parameters.attacker_accounts))}

    def words(self) -> Sequence[str]:
        """What k means, and what it is not."""
        return words.words(self.parameters)

    def steps(self) -> Sequence[DescribedStep]:
        """Adar's rule."""
        return words.steps(self.parameters)

    def further(self) -> FurtherStatement:
        """The paper claims no ε either."""
        why = "the paper uses it as a baseline and says the same: active attackers defeat it."
        paper = {"k": self.k, "epsilon": None, "delta": None, "source": "Adar, as in paper 004", "why": why}
        return FurtherStatement(paper=paper, rows=(("k", str(self.k), str(self.k)),))

    def count(self, engine: Engine, log: Any) -> Counting:
        """Exact histograms of the records of frequent queries; an item counts its users."""
        asked = log.group_by("query").aggregate(users=log.user.nunique())
        frequent = engine.keep(asked.filter(asked.users >= self.k).select("query"))
        left = log.semi_join(frequent, "query")
        counting = {}
        for item in self.parameters.items:
            keys = list(ITEM_KEYS[item])
            distinct = items_of(left, item).select("user", *keys).distinct()
            counting[item.value] = engine.keep(distinct.group_by(keys).aggregate(count=distinct.count()))
        return counting


MECHANISM = KQuery
