"""Every verb of the command explains itself, and starts at once."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import typer

from tacit.commands import application

DOCS = Path(__file__).parent.parent.parent / "docs/reference/commands"


def leaf_commands(command: Any, words: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", None)
    if not inner:
        return [(words, command)]
    return [found for name, below in inner.items() for found in leaf_commands(below, (*words, name))]


LEAVES = leaf_commands(typer.main.get_command(application()))


def test_help_has_a_summary_and_an_example() -> None:
    for words, command in LEAVES:
        verb = f"tacit {' '.join(words)}"
        assert (command.help or "").strip(), f"say what {verb} does"
        assert verb in f"{command.help}\n{command.epilog or ''}", f"show an example in the help of {verb}"


def test_every_verb_has_a_page() -> None:
    for words, _ in LEAVES:
        page = DOCS / f"{words[0]}.md"
        assert page.is_file(), f"write docs/reference/commands/{words[0]}.md"
        assert f"tacit {' '.join(words)}" in page.read_text(), f"tacit {' '.join(words)} is not on its page"


def test_every_command_speaks_json_and_explains_every_option() -> None:
    for words, command in LEAVES:
        options = {option: parameter for parameter in command.params for option in parameter.opts}
        assert "--json" in options, f"tacit {' '.join(words)}"
        unexplained = [
            option for option, parameter in options.items() if not getattr(parameter, "help", None)
        ]
        assert unexplained == [], f"explain the options of tacit {' '.join(words)}"


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
