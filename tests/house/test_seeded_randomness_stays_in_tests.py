"""Noise that can be repeated protects nobody: nothing a command runs may use the seeded source."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tacit

PACKAGE = Path(tacit.__file__).parent


def names_in(module: Path) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        match node:
            case ast.Name(id=name) | ast.Attribute(attr=name) | ast.alias(name=name):
                names.add(name)
            case ast.Constant(value=str(text)):
                names.update(text.replace(".", " ").split())
    return names


def test_no_module_of_the_package_refers_to_the_seeded_source() -> None:
    modules = list(PACKAGE.rglob("*.py"))
    assert len(modules) > 10
    offenders = [module for module in modules if "SeededRandomness" in names_in(module)]
    assert [str(module.relative_to(PACKAGE)) for module in offenders] == []


@pytest.mark.parametrize(
    "text",
    [
        "from tacit.privacy.noise.randomness import SeededRandomness",
        "from tacit.privacy.noise import randomness\nsource = randomness.SeededRandomness(1)",
        "from tacit.privacy.noise import randomness\nsource = getattr(randomness, 'SeededRandomness')(1)",
    ],
)
def test_the_check_sees_a_reference(text: str, tmp_path: Path) -> None:
    module = tmp_path / "command.py"
    module.write_text(text, encoding="utf-8")
    assert "SeededRandomness" in names_in(module)
