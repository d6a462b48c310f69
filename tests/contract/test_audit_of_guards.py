"""Guards under `tacit audit`: what is claimed holds, and each weakening is caught by the check named."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.drawn import SeededRandomness
from typer.testing import CliRunner

import tacit
from tacit import Groups, Guard, InfeasibleError
from tacit.audit import device
from tacit.audit.device import SENSITIVE, audit_device
from tacit.audit.found import GuardAudit, page_of
from tacit.audit.groups import audit_groups, proved_together
from tacit.audit.pool import audit_pool
from tacit.commands import application
from tacit.device.sending.interests import PassedPages
from tacit.groups import bundles, cohort_service
from tacit.groups.store import CohortStore, GroupsStore
from tacit.groups.words import Generation
from tacit.pool.simulation.verification import AuditedLog, write_audited_log

TEXTS = (
    "used car dealers", "toyota engine repair", "sailing boats harbour", "chocolate cake recipe",
    "baking bread flour", "garden roses pruning", "football league scores", "jazz guitar chords",
    "piano lessons", "laptop memory upgrade", "linux server kernel", "cheap flights paris",
)  # fmt: skip


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """``cohorts`` of forty people with words at ε = 2, and ``words`` of as many at p = 0.5."""
    place = tmp_path_factory.mktemp("groups")
    rows = [{"user": f"u{n}", "terms": {TEXTS[(n + k) % 12]: 1 for k in range(4)}} for n in range(40)]
    (place / "people.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    Groups.bundle(place / "people.jsonl", place / "cohorts", epsilon=2, budget_epsilon=4).close()
    draw = np.random.default_rng(3)
    words = "car boat cake bread rose ball guitar piano memory server paris dog bank".split()
    held = {f"u{n}": {str(w): 1.0 for w in draw.choice(words, 4, replace=False)} for n in range(40)}
    Groups.bundle(held, place / "words", p=0.5).close()
    return place


def failing(found: GuardAudit) -> list[str]:
    return [says for says, holds, _ in found.held if not holds]


def audited(folder: Path) -> GuardAudit:
    return audit_groups(folder, steps=8, draws=40_000, source=SeededRandomness(1))


def test_cohorts_hold_and_the_folder_stays_as_it_was(folders: Path) -> None:
    before = {path: path.read_bytes() for path in (folders / "cohorts").rglob("*") if path.is_file()}
    found = audited(folders / "cohorts")
    assert found.verdict == "held" and len(found.held) == 8
    assert found.measured["observer"]["steps"] == 8 and found.measured["epsilon"] > 0.2
    assert before == {path: path.read_bytes() for path in (folders / "cohorts").rglob("*") if path.is_file()}
    form = found.to_dict()
    page = page_of(form)
    assert "told cohort" in " ".join(form["not_claimed"]) and "told cohort" in page and form["sensitive"]
    assert not any(text in page + json.dumps(form) for text in ("u17", "chocolate"))


def test_too_little_noise_on_words_is_caught(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    right = Generation(2.0).sigma
    careless = cached_property(lambda _: right // 3)
    careless.__set_name__(Generation, "sigma")
    monkeypatch.setattr(Generation, "sigma", careless)
    caught = failing(audited(folders / "cohorts"))
    assert "What draws prove of ε is not above it." in caught
    assert any(says.startswith("Taking part in 1 generation") for says in caught)


def test_words_below_the_threshold_and_a_generation_that_is_not_paid_are_caught(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = CohortStore.meta

    def tampered(store: CohortStore, key: str) -> Any:
        return {"0": {"7": 3}} if key == "words" else 2 if key == "generations" else real(store, key)

    monkeypatch.setattr(CohortStore, "meta", tampered)
    caught = " ".join(failing(audited(folders / "cohorts")))
    assert "passed the threshold" in caught and "charged to the ledger" in caught


def test_words_that_follow_people_are_caught(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A service that counts anew at each step moves what is shown with whoever leaves."""

    def counted(store: CohortStore) -> dict[int, dict[int, float]]:
        found: dict[int, dict[int, float]] = {}
        for _, person in store.people():
            for cohort, word in person.keys:
                found.setdefault(cohort, {})[word] = found.get(cohort, {}).get(word, 0) + 1
        return found

    monkeypatch.setattr(cohort_service, "stored_words", counted)
    monkeypatch.setattr(CohortStore, "version", lambda store, ticks=count(): next(ticks))
    found = audited(folders / "cohorts")
    assert failing(found) == ["Nothing that is shown moves."]
    assert found.measured["observer"]["right"] > 0.9


