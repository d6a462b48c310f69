"""ZEALOUS (paper 004), carried out on a log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.errors import InfeasibleError
from tacit.privacy import Guarantee, GuaranteeKind
from tacit.privacy.accounting.events import ApproximateDp, Event
from tacit.release.analysis import Charge, PaperFigure
from tacit.release.contribution import bounded_items, items_of
from tacit.release.engines import Engine
from tacit.release.mechanism import Counting, DescribedStep, FurtherStatement, ScheduledMechanism
from tacit.release.mechanisms import zealous as analysis
from tacit.release.mechanisms import zealous as planner
from tacit.release.mechanisms import zealous_words as words
from tacit.release.mechanisms.zealous import ZealousParameters, zealous_schedule
from tacit.release.parameters import ITEM_KEYS
from tacit.release.planning import PaperSetting
from tacit.release.schedule import Schedule


class Zealous(ScheduledMechanism[ZealousParameters]):
    """A ZEALOUS release."""

    Parameters = ZealousParameters

    def plan(self, asked: ZealousParameters) -> ZealousParameters:
        """Noise and thresholds for ε and δ, unless given."""
        return planner.plan(asked)

    def schedule(self) -> Schedule:
        """One part per histogram."""
        return zealous_schedule(self.parameters)

    def guarantee(self) -> Guarantee:
        """(ε,δ), of the kind asked for."""
        return planner.promise(self.parameters)

    def charges(self) -> tuple[Charge, ...]:
        """One per histogram."""
        p = self.parameters
        if p.kind is GuaranteeKind.PROBABILISTIC and p.users is not None:
            return analysis.probabilistic_charges(p, p.users)
        if p.at_epsilon is not None:
            delta = self.guarantee().delta
            return (Charge("all histograms by exact loss", p.at_epsilon / p.neighbours.users_changed, delta),)
        return analysis.charges(p)

    def event(self) -> Event:
        """What is charged: noisy counts and a rare disclosure; a probabilistic guarantee as it is stated."""
        if self.parameters.kind is GuaranteeKind.PROBABILISTIC:
            return ApproximateDp(self.guarantee())
        if self.parameters.at_epsilon is not None:
            return analysis.exact_event(self.parameters, self.parameters.at_epsilon)
        return super().event()

    def paper(self) -> PaperFigure:
        """The figure of paper 004 for the same kind of guarantee."""
        p = self.parameters
        if p.kind is GuaranteeKind.PROBABILISTIC and p.users is not None:
            return analysis.paper_probabilistic(p, p.users)
        return analysis.paper_figure(p, self.asked.threshold_2)

    def paper_setting(self) -> PaperSetting | None:
        """What paper 004 would choose."""
        return planner.paper_setting(self.asked)

    def figures(self) -> dict[str, float]:
        """How many users an item needs, and how far off its count is."""
        return planner.figures(self.parameters)

    def words(self) -> Sequence[str]:
        """What the parameters mean and cost."""
        return words.words(self.parameters, self.figures())

    def steps(self) -> Sequence[DescribedStep]:
        """As paper 004 lists them."""
        return words.steps(self.parameters)

    def further(self) -> FurtherStatement:
        """Both kinds of guarantee."""
        return words.further(self.parameters)

    def count(self, engine: Engine, log: Any) -> Counting:
        """Users of each item."""
        p, counting = self.parameters, {}
        for item in p.items:
            keys = ITEM_KEYS[item]
            bounded = bounded_items(items_of(log, item), keys, p.per_user, p.take)
            counting[item.value] = engine.keep(bounded.group_by(list(keys)).aggregate(count=bounded.count()))
        return counting

    def admit(self, engine: Engine, log: Any) -> None:
        """The probabilistic guarantee holds for at most U users, so a log of more is not released.

        How many there are is protected, and not said.
        """
        p = self.parameters
        if p.kind is not GuaranteeKind.PROBABILISTIC:
            return
        found = engine.table(log.aggregate(users=log.user.nunique())).column("users")[0].as_py()
        if p.users is None or found > p.users:
            raise InfeasibleError(
                f"the log has more users than the {p.users} of `users`, a public bound on their number on "
                "which the probabilistic guarantee rests.",
                "Nothing was charged or published. Give a bound from public knowledge, with room to spare.",
            )


MECHANISM = Zealous
