"""Where the ledger of a data set lies: one ledger per data set, found without being told.

A second ledger for the same log is a second budget: what is promised holds for neither of them, but for
their sum. So a log that has its ledger beside it takes no other.

The ledger of a data set: what may be spent on it in all, and what has been.

One ledger per data set, for as long as the data set lives. Every release is charged here before any
noise is drawn for it, and the charge is on the disk when :meth:`Ledger.spend` returns: whatever
happens afterwards, nobody can have seen noise that was not paid for. What does not fit the budget
is refused.

The file is a hash chain of JSON lines (:mod:`tacit.privacy.ledger.journal`), with five types of entry:

- ``opened``: the budget, its neighbour relation, the rule of composition, the data set's label;
- ``spent``: a charge;
- ``noted``: binds a charge to the manifest of what is about to be published for it;
- ``published``: the release so noted is in its place;
- ``torn``: what a crash left of a charge whose :meth:`Ledger.spend` never returned. Nobody drew noise
  for it; it counts all the same if it still can be read.

A growing log, released week after week, is one data set: a user may be in all weeks, so the charges
add up in one ledger.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tacit.display import Displayed
from tacit.errors import InputError, IntegrityError, ParameterError
from tacit.privacy.accounting.composition import Account, CompositionRule
from tacit.privacy.accounting.events import Event, event_from_dict
from tacit.privacy.guarantee import Guarantee, GuaranteeKind, Neighbours
from tacit.privacy.ledger.data_set import begins_as, opening_fingerprint
from tacit.privacy.ledger.entries import FORMAT, Entry, LedgerState, describe_fragment, read_entry, replay
from tacit.privacy.ledger.journal import Chain, Journal, Record
from tacit.privacy.noise.randomness import OperatingSystemRandomness


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
_LONGEST_TEXT = 200


class Ledger(Displayed):
    """A ledger in a file. Every call reads the file anew, so several processes may share it."""

    def __init__(self, path: str | Path) -> None:
        self._journal = Journal(path)

    @classmethod
    def create(
        cls,
        path: str | Path,
        budget: Guarantee,
        *,
        label: str = "",
        composition: CompositionRule = CompositionRule.BASIC,
        log: str | Path | None = None,
    ) -> Ledger:
        """Open a new ledger. Budget, relation and rule are fixed from here on.

        Args:
            path: the file to make; it must not exist.
            budget: what all releases together may cost (pure, or indistinguishability with δ).
            label: what people call the data set.
            composition: how charges add up.
            log: bind the ledger to this log (see :meth:`require_log`). The file keeps a random key and a
                keyed hash of the log's first records; the hash without the key reveals nothing. Refused if
                ``LOG.ledger`` lies beside the log and is another one.
        """
        Account(budget, composition)
        salt = OperatingSystemRandomness().bits(32)
        first: dict[str, Any] = {
            "type": "opened",
            "format": FORMAT,
            "time": _now(),
            "label": _text("label", label),
            "budget": budget.to_dict(),
            "composition": composition.value,
            "salt": salt.hex(),  # also what tells apart two ledgers that are opened alike at the same time
        }
        if log is not None:
            refuse_second_ledger(path, log)
            first["fingerprint"] = opening_fingerprint(log, salt)
        Journal.create(path, first)
        return cls(path)

    @classmethod
    def open(cls, path: str | Path) -> Ledger:
        """An existing ledger, checked."""
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
        """The ledger at ``path``; made with this budget where there is none.

        A ledger that exists keeps its budget: one given again must be the same, so that the same lines can
        be run each week. One that was there and has vanished is not made again: what was spent is not undone
        by deleting the file. The other arguments are those of :meth:`create`.
        """
        from tacit.privacy.ledger.register import open_ledger, open_unbound

        budget = None
        if epsilon is not None:
            kind = GuaranteeKind.INDISTINGUISHABILITY if delta else GuaranteeKind.PURE
            budget = Guarantee(kind, Neighbours(neighbours), epsilon, delta)
        rule = CompositionRule(composition)
        if log is not None:
            if budget is None and not Path(path).exists():
                open_unbound(path, None)  # says that there is none, or that it has vanished
            return open_ledger(path, log, budget, label=label, composition=rule)
        return open_unbound(path, budget, label=label, composition=rule)

    def require_budget(self, budget: Guarantee | None) -> None:
        """Refuse a budget, if one is given, that is another than the ledger's."""
        found = self.state().account.budget
        if budget is not None and budget.as_indistinguishability() != found.as_indistinguishability():
            raise InputError(
                f"the ledger at {self.path} has the budget {found}, not {budget}.",
                "Leave the budget out; it is fixed when a ledger is opened.",
            )

    def _rows(self) -> list[tuple[str, str]]:
        state = self.state()
        budget, left = state.account.budget, state.account.remaining()
        return [
            ("budget", str(budget)),
            ("left", f"epsilon {left.epsilon:g}, delta {left.delta:g}"),
            ("charges", f"{len(state.entries):,}"),
        ]

    def _summary(self) -> str:
        return f"Ledger {self.path}"

    @property
    def path(self) -> Path:
        """The ledger's file."""
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
            "purpose": _text("purpose", purpose),
            "event": event.to_dict(),
            "guarantee": event.guarantee.to_dict(),
        }

        def charged(chain: Chain) -> Record:
            state = replay(chain)
            if event.guarantee.kind is not GuaranteeKind.K_QUERY:
                state.account.charge(event)
            return body

        return read_entry(self._journal.append(charged, describe_fragment=_torn))

    def note_release(self, entry: Entry | int, manifest: str) -> None:
        """Bind a charge to the SHA-256 of the manifest published for it, once and for all.

        To be called before the release is put in its place: then nothing is ever published without its note.
        """
        number = entry if isinstance(entry, int) else entry.number
        if not _SHA256.fullmatch(manifest):
            raise ParameterError("the manifest's hash must be 64 hexadecimal digits (SHA-256).")

        def noted(chain: Chain) -> Record:
            found = {known.number: known for known in replay(chain).entries}.get(number)
            if found is None:
                raise InputError(f"entry {number} of the ledger is no charge.", "See `tacit ledger show`.")
            if found.manifest is not None:
                raise InputError(
                    f"entry {number} was released already.", "Charge a new entry for a new release."
                )
            return {"type": "noted", "time": _now(), "of": number, "manifest": manifest}

        self._journal.append(noted, describe_fragment=_torn)

    def confirm_release(self, entry: Entry | int) -> None:
        """Say that what was noted is published: to be called once the release is in its place."""
        number = entry if isinstance(entry, int) else entry.number

        def published(chain: Chain) -> Record:
            found = {known.number: known for known in replay(chain).entries}.get(number)
            if found is None or found.manifest is None or found.published:
                raise InputError(
                    f"entry {number} of the ledger is no release that was noted and not yet published.",
                    "See `tacit ledger show`.",
                )
            return {"type": "published", "time": _now(), "of": number}

        self._journal.append(published, describe_fragment=_torn)

    def chain(self) -> Chain:
        """The entries as they stand in the file, every hash checked."""
        return self._journal.read()

    def state(self) -> LedgerState:
        """All that the file says, with chain and arithmetic checked."""
        return replay(self._journal.read())

    def verify(self, head: str | None = None) -> LedgerState:
        """Check chain and arithmetic; with ``head``, that a hash published earlier is still in the chain.

        Raises IntegrityError for what does not hold.
        """
        chain = self._journal.read()
        if head is not None and head not in {record["hash"] for record in chain.records}:
            raise IntegrityError(
                "the hash given is not in this chain: the ledger was rewritten, cut short or is another one.",
                "Compare the ledger with its copies.",
            )
        return replay(chain)

    def remaining(self) -> Guarantee:
        """What one further event may cost at most."""
        return self.state().account.remaining()

    def require_log(self, log: str | Path) -> None:
        """Refuse if this ledger was bound to a log that began otherwise (a ledger may be bound to none)."""
        opened = self._journal.read().records[0]
        if "fingerprint" not in opened:
            return
        if not begins_as(log, bytes.fromhex(opened["salt"]), opened["fingerprint"]):
            raise InputError(
                "this ledger was opened for another data set.",
                "Use the ledger of the data set that you release.",
            )


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")


def _text(name: str, text: str) -> str:
    if len(text) > _LONGEST_TEXT or not text.isprintable():
        raise ParameterError.outside(
            f"the {name}",
            f"{len(text)} characters",
            f"one printable line of at most {_LONGEST_TEXT} characters",
        )
    return text


def _torn(fragment: bytes) -> Record:
    return {"type": "torn", "time": _now(), **describe_fragment(fragment)}
