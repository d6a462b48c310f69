"""Every verb of the command explains itself, and starts at once."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import typer

from tacit.commands import application

DOCS = Path(__file__).parent.parent.parent / "docs/reference/commands"


def leaf_commands(command: Any, words: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", None)
    if not inner:
        return [(words, command)]
    return [found for name, below in inner.items() for found in leaf_commands(below, (*words, name))]


LEAVES = leaf_commands(typer.main.get_command(application()))


@pytest.mark.parametrize(("words", "command"), LEAVES, ids=[" ".join(words) for words, _ in LEAVES])
class TestEveryCommand:
    def test_help_has_a_summary_and_an_example(self, words: tuple[str, ...], command: Any) -> None:
        assert (command.help or "").strip()
        shown = f"{command.help}\n{command.epilog or ''}"
        assert f"tacit {' '.join(words)}" in shown, "show an example in the help"

    def test_it_has_a_page(self, words: tuple[str, ...], command: Any) -> None:
        page = DOCS / f"{words[0]}.md"
        assert page.is_file(), f"write docs/reference/commands/{words[0]}.md"
        assert f"tacit {' '.join(words)}" in page.read_text()

    def test_it_speaks_json_and_explains_every_option(self, words: tuple[str, ...], command: Any) -> None:
        options = {option: parameter for parameter in command.params for option in parameter.opts}
        assert "--json" in options
        for option, parameter in options.items():
            assert getattr(parameter, "help", None), f"explain {option}"


def test_importing_tacit_is_instant_and_help_loads_nothing_heavy() -> None:
    heavy = ["numpy", "pyarrow", "duckdb", "ibis", "numba", "tantivy", "altair", "scipy", "dp_accounting"]
    code = (
        "import sys, time; begun = time.perf_counter(); import tacit; print(time.perf_counter() - begun);"
        "import tacit.commands; tacit.commands.application();"
        f"print(*[name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    seconds, loaded = done.stdout.split("\n")[:2]
    assert float(seconds) < 0.3
    assert loaded == ""


def test_wrong_usage_exits_2_and_errors_exit_1(tmp_path: Path) -> None:
    tacit = [sys.executable, "-m", "tacit"]
    assert subprocess.run([*tacit, "nonsense"], capture_output=True).returncode == 2
    missing = subprocess.run([*tacit, "stats", str(tmp_path / "no.parquet")], capture_output=True, text=True)
    assert missing.returncode == 1
    assert missing.stderr.startswith("error:")
    assert "Traceback" not in missing.stderr
