"""The contract of a release: charged before noise, refused beyond the budget, nothing leaks."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.release_log import CANARY_QUERY, CANARY_USER, write_log
from tests.short_forms import mechanism_for
from typer.testing import CliRunner

from tacit import BudgetError, Guarantee, InputError, Ledger, ParameterError, Release
from tacit.commands import application
from tacit.privacy import GuaranteeKind, Neighbours
from tacit.privacy.ledger.ledger import default_ledger
from tacit.privacy.ledger.register import open_ledger
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.document.manifest import mechanism_of, read_manifest
from tacit.release.mechanism import Mechanism
from tacit.release.mechanisms.adaptive import HeldItem
from tacit.release.parameters import Item
from tacit.release.preparation import Preparation
from tacit.release.public_sets import PublicUrls
from tacit.release.publication import Order, publish_log
from tacit.release.registry import MECHANISMS
from tacit.release.verify import verify_release

URLS = PublicUrls(
    "urls",
    lambda query: ("http://weather.example/", "http://other.example/") * (query == "weather"),
    "0" * 64,
)
BUDGET = Guarantee(GuaranteeKind.APPROXIMATE, Neighbours.ADD_REMOVE, 20.0, 1e-3)
MECHANISMS_BY_CASE: dict[str, Mechanism[Any]] = {
    "adaptive": mechanism_for("adaptive", 2.0, 1e-6),
    "adaptive-keys": mechanism_for("adaptive", 2.0, 1e-6, keys_only=True),
    "adaptive-one": mechanism_for("adaptive", 2.0, 1e-6, per_user=1),
    "adaptive-one-keys": mechanism_for("adaptive", 2.0, 1e-6, per_user=1, keys_only=True),
    "adaptive-all": mechanism_for("adaptive", 4.0, 1e-6, items=tuple(HeldItem)),
    "adaptive-one-all": mechanism_for("adaptive", 4.0, 1e-6, items=tuple(HeldItem), per_user=1),
    "zealous": mechanism_for("zealous", 2.0, 1e-9, per_user=5),
    "zealous-all": mechanism_for("zealous", 4.0, 1e-6, items=tuple(Item), per_user=3),
    "click-pure": mechanism_for("click", 2.0, surfaced=URLS),
    "click-approximate": mechanism_for("click", 4.0, 1e-9),
    "click-steps": mechanism_for("click", 6.0, 1e-6, transitions=True, queries_per_user=3),
    "click-pure-steps": mechanism_for("click", 6.0, surfaced=URLS, transitions=True, queries_per_user=3),
    "session-each": mechanism_for(
        "session", 6.0, 1e-6, sessions_per_user=1, queries_per_session=2, once_per_user=False
    ),
    "session": mechanism_for("session", 4.0, 1e-9, sessions_per_user=1, queries_per_session=2),
    "topics": mechanism_for("topics", 2.0),
    "k-query": mechanism_for("k-query", k=5),
}


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return write_log(tmp_path / "log.parquet")


def order_for(name: str, log: Path, output: Path) -> Order:
    ledger = open_ledger(default_ledger(log), log, BUDGET)
    return Order(log, output, MECHANISMS_BY_CASE[name], Preparation(), ledger, threads=1)


class WatchedRandomness(OperatingSystemRandomness):
    """Looks at the ledger's file when the first bit is asked for."""

    def __init__(self, ledger: Path) -> None:
        super().__init__()
        self.ledger = ledger
        self.lines_at_first_draw: int | None = None

    def look(self) -> None:
        if self.lines_at_first_draw is None:
            self.lines_at_first_draw = self.ledger.read_bytes().count(b'"spent"')

    def bits(self, n_bytes: int) -> bytes:
        self.look()
        return super().bits(n_bytes)

    def words(self, n: int) -> np.ndarray:
        self.look()
        return super().words(n)


@dataclass(frozen=True)
class Made:
    """A release of each case, made once for all that is looked at."""

    name: str
    order: Order
    release: Release
    spent_at_first_draw: int | None


@pytest.fixture(scope="module", params=MECHANISMS_BY_CASE)
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("made")
    with pytest.MonkeyPatch.context() as changed:  # one data set would have one ledger
        changed.setenv("TACIT_STATE", str(folder / "state"))
        order = order_for(request.param, write_log(folder / "log.parquet"), folder / "out")
        source = WatchedRandomness(order.ledger.path)
        done = publish_log(order, source=source)
    return Made(request.param, order, done, source.lines_at_first_draw)


