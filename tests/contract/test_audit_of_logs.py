"""Canaries and people of a log: what they show, and that nothing of them stays anywhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.release_log import write_log

import tacit
from tacit import ParameterError
from tacit.audit import canaries
from tacit.audit.canaries import MEMORY, audit_log
from tacit.audit.found import page_of
from tacit.audit.people import audit_people
from tacit.release import contribution
from tacit.release.document.words import verdict_on
from tacit.release.mechanisms import adaptive_holdings


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tacit.Log:
    return tacit.read_log(write_log(tmp_path_factory.mktemp("log") / "log.parquet", 200))


def test_canaries_find_what_a_mechanism_gives_away(log: tacit.Log) -> None:
    """At ε = 4 a guess is right in 98.2% of cases at most; 300 canaries show half of that ε at least."""
    found = log.audit(tacit.Zealous(epsilon=4), canaries=300)
    assert found.verdict == "held"
    assert 2 < found.measured["epsilon"] <= 4.5
    assert found.to_dict()["sensitive"]


def test_planted_accounts_learn_everything_from_exact_counts(log: tacit.Log) -> None:
    """The closed form: with k - 1 accounts the query appears if and only if the person asked."""
    found = audit_log(log.path, tacit.KQuery(k=10), canaries=100)
    assert (found.measured["right"], found.measured["guesses"], found.more["accounts"]) == (100, 100, 9)
    assert "nobody is protected" in found.sentence


def test_less_noise_than_claimed_is_noticed_on_a_log(log: tacit.Log, monkeypatch: pytest.MonkeyPatch) -> None:
    from tacit.release import execution

    real = execution.draw
    monkeypatch.setattr(
        execution, "draw", lambda noise, size, source: (real(noise, size, source) / 6).astype(np.int64)
    )
    assert log.audit(tacit.Zealous(epsilon=0.5), canaries=400).verdict == "broken"


def test_a_charged_run_is_paid_for_and_others_leave_no_trace(log: tacit.Log) -> None:
    ledger = tacit.Ledger.open_or_create(log.path.with_name("log.parquet.ledger"), epsilon=4, delta=1e-5)
    log.audit(tacit.Zealous(epsilon=1), canaries=20)
    assert not ledger.state().entries
    paid = log.audit(tacit.Zealous(epsilon=1), canaries=20, charge=True)
    assert [entry.guarantee.epsilon for entry in ledger.state().entries] == [1]
    assert not paid.to_dict()["sensitive"]


def one_more(real: Any) -> Any:
    return lambda table, limit, *rest: real(table, limit + 1, *rest)


def twice(held: Any) -> Any:
    """Who holds what, each item two times."""
    return replace(held, starts=2 * held.starts, items=np.repeat(held.items, 2))


@pytest.mark.parametrize(
    ("plan", "place", "name", "weaker"),
    [
        (
            tacit.Zealous(epsilon=1),
            contribution,
            "_upto",
            lambda real: lambda t, limit, *r: real(t, limit + 1, *r),
        ),
        (
            tacit.Adaptive(epsilon=1),
            adaptive_holdings,
            "_grouped",
            lambda real: lambda *given: twice(real(*given)),
        ),
    ],
)
def test_weakened_counting_is_noticed_beside_a_log(
    log: tacit.Log, monkeypatch: pytest.MonkeyPatch, plan: tacit.Mechanism, place: Any, name: str, weaker: Any
) -> None:
    """Canaries ask one thing each, and see nothing of it: one person more goes beyond every bound."""
    monkeypatch.setattr(place, name, weaker(getattr(place, name)))
    found = log.audit(plan, canaries=20)
    assert found.verdict == "broken" and "adds" in found.sentence


def test_a_second_is_enough_for_some_of_the_users(log: tacit.Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(canaries, "_SPEED", 300)
    found = audit_log(log.path, tacit.Zealous(epsilon=1), canaries=20, seconds=1)
    assert found.verdict == "held" and found.more["share"] < 1 and "There was time for" in found.about


def test_topics_have_no_canaries(log: tacit.Log) -> None:
    with pytest.raises(ParameterError, match="fixed set of keys"):
        log.audit(tacit.Topics(epsilon=1))


def test_people_behind_hashed_ids_and_exact_counts(log: tacit.Log) -> None:
    """Everybody has a query of their own: one known search finds whom it names, and k-query tells all."""
    found = audit_people(log.path, known=2, people=40, epsilons=(1.0,), mechanisms=("zealous",))
    (noisy,) = [row for row in found.to_dict()["rows"] if "ε" in row["label"]]
    promised = tacit.Zealous(epsilon=1, delta=1e-6).plan().guarantee
    assert noisy["worst"] == pytest.approx(100 * verdict_on(promised).after), "as the officer's page has it"
    assert [each["known"] for each in found.measured["hashed"]] == [1, 2]
    assert (
        found.measured["hashed"][-1]["found"] / found.measured["hashed"][-1]["tried"] > 0.6
    )  # two of three, weather and news name nobody
    exact, noisy = found.measured["guessed"]
    assert exact["right"] == exact["guesses"] == 40
    assert noisy["right"] < 36
    form = found.to_dict()
    page = page_of(form)
    assert "own words" not in page + json.dumps(form)
    assert page.count('class="row bad"') == 2
    assert "As sensitive as the log" in page


def test_nothing_is_left_after_a_kill(log: tacit.Log, tmp_path: Path) -> None:
    """No file with a canary, wherever work may go; what is in memory goes with the next release."""
    before = set(MEMORY.iterdir()) if MEMORY.is_dir() else set()
    command = ["audit", "log", "zealous", str(log.path), "--epsilon", "1", "--canaries", "2000"]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(
        [sys.executable, "-m", "tacit", *command], env=environment, stderr=subprocess.PIPE, text=True
    ) as run:
        assert run.stderr is not None
        next(line for line in run.stderr if "drawing" in line)
        run.send_signal(signal.SIGKILL)
    left = [path for path in tmp_path.rglob("*") if path.is_file()]
    made = set(MEMORY.iterdir()) - before if MEMORY.is_dir() else set()
    left += [
        path for folder in made if str(run.pid) in folder.name for path in folder.rglob("*") if path.is_file()
    ]
    assert [path for path in left if b"tacitcanary" in path.read_bytes()] == []
