"""The ledger of a data set: what may be spent on it in all, and what has been.

One ledger per data set, for as long as the data set lives, and found without being told: a second one for
the same log is a second budget, and what is promised holds for neither of them, but for their sum. So a log
that has its ledger beside it takes no other. Every release is charged here before any
noise is drawn for it, and the charge is on the disk when :meth:`Ledger.spend` returns: whatever
happens afterwards, nobody can have seen noise that was not paid for. What does not fit the budget
is refused.

The file is a hash chain of JSON lines (:mod:`tacit.privacy.ledger.journal`), with seven types of entry:

- ``opened``: the budget, its neighbour relation, the rule of composition, the data set's label;
- ``spent``: a charge;
- ``noted``: binds a charge to the manifest of what is about to be published for it;
- ``published``: the release so noted is in its place;
- ``step``: of a series, a round or count whose noise is about to be drawn, by its number;
- ``issued``: of a series, binds its charge to the manifest of a week;
- ``torn``: what a crash left of a charge whose :meth:`Ledger.spend` never returned. Nobody drew noise
  for it; it counts all the same if it still can be read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tacit.display import Displayed
from tacit.errors import InputError, IntegrityError, ParameterError
from tacit.privacy.accounting.composition import Account, CompositionRule
from tacit.privacy.accounting.events import Event, event_from_dict
from tacit.privacy.guarantee import Guarantee, GuaranteeKind, Neighbours, require
from tacit.privacy.ledger.data_set import Traces
from tacit.privacy.ledger.entries import FORMAT, Entry, LedgerState, describe_fragment, read_entry, replay
from tacit.privacy.ledger.journal import Chain, Journal, Record
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.validation import member, place, real, text


def default_ledger(log: str | Path) -> Path:
    """``LOG.ledger``, beside the log."""
    log = Path(log)
    return log.with_name(f"{log.name}.ledger")


def refuse_second_ledger(path: str | Path, log: str | Path) -> None:
    """Refuse ``path`` as the ledger of ``log`` where another one lies beside the log."""
    beside = default_ledger(log)
    if beside.exists() and beside.resolve() != Path(path).resolve():
        raise InputError(
            f"this log has its ledger already, {beside}; a second one would be a second budget.",
            f"Use that one. If {path} is the data set's ledger, move the other away; both together are "
            "what was spent.",
        )


_SHA256 = re.compile(r"[0-9a-f]{64}")


class Ledger(Displayed):
    """The ledger of a data set, in a file: a budget that never grows, and every charge made against it.

    Every call reads the file anew, so several processes may share it.

    Args:
        path: the ledger's file, which exists; see :meth:`create` and :meth:`open_or_create`.
    """

    def __init__(self, path: str | Path) -> None:
        self._journal = Journal(place("path", path))
        self._state: LedgerState | None = None

    @classmethod
    def create(
        cls,
        path: str | Path,
        budget: Guarantee,
        *,
        label: str = "",
        composition: CompositionRule | str = CompositionRule.BASIC,
        log: str | Path | None = None,
        instead_of_lost: bool = False,
    ) -> Ledger:
        """Open a new ledger. Budget, relation and rule are fixed from here on.

        Args:
            path: the file to make; it must not exist.
            budget: what all releases together may cost.
            label: what people call the data set.
            composition: how charges add up: ``basic`` (sums), ``pld`` (tighter for repetitions of one
                release) or ``renyi`` (tighter for many that differ).
            log: bind the ledger to this log (see :meth:`require_log`), by which the data set is known again.
                The file keeps a random key and a keyed hash of the log's first records; the hash without the
                key reveals nothing. Refused if the data set has another ledger.
            instead_of_lost: the data set's ledger is lost for good, and this one takes its place knowingly.
        """
        from tacit.privacy.ledger.register import Register, refuse_known

        register = Register()
        with register.opening():
            seen = register.traces(place("log", log)) if log is not None else None
            known = register.of_log(seen) if seen is not None and seen.log.exists() else []
            lost = [entry for entry in known if instead_of_lost and not entry.path.exists()]
            refuse_known([entry for entry in known if entry not in lost])
            ledger = cls.write(path, budget, label=label, composition=composition, log=seen)
            for entry in lost:
                register.forget(entry.id)
            register.remember(ledger, seen)
        return ledger

    @classmethod
    def write(
        cls,
        path: str | Path,
        budget: Guarantee,
        *,
        label: str = "",
        composition: CompositionRule | str = CompositionRule.BASIC,
        log: Traces | str | Path | None = None,
    ) -> Ledger:
        """Write a new ledger without a look at the register; :meth:`create` is what callers want."""
        require(isinstance(budget, Guarantee), "budget", type(budget).__name__, "a Guarantee")
        rule = member("composition", CompositionRule, composition)
        Account(budget, rule)
        salt = OperatingSystemRandomness().bits(32)
        first: dict[str, Any] = {
            "type": "opened",
            "format": FORMAT,
            "time": _now(),
            "label": text("label", label),
            "budget": budget.to_dict(),
            "composition": rule.value,
            "salt": salt.hex(),  # also what tells apart two ledgers that are opened alike at the same time
        }
        if log is not None:
            seen = Traces.of(log)
            refuse_second_ledger(path, seen.log)
            first["fingerprint"] = seen.fingerprint(salt)
        Journal.create(place("path", path), first)
        return cls(path)

    @classmethod
    def open(cls, path: str | Path) -> Ledger:
        """Return an existing ledger, checked.

        Args:
            path: the ledger's file.
        """
        ledger = cls(path)
        ledger.verify()
        return ledger

    @classmethod
    def open_or_create(
        cls,
        path: str | Path,
        *,
        epsilon: float | None = None,
        delta: float = 0.0,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        composition: CompositionRule | str = CompositionRule.BASIC,
        label: str = "",
        log: str | Path | None = None,
    ) -> Ledger:
        """Return the ledger at ``path``; made with this budget where there is none.

        A ledger that exists keeps its budget: one given again must be the same, so that the same lines can
        be run each week. One that was there and has vanished is not made again: what was spent is not undone
        by deleting the file.

        Args:
            path: the ledger's file.
            epsilon: ε of the budget, for all releases together; needed where there is no ledger yet.
            delta: δ of the budget.
            neighbours: which logs the budget compares: ``add-remove`` (a user) or ``replace`` (a user's
                history).
            composition: how charges add up; see :meth:`create`.
            label: what people call the data set.
            log: bind the ledger to this log; see :meth:`create`.
        """
        from tacit.privacy.ledger.register import open_ledger, open_unbound

        budget = budget_of(epsilon, delta, neighbours)
        rule, path = member("composition", CompositionRule, composition), place("path", path)
        if log is not None:
            if budget is None and not path.exists():
                open_unbound(path, None)  # says that there is none, or that it has vanished
            return open_ledger(path, log, budget, label=label, composition=rule)
        return open_unbound(path, budget, label=label, composition=rule)

    @classmethod
    def adopt(cls, path: str | Path, log: str | Path) -> tuple[Ledger, int]:
        """Go on with this copy of a ledger, although a newer one was known and is lost.

        What was charged after this copy was made is not in it: it shows more as left than there is.

        Args:
            path: the copy.
            log: the log of the ledger's data set.

        Returns:
            The ledger, and how many of its entries are lost.
        """
        from tacit.privacy.ledger.register import Register, refuse_known

        ledger = cls.open(path)
        register = Register()
        with register.opening():
            seen = register.traces(place("log", log))
            known = register.of_log(seen)
            others = [entry for entry in known if entry.id != ledger.identity]
            refuse_known([entry for entry in others if entry.path.exists()])
            for entry in others:
                register.forget(entry.id)
            register.forget(ledger.identity)  # taken as it is, however much older than known
            register.remember(ledger, seen)
        length = ledger.state().length
        return ledger, sum(max(0, each.entries - length) for each in known if each.id == ledger.identity)

    def require_budget(self, budget: Guarantee | None) -> None:
        """Refuse a budget, if one is given, that is another than the ledger's."""
        if budget is not None and budget.as_approximate() != self.budget.as_approximate():
            raise InputError(
                f"the ledger at {self.path} has the budget {self.budget}, not {budget}.",
                "Leave the budget out; it is fixed when a ledger is opened.",
            )

    def _summary(self) -> str:
        return f"Ledger {self.path}"

    def _rows(self) -> list[tuple[str, str]]:
        return [
            ("budget", str(self.budget)),
            ("left", f"epsilon {self.left.epsilon:g}, delta {self.left.delta:g}"),
            ("charges", f"{len(self.state().entries):,}"),
        ]

    @property
    def budget(self) -> Guarantee:
        """What all releases together may cost."""
        return self.state().account.budget

    @property
    def spent(self) -> Guarantee:
        """What the releases so far cost together."""
        return self.state().account.spent()

    @property
    def left(self) -> Guarantee:
        """What one further release may cost at most."""
        return self.state().account.remaining()

    @property
    def identity(self) -> str:
        """The hash of the first entry, which no later entry changes."""
        return str(self.chain().records[0]["hash"])

    @property
    def path(self) -> Path:
        return self._journal.path

    def spend(self, event: Event, purpose: str) -> Entry:
        """Charge ``event``; on return the charge is on the disk, and only now may noise be drawn.

        Raises BudgetError if it does not fit (nothing is written then). A k-query release is recorded
        without a charge, since it has no ε.
        """
        if event_from_dict(event.to_dict()) != event:
            raise ParameterError("the event does not survive being written down; a ledger cannot hold it.")
        body = {
            "type": "spent",
            "time": _now(),
            "purpose": text("purpose", purpose),
            "event": event.to_dict(),
            "guarantee": event.guarantee.to_dict(),
        }

        def charged(chain: Chain) -> Record:
            state = self._replayed(chain)
            if event.guarantee.kind is not GuaranteeKind.K_QUERY:
                state.account.charge(event)
            return body

        return read_entry(self._journal.append(charged, describe_fragment=_torn))

    def note_release(self, entry: Entry | int, manifest: str) -> None:
        """Bind a charge to the SHA-256 of the manifest published for it, once and for all.

        To be called before the release is put in its place: then nothing is ever published without its note.
        """
        if not _SHA256.fullmatch(manifest):
            raise ParameterError("the manifest's hash must be 64 hexadecimal digits (SHA-256).")

        def refuse(found: Entry) -> None:
            if found.manifest is not None:
                problem = f"entry {found.number} was released already."
                raise InputError(problem, "Charge a new entry for a new release.")

        self._note("noted", entry, refuse, manifest=manifest)

    def confirm_release(self, entry: Entry | int) -> None:
        """Record that what was noted is published; to be called once the release is in its place."""

        def refuse(found: Entry) -> None:
            if found.manifest is None or found.published:
                problem = f"entry {found.number} of the ledger is no release that was noted and not yet"
                raise InputError(f"{problem} published.", "See tacit ledger show.")

        self._note("published", entry, refuse)

    def note_step(self, entry: Entry, step: int, mark: str) -> None:
        """Take a number of a series, for good, before noise is drawn for it; ``mark`` is of its state."""

        def refuse(found: Entry) -> None:
            if step <= found.step:
                raise InputError(
                    f"step {step} of the series was taken already; the ledger is at {found.step}.",
                    "Nothing was drawn. Another process may be publishing the same week.",
                )

        self._note("step", entry, refuse, step=step, mark=mark)

    def note_issue(self, entry: Entry, manifest: str) -> None:
        """Bind the charge of a series to a week's manifest, before the week is put in its place."""
        self._note("issued", entry, lambda _: None, manifest=manifest)

    def _note(self, kind: str, of: Entry | int, refuse: Callable[[Entry], None], **said: Any) -> None:
        """Append what is said of a charge, unless ``refuse`` raises."""
        number = of if isinstance(of, int) else of.number

        def noted(chain: Chain) -> Record:
            found = {known.number: known for known in self._replayed(chain).entries}.get(number)
            if found is None:
                raise InputError(f"entry {number} of the ledger is no charge.", "See tacit ledger show.")
            refuse(found)
            return {"type": kind, "time": _now(), "of": number, **said}

        self._journal.append(noted, describe_fragment=_torn)

    def chain(self) -> Chain:
        """The entries as they stand in the file, every hash checked."""
        return self._journal.read()

    def state(self) -> LedgerState:
        """Return all that the file says, with chain and arithmetic checked."""
        return self._replayed(self._journal.read())

    def _replayed(self, chain: Chain) -> LedgerState:
        self._state = replay(chain, self._state)
        return self._state

    def verify(self, head: str | None = None) -> LedgerState:
        """Check chain and arithmetic; with ``head``, that a hash published earlier is still in the chain.

        Raises IntegrityError for what does not hold.
        """
        chain = self._journal.read()
        if head is not None and not chain.holds(head):
            raise IntegrityError(
                "the hash given is not in this chain: the ledger was rewritten, cut short or is another one.",
                "Compare the ledger with its copies.",
            )
        return self._replayed(chain)

    def require_log(self, log: Traces | str | Path) -> None:
        """Refuse if this ledger was bound to a log that began otherwise (a ledger may be bound to none)."""
        opened = self._journal.read().records[0]
        if "fingerprint" not in opened:
            return
        if not Traces.of(log).begins_as(bytes.fromhex(opened["salt"]), opened["fingerprint"]):
            raise InputError(
                "this ledger was opened for another data set.",
                "Use the ledger of the data set that you release.",
            )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def budget_of(
    epsilon: float | None, delta: float, neighbours: Neighbours | str, names: str = ""
) -> Guarantee | None:
    """Return a budget of so much ε and δ; None without an ε. ``names`` begins the parameters' names."""
    if epsilon is None:
        return None
    rule = "a finite number, at least 0"
    epsilon, delta = real(f"{names}epsilon", epsilon, rule), real(f"{names}delta", delta, rule)
    require(epsilon >= 0, f"{names}epsilon", epsilon, "at least 0")
    require(0 <= delta <= 1, f"{names}delta", delta, "in [0, 1]")
    kind = GuaranteeKind.APPROXIMATE if delta else GuaranteeKind.PURE
    return Guarantee(kind, member("neighbours", Neighbours, neighbours), epsilon, delta)


def _torn(fragment: bytes) -> Record:
    return {"type": "torn", "time": _now(), **describe_fragment(fragment)}
