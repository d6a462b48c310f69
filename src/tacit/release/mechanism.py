"""What a release mechanism is: parameters, a schedule that follows from them, and counting without noise.

Counting and drawing are apart, so that everything that can fail on its way to the counts has failed before
the ledger is charged, and no noise can be drawn before.
"""

from __future__ import annotations

import io
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Generic, Self, TypeVar

import pyarrow as pa

from tacit.errors import InfeasibleError
from tacit.privacy import Guarantee, GuaranteeKind, Neighbours
from tacit.privacy.accounting.events import Event
from tacit.privacy.noise.randomness import RandomSource
from tacit.release.analysis import Charge, PaperFigure, charges_of, event_of, guarantee_of
from tacit.release.engines import Engine
from tacit.release.execution import Tables, execute
from tacit.release.parameters import Parameters
from tacit.release.planning import PaperSetting
from tacit.release.schedule import Part, Schedule

P = TypeVar("P", bound=Parameters)

Counting = Mapping[str, Any]
"""Bounded histograms by name, kept in the engine. Secret."""


@dataclass(frozen=True)
class DescribedStep:
    """A step of the mechanism as a reader of the release's page sees it."""

    title: str
    detail: str
    noisy: bool = False


@dataclass(frozen=True)
class FurtherStatement:
    """What ``tacit guarantee`` says of one mechanism beyond what it says of all.

    Args:
        title: in the place of the mechanism's own.
        document: more fields of the JSON document.
        paper: more fields of what the paper prints.
        rows: more rows (name, provable, the paper's).
        words: more sentences.
    """

    title: str = ""
    document: Mapping[str, Any] = field(default_factory=dict)
    paper: Mapping[str, Any] = field(default_factory=dict)
    rows: Sequence[tuple[str, str, str]] = ()
    words: Sequence[str] = ()


