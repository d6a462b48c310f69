"""What is refused before a ledger is opened: exact counts, noise that cannot be drawn, a δ nobody stated."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.release_log import write_log

import tacit
from tacit import InfeasibleError, ParameterError, PrivacyWarning


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_log(tmp_path / "log.parquet")


def nothing_happened(log: Path) -> None:
    assert [path.name for path in log.parent.iterdir()] == [log.name], "no release, and no ledger"


def test_exact_counts_need_a_word(log: Path) -> None:
    opened = tacit.read_log(log)
    with pytest.raises(ParameterError, match="is not private"):
        opened.release(tacit.KQuery(k=2), to=log.parent / "out", budget_epsilon=9)
    nothing_happened(log)


@pytest.mark.parametrize("keys_only", [True, False])
def test_noise_that_cannot_be_drawn_is_not_planned(keys_only: bool) -> None:
    with pytest.raises(InfeasibleError, match="larger than can be drawn"):
        tacit.Adaptive(epsilon=1e-7, delta=1e-9, keys_only=keys_only).plan()
    assert tacit.Adaptive(epsilon=1e-4, delta=1e-9, keys_only=keys_only).plan().delta <= 1e-9


def test_given_parameters_without_a_delta_may_cost_what_is_usual(log: Path) -> None:
    opened = tacit.read_log(log)
    given = {"noise": 2.0, "threshold_1": 1, "threshold_2": 20, "per_user": 1}
    with pytest.raises(ParameterError, match="no `delta` was stated"):
        opened.release(tacit.Zealous(**given), to=log.parent / "out", budget_epsilon=9)
    nothing_happened(log)
    with pytest.raises(InfeasibleError, match="cost delta"):
        tacit.Zealous(**given, delta=1e-5).plan()
    stated = tacit.Zealous(**given, delta=1e-3)
    told = {"budget_epsilon": 9, "budget_delta": 1e-3, "a_person_may_be_shown": True}
    with pytest.warns(PrivacyWarning):
        done = opened.release(stated, to=log.parent / "out", **told)
    assert 1e-6 < done.guarantee.delta <= 1e-3
