"""How the code is kept, one test for each rule: true ``__all__``, docstrings, names used once.

Style, types, import direction and the documentation's links are checked by ``make check``, not again here.
"""

import ast
import importlib
import re
import subprocess
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
SOURCES = sorted((ROOT / "src/tacit").rglob("*.py"))


def shown(path: Path) -> str:
    return str(path.relative_to(ROOT))


def wrongly_declared(path: Path) -> str:
    """What is wrong with the module's ``__all__``, or nothing. A private module needs none."""
    name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    module = importlib.import_module(name)
    declared = getattr(module, "__all__", ())
    if twice := [name for name, times in Counter(declared).items() if times > 1]:
        return f"stands twice in __all__: {twice}"
    if absent := [name for name in declared if not hasattr(module, name)]:
        return f"in __all__, but not there: {absent}"
    return ""


def test_all_names_what_is_there_and_once() -> None:
    found = {shown(path): wrongly_declared(path) for path in SOURCES if path.name != "__main__.py"}
    assert {path: wrong for path, wrong in found.items() if wrong} == {}


def test_a_class_name_is_defined_once() -> None:
    """A name that two modules give to two things explains neither."""
    homes: dict[str, list[str]] = {}
    for path in SOURCES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes.setdefault(node.name, []).append(f"{shown(path)}:{node.lineno}")
    twice = {name: places for name, places in homes.items() if len(places) > 1}
    assert twice == {}, "defined in more than one place: name each for what it is there (SiteRule, not Rule)"


def test_modules_say_what_they_are() -> None:
    silent = [shown(path) for path in SOURCES if not ast.get_docstring(ast.parse(path.read_text()))]
    assert silent == [], "begin with a docstring"


def test_test_files_have_unique_names() -> None:
    names = Counter(path.name for path in (ROOT / "tests").rglob("test_*.py"))
    assert [name for name, times in names.items() if times > 1] == []


def test_nothing_names_the_folder_it_was_made_in() -> None:
    """What is in the tree must not depend on the machine on which it was made."""
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    files = [ROOT / name for name in listed.stdout.splitlines()]
    named = [shown(path) for path in files if path.is_file() and str(ROOT).encode() in path.read_bytes()]
    assert named == []


def test_the_architecture_names_parts_that_are_there() -> None:
    """Every part that the page's first table puts into a room is a module or a folder of that room."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)/` \| (.*) \|$", page, re.MULTILINE)
    assert {room for room, _ in rows} >= {"release", "device", "pool", "groups", "evaluate", "audit", "web"}
    for room, parts in rows:
        for part in re.findall(r"`(\w+)/?`", parts):
            home = ROOT / "src" / "tacit" / room
            assert (home / part).is_dir() or (home / f"{part}.py").is_file(), f"{room}/: {part}"
