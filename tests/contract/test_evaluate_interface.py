"""Evaluation from Python: named and documented parameters, the command's refusals, one line of repr."""

from __future__ import annotations

import inspect
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.evaluate_report import write_popular_log
from typer.testing import CliRunner

import tacit
from tacit import TacitError
from tacit.commands import application
from tacit.commands import evaluate as commands

EVALUATIONS: dict[str, Callable[..., Any]] = {
    "release": tacit.evaluate_release,
    "series": tacit.evaluate_series,
    "personalised": tacit.evaluate_personalised,
}


@pytest.mark.parametrize("name", EVALUATIONS)
def test_every_parameter_is_named_documented_and_offered_by_the_command(name: str) -> None:
    function = EVALUATIONS[name]
    parameters = dict(inspect.signature(function).parameters)
    documented = set(re.findall(r"^ {4,8}(\w+): ", inspect.getdoc(function) or "", re.M))
    assert set(parameters) <= documented
    assert all(p.kind is not p.VAR_KEYWORD and p.annotation is not p.empty for p in parameters.values())
    options = set(inspect.signature(getattr(commands, name)).parameters) - {"as_json"}
    assert {"to" if option == "output" else option for option in options} == set(parameters) - {"progress"}


@pytest.mark.parametrize("name", EVALUATIONS)
def test_the_command_has_the_librarys_defaults(name: str) -> None:
    library = inspect.signature(EVALUATIONS[name]).parameters
    for option, offered in inspect.signature(getattr(commands, name)).parameters.items():
        if option in library and option != "to" and offered.default is not None:
            assert offered.default == library[option].default, option


@pytest.mark.parametrize(
    ("name", "given", "options"),
    [
        ("release", {"mechanisms": ["zealous"], "epsilons": [0.0]}, ["-m", "zealous", "--epsilon", "0"]),
        ("series", {"weeks": 4, "length": 0.0}, ["--weeks", "4", "--length", "0"]),
        ("personalised", {"ambient": "nowhere"}, ["--ambient", "nowhere"]),
    ],
)
def test_both_doors_refuse_alike_and_remedies_are_parameters(
    name: str, given: dict[str, Any], options: list[str], tmp_path: Path
) -> None:
    log = write_popular_log(tmp_path / "log.parquet", 40)
    places = [log] if name != "personalised" else []
    with pytest.raises(TacitError) as refused:
        EVALUATIONS[name](*places, tmp_path / "out", **given)
    quoted = re.findall(r"`(\w+)(?:=[^`]*)?`", f"{refused.value} {getattr(refused.value, 'remedy', '')}")
    assert set(quoted) <= set(inspect.signature(EVALUATIONS[name]).parameters)
    assert not (tmp_path / "out").exists()
    command = ["evaluate", name, *map(str, places), "-o", str(tmp_path / "out"), *options]
    done = CliRunner().invoke(application(), command)
    assert type(done.exception) is type(refused.value)
    assert plain(str(done.exception)) == plain(str(refused.value))
    assert not any("`" in str(done.exception) for _ in quoted)


def plain(message: str) -> str:
    """A message without what differs by design: parameters there, options here."""
    return re.sub(r"`(\w+)`|--([\w-]+)", lambda m: (m[1] or m[2]).replace("_", "-").rstrip("s"), message)


def test_results_show_themselves_in_a_line_a_table_and_a_frame(tmp_path: Path) -> None:
    log = tacit.read_log(write_popular_log(tmp_path / "log.parquet", 60))
    found = tacit.evaluate_release(log, mechanisms=["k-query"], ks=[5], tasks=["adhoc"], folds=2)
    assert repr(found) == f"Results(evaluation='release', {len(found.rows)} measurements)"
    assert "adhoc engine and clicks: nDCG@10" in str(found) and found._repr_html_().startswith("<")
    frame = found.to_pandas()
    assert set(frame["label"]) == {"nothing", "original", "k-query k=5"}
    assert found.to_arrow().num_rows == len(frame)
    assert found["about"]["users"] == 60 and found.page is None
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log.parquet"]


def test_a_script_without_a_guard_of_its_main_part_works(tmp_path: Path) -> None:
    """Processes that run the script again end at once, and the work is done without them."""
    log = write_popular_log(tmp_path / "log.parquet", 60)
    script = tmp_path / "script.py"
    script.write_text(
        "import tacit\n"
        f"costs = tacit.evaluate_release({str(log)!r}, mechanisms=['zealous'], epsilons=[4],"
        " tasks=['index-caching'], folds=2, draws=2, workers=2)\n"
        "print(len(costs.to_pandas()) > 0)\n"
    )
    ran = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert (ran.stdout, ran.stderr, ran.returncode) == ("True\n", "", 0)
