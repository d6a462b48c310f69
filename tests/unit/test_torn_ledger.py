"""A crash in the middle of an append: detected, repaired by the next one, never a refund."""

from __future__ import annotations

from pathlib import Path

import pytest

from tacit import Guarantee, Ledger
from tacit.privacy.accounting.events import ApproximateDp
from tacit.privacy.guarantee import GuaranteeKind, Neighbours


def release(epsilon: float) -> ApproximateDp:
    return ApproximateDp(Guarantee(GuaranteeKind.PURE, Neighbours.ADD_REMOVE, epsilon))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    ledger = Ledger.create(
        tmp_path / "ledger.jsonl", Guarantee(GuaranteeKind.PURE, Neighbours.ADD_REMOVE, 1.0)
    )
    ledger.spend(release(0.25), "week 0")
    ledger.spend(release(0.125), "week 1")
    return ledger


def test_a_crash_at_every_byte_of_an_append(ledger: Ledger) -> None:
    content = ledger.path.read_bytes()
    last = content.rstrip(b"\n").rfind(b"\n") + 1
    charge_readable_from = content.rindex(b'"guarantee":')
    for cut in range(last, len(content)):
        ledger.path.write_bytes(content[:cut])
        state = ledger.verify()
        assert state.torn == (cut not in (last, len(content) - 1))
        ledger.spend(release(0.0625), "after the crash")
        state = ledger.verify()
        spent = 1.0 - state.account.remaining().epsilon
        # At least what was acknowledged; the torn charge too as soon as it can be read.
        assert spent >= 0.25 + 0.0625
        if cut >= charge_readable_from:
            assert spent == pytest.approx(0.25 + 0.125 + 0.0625)
        assert state.entries[-1].purpose == "after the crash"


def test_reading_repairs_nothing(ledger: Ledger) -> None:
    torn = ledger.path.read_bytes()[:-30]
    ledger.path.write_bytes(torn)
    ledger.verify()
    assert ledger.path.read_bytes() == torn


def test_a_crash_during_the_repair(ledger: Ledger) -> None:
    """The record of a torn append is itself torn at every byte; the next append still gets through."""
    content = ledger.path.read_bytes()
    torn = content[: content.rstrip(b"\n").rfind(b"\n") + 40]
    ledger.path.write_bytes(torn)
    ledger.spend(release(0.0625), "repaired")
    repaired = ledger.path.read_bytes()
    whole = torn.rfind(b"\n") + 1
    record_ends = repaired.index(b"\n", whole) + 1
    for written in range(whole, record_ends):
        ledger.path.write_bytes(repaired[:written] + torn[written:])
        ledger.spend(release(0.0625), "again")
        assert ledger.verify().entries[-1].purpose == "again"
        assert ledger.left.epsilon <= 1 - 0.25 - 0.0625


@pytest.mark.parametrize("length", [1, 300, 5000])
def test_zeros_at_the_end_as_some_file_systems_leave_them(length: int, ledger: Ledger) -> None:
    with ledger.path.open("ab") as file:
        file.write(b"\0" * length)
    assert ledger.verify().torn == 1
    ledger.spend(release(0.25), "after")
    assert ledger.left.epsilon == 1 - 0.25 - 0.125 - 0.25
    assert ledger.verify().torn == 1
