"""The ledger: charges first, refuses overspend, and shows when its file was touched."""

from __future__ import annotations

import fcntl
import json
import stat
import threading
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tacit import BudgetError, Guarantee, InputError, IntegrityError, Ledger, ParameterError, TacitError
from tacit.errors import LogError
from tacit.privacy.accounting.composition import CompositionRule
from tacit.privacy.accounting.events import (
    ApproximateDp,
    Composed,
    KQueryRelease,
    LaplaceCounts,
    RareDisclosure,
)
from tacit.privacy.guarantee import GuaranteeKind, Neighbours
from tacit.privacy.ledger import journal
from tacit.privacy.ledger.journal import Journal
from tacit.searchlog import SCHEMA

AR, RO = Neighbours.ADD_REMOVE, Neighbours.REPLACE


def budget(epsilon: float = 1.0, delta: float = 1e-6, neighbours: Neighbours = AR) -> Guarantee:
    return Guarantee(GuaranteeKind.APPROXIMATE, neighbours, epsilon, delta)


def release(epsilon: float, delta: float = 0.0, neighbours: Neighbours = AR) -> ApproximateDp:
    return ApproximateDp(Guarantee(GuaranteeKind.APPROXIMATE, neighbours, epsilon, delta))


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger.create(tmp_path / "ledger.jsonl", budget(), label="weekly log")


def test_a_new_ledger_holds_its_whole_budget(ledger: Ledger) -> None:
    state = ledger.verify()
    assert (state.label, state.entries, state.torn) == ("weekly log", (), 0)
    assert ledger.left == budget()
    assert stat.S_IMODE(ledger.path.stat().st_mode) == 0o600


def test_charges_add_up_in_decimal(ledger: Ledger) -> None:
    for week in range(10):
        ledger.spend(release(0.1, 1e-7), f"week {week}")
    remaining = ledger.left
    assert (remaining.epsilon, remaining.delta) == (0.0, 0.0)
    with pytest.raises(BudgetError):
        ledger.spend(release(1e-9), "one more")


def test_overspend_is_refused_with_the_three_numbers_and_nothing_written(ledger: Ledger) -> None:
    ledger.spend(release(0.75, 5e-7), "first")
    before = ledger.path.read_bytes()
    with pytest.raises(BudgetError) as refused:
        ledger.spend(release(0.5, 1e-7), "second")
    assert "requested (epsilon 0.5, delta 1e-07)" in str(refused.value)
    assert "remaining (epsilon 0.25, delta 5e-07)" in str(refused.value)
    assert "too much by epsilon 0.25 and delta 0" in str(refused.value)
    assert ledger.path.read_bytes() == before
    with pytest.raises(BudgetError, match="too much by epsilon 0 and delta 5e-07"):
        ledger.spend(release(0.1, 1e-6), "delta alone")
    with pytest.raises(BudgetError, match="epsilon inf"):
        ledger.spend(LaplaceCounts(0, 1), "noise off")
    assert ledger.path.read_bytes() == before


def test_relations_do_not_mix(ledger: Ledger) -> None:
    with pytest.raises(ParameterError, match=r"adding or removing a user.*replacing a user's history"):
        ledger.spend(release(0.1, neighbours=RO), "wrong relation")


def test_a_probabilistic_guarantee_is_charged_as_what_it_implies(ledger: Ledger) -> None:
    ledger.spend(ApproximateDp(Guarantee(GuaranteeKind.PROBABILISTIC, AR, 0.5, 4e-7)), "zealous")
    assert ledger.left.epsilon == 0.5
    assert ledger.left.delta == 6e-7


def test_a_k_query_release_is_recorded_and_marks_the_data_set(ledger: Ledger) -> None:
    ledger.spend(KQueryRelease(10), "baseline")
    state = ledger.verify()
    assert [entry.purpose for entry in state.unprotected] == ["baseline"]
    assert state.account.remaining() == budget()


