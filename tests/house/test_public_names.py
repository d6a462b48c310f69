"""The public names of ``tacit``: few, with named parameters that are explained, and refusals of our own.

Wrong types are refused by our errors, and a remedy between backticks is a parameter of what was called.
"""

from __future__ import annotations

import enum
import inspect
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.release_log import write_log

import tacit
from tacit import TacitError

MOST = 36
NAMES = [name for name in tacit.__all__ if name != "__version__"]


def is_error(value: object) -> bool:
    return isinstance(value, type) and issubclass(value, Exception)


def callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function and class, and the public methods that a class itself defines."""
    for name in NAMES:
        value = getattr(tacit, name)
        if is_error(value):
            continue
        yield name, value
        if isinstance(value, type):
            for each, method in inspect.getmembers(value):
                if not each.startswith("_") and each in vars(value) and callable(method):
                    yield f"{name}.{each}", method


CALLABLES = dict(callables())


def test_there_are_about_thirty_names() -> None:
    assert len(tacit.__all__) <= MOST
    assert len(set(tacit.__all__)) == len(tacit.__all__)


@pytest.mark.parametrize("name", CALLABLES)
def test_a_signature_names_its_parameters(name: str) -> None:
    kinds = {parameter.kind for parameter in inspect.signature(CALLABLES[name]).parameters.values()}
    assert inspect.Parameter.VAR_KEYWORD not in kinds


@pytest.mark.parametrize("name", [name for name in CALLABLES if "." not in name])
def test_help_explains_each_parameter(name: str) -> None:
    value = CALLABLES[name]
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return
    explained = f"{value.__doc__}\n{vars(value)['__init__'].__doc__ if isinstance(value, type) else ''}"
    missing = [
        parameter
        for parameter in inspect.signature(value).parameters
        if not re.search(rf"^\s*{parameter}: ", explained, re.MULTILINE)
    ]
    assert missing == []


class Nothing:
    """What no parameter takes."""


WRONG: list[Any] = [Nothing(), 5, b"bytes", ["a", "list"], float("nan"), {}, "a\0b", "long" * 75]
PLAN = tacit.Zealous(epsilon=1)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tacit.Log:
    return tacit.read_log(write_log(tmp_path_factory.mktemp("log") / "log.parquet", 60))


def calls(log: tacit.Log, folder: Path) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    """Functions with arguments that are right but for the one that a test replaces."""
    ledger = folder / "log.ledger"
    return {
        "read_log": (
            tacit.read_log,
            {"source": log.path, "columns": None, "time_zone": "UTC", "max_bad": 0.1},
        ),
        "synthetic_log": (
            tacit.synthetic_log,
            {"users": 5, "seed": 1, "weeks": 1, "to": folder / "made.parquet"},
        ),
        "Log": (tacit.Log, {"path": log.path}),
        "Log.head": (log.head, {"rows": 2}),
        "Log.stats": (log.stats, dict.fromkeys(["since", "until", "session_gap"]) | {"memory": "1GB"}),
        "Log.frequent_queries": (log.frequent_queries, {"most": 3, "min_users": 5}),
        "Log.export": (log.export, {"to": folder / "log.txt", "format": "tsv", "force": False}),
        "Log.release": (
            log.release,
            {
                "plan": PLAN,
                "to": folder / "out",
                "ledger": ledger,
                "budget_epsilon": 4.0,
                "budget_delta": 1e-5,
            }
            | {"data_set": "", "controller": "", "purpose": "", "since": None, "until": None, "scrub": True}
            | {"session_gap": None, "unsafe_exact_counts": False, "memory": "1GB"}
            | {"threads": 1, "users": None, "even_if_empty": False},
        ),
        "Ledger": (tacit.Ledger, {"path": ledger}),
        "Ledger.open": (tacit.Ledger.open, {"path": ledger}),
        "Ledger.open_or_create": (
            tacit.Ledger.open_or_create,
            {"path": ledger, "epsilon": 1.0, "delta": 0.0, "neighbours": "replace", "composition": "basic"},
        ),
        "verify": (tacit.verify, {"folder": folder, "ledger": ledger}),
        "resample": (tacit.resample, {"release": folder, "to": folder / "r.parquet", "users": 3, "days": 2}),
        "expected_rows": (tacit.expected_rows, {"plan": PLAN, "users": 100}),
        "Zealous": (tacit.Zealous, {"epsilon": 1.0, "delta": 1e-6, "per_user": 1, "items": ("queries",)}),
        "KQuery": (tacit.KQuery, {"k": 5}),
    }


def guard_calls(folder: Path) -> dict[str, tuple[Callable[..., Any], dict[str, Any]]]:
    page = {"url": "https://a.example/", "title": "Tulips", "snippet": "bulbs"}
    guard = tacit.Guard(folder / "me.profile")
    right: dict[str, dict[str, Any]] = {
        "clicked": {"query": "tulips", "result": page, "time": "2026-03-06T12:00"},
        "learn": {"pages": [("tulips", page, None)]},
        "rerank": {"query": "tulips", "results": [page]},
        "explain": {"query": "tulips", "results": [page]},
        "protect": {"query": "tulips", "upstream": "search", "delta": 0.1},
        "preview": {"query": "tulips", "upstream": "search", "delta": 0.1},
        "send_alone": {"query": "tulips", "upstream": "search"},
        "exposures": {"upstream": "search"},
        "exposure_entries": {"numbers": [1]},
        "history": {"limit": 3, "offset": 0},
        "mark": {"topic": "Gardening"},
        "sensitive": {"topic": "Gardening", "weight": 1.0},
        "topic": {"label": "Gardening"},
        "busiest": {"limit": 3},
        "find": {"word": "garden", "limit": 3},
    }
    made = {f"Guard.{name}": (getattr(guard, name), given) for name, given in right.items()}
    since = {"since": "2026-03-06", "until": "2026-03-07"}
    return made | {
        "Guard": (tacit.Guard, {"path": folder / "b.profile", "taxonomy": None, "delta": 0.1}),
        "Guard.forget": (guard.forget, since),
        "Guard.forget one": (guard.forget, {"click": 1}),
    }


def remedies(error: TacitError) -> set[str]:
    """What stands between backticks in a remedy, by name."""
    return {found.partition("=")[0] for found in re.findall(r"`([^`]+)`", error.remedy)}


CALLED = [
    *("Ledger", "Ledger.open", "Ledger.open_or_create", "expected_rows", "read_log", "resample", "verify"),
    *("Log", "Log.export", "Log.frequent_queries", "Log.head", "Log.release", "Log.stats", "synthetic_log"),
    *("KQuery", "Zealous"),
    *("Guard", "Guard.busiest", "Guard.clicked", "Guard.explain", "Guard.exposure_entries"),
    *("Guard.exposures", "Guard.find", "Guard.forget", "Guard.forget one", "Guard.history", "Guard.learn"),
    *("Guard.mark", "Guard.preview", "Guard.protect", "Guard.rerank", "Guard.send_alone"),
    *("Guard.sensitive", "Guard.topic"),
]


@pytest.mark.parametrize("name", CALLED)
def test_a_wrong_type_gets_our_error_and_a_remedy_that_exists(
    name: str, log: tacit.Log, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tacit.release.forecast.WORLDS", (300,))
    monkeypatch.chdir(tmp_path)
    called, right = (guard_calls(tmp_path) if name.startswith("Guard") else calls(log, tmp_path))[name]
    known = {*inspect.signature(called).parameters}
    if "plan" in known:
        known |= {*inspect.signature(tacit.Zealous).parameters}
    for parameter in right:
        for number, wrong in enumerate(WRONG):
            given = right | {parameter: wrong}
            if parameter != "to" and "to" in given:
                given["to"] = tmp_path / f"{parameter}-{number}"
            refused = refusal(called, given)
            if refused is not None:
                assert remedies(refused) <= known, f"{parameter}={wrong!r}: {refused}"
                assert "Nothing object" not in str(refused)


def refusal(called: Callable[..., Any], given: dict[str, Any]) -> TacitError | None:
    """Our error, if there is one; another error fails the test."""
    try:
        called(**given)
    except TacitError as error:
        return error
    return None


def test_integers_of_numpy_are_integers(log: tacit.Log, tmp_path: Path) -> None:
    assert log.head(np.int64(2)).num_rows == 2
    assert tacit.Zealous(epsilon=np.float64(2), per_user=np.int32(3)) == tacit.Zealous(epsilon=2, per_user=3)
    made = tacit.synthetic_log(users=np.int64(50), weeks=np.int16(1))
    ledger = tacit.Ledger.open_or_create(tmp_path / "l", epsilon=np.float32(4), delta=np.float64(1e-5))
    done = made.release(PLAN, to=tmp_path / "out", ledger=ledger, threads=np.int8(1), memory=np.int64(10**9))
    assert done.manifest["parameters"]["per_user"] == 1


@pytest.mark.parametrize(
    ("call", "remedy"),
    [
        (lambda log, to: log.release(tacit.KQuery(k=5), to=to, budget_epsilon=1), "unsafe_exact_counts"),
        (lambda log, to: log.release(PLAN, to=to), "budget_epsilon"),
        (lambda log, to: log.release(PLAN, to=to, budget_epsilon=0.1), "budget_epsilon"),
        (lambda log, to: tacit.Ledger.open_or_create(to), "epsilon"),
        (lambda log, to: log.export(log.path.with_suffix(".txt")), "force"),
        (lambda log, to: tacit.read_log({"user": ["a"]}).release(PLAN, to=to), ""),
    ],
)
def test_what_an_error_proposes_is_a_parameter(
    call: Callable[[tacit.Log, Path], object], remedy: str, log: tacit.Log, tmp_path: Path
) -> None:
    log.path.with_suffix(".txt").write_text("taken")
    with pytest.raises(TacitError) as refused:
        call(log, tmp_path / "out")
    assert remedy in remedies(refused.value) or not remedy


def test_every_repr_is_one_line(log: tacit.Log, tmp_path: Path) -> None:
    ledger = tacit.Ledger.open_or_create(tmp_path / "ledger", epsilon=4, delta=1e-5)
    done = log.release(PLAN, to=tmp_path / "out", ledger=ledger)
    shown = [log, log.stats(), ledger, done, PLAN, PLAN.plan(), done.guarantee, tacit.verify(done.folder)]
    assert [repr(each) for each in shown if "\n" in repr(each) or len(repr(each)) > 400] == []


def test_nothing_heavy_is_loaded_before_it_is_used() -> None:
    heavy = ["numpy", "pyarrow", "duckdb", "ibis", "numba", "rich", "typer", "jinja2"]
    code = f"import sys, tacit; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
