"""What is drawn for a release is drawn in one module, and guarantees are functions of schedules."""

from __future__ import annotations

import ast
from pathlib import Path

import tacit
from tacit.privacy.noise import samplers

SOURCE = Path(tacit.__file__).parent
DRAWING = {"discrete_laplace", "discrete_gaussian", "capped_laplace", "geometric", "bernoulli"}
"""The samplers of :mod:`tacit.privacy.noise.samplers`."""
EXECUTION = SOURCE / "release" / "execution.py"
COHORTS = SOURCE / "groups" / "words.py"
"""Guards do not import each other, so the words of cohorts are drawn in a module of their own."""
GALLERY = SOURCE / "audit" / "gallery.py"
"""Breaks mechanisms on purpose, noise among them, and publishes nothing."""


def named(tree: ast.AST) -> set[str]:
    """Every name that a module calls, passes on or imports, under the name that it has at home."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Attribute):
            found.add(node.attr)
    return found


def test_the_samplers_are_all_that_draw_noise() -> None:
    tree = ast.parse(Path(samplers.__file__).read_text())
    public = {
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and not node.name.startswith("_")
        and any(argument.arg == "source" for argument in node.args.args)
    }
    assert public - {"with_fair_sign"} == DRAWING


def test_one_module_of_a_guard_draws_noise() -> None:
    """No other module calls a sampler, imports one, or hands one on."""
    drawing = {
        path.relative_to(SOURCE).as_posix()
        for path in SOURCE.rglob("*.py")
        if named(ast.parse(path.read_text())) & DRAWING
    }
    beside = {path for path in drawing if path.startswith("privacy/noise/")}
    assert drawing - beside == {each.relative_to(SOURCE).as_posix() for each in (EXECUTION, COHORTS, GALLERY)}


def test_nothing_in_release_draws_in_another_way() -> None:
    """Random bits are read in execution, and by the lots of a forecast, which are of a synthetic log."""
    reading = set()
    for path in (SOURCE / "release").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in ("words", "bits")
                and isinstance(node.func.value, ast.Name)
                and node.func.value.id == "source"
            ):
                reading.add(path.name)
    assert reading == {"execution.py", "forecast.py"}
