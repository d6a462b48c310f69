"""Odd logs and orders: what cannot be released is refused before the charge; one user stops nobody."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.release_log import write_log
from tests.short_forms import mechanism_for

from tacit import Guarantee, InputError, Ledger, ParameterError
from tacit.engines import open_engine
from tacit.errors import LogError
from tacit.privacy import GuaranteeKind, Neighbours
from tacit.privacy.ledger.ledger import default_ledger
from tacit.privacy.ledger.register import open_ledger
from tacit.release import publication
from tacit.release.mechanism import Mechanism
from tacit.release.parameters import Item
from tacit.release.preparation import Preparation
from tacit.release.public_sets import PublicDomain
from tacit.release.publication import Order, publish_log
from tacit.release.verify import verify_release
from tacit.searchlog import SCHEMA, check_log
from tacit.searchlog.sessions import BY_PAUSES, with_pauses

BUDGET = Guarantee(GuaranteeKind.APPROXIMATE, Neighbours.ADD_REMOVE, 50.0, 1e-3)
MECHANISMS: dict[str, Mechanism[Any]] = {
    "adaptive": mechanism_for(
        "adaptive", 2.0, 1e-6, items=("queries", "keywords", "clicks", "pairs", "sessions")
    ),
    "zealous": mechanism_for("zealous", 4.0, 1e-9, items=tuple(Item)),
    "click-approximate": mechanism_for("click", 4.0, 1e-9),
    "session": mechanism_for("session", 4.0, 1e-9),
    "topics": mechanism_for("topics", 2.0),
    "k-query": mechanism_for("k-query", k=5),
}


DOMAIN = PublicDomain("domain.txt", pa.array(["news", "unasked", "weather"]))
MECHANISMS["click-pure"] = mechanism_for("click", 2.0, domain=DOMAIN)


def order_for(log: Path, output: Path, mechanism: Mechanism[Any]) -> Order:
    ledger = open_ledger(default_ledger(log), log, BUDGET)
    return Order(log, output, mechanism, Preparation(), ledger, threads=1)


def with_rows(
    path: Path, rows: list[tuple[object, ...]], schema: pa.Schema = SCHEMA, **written: object
) -> Path:
    """The usual log with some more records."""
    usual = pq.read_table(write_log(path)).cast(schema)
    columns = [pa.array(c, f.type) for c, f in zip(zip(*rows, strict=True), schema, strict=True)]
    pq.write_table(pa.concat_tables([usual, pa.table(columns, schema=schema)]), path, **written)
    return path


@pytest.mark.parametrize("name", MECHANISMS)
def test_an_empty_log_is_released_as_any_other(name: str, tmp_path: Path) -> None:
    """Whether the log has a user at all is not to be read off an exit code."""
    log = tmp_path / "log.parquet"
    pq.write_table(SCHEMA.empty_table(), log)
    order = order_for(log, tmp_path / "out", MECHANISMS[name])
    done = publish_log(order)
    if name not in ("click-pure", "topics"):  # these list public keys
        assert all(table["rows"] == 0 for table in done.manifest["published"].values())
    assert [c.what for c in verify_release(tmp_path / "out", order.ledger.path) if not c.holds] == []


@pytest.mark.parametrize("name", MECHANISMS)
def test_records_at_the_ends_of_time_stop_nobody(name: str, tmp_path: Path) -> None:
    ends = [2**63 - 1, 2**63 - 2, 2**63 - 3, -(2**63) + 1, -(2**63) + 2, -(2**63) + 3]
    rows = [("odd", f"odd {i}", pa.scalar(at, pa.timestamp("us")), None, None) for i, at in enumerate(ends)]
    log = with_rows(tmp_path / "log.parquet", rows)
    done = publish_log(order_for(log, tmp_path / "out", MECHANISMS[name]))
    assert sum(table["rows"] for table in done.manifest["published"].values()) > 0


def test_both_forms_of_sessions_agree_at_the_ends_of_time(tmp_path: Path) -> None:
    ends = [-(2**63) + 2, -(2**63) + 3, 0, 1_800_000_000, 3_600_000_001, 2**63 - 3, 2**63 - 2]
    time = pa.array(ends, pa.int64()).cast(pa.timestamp("us"))
    table = pa.table({"user": ["u"] * len(ends), "time": time, "place": list(range(len(ends)))})
    pq.write_table(table, tmp_path / "t.parquet")
    with open_engine(threads=1) as engine:
        found = with_pauses(engine.log(tmp_path / "t.parquet"))
        paused = engine.table(found.order_by("place").select("paused"))["paused"].to_pylist()
    assert paused == [0, 0, 1, 0, 1, 1, 0]
    assert BY_PAUSES.numbers(table["user"], time).tolist() == [0, 0, 1, 1, 2, 3, 3]


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_records_without_user_query_or_time_are_refused(place: int, statistics: bool, tmp_path: Path) -> None:
    schema = pa.schema([pa.field(field.name, field.type) for field in SCHEMA])
    row: list[object] = ["u", "q", 0, None, None]
    row[place] = None
    log = with_rows(tmp_path / "log.parquet", [tuple(row)], schema, write_statistics=statistics)
    with pytest.raises(LogError, match=f"records without {SCHEMA.names[place]}"):
        check_log(log)
    row[place] = "x" if place < 2 else 0
    check_log(with_rows(tmp_path / "log.parquet", [tuple(row)], schema, write_statistics=statistics))


@pytest.mark.parametrize(
    "mechanism",
    [
        mechanism_for("zealous", noise=2e12, threshold_2=10**14),
        mechanism_for(
            "click", delta=1e-6, noise=10.0, threshold=500, noise_clicks=2e12, threshold_clicks=10**14
        ),
        mechanism_for(
            "session",
            noise=10.0,
            threshold=500,
            clicks_per_user=4,
            noise_clicks=2e12,
            threshold_clicks=10**14,
        ),
    ],
)
def test_noise_that_cannot_be_drawn_is_refused_before_the_charge(
    mechanism: Mechanism[Any], tmp_path: Path
) -> None:
    order = order_for(write_log(tmp_path / "log.parquet"), tmp_path / "out", mechanism)
    with pytest.raises(ParameterError, match="scale of the noise"):
        publish_log(order)
    assert order.ledger.state().entries == ()


def test_a_second_ledger_for_a_log_that_has_one_is_refused(tmp_path: Path) -> None:
    log = write_log(tmp_path / "log.parquet")
    Ledger.create(tmp_path / "other.ledger", BUDGET)
    open_ledger(default_ledger(log), log, BUDGET)
    for path in (tmp_path / "new.ledger", tmp_path / "other.ledger"):
        with pytest.raises(InputError, match="second budget"):
            open_ledger(path, log, BUDGET)
    with pytest.raises(InputError, match="second budget"):
        Ledger.create(tmp_path / "new.ledger", BUDGET, log=log)
    assert not (tmp_path / "new.ledger").exists()
    (tmp_path / "link.ledger").symlink_to(default_ledger(log))
    open_ledger(tmp_path / "link.ledger", log, BUDGET)


@pytest.mark.parametrize("users", [1, 2, 40])
def test_a_ledger_does_not_tell_how_many_records_the_log_had(users: int, tmp_path: Path) -> None:
    """Of a log with up to a thousand records; and the ledger still knows the log once it has grown."""
    log = write_log(tmp_path / "log.parquet", users, canary=False)
    ledger = Ledger.create(tmp_path / "a.ledger", BUDGET, log=log)
    opened = json.loads(ledger.path.read_text())
    numbers = [value for value in opened.values() if isinstance(value, int)]
    assert numbers == [0, 1]  # the place in the chain and the format
    assert "opening" not in opened
    grown = pa.concat_tables([pq.read_table(log), later(log)])
    pq.write_table(grown, log)
    ledger.require_log(log)
    with pytest.raises(InputError, match="another data set"):
        ledger.require_log(write_log(tmp_path / "other.parquet", users + 1))


def later(log: Path) -> pa.Table:
    """The records of a log again, a hundred years on."""
    table = pq.read_table(log)
    time = pa.array([at.replace(year=at.year + 100) for at in table["time"].to_pylist()], pa.timestamp("us"))
    return table.set_column(2, SCHEMA.field("time"), time)


INTERRUPTED = """
import sys
from pathlib import Path
from typing import Any
from tacit.privacy.ledger.ledger import Ledger
from tacit.release import publication
from tests.contract.test_release_of_odd_logs import MECHANISMS, order_for

