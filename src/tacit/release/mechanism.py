"""What a release mechanism is: a request, a plan that answers it, and counting without noise.

A **mechanism** such as ``Zealous(epsilon=1, delta=1e-6)`` says what is asked. Its ``plan()`` is complete:
noise and thresholds as a :class:`~tacit.release.schedule.Schedule`, and the guarantee that follows from
that. Nothing is left open in a plan, and nothing of the log has been looked at.

Counting and drawing are apart, so that everything that can fail on its way to the counts has failed before
the ledger is charged, and no noise can be drawn before::

    counting  = plan.count(engine, log)            bounded histograms, deterministic
    ledger.spend(plan.event, …)                    the charge, on the disk
    tables    = plan.publish(engine, counting, source)

What parameters mean, the steps, the papers' figures and what can still be learnt are functions over plans,
beside each mechanism (:mod:`tacit.release.prose`).
"""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar

from tacit.errors import InfeasibleError, ParameterError
from tacit.privacy.guarantee import Guarantee, GuaranteeKind, Neighbours
from tacit.release.parameters import GIVEN, arguments_in_words, checked, plain, typed_fields

if TYPE_CHECKING:
    import pyarrow as pa

    from tacit.engines import Engine
    from tacit.privacy.accounting.events import Event
    from tacit.privacy.noise.randomness import RandomSource
    from tacit.release.analysis import Charge
    from tacit.release.execution import Tables
    from tacit.release.preparation import Preparation
    from tacit.release.schedule import Part, Schedule

M = TypeVar("M", bound="Mechanism", covariant=True)

Counting = Mapping[str, Any]
"""Bounded histograms by name, kept in the engine. Secret."""


