"""What pages, manifests and ``verify`` say of a data set as its releases go on."""

from __future__ import annotations

import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.release_log import write_log

import tacit
from tacit.release.document.page import _beliefs
from tacit.release.document.words import A_USER, A_USER_ID, one_in


@pytest.mark.filterwarnings("ignore::tacit.PrivacyWarning")
def test_everything_so_far_is_judged_and_exact_counts_are_never_forgotten(tmp_path: Path) -> None:
    log = tacit.read_log(write_log(tmp_path / "log.parquet", 150))
    asked = tacit.Zealous(epsilon=0.6, delta=1e-7)
    given = {"budget_epsilon": 4, "budget_delta": 1e-5}
    made = {name: log.release(asked, to=tmp_path / name, **given) for name in ("one", "two")}
    made["k"] = log.release(tacit.KQuery(k=20), to=tmp_path / "k", unsafe_exact_counts=True)
    made["after"] = log.release(asked, to=tmp_path / "after")
    found = {
        name: (done.manifest["strength"], done.manifest["strength_alone"]) for name, done in made.items()
    }
    assert found == {
        "one": ("strong", "strong"),
        "two": ("moderate", "strong"),
        "k": ("no protection", "no protection"),
        "after": ("no protection", "strong"),
    }
    for name, done in made.items():
        page = re.sub(r"\s+", " ", (done.folder / "release.html").read_text("utf-8"))
        spent = tacit.Guarantee.from_dict(done.manifest["budget"]["used"])
        exact = done.manifest["budget"]["exact_counts"]
        assert exact == (name in ("k", "after"))
        rows = "".join(
            f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in _beliefs(spent, exact)[1]
        )
        assert rows in page, "the table of beliefs is of everything so far"
        outright = (
            f"for any given user with a chance of at most {one_in(spent.delta)}" if spent.delta else "-"
        )
        assert (outright in page) == (bool(spent.delta) and not exact), "so is what may be shown outright"
        beside = page[page.index('id="verdict"') : page.index("<svg")]
        assert A_USER_ID in beside, "beside the headline"
        assert (A_USER in beside) == (not exact), "where nothing is protected nobody is called so"
        assert done.manifest["columns"]["queries"]["count"] in page
        assert ("published exact counts" in page) == ("<td>certain</td>" in page) == bool(exact)
        checks = tacit.verify(done.folder, f"{log.path}.ledger")
        assert checks and any("exact counts went out" in check.found for check in checks.checks) == bool(
            exact
        )


@pytest.mark.parametrize(
    ("mechanism", "counts"),
    [
        (tacit.Zealous(epsilon=1), "Users who have it as their most frequent query, plus noise"),
        (
            tacit.Zealous(epsilon=1, per_user=5, take="first"),
            "among their first 5 different queries, plus noise",
        ),
        (tacit.Click(epsilon=1, delta=1e-6), "as their most frequent query, plus noise"),
        (tacit.KQuery(k=7), "Users who have it, exactly; at least 7"),
        (tacit.Adaptive(epsilon=1), "About how many users have it at all"),
        (tacit.Adaptive(epsilon=1, per_user=1, single=True), "among 1 item of theirs, drawn at random"),
    ],
)
def test_what_a_count_means_is_said(mechanism: tacit.Mechanism, counts: str) -> None:
    from tacit.release import prose

    plan = mechanism.plan()
    assert counts in prose.columns(plan)["queries"]["count"]
    for part in plan.schedule:
        assert set(prose.columns(plan)[part.table]) == set(part.measures)
    if mechanism.name == "zealous":
        said = " ".join(prose.words(plan))
        assert "An item needs" not in said and "users must have an item" in said


def test_the_file_itself_says_what_its_numbers_mean(tmp_path: Path) -> None:
    log = tacit.read_log(write_log(tmp_path / "log.parquet", 150))
    done = log.release(tacit.Zealous(epsilon=1), to=tmp_path / "out", budget_epsilon=4, budget_delta=1e-5)
    notes = pq.read_schema(done.folder / "queries.parquet").metadata
    assert {name.decode(): text.decode() for name, text in notes.items()} == done.manifest["columns"][
        "queries"
    ]
