"""How the code is kept: true ``__all__``, short modules, names that say something."""

import ast
import importlib
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent
SOURCES = sorted((ROOT / "src/tacit").rglob("*.py"))
IDS = [str(path.relative_to(ROOT / "src")) for path in SOURCES]


@pytest.mark.parametrize("path", [path for path in SOURCES if path.name != "__main__.py"], ids=str)
def test_all_names_exactly_what_is_public(path: Path) -> None:
    name = ".".join(path.relative_to(ROOT / "src").with_suffix("").parts).removesuffix(".__init__")
    module = importlib.import_module(name)
    defined = {
        node.name
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef)
        and not node.name.startswith("_")
    }
    declared = getattr(module, "__all__", None)
    if declared is None:
        assert not defined, "declare __all__"
        return
    assert len(declared) == len(set(declared)), "a name stands twice in __all__"
    assert [name for name in declared if not hasattr(module, name)] == []
    if path.parent.name != "commands":  # a verb's functions are reached through register
        assert defined <= set(declared), "public names missing from __all__"


@pytest.mark.parametrize("path", SOURCES, ids=IDS)
def test_modules_are_short_or_say_why(path: Path) -> None:
    text = path.read_text()
    if text.count("\n") > 350:
        assert re.search(r"^# Long because: .+", text, re.MULTILINE), "over 350 lines: split, or say why"


@pytest.mark.parametrize("path", SOURCES, ids=IDS)
def test_modules_say_what_they_are(path: Path) -> None:
    assert ast.get_docstring(ast.parse(path.read_text())), "begin with a docstring"
    assert not re.fullmatch(r"(utils?|helpers?|common|misc|manager)\.py", path.name)


def test_test_files_have_unique_names() -> None:
    names = [path.name for path in (ROOT / "tests").rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))


def test_nothing_names_a_registry_or_a_machine_path() -> None:
    hosts = ["py" + "pi.org", "python" + "hosted", "registry.np" + "mjs", "deb.deb" + "ian", "/wo" + "rk/"]
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    for name in listed.stdout.splitlines():
        text = (ROOT / name).read_text(errors="replace") if (ROOT / name).is_file() else ""
        assert [host for host in hosts if host in text] == [], name