@dataclass(frozen=True, kw_only=True, repr=False)
class Mechanism(ABC):
    """A way to publish a search log, as it is asked for.

    Parameters are given by name. Either ``epsilon`` is given and noise and thresholds are planned, or these
    are given and charged what they cost.
    """

    name: ClassVar[str]  # as on the command line
    title: ClassVar[str]  # as in a heading
    summary: ClassVar[str]  # one line for the help: the first of the class's own words, unless it is given
    example: ClassVar[str]  # options of an example
    given_example: ClassVar[str] = ""  # options of an example in which the parameters are given, not planned
    private: ClassVar[bool] = True
    """Whether it protects against somebody who knows the method; if not, a release is asked for twice."""
    publishes_queries: ClassVar[bool] = True
    """Whether texts of queries, or words of them, are published: what is made from a release needs them."""
    counts_prefixes: ClassVar[bool] = False
    """Whether a published sequence counts sessions that begin with it, and not all that contain it."""
    together: ClassVar[tuple[str, ...]] = ()
    """Parameters given together, in the place of a plan; the others of their panel only with them."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if cls.__doc__ and "summary" not in vars(cls):
            cls.summary = cls.__doc__.partition("\n")[0]
        explained = arguments_in_words(cls)
        if explained and cls.__doc__ and "\n    Args:" not in cls.__doc__:
            cls.__doc__ = f"{cls.__doc__.rstrip()}\n\n    Args:\n{explained}\n    "

    def __post_init__(self) -> None:
        for declaration, kind in typed_fields(type(self)):
            value = getattr(self, declaration.name)
            accepted = checked(declaration, kind, value)
            if accepted is not value:
                object.__setattr__(self, declaration.name, accepted)
        self._check_given()

    def _check_given(self) -> None:
        """Refuse some of the parameters that belong together without the others."""
        given = [name for name in self.together if getattr(self, name) is not None]
        named = " and ".join(f"`{name}`" for name in self.together)
        if given and len(given) < len(self.together):
            remedy = "Give `epsilon` (and `delta`) alone to have them planned."
            raise ParameterError(f"{named} are given together, or neither.", remedy)
        for each in dataclasses.fields(self) if self.together and not given else ():
            if each.metadata["panel"] == GIVEN and getattr(self, each.name) != each.default:
                raise ParameterError(
                    f"`{each.name}` given without {named}, where all parameters are planned.",
                    f"Give {named} too, or leave it out.",
                )

    def _refuse_two_kinds_of_counts(self, same_counts: bool | None, *fresh_noise: float | None) -> None:
        """Refuse both the numbers that were compared and fresh ones under a noise of their own."""
        if same_counts and any(noise is not None for noise in fresh_noise):
            raise ParameterError(
                "`noise_counts` is the noise of fresh counts; with `same_counts` there are none.",
                "Leave one of the two out.",
            )

    @property
    def given(self) -> bool:
        """Whether the parameters were given that are planned otherwise."""
        return all(getattr(self, name) is not None for name in self.together)

    @abstractmethod
    def plan(self) -> Plan[Self]:
        """Plan noise and thresholds for ε and δ, or as given."""

    def budget(self) -> tuple[float, float]:
        """Return the ε and δ to plan for."""
        epsilon, delta = getattr(self, "epsilon", None), getattr(self, "delta", 0.0)
        if epsilon is None:
            raise ParameterError(
                f"a plan for {self.title} needs `epsilon`, or the noise itself; neither was given.",
                "Give `epsilon`: 1 is a usual beginning.",
            )
        return epsilon, delta

    def limits(self) -> dict[str, float]:
        """Return the ε and δ that given parameters must keep to: those that were asked for."""
        epsilon, delta = getattr(self, "epsilon", None), getattr(self, "delta", None)
        defaults = {each.name: each.default for each in dataclasses.fields(self)}
        found = {} if epsilon is None else {"epsilon": epsilon}
        if delta is not None and (epsilon is not None or delta != defaults["delta"]):
            found["delta"] = delta
        return found

    def settled(self, **values: Any) -> Self:
        """Return the same with these values given, and nothing asked for any more."""
        asked = {each.name: each.default for each in dataclasses.fields(self) if each.metadata["planning"]}
        return dataclasses.replace(self, **{**asked, **values})

    def to_dict(self) -> dict[str, Any]:
        """Return the parameters on which what is published depends, by name, as the manifest has them."""
        return {
            each.name: plain(getattr(self, each.name))
            for each in dataclasses.fields(self)
            if not each.metadata["planning"]
        }

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> Self:
        """Read what ``to_dict`` wrote, to recompute its guarantee, not to run it."""
        made = {name: tuple(value) if isinstance(value, list) else value for name, value in form.items()}
        return cls(**made)

    def __repr__(self) -> str:
        given = [
            f"{each.name}={plain(getattr(self, each.name))!r}"
            for each in dataclasses.fields(self)
            if getattr(self, each.name) != each.default
        ]
        return f"{type(self).__name__}({', '.join(given)})"

    def __str__(self) -> str:
        return str(self.plan())

    def _repr_html_(self) -> str:
        return self.plan()._repr_html_()


@dataclass(frozen=True, kw_only=True, repr=False)
class Plan(ABC, Generic[M]):
    """A release, settled: what is drawn and compared, and the guarantee that follows from it.

    Args:
        mechanism: what was asked.
        schedule: what is drawn and compared.
        guarantee: what carrying out the schedule once provably promises.
    """

    mechanism: M
    schedule: Schedule
    guarantee: Guarantee = field(init=False)

    def __post_init__(self) -> None:
        from tacit.release.analysis import guarantee_of

        object.__setattr__(self, "guarantee", guarantee_of(self.schedule))
        if self.guarantee.kind is not GuaranteeKind.K_QUERY:
            for name, limit in self.mechanism.limits().items():
                value = getattr(self.guarantee, name)
                if value > limit:
                    raise InfeasibleError(
                        f"these parameters cost {name} {value!r}; at most {limit!r} was asked for.",
                        "Give more noise or a higher threshold, or leave them out to have them planned.",
                    )

    @property
    def epsilon(self) -> float:
        """ε of the guarantee; infinite where there is none."""
        return self.guarantee.epsilon

    @property
    def delta(self) -> float:
        """δ of the guarantee."""
        return self.guarantee.delta

    @property
    def neighbours(self) -> Neighbours:
        """Which logs the guarantee compares."""
        return self.schedule.neighbours

    @property
    def name(self) -> str:
        return self.mechanism.name

    @property
    def title(self) -> str:
        return self.mechanism.title

    @cached_property
    def charges(self) -> tuple[Charge, ...]:
        """What each published thing costs, for adding or removing a user."""
        from tacit.release.analysis import charges_of

        return charges_of(self.schedule)

    def parts(self) -> list[dict[str, Any]]:
        """List the charges that make up the guarantee, under its neighbour relation, for JSON."""
        times = self.neighbours.users_changed
        return [{"part": c.what, "epsilon": times * c.epsilon, "delta": c.delta} for c in self.charges]

    @cached_property
    def event(self) -> Event:
        """What the ledger is charged with, before any noise is drawn."""
        from tacit.release.analysis import event_of

        return event_of(self.schedule)

    @property
    @abstractmethod
    def given(self) -> M:
        """The mechanism with noise and thresholds given: its plan is this one, in every later version too."""

    def to_dict(self) -> dict[str, Any]:
        """Return every parameter, for the manifest; ``from_dict`` of the mechanism reads it back."""
        return self.given.to_dict()

    def check(self) -> None:
        """Refuse what can be analysed but not carried out, such as public sets that were not named."""

    def admit(self, engine: Engine, log: Any) -> None:
        """Refuse a log for which the guarantee would not hold; called before it is counted for a release."""

    def take_in(self, engine: Engine, log: Path, preparation: Preparation) -> Counting:
        """Admit and count the records of a log that take part."""
        from tacit.head_start import forget

        forget()  # the engine reads for itself
        records = preparation.apply(engine.log(log))
        self.admit(engine, records)
        return self.count(engine, records)

    @abstractmethod
    def count(self, engine: Engine, log: Any) -> Counting:
        """Count a log: bounded histograms, deterministic, no noise."""

    def rows(
        self, engine: Engine, counting: Counting, part: Part, published: Mapping[str, pa.Table]
    ) -> Iterable[pa.RecordBatch]:
        """Read the keys that a part of the schedule is about, with their true counts. Secret.

        ``published`` has the tables of earlier parts, for mechanisms of which later ones depend on them.
        """
        del published
        return engine.batches(counting[part.table])

    def shown(self, part: Part, keys: pa.Table) -> pa.Table:
        """Convert keys that passed to what the table shows."""
        del part
        return keys

    def finish(self, tables: Tables) -> Tables:
        """Post-process the noisy tables, from their contents alone, before they are published."""
        return tables

    def publish(self, engine: Engine, counting: Counting, source: RandomSource) -> Tables:
        """Carry out the schedule on what was counted: draw, compare, and make the tables."""
        from tacit.release.execution import execute

        def rows(part: Part, published: Mapping[str, pa.Table]) -> Iterable[pa.RecordBatch]:
            return self.rows(engine, counting, part, published)

        return self.finish(execute(self.schedule, rows, source, self.shown))

    def __repr__(self) -> str:
        return f"<plan of {self.mechanism!r}: {self.guarantee}>"

    def __str__(self) -> str:
        return str(self._statement())

    def _repr_html_(self) -> str:
        return str(self._statement()._repr_html_())

    def _statement(self) -> Any:
        from tacit.release.document.statement import state_plan

        return state_plan(self)


def plan_of(asked: Mechanism | Plan[Any]) -> Plan[Any]:
    """Return the plan of what is asked, which may be a plan already."""
    if isinstance(asked, Plan):
        return asked
    if isinstance(asked, Mechanism):
        return asked.plan()
    raise ParameterError.outside(
        "plan", type(asked).__name__, "a mechanism or its plan, such as tacit.Zealous(epsilon=1)"
    )


def run(asked: Mechanism | Plan[Any], engine: Engine, log: Any, source: RandomSource) -> Tables:
    """Count and publish in one go, uncharged: for tests, audits and evaluation, where nothing gets out."""
    plan = plan_of(asked)
    plan.admit(engine, log)
    return plan.publish(engine, plan.count(engine, log), source)