class Mechanism(ABC, Generic[P]):
    """A way to publish a search log, with all its parameters settled.

    It is made from its parameters by name, ``Zealous(epsilon=1, delta=1e-6)``; what is not given is planned.
    ``asked`` is what was given, ``parameters`` what follows.
    """

    Parameters: ClassVar[type[Any]]
    counts_beginnings: ClassVar[bool] = False
    """Whether a published sequence counts sessions that begin with it, and not all that have it as a part."""

    asked: P
    parameters: P

    def __init__(self, asked: P | None = None, /, **options: Any) -> None:
        self.asked = self.Parameters(**options) if asked is None else replace(asked, **options)
        self.parameters = self.plan(self.asked)
        self._require_what_was_asked()

    def _require_what_was_asked(self) -> None:
        """Given parameters must keep to the ε and δ that were asked for, if any were."""
        found = self.guarantee()
        if found.kind is GuaranteeKind.K_QUERY:
            return
        for name, limit, value in (
            ("epsilon", self.asked.epsilon, found.epsilon),
            ("delta", self.asked.delta, found.delta),
        ):
            if limit is not None and value > limit:
                raise InfeasibleError(
                    f"these parameters cost {name} {value!r}; at most {limit!r} was asked for.",
                    "Give more noise or a higher threshold, or leave them out to have them planned.",
                )

    @property
    def name(self) -> str:
        """As on the command line."""
        return str(self.Parameters.name)

    @property
    def title(self) -> str:
        """As in a heading."""
        return str(self.Parameters.title)

    @property
    def neighbours(self) -> Neighbours:
        """Which logs its guarantee keeps from being told apart."""
        return self.parameters.neighbours

    @abstractmethod
    def plan(self, asked: P) -> P:
        """Complete parameters: planned from ε and δ, or as given."""

    @abstractmethod
    def schedule(self) -> Schedule:
        """What is drawn and compared."""

    @abstractmethod
    def count(self, engine: Engine, log: Any) -> Counting:
        """Bounded histograms of a log: deterministic, no noise."""

    @abstractmethod
    def publish(self, engine: Engine, counting: Counting, source: RandomSource) -> Tables:
        """Draw the noise, compare, and make the tables."""

    @abstractmethod
    def steps(self) -> Sequence[DescribedStep]:
        """What is done to the log, in order, in words."""

    @abstractmethod
    def words(self) -> Sequence[str]:
        """What the parameters mean and cost, in words."""

    def figures(self) -> dict[str, float]:
        """What the parameters cost in utility, by name."""
        return {}

    def guarantee(self) -> Guarantee:
        """What publishing once provably promises."""
        return guarantee_of(self.schedule(), self.neighbours)

    def charges(self) -> tuple[Charge, ...]:
        """What each published thing costs, for adding or removing a user."""
        return charges_of(self.schedule())

    def event(self) -> Event:
        """What the ledger is charged with, before any noise is drawn."""
        return event_of(self.schedule(), self.neighbours)

    def paper(self) -> PaperFigure | None:
        """What the paper prints for these parameters, to stand beside the provable guarantee."""
        return None

    def paper_setting(self) -> PaperSetting | None:
        """The parameters that the paper would choose for the same request."""
        return None

    def further(self) -> FurtherStatement:
        """What is to be said about its guarantee beyond ε and δ."""
        return FurtherStatement()

    def still_learns(self) -> Sequence[str]:
        """What an attacker can learn in spite of it, beyond what holds for every mechanism of its kind."""
        return ()

    def check(self) -> None:
        """Refuse what can be analysed but not carried out, such as public sets that were not named."""

    def admit(self, engine: Engine, log: Any) -> None:
        """Refuse a log for which the guarantee would not hold; called before it is counted for a release."""

    def checks(self, stated: Mapping[str, Any]) -> Iterable[tuple[str, Callable[[], tuple[bool, str]]]]:
        """More that ``tacit verify`` checks of the parameters that a manifest states."""
        del stated
        return ()

    def checks_of_tables(
        self, read: Callable[[str], pa.Table]
    ) -> Iterable[tuple[str, Callable[[], tuple[bool, str]]]]:
        """More that ``tacit verify`` checks of the tables, which ``read`` gives by name."""
        del read
        return ()

    def foresee(self, counting: Counting, share: float, source: RandomSource) -> dict[str, float] | None:
        """By table, the rows of a log with ``share`` times the users of a synthetic one that was counted.

        None where they follow from the schedule, key by key (:mod:`tacit.release.expectation`).
        """
        del counting, share, source
        return None

    def to_dict(self) -> dict[str, Any]:
        """Every parameter, for the manifest; :meth:`from_dict` reads it back."""
        return self.parameters.to_dict()

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Self:
        """The mechanism that a manifest describes: for its guarantee, not to run."""
        return cls(cls.Parameters.from_dict(form))

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and self.parameters == getattr(other, "parameters", None)

    def __hash__(self) -> int:
        return hash((type(self), self.parameters))

    def __repr__(self) -> str:
        from rich.console import Console

        text = io.StringIO()
        self._statement().render(Console(file=text, width=100, highlight=False))
        return text.getvalue().rstrip()

    def _repr_html_(self) -> str:
        return str(self._statement().html())

    def _statement(self) -> Any:
        from tacit.release.document.statement import state_plan

        return state_plan(self)


def run(mechanism: Mechanism[Any], engine: Engine, log: Any, source: RandomSource) -> Tables:
    """Count and publish in one go, uncharged: for tests, audits and evaluation, where nothing gets out."""
    mechanism.admit(engine, log)
    return mechanism.publish(engine, mechanism.count(engine, log), source)


class ScheduledMechanism(Mechanism[P]):
    """Says what is counted; what is drawn and compared is the schedule's."""

    def rows(
        self, engine: Engine, counting: Counting, part: Part, published: Mapping[str, pa.Table]
    ) -> Iterable[pa.RecordBatch]:
        """The keys that a part of the schedule is about, with their true counts. Secret.

        ``published`` has the tables of earlier parts, for mechanisms of which later ones depend on them.
        """
        del published
        return engine.batches(counting[part.table])

    def shown(self, part: Part, keys: pa.Table) -> pa.Table:
        """Keys that passed, as the table shows them."""
        del part
        return keys

    def finish(self, tables: Tables) -> Tables:
        """What is computed from the noisy tables alone before they are published: post-processing."""
        return tables

    def publish(self, engine: Engine, counting: Counting, source: RandomSource) -> Tables:
        """Carry out the schedule."""
        drawn = execute(
            self.schedule(),
            lambda part, published: self.rows(engine, counting, part, published),
            source,
            self.shown,
        )
        return self.finish(drawn)
