"""A list of queries cut out of the log is no public domain, whatever its first line says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from tests.release_log import CANARY_QUERY, write_log

import tacit
from tacit import InputError
from tacit.engines import open_engine
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.mechanism import run
from tacit.release.public_sets import FEWEST


def listed(path: Path, queries: list[str]) -> Path:
    path.write_text("\n".join(["# origin: titles of an encyclopedia", *queries]) + "\n")
    return path


@pytest.fixture
def log(tmp_path: Path) -> tacit.Log:
    return tacit.read_log(write_log(tmp_path / "log.parquet", 300))


def own(log: tacit.Log) -> list[str]:
    """The queries that one user alone asked."""
    return sorted({query for query in log.to_arrow()["query"].to_pylist() if query.startswith("own words")})


def release(log: tacit.Log, domain: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "tacit", "release", "click", str(log.path), "--epsilon", "4"]
    command += ["--domain", str(domain), "--budget-epsilon", "8", "-o", str(domain.with_suffix(""))]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_the_logs_own_list_is_refused_before_anything_is_charged(log: tacit.Log, tmp_path: Path) -> None:
    done = release(log, listed(tmp_path / "cut-out.txt", sorted(set(log.to_arrow()["query"].to_pylist()))))
    assert done.returncode == 1, done.stderr
    assert "holds most of the queries that single users of this log asked" in done.stderr
    assert CANARY_QUERY not in done.stderr and "own words" not in done.stderr
    assert not any(character.isdigit() for character in done.stderr.partition("the domain")[2])
    assert not (tmp_path / "cut-out").exists()
    assert tacit.Ledger.open(tmp_path / "log.parquet.ledger").state().entries == ()


def test_a_public_list_is_taken(log: tacit.Log, tmp_path: Path) -> None:
    done = release(log, listed(tmp_path / "public.txt", ["weather", "news", "maps", *own(log)[:30]]))
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(("share", "refused"), [(0.49, False), (0.6, True)])
def test_more_than_half_of_what_single_users_asked_is_too_much(
    log: tacit.Log, tmp_path: Path, share: float, refused: bool
) -> None:
    queries = own(log)
    path = listed(tmp_path / "domain.txt", queries[: int(share * len(queries))])
    mechanism = tacit.Click(epsilon=4, domain=str(path))
    with open_engine() as engine:
        if refused:
            with pytest.raises(InputError, match="not public"):
                run(mechanism, engine, engine.log(log.path), OperatingSystemRandomness())
        else:
            mechanism.plan().admit(engine, engine.log(log.path))


def test_a_small_log_is_not_judged(tmp_path: Path) -> None:
    log = tacit.read_log(write_log(tmp_path / "log.parquet", FEWEST - 1, canary=False))
    path = listed(tmp_path / "domain.txt", own(log))
    with open_engine() as engine:
        tacit.Click(epsilon=4, domain=str(path)).plan().admit(engine, engine.log(log.path))
