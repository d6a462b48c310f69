"""Forged releases: every change to a manifest is found with the ledger, and none ends in a traceback."""

from __future__ import annotations

import copy
import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.release_log import write_log
from tests.short_forms import mechanism_for

from tacit import Guarantee, IntegrityError, Ledger
from tacit.privacy import GuaranteeKind, Neighbours
from tacit.privacy.ledger.ledger import default_ledger
from tacit.privacy.ledger.register import open_ledger
from tacit.release import prose
from tacit.release.document.manifest import (
    file_hash,
    following,
    manifest_text,
    mechanism_of,
    paper_of,
)
from tacit.release.document.page import PAGE, render_page
from tacit.release.document.tables import read_table
from tacit.release.preparation import Preparation
from tacit.release.publication import Order, publish_log
from tacit.release.verify import verify_release

BUDGET = Guarantee(GuaranteeKind.APPROXIMATE, Neighbours.ADD_REMOVE, 50.0, 1e-3)
NAMES = ("zealous", "click-pure", "click-approximate", "session", "k-query")
JSON = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-3, 3),
    st.sampled_from([10**9, 10**30, -(10**30), 0.0, -1.0, 1e-9, 1e300, float("nan"), float("inf")]),
    st.sampled_from(["", "pure", "queries", "../queries", "\ud800"]),
    st.sampled_from([[], {}, [1], {"a": 1}]),
)


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A release by each mechanism, charged to one ledger."""
    home = tmp_path_factory.mktemp("released")
    log = write_log(home / "log.parquet")
    (home / "domain.txt").write_text("# origin: two words\nweather\nnews\n")
    (home / "urls.tsv").write_text("weather\thttp://weather.example/\n")
    requests = {
        "zealous": mechanism_for("zealous", noise=5.0, threshold_2=120, per_user=5),
        "click-pure": mechanism_for(
            "click", 2.0, domain=str(home / "domain.txt"), surfaced=str(home / "urls.tsv")
        ),
        "click-approximate": mechanism_for("click", 4.0, 1e-9, same_counts=True),
        "session": mechanism_for("session", 4.0, 1e-9),
        "k-query": mechanism_for("k-query", k=5),
    }
    ledger = open_ledger(default_ledger(log), log, BUDGET)
    for name, request in requests.items():
        publish_log(Order(log, home / name, request, Preparation(), ledger, threads=1))
    return {name: home / name for name in NAMES}


def ledger_of(folder: Path) -> Path:
    return folder.with_name("log.parquet.ledger")


PAGE_CHECK = "release.html says what manifest and tables say"


def forge(original: Path, manifest: dict[str, Any], *, page: bool = False) -> Path:
    """A copy of a release with another manifest and, with ``page``, a page that goes with it."""
    folder = original.with_name("forged")
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(original, folder)
    if page:
        plan = mechanism_of(manifest)
        tables = {part.table: pq.read_table(folder / f"{part.table}.parquet") for part in plan.schedule}
        (folder / PAGE).write_text(render_page(plan, manifest, tables), "utf-8")
        manifest["files"][PAGE] = {
            "sha256": file_hash(folder / PAGE),
            "bytes": (folder / PAGE).stat().st_size,
        }
    try:
        text = manifest_text(manifest)
    except ValueError:  # NaN and infinity, which no manifest holds
        text = json.dumps(manifest)
    (folder / "manifest.json").write_text(text, encoding="utf-8", errors="surrogatepass")
    return folder


def failed(folder: Path, ledger: Path | None = None) -> set[str]:
    return {check.what for check in verify_release(folder, ledger) if not check.holds}


def read(folder: Path) -> dict[str, Any]:
    form: dict[str, Any] = json.loads((folder / "manifest.json").read_text())
    return form


def places(form: Any) -> Iterator[tuple[Any, Any]]:
    """Every field of a document: its holder and its name or place."""
    pairs = form.items() if isinstance(form, dict) else enumerate(form) if isinstance(form, list) else ()
    for name, value in list(pairs):
        yield form, name
        yield from places(value)


def consistent(manifest: dict[str, Any]) -> dict[str, Any]:
    """All that follows from the parameters, made anew."""
    mechanism = mechanism_of(manifest)
    manifest |= {"guarantee": mechanism.guarantee.to_dict(), "parts": mechanism.parts()}
    manifest["schedule"] = mechanism.schedule.to_dict()
    manifest |= {"paper": paper_of(mechanism), "columns": prose.columns(mechanism)}
    return manifest | following(mechanism, manifest)


@pytest.mark.parametrize("name", NAMES)
def test_a_release_as_it_was_made_holds(name: str, released: dict[str, Path]) -> None:
    assert failed(released[name], ledger_of(released[name])) == set()


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_field_deleted_or_altered_is_found(data: st.DataObject, released: dict[str, Path]) -> None:
    original = released[data.draw(st.sampled_from(NAMES))]
    before = read(original)
    manifest = copy.deepcopy(before)
    holder, name = data.draw(st.sampled_from(list(places(manifest))))
    if data.draw(st.booleans()):
        del holder[name]
    else:
        holder[name] = data.draw(JSON)
    if json.dumps(manifest) == json.dumps(before):
        return
    folder = forge(original, manifest)
    try:
        verify_release(folder)
        assert failed(folder, ledger_of(original))
    except IntegrityError:
        pass  # no manifest at all


def test_understated_costs_are_found_without_the_ledger(released: dict[str, Path]) -> None:
    """More noise than was drawn, a threshold above the published counts, a smaller guarantee."""
    manifest = read(released["zealous"])
    manifest["parameters"] |= {"noise": 500.0, "threshold_2": 7000}
    strict = consistent(manifest)
    least = mechanism_of(strict).schedule.part("queries").least
    folder = forge(released["zealous"], strict, page=True)
    assert failed(folder) == {
        f"every count of queries is {least:,} or more",
        "queries has the columns, rows and sum stated",  # the file itself says how much noise it has
        "the budget stated adds up, and holds this release",  # its δ is larger than what was used
    }
    smallest = min(read_table(folder / "queries.parquet").column("count").to_pylist())
    said = next(check.found for check in verify_release(folder) if check.what.startswith("every count"))
    assert said == f"the smallest is {smallest:,}"
    manifest = read(released["click-approximate"])
    for name in ("threshold", "threshold_clicks", "threshold_transitions"):
        manifest["parameters"][name] = 7000
    found = failed(forge(released["click-approximate"], consistent(manifest)))
    assert any(re.fullmatch(r"every count of queries is 7,00\d or more", what) for what in found)


@pytest.mark.parametrize(
    ("place", "value", "what"),
    [
        (("guarantee", "epsilon"), 0.01, "the guarantee follows from the parameters"),
        (("budget", "used", "epsilon"), 1e-3, "the budget stated adds up, and holds this release"),
        (("budget", "left", "epsilon"), 49.9, "the budget stated adds up, and holds this release"),
        (("budget", "used", "delta"), "1e-9", "the budget stated adds up, and holds this release"),
        (("budget", "exact_counts"), True, "the budget stated adds up, and holds this release"),
        (("budget", "composition"), "pld", "the budget stated adds up, and holds this release"),
        (("strength",), "moderate", "the stated strength follows from all that was spent"),
        (("deployment", "epsilon"), 0.1, "the stated strength follows from all that was spent"),
        (("columns", "queries", "count"), "all of them", "what the columns mean is what is counted"),
        (("users",), "<b>many</b>", "the manifest is well-formed and has no other fields"),
        (("versions", "tacit"), "<script>", "the manifest is well-formed and has no other fields"),
        (("released",), "2026-01-01", "the manifest is well-formed and has no other fields"),
        (("about", "controller"), "somebody else", PAGE_CHECK),
        (("parts",), [], "the cost of each part follows from the parameters"),
        (("published", "queries", "sum_of_counts"), 1, "queries has the columns, rows and sum stated"),
        (("published", "queries", "columns"), ["q"], "queries has the columns, rows and sum stated"),
        (("parameters", "items"), ["keywords"], "the tables are those that the mechanism publishes"),
    ],
)
def test_each_statement_is_checked_without_the_ledger(
    place: tuple[str, ...], value: object, what: str, released: dict[str, Path]
) -> None:
    manifest = read(released["zealous"])
    holder = manifest
    for name in place[:-1]:
        holder = holder[name]
    holder[place[-1]] = value
    assert what in failed(forge(released["zealous"], manifest))


def test_a_file_that_no_mechanism_publishes_is_found_though_it_is_named(released: dict[str, Path]) -> None:
    manifest = read(released["zealous"])
    raw = released["zealous"].with_name("log.parquet")
    manifest["files"]["raw.parquet"] = {"sha256": file_hash(raw), "bytes": raw.stat().st_size}
    folder = forge(released["zealous"], manifest, page=True)
    shutil.copy(raw, folder / "raw.parquet")
    assert failed(folder) == {
        "the files are those that the mechanism publishes",
        "nothing else is in the folder",
    }


def test_a_table_with_another_column_is_found_though_its_hash_is_stated(released: dict[str, Path]) -> None:
    manifest = read(released["zealous"])
    folder = forge(released["zealous"], manifest)
    table = pq.read_table(folder / "queries.parquet")
    pq.write_table(table.append_column("user", pa.array(["u"] * len(table))), folder / "queries.parquet")
    stated = {"sha256": file_hash(folder / "queries.parquet")}
    manifest["files"]["queries.parquet"] = stated | {"bytes": (folder / "queries.parquet").stat().st_size}
    manifest["published"]["queries"]["columns"] = ["query", "count", "user"]
    (folder / "manifest.json").write_text(manifest_text(manifest))
    assert "queries has the columns, rows and sum stated" in failed(folder)


@pytest.mark.parametrize("name", ["domain", "surfaced"])
def test_a_pure_release_without_its_public_sets_is_found(name: str, released: dict[str, Path]) -> None:
    what = "the public sets are named, with their digests"
    manifest = read(released["click-pure"])
    assert len(manifest["parameters"][name]["sha256"]) == 64
    del manifest["parameters"][name]["sha256"]
    assert failed(forge(released["click-pure"], manifest, page=True)) == {what}
    manifest["parameters"][name] = None
    assert failed(forge(released["click-pure"], manifest)) >= {what, PAGE_CHECK}


def test_a_charge_without_a_note_is_not_confirmed(released: dict[str, Path], tmp_path: Path) -> None:
    """An unnoted charge of the same price does not vouch for a manifest that was made up."""
    manifest = read(released["zealous"])
    mechanism = mechanism_of(manifest)
    ledger = Ledger.create(tmp_path / "ledger", BUDGET)
    entry = ledger.spend(mechanism.event, "lost")
    manifest["ledger"] = {"entry": entry.number, "hash": entry.hash}
    manifest["preparation"]["scrub"] = False
    folder = forge(released["zealous"], manifest, page=True)
    assert failed(folder) == set()  # consistent, and no more can be said without the ledger
    found = [check for check in verify_release(folder, ledger.path) if not check.holds]
    assert [check.what for check in found] == ["the ledger notes this very manifest"]
    assert "not confirmed" in found[0].found


def test_the_charge_must_be_that_of_the_release(released: dict[str, Path], tmp_path: Path) -> None:
    """A larger charge than the release states covers it, and is still not its charge."""
    manifest = read(released["zealous"])
    ledger = Ledger.create(tmp_path / "ledger", BUDGET)
    entry = ledger.spend(mechanism_for("zealous", noise=4.0, threshold_2=120, per_user=5).event, "dearer")
    manifest["ledger"] = {"entry": entry.number, "hash": entry.hash}
    folder = forge(released["zealous"], manifest, page=True)
    ledger.note_release(entry, file_hash(folder / "manifest.json"))
    assert failed(folder, ledger.path) == {"the charge is that of the release"}


def test_a_page_that_says_something_else_is_found_though_its_hash_is_stated(
    released: dict[str, Path],
) -> None:
    manifest = read(released["zealous"])
    folder = forge(released["zealous"], manifest)
    page = (folder / PAGE).read_text("utf-8")
    for old, new in (
        ("Strong protection of every user", "Perfect protection of everybody"),
        ("</main>", "<p>x</main>"),
    ):
        assert old in page
        (folder / PAGE).write_text(page.replace(old, new), "utf-8")
        stated = {"sha256": file_hash(folder / PAGE), "bytes": (folder / PAGE).stat().st_size}
        manifest["files"][PAGE] = stated
        (folder / "manifest.json").write_text(manifest_text(manifest))
        assert failed(folder) == {PAGE_CHECK}


@pytest.mark.parametrize("name", ["manifest.json", PAGE, "queries.parquet", "queries.tsv"])
@pytest.mark.parametrize("kind", ["fifo", "link", "folder", "missing", "unreadable", "empty"])
def test_what_is_not_a_plain_file_is_refused_and_never_waited_for(
    name: str, kind: str, released: dict[str, Path]
) -> None:
    folder = forge(released["zealous"], read(released["zealous"]))
    path = folder / name
    path.unlink()
    if kind == "fifo":
        os.mkfifo(path)
    elif kind == "link":
        path.symlink_to(released["zealous"] / name)
    elif kind == "folder":
        path.mkdir()
    elif kind == "unreadable":
        path.symlink_to("/proc/self/mem")
    elif kind == "empty":
        path.touch()
    try:
        assert f"{name} is the file that was released" in failed(folder)
    except IntegrityError:
        assert name == "manifest.json"


def test_parameters_that_no_release_has_end_at_once(released: dict[str, Path]) -> None:
    for name, field, value in (
        ("zealous", "per_user", 10**9),
        ("zealous", "noise", 1e-300),
        ("click-approximate", "queries_per_user", 10**9),
    ):
        manifest = read(released[name])
        manifest["parameters"] |= {field: value}
        manifest["budget"]["composition"] = "pld"
        assert failed(forge(released[name], manifest))


def test_a_budget_that_holds_less_than_this_release_is_found_though_it_adds_up(
    released: dict[str, Path],
) -> None:
    manifest = read(released["zealous"])
    budget = manifest["budget"]
    budget["used"]["epsilon"], budget["left"]["epsilon"] = 0.001, 49.999
    folder = forge(released["zealous"], consistent(manifest), page=True)
    assert failed(folder) == {"the budget stated adds up, and holds this release"}
