"""Every verb of the command explains itself, and starts at once."""

import contextlib
import io
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


TACIT: Any = typer.main.get_command(application())
LEAVES = leaf_commands(TACIT)


def run(*words: str) -> tuple[int, str]:
    """Run a command in this process: its exit code, and all that it says."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            TACIT.main(list(words), prog_name="tacit")
        except SystemExit as stop:
            return int(stop.code or 0), said.getvalue()
    return 0, said.getvalue()


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
        command.explain()
        options = {option: parameter for parameter in command.params for option in parameter.opts}
        assert "--json" in options, f"tacit {' '.join(words)}"
        unexplained = [
            option for option, parameter in options.items() if not getattr(parameter, "help", None)
        ]
        assert unexplained == [], f"explain the options of tacit {' '.join(words)}"


def test_an_output_can_be_replaced_when_asked() -> None:
    """A release is never overwritten; the demo's folder is its own, and made anew each time."""
    never = {"release", "demo"}
    lacking = [
        " ".join(words)
        for words, command in LEAVES
        for options in [{option for parameter in command.params for option in parameter.opts}]
        if "--output" in options and "--force" not in options and words[0] not in never
    ]
    assert lacking == [], "take ForceFlag (tacit.commands.options)"


def help_of(words: tuple[str, ...], columns: int) -> list[str]:
    """The help of a command as it is shown on a screen of so many columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        code, said = run(*words, "--help")
    assert code == 0, words
    return said.splitlines()


def test_no_name_is_cut_on_a_screen_of_80_columns() -> None:
    for words, command in LEAVES:
        lines = help_of(words, 80)
        shown = " ".join(lines).split()
        options = {option for parameter in command.params for option in parameter.opts if option[0] == "-"}
        assert {option for option in options if option not in [word.strip(",") for word in shown]} == set()
        assert all(len(line) <= 80 for line in lines)


def test_help_can_be_read_on_a_screen_of_40_columns() -> None:
    for words, _ in LEAVES:
        long = [line for line in help_of(words, 40) if len(line) > 40]
        unbreakable = [line for line in long if len(line.split()) <= 2 or "tacit" in line]
        assert long == unbreakable


def test_a_bare_number_is_no_day() -> None:
    """Taken for seconds since 1970, ``--since 2006`` would let all in, and ``--until 2006`` nothing."""
    found = 0
    for words, command in LEAVES:
        for option in ("--since", "--until"):
            if any(option in parameter.opts for parameter in command.params):
                found += 1
                code, said = run(*words, "x", f"{option}=2006")
                assert code == 2, words
                assert "no day or time" in " ".join(said.split()), words
    assert found > 10


def test_the_same_option_of_several_commands_has_the_same_short_form() -> None:
    forms: dict[str, set[str]] = {}
    for _, command in LEAVES:
        for parameter in command.params:
            for name in (opt for opt in parameter.opts if opt.startswith("--")):
                forms.setdefault(name, set()).add(" ".join(opt for opt in parameter.opts if opt != name))
    assert {name: short for name, short in forms.items() if len(short) > 1} == {}


def test_importing_tacit_is_instant_and_help_loads_nothing_heavy() -> None:
    heavy = ["numpy", "pyarrow", "duckdb", "ibis", "numba", "tantivy", "altair", "scipy", "dp_accounting"]
    code = (
        "import sys, time; begun = time.process_time(); import tacit; print(time.process_time() - begun);"
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
    wrong = [*tacit, "stats", str(tmp_path / "no.parquet"), "--session-gap", "-1"]  # found by the library
    assert subprocess.run(wrong, capture_output=True).returncode == 2
    missing = subprocess.run([*tacit, "stats", str(tmp_path / "no.parquet")], capture_output=True, text=True)
    assert missing.returncode == 1
    assert missing.stderr.startswith("error:")
    assert "Traceback" not in missing.stderr