log, output, moment = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
order = order_for(log, output, MECHANISMS["zealous"])

def after(function):
    def called(*arguments, **named):
        done = function(*arguments, **named)
        raise KeyboardInterrupt
    return called

if moment == "note":
    Ledger.note_release = after(Ledger.note_release)
elif moment == "rename":
    Path.rename = after(Path.rename)
publication.publish_log(order, report=lambda stage: print(stage, flush=True))
"""


@pytest.mark.parametrize(
    ("moment", "published", "said"),
    [("note", False, "Nothing was published"), ("rename", True, "was published before this, whole")],
)
def test_ctrl_c_around_the_rename_leaves_a_noted_release_or_none(
    moment: str, published: bool, said: str, tmp_path: Path
) -> None:
    log = write_log(tmp_path / "log.parquet")
    command = [sys.executable, "-c", INTERRUPTED, log, tmp_path / "out", moment]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (130, -signal.SIGINT) and said in done.stdout.splitlines()[-1]
    assert (tmp_path / "out").exists() is published
    (entry,) = Ledger.open(default_ledger(log)).state().entries
    assert entry.standing == ("released" if published else "noted")
    if published:
        assert all(check.holds for check in verify_release(tmp_path / "out", default_ledger(log)))


def test_a_release_is_noted_before_it_is_in_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    order = order_for(write_log(tmp_path / "log.parquet"), tmp_path / "out", MECHANISMS["k-query"])
    noted: list[bool] = []
    rename: Callable[[Path, Path], Path] = Path.rename

    def watched(self: Path, target: Path) -> Path:
        noted.append(order.ledger.state().entries[-1].manifest is not None)
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", watched)
    publication.publish_log(order)
    assert noted == [True]
