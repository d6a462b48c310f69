"""A plan predicts its release: for random options both state the same noise, thresholds and guarantee."""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.release_log import write_log
from typer.testing import CliRunner

from tacit import Guarantee, Ledger
from tacit.commands import application
from tacit.privacy import GuaranteeKind, Neighbours
from tacit.release.registry import MECHANISMS

APP = application()
SETTINGS = settings(
    max_examples=6, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)

budgets = st.tuples(st.floats(0.5, 8), st.sampled_from([1e-9, 1e-6, 1e-4]))
neighbours = st.sampled_from([[], ["--neighbours", "replace"]])
counts = st.sampled_from([[], ["--same-counts"], ["--fresh-counts"]])


def asked(*options: Any) -> st.SearchStrategy[list[str]]:
    """Some of these options, each with one of its values."""
    return st.tuples(*(st.sampled_from([[], *found]) for found in options)).map(
        lambda chosen: [str(word) for words in chosen for word in words]
    )


def values(name: str, *found: object) -> list[list[object]]:
    return [[name, value] for value in found]


zealous_given = ["--noise", 9, "--threshold-1", 2, "--threshold-2", 150.5, "--delta", 0.01]
click_given = ["--noise", 9, "--threshold", 150.5, "--noise-clicks", 7, "--minimum-frequency", 2]
session_given = ["--noise", 9, "--threshold", 150.5, "--noise-counts", 11]

OPTIONS: dict[str, st.SearchStrategy[list[str]]] = {
    "zealous": asked(
        values("--per-user", 1, 3, 20),
        [["--item", "queries", "--item", "pairs"], ["--item", "keywords"]],
        [["--kind", "probabilistic", "--users", 9000], ["--users", 5000]],
        values("--take", "last"),
    ),
    "click": asked(
        values("--queries-per-user", 1, 3),
        values("--clicks-per-user", 0, 2),
        [["--no-transitions"]],
        [["--domain", "QUERIES"]],
        values("--spurious", 1, 100),
    ),
    "session": asked(
        values("--sessions-per-user", 2),
        values("--queries-per-session", 2, 4),
        values("--clicks-per-user", 0, 3),
        [["--once-per-user"], ["--count-each"]],
    ),
    "topics": asked(values("--levels", 1, 2), values("--per-user", 2, 5), values("--take", "first")),
    "k-query": asked(values("--k", 5, 30), [["--item", "queries"]]),
}
GIVEN = {
    "zealous": zealous_given,
    "click": click_given,
    "session": session_given,
    "topics": ["--noise", 7],
    "k-query": ["--k", 7],
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("home")
    write_log(folder / "log.parquet")
    (folder / "queries.txt").write_text("# origin: words of a test\nweather\nnews\nunasked\n")
    return folder


def tacit(*words: str) -> dict[str, Any]:
    done = CliRunner().invoke(APP, [*words, "--json"], catch_exceptions=False)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)


def test_every_mechanism_is_tried() -> None:
    assert set(OPTIONS) == set(GIVEN) <= set(MECHANISMS)


@pytest.mark.parametrize("name", OPTIONS)
@SETTINGS
@given(data=st.data())
def test_plan_and_manifest_state_the_same(name: str, data: st.DataObject, home: Path) -> None:
    words = data.draw(OPTIONS[name])
    if data.draw(st.integers(0, 3)) == 0:
        words += map(str, GIVEN[name])
    elif name != "k-query":
        epsilon, delta = data.draw(budgets)
        words += ["--epsilon", repr(epsilon)]
        if name != "topics" and (name != "click" or "--domain" not in words):
            words += ["--delta", repr(delta)]
    if name == "click" and "--noise" in words:
        words += ["--mode", "approximate"]
    relation = data.draw(neighbours)
    words += relation
    if name in ("click", "session") and "--noise-counts" not in words:
        words += data.draw(counts)
    words = [str(home / "queries.txt") if word == "QUERIES" else word for word in words]
    if name == "click" and "--domain" in words and "--clicks-per-user" in words:
        words[words.index("--clicks-per-user") + 1] = "0"  # a pure release without public urls has none

    plan = tacit("plan", name, *words)
    promise = tacit("guarantee", name, *words)
    ledger, out = home / "ledger", home / "out"
    for path in (ledger, *(out.iterdir() if out.exists() else ())):
        path.unlink(missing_ok=True)
    if out.exists():
        out.rmdir()
    side = Neighbours.REPLACE if relation else Neighbours.ADD_REMOVE
    os.environ["TACIT_STATE"] = tempfile.mkdtemp(dir=home)  # each example is the first release of its log
    Ledger.create(ledger, Guarantee(GuaranteeKind.APPROXIMATE, side, 1e6, 1.0))
    manifest = tacit(
        "release", name, str(home / "log.parquet"), *words, "--ledger", str(ledger), "-o", str(out),
        "--threads", "1", "--even-if-empty", "--a-person-may-be-shown",
        *(["--i-know-this-is-not-private"] if name == "k-query" else []),
    )  # fmt: skip
    assert plan["schedule"] == manifest["schedule"] == promise["schedule"]
    assert plan["parts"] == manifest["parts"] == promise["parts"]
    for stated in (plan, promise):
        for key in ("kind", "neighbours", "epsilon"):
            assert stated[key] == manifest["guarantee"][key]
        if name != "k-query":
            assert stated["delta"] == manifest["guarantee"]["delta"]
    for key, value in manifest["parameters"].items():
        if key not in ("domain", "surfaced", "taxonomy"):
            assert plan[key] == value == promise["parameters"][key]