def test_the_ledger_is_charged_before_noise_is_drawn(made: Made) -> None:
    order, done = made.order, made.release
    assert made.spent_at_first_draw == (None if made.name == "k-query" else 1)
    entry = order.ledger.state().entries[-1]
    assert entry.hash == done.manifest["ledger"]["hash"]
    stated = Guarantee.from_dict(done.manifest["guarantee"])
    assert entry.guarantee.epsilon == pytest.approx(stated.epsilon, rel=1e-12)
    assert entry.guarantee.delta == pytest.approx(stated.delta, rel=1e-12)
    assert entry.standing == "released"


def test_what_is_written_verifies_and_reads_back(made: Made) -> None:
    order, output = made.order, made.release.folder
    checks = verify_release(output, order.ledger.path)
    assert [check.what for check in checks if not check.holds] == []
    manifest = read_manifest(output)
    again = mechanism_of(manifest)
    assert again.guarantee == order.mechanism.guarantee
    shown = "Weather" if made.name == "topics" else "weather"
    assert shown in (output / "release.html").read_text()
    assert (manifest["paper"] is None) == made.name.startswith(("k-query", "adaptive", "topics"))


def test_nothing_of_a_single_user_is_in_manifest_page_or_ledger(made: Made) -> None:
    for path in [*made.release.folder.iterdir(), made.order.ledger.path]:
        content = path.read_bytes()
        for secret in (CANARY_USER, CANARY_QUERY, "canary.example", "user-000", "own words"):
            assert secret.encode() not in content, path.name


