"""The private profile file and how it is built."""

from __future__ import annotations

import sqlite3
import stat
from pathlib import Path

import pytest

from tacit import InputError, IntegrityError, ParameterError, TacitError
from tacit.device import ProfileStore, UserProfile
from tacit.taxonomy import TopicTree

TREE = TopicTree.from_paths(
    [(("Health", f"Illness {i}"), 1.0) for i in range(8)]
    + [(("Leisure", "Music"), 8.0), (("Leisure", "Film"), 8.0)]
)
ILLNESS = [TREE.find(f"Top/Health/Illness {i}") for i in range(8)]
MUSIC = TREE.find("Top/Leisure/Music")


def count(store: ProfileStore, documents: dict[int, float]) -> None:
    with store.transaction():
        store.count(documents)


def made(folder: Path) -> ProfileStore:
    store = ProfileStore.create(folder / "me.profile", TREE)
    count(store, dict.fromkeys([*ILLNESS, MUSIC], 1.0))
    for topic in ILLNESS[:4]:
        store.protect(topic, 1.0)
    return store


def test_the_file_is_private_and_remembers(tmp_path: Path) -> None:
    made(tmp_path).close()
    path = tmp_path / "me.profile"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o644)
    with ProfileStore.open(path, TREE) as store:
        profile = store.profile()
        assert profile.support[0] == 9
        assert profile.sensitive == sorted(ILLNESS[:4])
        count(store, {MUSIC: 1.0})
        assert store.profile().support[MUSIC] == 2
        store.unprotect(ILLNESS[0])
        assert store.profile().sensitive == sorted(ILLNESS[1:4])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_failed_change_leaves_nothing_behind(tmp_path: Path) -> None:
    with made(tmp_path) as store:
        with pytest.raises(InputError, match="overlap"):
            store.protect(TREE.find("Top/Health"), 1.0)
        with pytest.raises(TacitError, match="as it was before"), store.transaction() as connection:
            connection.execute("DELETE FROM topic").connection.execute("no such statement")
        assert len(store.profile().sensitivity) == 4
        assert store.profile().support[0] == 9


def test_what_is_not_a_profile_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("not a database, but long enough to be read as one" * 20)
    with pytest.raises(IntegrityError, match="not a profile"):
        ProfileStore.open(tmp_path / "text", TREE)
    sqlite3.connect(tmp_path / "other").execute("CREATE TABLE t (x)").connection.close()
    with pytest.raises(IntegrityError, match="not a profile"):
        ProfileStore.open(tmp_path / "other", TREE)
    with pytest.raises(InputError, match="no profile"):
        ProfileStore.open(tmp_path / "absent", TREE)
    made(tmp_path).close()
    with pytest.raises(InputError, match="another taxonomy"):
        ProfileStore.open(tmp_path / "me.profile", TopicTree.from_paths([(("A",), 1)], root="Else"))
    with pytest.raises(InputError, match="exists already"):
        ProfileStore.create(tmp_path / "me.profile", TREE)


def test_erased_topics_do_not_linger_in_the_file(tmp_path: Path) -> None:
    with made(tmp_path) as store, store.transaction() as connection:
        connection.execute("DELETE FROM sensitive")
        connection.execute("DELETE FROM topic")
    assert b"Illness" not in (tmp_path / "me.profile").read_bytes()


def test_a_profile_refuses_impossible_counts() -> None:
    with pytest.raises(ParameterError):
        UserProfile(TREE, {1: 0.0}, {})
    with pytest.raises(ParameterError):
        UserProfile(TREE, {len(TREE): 1.0}, {})


def test_a_full_disk_changes_nothing(tmp_path: Path) -> None:
    with made(tmp_path) as store:
        pages = store.connection.execute("PRAGMA page_count").fetchone()[0]
        store.connection.execute(f"PRAGMA max_page_count = {pages}")
        with pytest.raises(TacitError, match="full"), store.transaction():
            store.set_meta("much", "x" * 500_000)
        assert store.profile().support[0] == 9
        store.connection.execute("PRAGMA max_page_count = 1000000")
        count(store, {MUSIC: 1.0})
        assert store.profile().support[0] == 10


def test_damage_is_noticed(tmp_path: Path) -> None:
    made(tmp_path).close()
    path = tmp_path / "me.profile"
    damaged = bytearray(path.read_bytes())
    damaged[4096:] = bytes(len(damaged) - 4096)
    path.write_bytes(damaged)
    with pytest.raises(IntegrityError):
        ProfileStore.open(path, TREE)
