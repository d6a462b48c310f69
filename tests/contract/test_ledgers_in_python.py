"""A ledger one cannot lose by accident, through the Python interface: removed, replaced, restored."""

from __future__ import annotations

import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.release_log import write_log

import tacit
from tacit import InputError, IntegrityError, TacitError

PLAN = {"epsilon": 1, "delta": 1e-6}
BUDGET = {"epsilon": 4, "delta": 1e-5}


@pytest.fixture
def log(tmp_path: Path) -> tacit.Log:
    return tacit.read_log(write_log(tmp_path / "log.parquet", 300))


def opened(path: Path, **more: object) -> tacit.Ledger:
    return tacit.Ledger.open_or_create(path, **BUDGET, **more)  # type: ignore[arg-type]


def released(log: tacit.Log, ledger: tacit.Ledger, name: str) -> None:
    log.release(tacit.Zealous(**PLAN), ledger=ledger, to=log.path.with_name(name))  # type: ignore[arg-type]


@pytest.mark.parametrize("bound", [True, False])
def test_a_removed_ledger_is_not_made_again(tmp_path: Path, log: tacit.Log, bound: bool) -> None:
    more = {"log": log.path} if bound else {}
    path = tmp_path / "log.parquet.ledger"
    released(log, opened(path, **more), "one")
    path.unlink()
    with pytest.raises(InputError, match="has vanished"):
        opened(path, **more)
    assert not path.exists()


def test_a_fresh_ledger_elsewhere_is_no_fresh_budget(tmp_path: Path, log: tacit.Log) -> None:
    """Nothing says which log an unbound ledger is for; the release does."""
    first = tmp_path / "first.ledger"
    released(log, opened(first), "one")
    fresh = opened(tmp_path / "fresh.ledger")
    with pytest.raises(InputError, match="has its ledger already"):
        released(log, fresh, "two")
    first.unlink()
    with pytest.raises(InputError, match="has vanished"):
        released(log, fresh, "two")
    assert fresh.left.epsilon == BUDGET["epsilon"], "nothing was charged"
    assert not (tmp_path / "two").exists()


def test_a_copy_of_the_log_is_the_same_data_set(tmp_path: Path, log: tacit.Log) -> None:
    released(log, opened(tmp_path / "first.ledger"), "one")
    copy = tmp_path / "elsewhere" / "other-name.parquet"
    copy.parent.mkdir()
    shutil.copy(log.path, copy)
    with pytest.raises(InputError, match="has its ledger already"):
        opened(tmp_path / "fresh.ledger", log=copy)
    with pytest.raises(InputError, match="has its ledger already"):
        released(tacit.read_log(copy), opened(tmp_path / "fresh.ledger"), "two")
    frame = tacit.read_log(log.to_arrow())
    with pytest.raises(TacitError, match="has its ledger already"):
        frame.release(tacit.Zealous(**PLAN), ledger=tmp_path / "fresh.ledger", to=tmp_path / "three")  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:Weak protection")
def test_an_old_copy_of_the_ledger_is_refused(tmp_path: Path, log: tacit.Log) -> None:
    path = tmp_path / "log.parquet.ledger"
    ledger = opened(path)
    released(log, ledger, "one")
    old = path.read_bytes()
    released(log, ledger, "two")
    path.write_bytes(old)
    with pytest.raises(IntegrityError, match="not as it was left"):
        released(log, tacit.Ledger.open(path), "three")


def test_another_data_set_opens_its_own(tmp_path: Path, log: tacit.Log) -> None:
    path = tmp_path / "log.parquet.ledger"
    released(log, opened(path), "one")
    path.unlink()
    records = log.to_arrow()
    renamed = pa.array([f"somebody else {number}" for number in range(len(records))])
    other = tmp_path / "other.parquet"
    pq.write_table(records.set_column(0, records.schema.field(0), renamed), other)
    with pytest.raises(InputError, match="give `log`"):
        opened(path)
    assert opened(path, log=other).left.epsilon == BUDGET["epsilon"]
    unused = tmp_path / "unused.ledger"
    opened(unused)
    unused.unlink()
    assert opened(unused).left.epsilon == BUDGET["epsilon"], "nothing was spent on it"