def test_the_manifest_does_not_depend_on_the_log_but_for_what_is_published(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Same release of a log with and without the canary, noise off: one manifest but for entry and time."""
    manifests = []
    for name, canary in (("a", True), ("b", False)):
        monkeypatch.setenv("TACIT_STATE", str(tmp_path / f"state-{name}"))  # else they are one data set
        log = write_log(tmp_path / f"{name}.parquet", canary=canary)
        order = order_for("k-query", log, tmp_path / name)
        manifest = publish_log(order).manifest
        for key in ("released", "ledger"):
            del manifest[key]
        manifest["files"].pop("release.html")
        manifests.append(manifest)
    # The canary also asked for the weather, which is published; nothing else may differ.
    for manifest in manifests:
        for key in ("data_product", "published"):
            del manifest["deployment"][key]
    differing = [key for key in manifests[0] if manifests[0][key] != manifests[1][key]]
    assert set(differing) <= {"published", "files"}


def test_overspending_is_refused_before_anything_is_done(log: Path, tmp_path: Path) -> None:
    order = order_for("zealous", log, tmp_path / "out")
    dear = Order(log, tmp_path / "out", mechanism_for("zealous", 50.0, 1e-9), Preparation(), order.ledger)
    source = WatchedRandomness(order.ledger.path)
    content = order.ledger.path.read_bytes()
    with pytest.raises(BudgetError, match=r"requested .* remaining .* too much by"):
        publish_log(dear, source=source)
    assert source.lines_at_first_draw is None
    assert order.ledger.path.read_bytes() == content
    assert not (tmp_path / "out").exists()


def test_a_failure_after_the_charge_leaves_no_release_and_says_the_charge_stays(log, tmp_path) -> None:
    order = order_for("zealous", log, tmp_path / "out")

    class Failing(OperatingSystemRandomness):
        def words(self, n: int) -> np.ndarray:
            raise OSError("no entropy")

        bits = words

    said: list[str] = []
    with pytest.raises(OSError):
        publish_log(order, source=Failing(), report=said.append)
    assert "stays spent" in said[-1]
    assert not (tmp_path / "out").exists()
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".")] == []
    assert len(order.ledger.state().entries) == 1


def test_a_ledger_is_required_and_budgets_do_not_change(log: Path) -> None:
    with pytest.raises(InputError, match="no ledger"):
        open_ledger(default_ledger(log), log, None)
    open_ledger(default_ledger(log), log, BUDGET)
    open_ledger(default_ledger(log), log, BUDGET)
    open_ledger(default_ledger(log), log, None)
    with pytest.raises(InputError, match="has the budget"):
        open_ledger(default_ledger(log), log, Guarantee(GuaranteeKind.PURE, Neighbours.ADD_REMOVE, 99.0))


def test_the_ledger_of_another_log_is_refused(log: Path, tmp_path: Path) -> None:
    open_ledger(tmp_path / "l", log, BUDGET)
    other = tmp_path / "other.parquet"
    table = pq.read_table(write_log(other, 20))
    pq.write_table(
        table.set_column(0, table.schema.field(0), pa.array(["somebody else"] * len(table))), other
    )
    with pytest.raises(InputError, match="another data set"):
        open_ledger(tmp_path / "l", other, None)


def test_a_changed_file_or_parameter_is_found(log: Path, tmp_path: Path) -> None:
    order = order_for("zealous", log, tmp_path / "out")
    publish_log(order)
    table = tmp_path / "out/queries.tsv"
    table.write_text(table.read_text() + "x\t9\n")
    (tmp_path / "out/extra.txt").write_text("")
    manifest = tmp_path / "out/manifest.json"
    form = json.loads(manifest.read_text())
    form["parameters"]["noise"] = 0.5
    manifest.write_text(json.dumps(form))
    failed = {check.what for check in verify_release(tmp_path / "out", order.ledger.path) if not check.holds}
    assert failed == {
        "the manifest is well-formed and has no other fields",
        "the guarantee follows from the parameters",
        "the stated strength follows from all that was spent",
        "the budget stated adds up, and holds this release",
        "what the columns mean is what is counted",
        "queries has the columns, rows and sum stated",
        "release.html says what manifest and tables say",
        "the cost of each part follows from the parameters",
        "noise and thresholds match the parameters",
        "queries.tsv is the file that was released",
        "queries.tsv says the same as queries.parquet",
        "nothing else is in the folder",
        "the charge is that of the release",
        "the ledger notes this very manifest",
    }


def test_noise_cannot_be_switched_off_by_a_request() -> None:
    """Not on the command line; and a mechanism without noise costs an infinite ε, which no ledger grants."""
    given = {
        "zealous": ["--threshold-2", "9"],
        "click": ["--threshold", "9"],
        "session": ["--threshold", "9"],
        "topics": [],
    }
    for mechanism, words in given.items():
        done = CliRunner().invoke(application(), ["guarantee", mechanism, "--noise", "0", *words])
        assert isinstance(done.exception, ParameterError) and "--noise must be" in str(done.exception)
        assert "no guarantee" in done.exception.remedy
    assert set(given) == set(MECHANISMS) - {"k-query", "adaptive"}  # these have no option for noise
    assert mechanism_for("zealous", noise=0.0, threshold_2=9).guarantee.epsilon == math.inf


def tacit(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tacit", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, **environment})


def test_the_command_two_weeks_running(log: Path, tmp_path: Path) -> None:
    common = ["release", "zealous", log, "--per-user", 5, "--epsilon", 2, "--delta", 1e-9, "--threads", 1]
    refused = tacit(*common, "-o", tmp_path / "w1")
    assert refused.returncode == 1 and "--budget-epsilon" in refused.stderr
    for week in ("w1", "w2"):
        budget = ["--budget-epsilon", 5, "--budget-delta", 1e-6]
        done = tacit(*common, *budget, "-o", tmp_path / week, "--json")
        assert done.returncode == 0, done.stderr
        result = json.loads(done.stdout)
        assert result["guarantee"]["epsilon"] == 2.0
        assert pq.read_table(tmp_path / week / "queries.parquet").num_rows == 2
    assert result["remaining"]["epsilon"] == pytest.approx(1.0)
    over = tacit(*common, "-o", tmp_path / "w3")
    assert over.returncode == 1 and "too much by" in over.stderr and not (tmp_path / "w3").exists()
    verified = tacit("verify", tmp_path / "w2", "--ledger", f"{log}.ledger", "--json")
    assert verified.returncode == 0 and json.loads(verified.stdout)["holds"] is True
    (tmp_path / "w2/queries.tsv").unlink()
    assert tacit("verify", tmp_path / "w2").returncode == 1
    assert Ledger.open(f"{log}.ledger").state().unprotected == ()


def test_errors_of_a_broken_log_do_not_quote_it(log: Path, tmp_path: Path) -> None:
    content = log.read_bytes()
    cut = content.find(b"zanzibar")
    log.write_bytes(
        content[:200] + bytes(4000) + content[4200:]
        if cut < 0
        else content[:cut] + b"\xff" * 40 + content[cut + 40 :]
    )
    sure = ["--budget-epsilon", 1, "--i-know-this-is-not-private"]
    done = tacit("release", "k-query", log, "--k", 2, *sure, "-o", tmp_path / "o")
    assert "Traceback" not in done.stderr
    for secret in ("zanzibar", "canary", "user-0", "own words"):
        assert secret not in done.stderr
