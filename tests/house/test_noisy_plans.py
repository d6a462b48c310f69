"""A table with noise is computed once: no plan of Spark that draws reaches two actions."""

from __future__ import annotations

import ast
from pathlib import Path

import tacit

SOURCE = Path(tacit.__file__).parent
IN_EXECUTORS = {"mapInArrow", "mapInPandas", "applyInArrow", "applyInPandas", "mapPartitions", "udf"}
ACTIONS = {"collect", "toLocalIterator", "toPandas", "toArrow", "take", "head", "tail", "show", "foreach"}
AGAIN = {"cache", "persist", "checkpoint", "localCheckpoint"}
"""By these a frame is used a second time, from memory that an executor may lose."""


def calls(tree: ast.AST) -> list[tuple[str, ast.Call]]:
    return [
        (node.func.attr, node)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
    ]


def faults(text: str) -> list[str]:
    """What a module does with frames of Spark that may compute noise a second time."""
    tree = ast.parse(text)
    found = calls(tree)
    names = [name for name, _ in found]
    wrong = [name for name in names if name in ACTIONS | AGAIN]
    written = {
        inner
        for name, call in found
        if name == "_write"
        for argument in call.args
        for inner_name, inner in calls(argument)
        if inner_name in IN_EXECUTORS and inner is argument
    }
    # What is done in executors goes straight into the one call that writes it: no name holds the frame.
    wrong += [name for name, call in found if name in IN_EXECUTORS and call not in written]
    if names.count("parquet") - names.count("createOrReplaceTempView") > 1:
        wrong.append("write")
    return wrong


def test_what_executors_draw_is_written_once_and_read_from_there() -> None:
    text = (SOURCE / "engines" / "spark.py").read_text()
    assert faults(text) == []
    assert sum(name in IN_EXECUTORS for name, _ in calls(ast.parse(text))) == 1


def test_no_other_module_speaks_to_spark() -> None:
    speaking = [
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if "pyspark" in path.read_text() and path.name != "spark.py"
    ]
    assert speaking == []


def test_the_check_sees_a_second_action() -> None:
    for text in (
        "noisy = frame.mapInArrow(change, schema)\nself._write(noisy, path)\nself._write(noisy, other)",
        "self._write(frame.mapInArrow(change, schema).cache(), path)",
        "frame.mapInArrow(change, schema).count()",
        "frame.collect()",
    ):
        assert faults(text)
