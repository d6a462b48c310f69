"""Every run of ``make test`` says the same: nothing in the tests draws what no seed fixes."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from tests.drawn import FUZZING, Drawn

from tacit.privacy.noise.randomness import OperatingSystemRandomness

TESTS = Path(__file__).parent.parent
SEEDED = {"Random", "default_rng", "seed", "Generator", "Philox"}
"""What draws the same again, if it is given a seed."""


def unseeded(tree: ast.Module) -> Iterator[int]:
    """The lines that draw from the modules ``random`` or ``numpy.random``, or make a source, without a
    seed.
    """
    modules = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name in ("random", "numpy")
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        match node.func.value:
            case ast.Name(id=name) if name in modules and name == "random":
                pass
            case ast.Attribute(value=ast.Name(id=name), attr="random") if name in modules:
                pass
            case _:
                continue
        if node.func.attr not in SEEDED or not (node.args or node.keywords):
            yield node.lineno


def test_hypothesis_draws_the_same_examples_and_keeps_none() -> None:
    if FUZZING:
        pytest.skip("fuzzing draws at random")
    assert settings.default is not None
    assert settings.default.derandomize and settings.default.database is None


def test_noise_is_fixed_by_the_name_of_the_test(request: pytest.FixtureRequest) -> None:
    if FUZZING:
        pytest.skip("fuzzing draws at random")
    drawn = OperatingSystemRandomness().bits(1000)
    Drawn.fix(request.node.nodeid)
    assert OperatingSystemRandomness().bits(1000) == drawn
    Drawn.fix("another test")
    assert OperatingSystemRandomness().bits(1000) != drawn


def test_no_test_draws_without_a_seed() -> None:
    found = {
        str(path.relative_to(TESTS)): lines
        for path in sorted(TESTS.rglob("*.py"))
        if (lines := list(unseeded(ast.parse(path.read_text(encoding="utf-8")))))
    }
    assert found == {}, "make the source with a seed: random.Random(1), numpy.random.default_rng(1)"


@pytest.mark.parametrize(
    "line", ["random.random()", "random.Random()", "np.random.default_rng()", "np.random.normal(3)"]
)
def test_the_check_sees_a_draw_without_a_seed(line: str) -> None:
    assert list(unseeded(ast.parse(f"import random\nimport numpy as np\n{line}")))
    assert not list(
        unseeded(ast.parse("import numpy as np\nrandom = np.random.default_rng(1)\nrandom.random()"))
    )
