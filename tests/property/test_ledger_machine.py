"""Any sequence of charges, notes, crashes and refusals keeps what the ledger promises."""

from __future__ import annotations

import os
import shutil
import tempfile
from fractions import Fraction
from pathlib import Path
from unittest import mock

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from tacit import BudgetError, Guarantee, Ledger
from tacit.privacy.accounting.events import ApproximateDp, KQueryRelease
from tacit.privacy.guarantee import GuaranteeKind, Neighbours
from tacit.privacy.ledger import journal
from tacit.privacy.ledger.entries import Entry

BUDGET = 1.0
eighths = st.integers(1, 3).map(lambda n: n / 8)


class Crash(BaseException):
    """The power goes out."""


def release(epsilon: float) -> ApproximateDp:
    return ApproximateDp(Guarantee(GuaranteeKind.PURE, Neighbours.ADD_REMOVE, epsilon))


class LedgerMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.ledger = Ledger.create(
            self.folder / "ledger",
            Guarantee(GuaranteeKind.PURE, Neighbours.ADD_REMOVE, BUDGET),
            label="machine",
        )
        self.acknowledged: list[Entry] = []
        self.maybe = Fraction(0)
        """What crashed charges may have cost on top."""
        self.noted: set[int] = set()
        self.published: set[int] = set()
        self.heads = {self.ledger.state().head}

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    @property
    def spent(self) -> Fraction:
        return sum((Fraction(entry.guarantee.epsilon) for entry in self.acknowledged), Fraction(0))

    @rule(epsilon=eighths)
    def spend(self, epsilon: float) -> None:
        try:
            self.acknowledged.append(self.ledger.spend(release(epsilon), "work"))
        except BudgetError:
            assert self.spent + self.maybe + Fraction(epsilon) > BUDGET
        else:
            assert self.spent <= BUDGET
        self.heads.add(self.ledger.state().head)

    @rule(epsilon=eighths, share=st.floats(0, 1))
    def crash_in_the_middle_of_a_charge(self, epsilon: float, share: float) -> None:
        def tear(handle: int, data: bytes, at: int) -> None:
            os.pwrite(handle, data[: int(share * len(data))], at)
            raise Crash

        with mock.patch.object(journal, "_write_whole", tear):
            try:
                self.ledger.spend(release(epsilon), "torn")
            except BudgetError:
                return
            except Crash:
                self.maybe += Fraction(epsilon)

    @rule(epsilon=eighths)
    def crash_after_the_charge_is_written(self, epsilon: float) -> None:
        def lost(handle: int) -> None:
            raise Crash

        with mock.patch.object(os, "fsync", lost):
            try:
                self.ledger.spend(release(epsilon), "unsynced")
            except BudgetError:
                return
            except Crash:
                self.maybe += Fraction(epsilon)

    @precondition(lambda self: any(entry.number not in self.noted for entry in self.acknowledged))
    @rule()
    def note_a_release(self) -> None:
        entry = next(entry for entry in self.acknowledged if entry.number not in self.noted)
        self.ledger.note_release(entry, f"{entry.number:064x}")
        self.noted.add(entry.number)

    @precondition(lambda self: self.noted - self.published)
    @rule()
    def confirm_a_release(self) -> None:
        number = min(self.noted - self.published)
        self.ledger.confirm_release(number)
        self.published.add(number)

    @rule()
    def publish_without_protection(self) -> None:
        self.ledger.spend(KQueryRelease(3), "baseline")

    @invariant()
    def nothing_acknowledged_is_lost_and_nothing_overspent(self) -> None:
        state = self.ledger.verify()
        kept = {entry.number: entry for entry in state.entries}
        for entry in self.acknowledged:
            assert kept[entry.number].hash == entry.hash
            assert (kept[entry.number].manifest is not None) == (entry.number in self.noted)
            assert kept[entry.number].published == (entry.number in self.published)
        charged = Fraction(state.account.spent().epsilon)
        assert self.spent <= charged <= min(Fraction(BUDGET), self.spent + self.maybe)
        for head in self.heads:
            self.ledger.verify(head)


TestLedgerMachine = pytest.mark.timeout(200)(LedgerMachine.TestCase)
TestLedgerMachine.settings = settings(max_examples=30, stateful_step_count=20, deadline=None)
