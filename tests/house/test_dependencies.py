"""What the source imports is declared where it belongs, and what is declared is used."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterable, Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DISTRIBUTIONS = packages_distributions()

EXTRAS = {"pool": ["pool"], "evaluate": ["report"], "web": ["oidc"]}
"""The extras with which a room is installed: what it imports is in each of them, or always installed."""

OF_A_MODULE = {"engines/spark.py": {"pyspark", "py4j"}}
"""A module that is loaded where its extra was asked for; py4j comes with pyspark."""

OF_THE_CALLER = {"pandas", "polars"}
"""Imported to make a table of a library that the caller has, and installed by nobody else."""

NOT_IMPORTED = {
    "itsdangerous": "Starlette signs sessions with it",
    "python-multipart": "Starlette parses uploads with it",
    "hatchling": "builds the package",
    "editables": "hatchling installs the tree with it",
    "pytest-timeout": "a plugin",
    "pytest-xdist": "a plugin",
    "import-linter": "a command",
    "mypy": "a command",
    "ruff": "a command",
    "scipy-stubs": "types for mypy",
    "mkdocs": "a command",
    "mkdocs-material": "a theme",
    "mkdocstrings-python": "a plugin",
}
"""Declared dependencies that no line imports, and what uses them."""


def normal(name: str) -> str:
    """A distribution's name as PyPI compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def declared(requirements: Iterable[str]) -> set[str]:
    """The names of requirements such as ``httpx[socks]>=0.28``."""
    return {normal(re.split(r"[\[<>=!~; ]", each, maxsplit=1)[0]) for each in requirements}


def imported(path: Path) -> Iterator[str]:
    """The distributions that a file imports, wherever the import stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module]
        for name in names:
            top = name.partition(".")[0]
            if top not in sys.stdlib_module_names and top in DISTRIBUTIONS:
                yield normal(DISTRIBUTIONS[top][0])


def imported_below(*folders: str) -> set[str]:
    paths = [path for folder in folders for path in (ROOT / folder).rglob("*.py")]
    return {name for path in paths for name in imported(path)} - {"tacit"}


ALWAYS = declared(PROJECT["project"]["dependencies"])
OPTIONAL = {
    extra: declared(found)
    for extra, found in PROJECT["project"]["optional-dependencies"].items()
    if extra != "all"
}
GROUPS = {group: declared(found) for group, found in PROJECT["dependency-groups"].items()}


def test_every_import_of_the_source_is_declared_with_its_room() -> None:
    undeclared = set()
    for path in sorted((ROOT / "src/tacit").rglob("*.py")):
        below = path.relative_to(ROOT / "src/tacit")
        room, beside = below.parts[0], OF_A_MODULE.get(below.as_posix(), set())
        installed = [OPTIONAL[extra] | ALWAYS for extra in EXTRAS.get(room, [])] or [ALWAYS]
        undeclared |= {
            (room, name)
            for name in imported(path)
            if name not in {"tacit", *OF_THE_CALLER, *beside} and not all(name in each for each in installed)
        }
    assert undeclared == set()


def test_all_means_every_extra_but_spark() -> None:
    (everything,) = PROJECT["project"]["optional-dependencies"]["all"]
    assert set(everything.removeprefix("tacit[").removesuffix("]").split(",")) == set(OPTIONAL) - {"spark"}


def test_every_import_of_tests_and_scripts_is_declared() -> None:
    known = ALWAYS.union(*OPTIONAL.values(), *GROUPS.values())
    assert imported_below("tests", "benchmarks", "scripts", "examples") - known == set()


def test_every_dependency_is_used() -> None:
    used = imported_below("src") | set(NOT_IMPORTED)
    assert ALWAYS.union(*OPTIONAL.values()) - used == set(), "only tests need it: a dependency group"
    used |= imported_below("tests", "benchmarks", "scripts", "examples")
    assert set().union(*GROUPS.values()) - used == set()