def test_events_come_back_as_they_went_in(ledger: Ledger) -> None:
    counts = LaplaceCounts(40.0, 4, 1), LaplaceCounts(100.0, 2, 3)
    event = Composed((*counts, RareDisclosure(1e-8), release(0.1)))
    written = ledger.spend(event, "all kinds")
    assert written.event == event
    assert Ledger.open(ledger.path).state().entries == (written,)


def test_a_release_is_bound_to_its_charge_once(ledger: Ledger) -> None:
    entry = ledger.spend(release(0.1), "week 1")
    manifest = "ab" * 32
    ledger.note_release(entry, manifest)
    assert ledger.state().entries[0].manifest == manifest
    with pytest.raises(InputError, match="released already"):
        ledger.note_release(entry.number, manifest)
    with pytest.raises(InputError, match="no charge"):
        ledger.note_release(0, manifest)
    with pytest.raises(ParameterError, match="64 hexadecimal"):
        ledger.note_release(entry, "beef")


def test_a_noted_release_is_told_from_one_in_its_place(ledger: Ledger) -> None:
    entry = ledger.spend(release(0.1), "week 1")
    assert ledger.state().entries[0].standing == "spent"
    with pytest.raises(InputError, match="no release that was noted"):
        ledger.confirm_release(entry)
    ledger.note_release(entry, "ab" * 32)
    assert ledger.state().entries[0].standing == "noted"
    ledger.confirm_release(entry)
    assert ledger.state().entries[0].standing == "released"
    with pytest.raises(InputError, match="not yet published"):
        ledger.confirm_release(entry.number)
    assert ledger.verify().account.spent().epsilon == 0.1


def test_a_ledger_is_never_made_over_another(ledger: Ledger) -> None:
    before = ledger.path.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        Ledger.create(ledger.path, budget(5))
    assert ledger.path.read_bytes() == before
    assert [path.name for path in ledger.path.parent.iterdir()] == [ledger.path.name]


def test_what_a_killed_process_left_of_a_new_ledger_is_cleared(tmp_path: Path) -> None:
    (tmp_path / ".log.ledger.partial-999999999").write_text("half a l", encoding="utf-8")
    Ledger.create(tmp_path / "log.ledger", budget())
    assert [path.name for path in tmp_path.iterdir()] == ["log.ledger"]


@pytest.mark.parametrize(
    ("bad", "rule"),
    [
        (Guarantee(GuaranteeKind.APPROXIMATE, AR, 0.0), CompositionRule.BASIC),
        (Guarantee(GuaranteeKind.PURE, AR), CompositionRule.BASIC),
        (Guarantee(GuaranteeKind.PROBABILISTIC, AR, 1.0, 1e-6), CompositionRule.BASIC),
        (Guarantee(GuaranteeKind.K_QUERY, AR, k=5), CompositionRule.BASIC),
        (Guarantee(GuaranteeKind.PURE, AR, 1.0), CompositionRule.PLD),
    ],
)
def test_a_budget_that_bounds_nothing_is_refused(
    bad: Guarantee, rule: CompositionRule, tmp_path: Path
) -> None:
    with pytest.raises(ParameterError):
        Ledger.create(tmp_path / "ledger.jsonl", bad, composition=rule)
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_ledger_is_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no ledger"):
        Ledger.open(tmp_path / "none")
    for content in ["", "hello", "hello\n", "{}\n", "[]\n", '{"hash":1}\n']:
        (tmp_path / "other").write_text(content, encoding="utf-8")
        with pytest.raises(IntegrityError):
            Ledger.open(tmp_path / "other")


def write_log(path: Path, users: list[str]) -> Path:
    rows = [
        {"user": user, "query": f"secret {user}", "time": datetime(2026, 1, 1 + day)}
        for day, user in enumerate(users)
    ]
    pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), path)
    return path