def test_groups_of_words_hold_and_weights_that_follow_leavers_are_caught(
    folders: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = audited(folders / "words")
    assert honest.verdict == "held" and all(holds is True for _, holds, _ in honest.held), "as the page says"
    real = bundles.still_shown

    def anew(shown: Any, people: Any, criterion: Any, fakes: int) -> Any:
        rest = real(shown, people, criterion, fakes)
        if rest is None:
            return None
        kept = {t: w for t, w in rest.terms.items() if sum(t in held for held in people) > 2}
        return replace(rest, terms=kept)

    monkeypatch.setattr(bundles, "still_shown", anew)
    found = audit_groups(folders / "words", steps=40)
    assert "No change that is shown is a term of who came or went." in failing(found)


def test_a_term_that_everybody_holds_is_caught(folders: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = GroupsStore.members

    def alike(store: GroupsStore, group: int) -> dict[str, set[str]]:
        shown = store.shown(group)
        assert shown is not None
        return {user: {*list(shown.terms)[:1]} for user in real(store, group)}

    monkeypatch.setattr(GroupsStore, "members", alike)
    assert "No shown term is linked to a member above p." in failing(audited(folders / "words"))


K, WINDOW = 5, 10.0


def log_of(people: int) -> AuditedLog:
    """So many people, a record each, who ask a second apart under one region; and one entry under d*."""
    number = np.arange(people + 1)
    records = number[:, None] % 5
    low, high = np.zeros_like(records), np.full_like(records, 9)
    return AuditedLog(number.astype(float), number, records, low, high, number < people)


def test_a_region_of_k_people_holds_and_one_fewer_is_caught() -> None:
    found = audit_pool(log_of(K), K, WINDOW, synthetic=True)
    assert found.verdict == "held" and found.measured["fewest_companions"] == K
    assert found.measured["unique_by_record"] == 4, "the entry under d* has the first one's record"
    assert [each["identified"] for each in found.measured["readers"]] == [0, 0, 3, 5, 5], (
        "within ±2 only the third and the fourth have five people, the one under d* among them"
    )
    small = AuditedLog(*(column[: K - 1] for column in vars(log_of(K)).values()))
    caught = audit_pool(small, K, WINDOW)
    assert failing(caught) == ["No sender of an entry with a region is 5-identified."]
    assert caught.measured["fewest_companions"] == K - 1
    assert caught.to_dict()["rows"][0]["bad"] and "Found: 4 of 4" in caught.sentence


def test_nothing_to_attack_is_refused() -> None:
    log = log_of(K)
    with pytest.raises(InfeasibleError, match="none of the 6 entries"):
        audit_pool(AuditedLog(*(*list(vars(log).values())[:-1], np.zeros(K + 1, bool))), K, WINDOW)


def test_the_command_writes_a_page_and_exits_with_1(tmp_path: Path) -> None:
    write_audited_log(log_of(K), tmp_path / "log.parquet")
    words = ["audit", "pool", str(tmp_path / "log.parquet"), "--window", "10", "--json"]
    held = CliRunner().invoke(application(), [*words, "--k", "5", "-o", str(tmp_path / "page")])
    assert held.exit_code == 0 and json.loads(held.stdout)["verdict"] == "held"
    assert (tmp_path / "page" / "audit.html").stat().st_mode & 0o777 == 0o600
    assert CliRunner().invoke(application(), [*words, "--k", "7"]).exit_code == 1


PAGES = {
    "garden": ("roses in the garden", "Pruning roses and planting flowers in the garden in spring."),
    "football": ("football league", "The football team won its match in the league and leads the table."),
    "health": ("cancer treatment", "Chemotherapy for cancer patients: the treatment of tumours in hospital."),
}


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    with Guard(tmp_path / "me.profile") as guard:
        for about, (title, text) in PAGES.items():
            found = [
                {"url": f"http://{about}.example/{n}", "title": title, "snippet": text} for n in range(5)
            ]
            guard.learn([("", page, None) for page in found])
    return tmp_path / "me.profile"


HEALTH = {name: [PAGES["health"][1]] for name in SENSITIVE}


def test_what_was_caught_changes_nothing_that_a_profile_sends(profile: Path) -> None:
    before = profile.read_bytes()
    found = audit_device(profile, people=3, queries=["garden", "football", "cancer"], pages=HEALTH)
    assert found.verdict == "held", failing(found)
    assert "without 5 pages" in found.held[0][2]
    assert profile.read_bytes() == before
    assert "cancer" not in page_of(found.to_dict()).lower()


def test_a_profile_whose_sensitive_pages_count_is_caught(
    profile: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Messages that depend on how much was caught."""
    real = PassedPages.sendable

    def leaking(self: PassedPages, people: Any) -> Any:
        flags = real(self, people)
        return flags if self.passed.all() else np.zeros_like(flags)

    monkeypatch.setattr(PassedPages, "sendable", leaking)
    caught = audit_device(profile, people=3, queries=["garden", "football"], pages=HEALTH)
    assert failing(caught)[0] == "Pages that were caught change nothing that is sent."
    assert "Health: caught texts change none." in failing(caught)


@pytest.mark.parametrize(("changed", "verdict"), [(34, "held"), (80, "broken")])
def test_a_fifth_of_people_whose_messages_change_is_noticed(
    profile: Path, monkeypatch: pytest.MonkeyPatch, changed: int, verdict: str
) -> None:
    """Of 400: 34 is what the shipped filter was seen to miss, 80 the mean at a share of a fifth."""
    seen = {"changed": changed, "by_caught": 0, "people": 400, "largest_auc": 0.5}
    monkeypatch.setattr(device, "compare", lambda *_: seen | {"naive Bayes": 0.5, "boosted stumps": 0.5})
    assert audit_device(profile, queries=["garden"], pages=HEALTH).verdict == verdict


def test_a_release_and_the_words_of_groups_together_keep_to_both_promises() -> None:
    """With a third of the noise on words they do not."""
    plan, careless = tacit.Zealous(epsilon=1).plan(), Generation(2.0)
    proved, _, promised = proved_together(plan, Generation(2.0), 40_000, SeededRandomness(2))
    assert 1.2 < proved <= promised == 3
    careless.__dict__["sigma"] = careless.sigma // 6
    assert proved_together(plan, careless, 40_000, SeededRandomness(2))[0] > 3
