"""AMBIENT's comparison, on a folder in its format that is made up here."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from benchmarks.specimens.ambient_histories import history_cases

from tacit import InputError, evaluate_personalised
from tacit.evaluate.cases import load_ambient

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


def test_without_articles_histories_hold_other_queries_results(tmp_path: Path) -> None:
    ambient = load_ambient(write_ambient(tmp_path / "ambient"))
    for case in history_cases(ambient, [], 3, 12):
        clicked = [page for page in case.history if page["id"].split(".")[0] == case.query_id]
        assert len(clicked) == 3 and len(case.history) == 12
        assert not {page["id"] for page in clicked} & {page["id"] for page in case.results}


def test_another_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="does not hold AMBIENT's files"):
        evaluate_personalised(ambient=tmp_path)