def test_a_ledger_knows_its_log_as_it_grows_and_reveals_nothing_of_it(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log", ["ann", "bob"])
    grown = write_log(tmp_path / "grown", ["ann", "bob", "cid", "dora"])
    other = write_log(tmp_path / "other", ["ann", "eve", "cid", "dora"])
    empty = write_log(tmp_path / "empty", [])
    ledgers = [Ledger.write(tmp_path / name, budget(), log=log) for name in ("one", "two")]
    for ledger in ledgers:
        ledger.require_log(log)
        ledger.require_log(grown)
        with pytest.raises(InputError, match="another data set"):
            ledger.require_log(other)
        with pytest.raises(InputError, match="another data set"):
            ledger.require_log(empty)
        with pytest.raises(LogError, match="cannot be read"):
            ledger.require_log(ledger.path)
        assert b"ann" not in ledger.path.read_bytes()
    Ledger.create(tmp_path / "unbound", budget()).require_log(other)
    # Salted: equal data sets do not give themselves away by equal fingerprints.
    assert ledgers[0].state().fingerprint != ledgers[1].state().fingerprint


def test_texts_are_one_printable_line(ledger: Ledger) -> None:
    for purpose in ("a\nb", "x" * 201, "\x1b[2J"):
        with pytest.raises(ParameterError, match="printable line"):
            ledger.spend(release(0.1), purpose)


@pytest.fixture
def used(ledger: Ledger) -> Ledger:
    for week in range(4):
        ledger.note_release(ledger.spend(release(0.2, 1e-7), f"week {week}"), f"{week:064x}")
    return ledger


def test_every_changed_byte_is_noticed(used: Ledger) -> None:
    """Any single byte changed, anywhere but in the last line's end, breaks the chain."""
    content = used.path.read_bytes()
    for position in range(len(content) - 1):
        changed = bytearray(content)
        changed[position] ^= 1
        used.path.write_bytes(changed)
        with pytest.raises(IntegrityError):
            used.verify()


def test_dropped_swapped_and_repeated_lines_are_noticed(used: Ledger) -> None:
    lines = used.path.read_bytes().splitlines(keepends=True)
    for damaged in (
        [*lines[:2], *lines[3:]],
        [lines[0], lines[2], lines[1], *lines[3:]],
        [*lines, lines[-1]],
        lines[1:],
    ):
        used.path.write_bytes(b"".join(damaged))
        with pytest.raises(IntegrityError):
            used.verify()


def test_a_cut_ledger_is_shown_by_a_published_head_only(used: Ledger) -> None:
    """What a chain cannot show by itself: a missing end. A hash kept elsewhere shows it."""
    head = used.verify().head
    lines = used.path.read_bytes().splitlines(keepends=True)
    used.path.write_bytes(b"".join(lines[:3]))
    assert used.verify().length == 3
    with pytest.raises(IntegrityError, match="rewritten, cut short"):
        used.verify(head)


def test_a_line_of_another_ledger_does_not_fit_in(tmp_path: Path, used: Ledger) -> None:
    other = Ledger.create(tmp_path / "other", budget(2))
    other.spend(release(0.01), "cheaper")
    lines = used.path.read_bytes().splitlines(keepends=True)
    used.path.write_bytes(lines[0] + other.path.read_bytes().splitlines(keepends=True)[1])
    with pytest.raises(IntegrityError, match="does not follow from"):
        used.verify()


def test_a_line_has_one_form_only(used: Ledger) -> None:
    """The same content written otherwise (a space; a field twice) is refused, though its hash agrees."""
    content = used.path.read_bytes()
    for changed in (
        content.replace(b'"entry":1,', b'"entry": 1,', 1),
        content.replace(b'{"entry":1,', b'{"entry":7,"entry":1,', 1),
    ):
        assert changed != content
        used.path.write_bytes(changed)
        with pytest.raises(IntegrityError, match="canonical form"):
            used.verify()


@pytest.mark.parametrize(
    ("number", "field", "value", "complaint"),
    [
        (0, "budget", budget(0.3).to_dict(), "exceed its budget"),
        (0, "format", 2, "no ledger that this version"),
        (0, "composition", "guess", "lacks a field or holds a wrong one"),
        (1, "guarantee", budget(0.001).to_dict(), "states another guarantee"),
        (1, "event", {"event": "unheard-of"}, "lacks a field or holds a wrong one"),
        (1, "type", "refund", "unknown type"),
        (2, "of", 0, "never charged"),
        (2, "of", 3, "never charged"),
    ],
)
def test_a_chain_rebuilt_with_false_content_is_noticed(
    number: int, field: str, value: object, complaint: str, tmp_path: Path, used: Ledger
) -> None:
    """Every hash agrees here; what is said does not."""
    bodies = [_body(used.path, line) for line in range(4)]
    bodies[number][field] = value
    Journal.create(tmp_path / "forged", bodies[0])
    forged = Journal(tmp_path / "forged")
    for body in bodies[1:]:
        forged.append(lambda _chain, body=body: body, describe_fragment=lambda _fragment: {})
    with pytest.raises(IntegrityError, match=complaint):
        Ledger.open(tmp_path / "forged")


def _body(path: Path, number: int) -> dict[str, object]:
    record = json.loads(path.read_bytes().splitlines()[number])
    return {key: value for key, value in record.items() if key not in ("entry", "previous", "hash")}


def test_the_pld_rule_lets_more_equal_releases_in_and_no_others(tmp_path: Path) -> None:
    ledger = Ledger.create(tmp_path / "pld", budget(2.0, 1e-6), composition=CompositionRule.PLD)
    event = release(0.1, 1e-9)
    ledger.spend(event, "week 0")
    assert ledger.state().account.repetitions_left(event) > 20
    with pytest.raises(ParameterError, match="repetitions of one event"):
        ledger.spend(release(0.2, 1e-9), "another price")


def test_threads_that_race_never_overspend(ledger: Ledger) -> None:
    refused: list[int] = []

    def spend(number: int) -> None:
        try:
            ledger.spend(release(0.1), f"thread {number}")
        except BudgetError:
            refused.append(number)

    threads = [threading.Thread(target=spend, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(refused) == 6
    assert len(ledger.verify().entries) == 10


def test_a_ledger_held_by_another_process_is_told(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.privacy.ledger.journal._PATIENCE_SECONDS", 0.05)
    with ledger.path.open("rb") as holder:
        fcntl.flock(holder, fcntl.LOCK_EX)
        with pytest.raises(TacitError, match="locked by another process"):
            ledger.spend(release(0.1), "blocked")
    ledger.spend(release(0.1), "free again")


def test_a_ledger_that_is_kept_open_checks_every_line_once(
    ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Other processes may write meanwhile, so the file is read; what was checked before is only compared."""
    checked: list[int] = []
    plain = journal._checked

    def counted(line: bytes, number: int, previous: str) -> dict[str, Any]:
        checked.append(number)
        return plain(line, number, previous)

    monkeypatch.setattr(journal, "_checked", counted)
    opened = Ledger.open(ledger.path)
    for week in range(5):
        entry = opened.spend(release(0.01), f"week {week}")
        opened.note_release(entry, "ab" * 32)
        assert opened.spent.epsilon <= opened.budget.epsilon and opened.left.epsilon > 0
    assert checked == list(range(11))
    ledger.spend(release(0.01), "by another process")
    checked.clear()
    assert opened.state().length == 12 and checked == [11]


def test_a_line_that_changes_under_an_open_ledger_is_found(ledger: Ledger) -> None:
    entry = ledger.spend(release(0.1), "week 1")
    ledger.note_release(entry, "ab" * 32)
    content = ledger.path.read_bytes()
    ledger.path.write_bytes(content.replace(b"week 1", b"week 2"))
    with pytest.raises(IntegrityError):
        ledger.state()
    ledger.path.write_bytes(content[: content.index(b"\n") + 1])
    assert ledger.state().entries == ()
