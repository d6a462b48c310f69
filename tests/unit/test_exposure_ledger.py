"""A ledger fit for years: requirements that change, names, circles, clocks, backups, forgetting."""

from __future__ import annotations

import shutil
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from tacit.device import ExposureBound, ExposureLedger, ProfileStore, UserProfile, generalise
from tacit.device.generalise.algorithms import Generalisation
from tacit.device.generalise.mapping import seed_of_leaves
from tacit.device.profile.store import canonical_upstream
from tacit.device.sending.exposure import LedgerTime, Moment, union_risk
from tacit.errors import InputError
from tacit.taxonomy import TopicTree

TREE = TopicTree.from_paths(
    [(("Health", f"Illness {i}"), 1.0) for i in range(8)] + [(("Leisure", "Music"), 8.0)]
)
PRIOR = TREE.support / TREE.support[0]
ILLNESS = [TREE.find(f"Top/Health/Illness {i}") for i in range(8)]


@pytest.fixture
def store(tmp_path: Path) -> ProfileStore:
    made = ProfileStore.create(tmp_path / "me.profile", TREE)
    made.protect(ILLNESS[0], 1.0)
    return made


def requirements(store: ProfileStore) -> UserProfile:
    return UserProfile(TREE, {}, store.sensitivity(), everywhere=True)


def about(topic: int, profile: UserProfile, delta: float = 0.2) -> Generalisation:
    return generalise(seed_of_leaves(profile, PRIOR, np.array([topic], np.int32), np.ones(1), 0.0), delta)


def test_a_topic_protected_elsewhere_a_moment_ago_counts(store: ProfileStore) -> None:
    """A process that read its requirements before goes by those in force when it exposes."""
    profile = requirements(store)
    proposed = about(ILLNESS[1], profile)
    assert ILLNESS[1] in proposed.topics
    with ProfileStore.open(store.path, TREE) as elsewhere:
        elsewhere.protect(ILLNESS[1], 5.0)
    admitted = ExposureLedger(store).admit("engine", "q", proposed, profile, ExposureBound(0.1))
    assert admitted is None or ILLNESS[1] not in admitted.topics
    told = ExposureLedger(store).exposed("engine")
    assert union_risk(requirements(store), told) <= 0.1


def test_one_who_is_told_under_several_spellings_is_counted_once(store: ProfileStore) -> None:
    ledger, profile = ExposureLedger(store), requirements(store)
    for number, name in enumerate(["https://www.Example.org/search", "example.org.", "EXAMPLE.ORG:443"]):
        ledger.admit(name, "q", about(ILLNESS[2 + number], profile), profile)
    assert ledger.upstreams() == {"example.org": 3}
    assert set(ILLNESS[2:5]) <= set(ledger.exposed("http://example.org").tolist())
    assert canonical_upstream("Bücher.example") == canonical_upstream("xn--bcher-kva.example")
    assert canonical_upstream("My  Engine") == "my engine"
    with pytest.raises(InputError, match="needs a name"):
        canonical_upstream("  ")


def test_upstreams_that_share_are_bounded_as_one(store: ProfileStore) -> None:
    ledger = ExposureLedger(store)
    for topic in ILLNESS[1:4]:
        store.protect(topic, 1.0)
    profile = requirements(store)
    bound = ExposureBound(0.3)
    first = ledger.admit("one", "q", about(ILLNESS[0], profile, 1.0), profile, bound)
    assert first is not None and ILLNESS[0] in first.topics
    apart = ledger.admit("two", "q", about(ILLNESS[1], profile, 1.0), profile, bound)
    assert apart is not None and ILLNESS[1] in apart.topics
    assert ledger.set_together(["One", "three"]) == ["one", "three"]
    shared = ledger.admit("three", "q", about(ILLNESS[2], profile, 1.0), profile, bound)
    assert shared is None or ILLNESS[2] not in shared.topics
    ledger.set_together(["three"])
    alone = ledger.admit("three", "q", about(ILLNESS[2], profile, 1.0), profile, bound)
    assert alone is not None and ILLNESS[2] in alone.topics


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("clock", "boot", "seconds", "expected", "noticed"),
    [
        (timedelta(hours=1), "a", 3_600, timedelta(hours=1), ""),
        (timedelta(days=40), "a", 3_600, timedelta(hours=1), "leapt ahead"),
        (timedelta(days=-3), "a", 3_600, timedelta(hours=1), "went back"),
        (timedelta(days=-3), "b", 5, timedelta(0), "went back"),
        (timedelta(days=40), "b", 5, timedelta(days=40), ""),  # cannot be told from a long pause
        (timedelta(minutes=63), "a", 3_600, timedelta(minutes=63), ""),
    ],
)
def test_the_ledgers_time(
    clock: timedelta, boot: str, seconds: float, expected: timedelta, noticed: str
) -> None:
    first = LedgerTime.after(None, Moment(NOON, "a", 0.0))
    assert (first.time, first.notice) == (NOON, "")
    then = LedgerTime.after(first.state, Moment(NOON + clock, boot, seconds))
    assert then.time == NOON + expected
    assert noticed in then.notice
    assert bool(noticed) == bool(then.notice)


def test_a_backup_put_back_is_noticed_and_sends_nothing_under_a_bound(store: ProfileStore) -> None:
    profile = requirements(store)
    bound = ExposureBound(0.5)
    ExposureLedger(store).admit("engine", "q", about(ILLNESS[3], profile), profile, bound)
    store.rewrite()
    store.close()
    backup = store.path.with_suffix(".old")
    shutil.copy(store.path, backup)
    with ProfileStore.open(store.path, TREE) as again:
        for topic in ILLNESS[4:6]:
            ExposureLedger(again).admit("engine", "q", about(topic, profile), profile, bound)
        assert ExposureLedger(again).notices() == []
        again.rewrite()
    for rest in ("-wal", "-shm"):
        store.path.with_name(store.path.name + rest).unlink(missing_ok=True)
    shutil.copy(backup, store.path)
    with ProfileStore.open(store.path, TREE) as restored:
        ledger = ExposureLedger(restored)
        assert ledger.missing() == 2
        assert "older copy" in ledger.notices()[0]
        assert ledger.admit("engine", "q", about(ILLNESS[6], profile), profile, bound) is None
        assert ledger.missing() == 1  # the query alone was recorded, and the witness has not forgotten
        ledger.accept()
        assert ledger.notices() == []
        assert ledger.admit("engine", "q", about(ILLNESS[6], profile), profile, bound) is not None


def test_forgetting_an_exposure_takes_it_out_of_the_union_and_the_file(store: ProfileStore) -> None:
    ledger, profile = ExposureLedger(store), requirements(store)
    ledger.admit("engine", "a secret question", about(ILLNESS[5], profile), profile)
    ledger.admit("engine", "another", about(ILLNESS[6], profile), profile)
    first, second = ledger.history()
    assert ledger.forget([first.number]) == 1
    store.rewrite()
    assert [entry.number for entry in ledger.history()] == [second.number]
    assert ILLNESS[5] not in ledger.exposed("engine")
    assert ILLNESS[6] in ledger.exposed("engine")
    store.close()
    for path in store.path.parent.iterdir():
        assert b"secret question" not in path.read_bytes()
        assert b"Illness 5" not in path.read_bytes()
