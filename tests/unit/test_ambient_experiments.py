"""AMBIENT's comparison, on a folder in its format that is made up here."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tacit.errors import InputError
from tacit.evaluate import evaluate_device
from tacit.evaluate.guards.cases import history_cases, load_ambient
from tacit.evaluate.guards.device import AMBIENT_SETTINGS

TEXTS = {
    "java": (
        ["coffee roast beans espresso", "arabica coffee cup brewing", "coffee plantation beans"] * 2,
        ["programming language compiler", "software class bytecode", "object programming software"] * 2,
    ),
    "jaguar": (
        ["wild cat predator jungle", "big cat animal forest prey", "spotted animal cat habitat"] * 2,
        ["luxury car engine sedan", "sports car dealer vehicle", "car models engine vehicle"] * 2,
    ),
}


def write_ambient(folder: Path) -> Path:
    """Two queries with two meanings each; results of the meanings alternate."""
    topics, relevant, results = ["ID\tdescription"], ["subTopicID\tresultID"], ["ID\turl\ttitle\tsnippet"]
    for query, (word, meanings) in enumerate(TEXTS.items(), start=1):
        topics.append(f"{query}\t{word}")
        number = 0
        for texts in zip(*meanings, strict=True):
            for meaning, text in enumerate(texts, start=1):
                number += 1
                results.append(f"{query}.{number}\thttp://{query}-{number}.example\t{word} {text}\t{text}")
                relevant.append(f"{query}.{meaning}\t{query}.{number}")
    folder.mkdir()
    (folder / "topics.txt").write_text("\n".join(topics) + "\n")
    (folder / "STRel.txt").write_text("\n".join(relevant) + "\n")
    with gzip.open(folder / "results.txt.gz", "wt", encoding="utf-8") as file:
        file.write("\n".join(results) + "\n")
    return folder


def test_a_history_of_the_meaning_helps_and_the_figures_are_written(tmp_path: Path) -> None:
    folder, done = write_ambient(tmp_path / "ambient"), list[int]()
    found = evaluate_device(
        tmp_path / "out", ambient=folder, progress=lambda now, total: done.append(total - now)
    )
    rows = found["rows"]
    assert done == list(range(len(rows) - 1, -1, -1)) and len(rows) == 3 * len(AMBIENT_SETTINGS)
    by_way = {row["order"]: row for row in rows if row["history"] == "3 clicks on this meaning among 20"}
    assert by_way["the engine"]["gain"].mean == 0
    assert by_way["on the device"]["gain"].mean > 0.2
    assert by_way["on the device"]["precision"].mean > by_way["the engine"]["precision"].mean
    against = [row for row in rows if "another meaning" in row["history"] and row["order"] == "on the device"]
    assert against[0]["gain"].mean < 0
    assert {path.name for path in (tmp_path / "out").iterdir()} == {
        "results.json",
        "charts.html",
        "ambient.svg",
    }
    assert json.loads((tmp_path / "out/results.json").read_text())["queries"] == 2


def test_without_articles_histories_hold_other_queries_results(tmp_path: Path) -> None:
    ambient = load_ambient(write_ambient(tmp_path / "ambient"))
    for case in history_cases(ambient, [], 3, 12):
        clicked = [page for page in case.history if page["id"].split(".")[0] == case.query_id]
        assert len(clicked) == 3 and len(case.history) == 12
        assert not {page["id"] for page in clicked} & {page["id"] for page in case.results}


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not hold AMBIENT's files"):
        evaluate_device(ambient=tmp_path)
