"""What a release charges: the kind that is stated, for no more users than stated, tightly under ``pld``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.release_log import write_log
from tests.short_forms import mechanism_for

from tacit import Guarantee, InfeasibleError, Ledger, ParameterError
from tacit.privacy import GuaranteeKind, Neighbours
from tacit.privacy.accounting.composition import Account, CompositionRule
from tacit.privacy.accounting.events import ApproximateDp
from tacit.release.mechanism import Mechanism
from tacit.release.preparation import Preparation
from tacit.release.publication import Order, publish_log
from tacit.release.verify import verify_release

AR = Neighbours.ADD_REMOVE
USERS = 300


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_log(tmp_path_factory.mktemp("log") / "log.parquet", USERS, canary=False)


def order_for(mechanism: Mechanism[Any], log: Path, folder: Path, ledger: Ledger, name: str = "out") -> Order:
    return Order(log, folder / name, mechanism, Preparation(), ledger, threads=1)


def probabilistic(users: int, neighbours: Neighbours = AR) -> Mechanism[Any]:
    return mechanism_for(
        "zealous",
        noise=5.0,
        threshold_2=30,
        threshold_1=2,
        users=users,
        kind=GuaranteeKind.PROBABILISTIC,
        neighbours=neighbours,
    )


@pytest.mark.parametrize("relation", list(Neighbours))
def test_more_users_than_the_public_bound_are_refused_before_the_charge(
    relation: Neighbours, log: Path, tmp_path: Path
) -> None:
    budget = Guarantee(GuaranteeKind.APPROXIMATE, relation, 100.0, 1.0)
    ledger = Ledger.create(tmp_path / "l", budget)
    content = ledger.path.read_bytes()
    with pytest.raises(InfeasibleError, match="more users than the 299") as refused:
        publish_log(order_for(probabilistic(USERS - 1, relation), log, tmp_path, ledger))
    assert str(USERS) not in str(refused.value), "the number of users is protected"
    assert ledger.path.read_bytes() == content
    assert not (tmp_path / "out").exists()
    done = publish_log(order_for(probabilistic(USERS, relation), log, tmp_path, ledger))
    stated = done.manifest["guarantee"]
    assert stated["kind"] == "probabilistic"
    (part,) = done.manifest["parts"]
    assert (part["part"], part["epsilon"], part["delta"]) == ("queries", stated["epsilon"], stated["delta"])
    assert done.entry.guarantee.delta == stated["delta"]


def test_a_bound_below_the_first_threshold_makes_no_release(log: Path) -> None:
    with pytest.raises(ParameterError, match="first threshold is 2 with a public bound of 1 users"):
        mechanism_for(
            "zealous", noise=5.0, threshold_2=2, threshold_1=2, users=1, kind=GuaranteeKind.PROBABILISTIC
        )


WEEKLY = {
    "zealous, 20 items a user": (mechanism_for("zealous", 0.5, 1e-8, per_user=20), 53),
    "zealous, 5 items a user": (mechanism_for("zealous", 0.5, 1e-8, per_user=5), 14),
    "click, approximate": (mechanism_for("click", 0.5, 1e-8, queries_per_user=5), 10),
    "session": (mechanism_for("session", 0.5, 1e-8, queries_per_session=3, clicks_per_user=4), 11),
}


@pytest.mark.parametrize("name", WEEKLY)
def test_the_weeks_that_a_planned_release_lasts(name: str) -> None:
    """The figures of docs/how-to/weekly-releases.md: as counts and a disclosure, not by (ε,δ) alone."""
    mechanism, weeks = WEEKLY[name]
    event, promise = mechanism.event, mechanism.guarantee
    assert event.guarantee == promise
    budget = Guarantee(GuaranteeKind.APPROXIMATE, AR, 4.0, 1e-6)
    assert Account(budget, CompositionRule.BASIC).repetitions_left(event) == 8
    assert Account(budget, CompositionRule.PLD).repetitions_left(ApproximateDp(promise)) == 8
    assert Account(budget, CompositionRule.PLD).repetitions_left(event) == weeks


@pytest.mark.parametrize("relation", list(Neighbours))
@pytest.mark.parametrize("mechanism", ["zealous", "click", "session"])
def test_a_ledger_by_privacy_loss_takes_more_than_adding_would(
    mechanism: str, relation: Neighbours, log: Path, tmp_path: Path
) -> None:
    """Three releases of ε = 1 from a budget of less than 3; each verifies against the ledger."""
    bound: dict[str, Any] = {
        "zealous": {"per_user": 20},
        "click": {"queries_per_user": 5, "clicks_per_user": 8, "once_per_user": True},
        "session": {"queries_per_session": 3, "clicks_per_user": 8},
    }[mechanism]
    made = mechanism_for(mechanism, 1.0, 1e-9, neighbours=relation, **bound)
    budget = Guarantee(GuaranteeKind.APPROXIMATE, relation, 2.9, 1e-4)
    ledger = Ledger.create(tmp_path / "l", budget, composition=CompositionRule.PLD)
    for week in ("a", "b", "c"):
        publish_log(order_for(made, log, tmp_path, ledger, week))
        checks = verify_release(tmp_path / week, ledger.path)
        assert [check.what for check in checks if not check.holds] == []
    assert Ledger.open(ledger.path).state().account.total()[0] <= 2.9
