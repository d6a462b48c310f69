"""Documentation is tested as code: every ``tacit`` command on a page or in a help text is understood.

Pages that promise it, with ``<!-- every tacit command of this page is run by the tests -->``, have their
commands run, in order, in one empty folder. ``…`` stands for something of the reader: commands with it are
read as far as they go, and not run.
"""

import re
import shlex
from pathlib import Path
from typing import Any

import pytest
import typer
from tests.in_process import tacit

from tacit.commands import application

ROOT = Path(__file__).parent.parent.parent
PROMISE = "<!-- every tacit command of this page is run by the tests -->"
PAGES = {
    str(page.relative_to(ROOT)): page.read_text()
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
}
PROMISING = [name for name, text in PAGES.items() if PROMISE in text]
TACIT = typer.main.get_command(application())


def shell_lines(text: str) -> list[str]:
    """What a reader would type: after ``$`` in console blocks, all of sh blocks, joined where continued."""
    lines = []
    for language, block in re.findall(r"```(console|sh)\n(.*?)```", text, re.DOTALL):
        joined = re.sub(r"\\\n\s*", " ", block).split("\n")
        lines += [line[2:] for line in joined if line.startswith("$ ")] if language == "console" else joined
    return [line.partition("  #")[0].strip() for line in lines]


def tacit_commands(text: str) -> list[str]:
    """The ``tacit`` commands among them, without what is piped in or out or put in the background."""
    parts = [part.strip(" &") for line in shell_lines(text) for part in line.split(" | ")]
    return [re.sub(r"\$\([^)]*\)", "ANY", part) for part in parts if part.startswith("tacit ")]


def leaves(command: Any, words: tuple[str, ...] = ()) -> list[tuple[tuple[str, ...], Any]]:
    inner = getattr(command, "commands", None)
    if not inner:
        return [(words, command)]
    return [found for name, below in inner.items() for found in leaves(below, (*words, name))]


EXAMPLES = {
    f"the help of tacit {' '.join(words)}": "```sh\n"
    + (command.epilog or "").replace("Example: ", "")
    + "\n```"
    for words, command in leaves(TACIT)
}


def complaint(command: str) -> str:
    """What is wrong with the words of a command, or nothing. It is not carried out."""
    words = [word for word in shlex.split(command)[1:] if word != "…"]
    name, verb, context = "tacit", TACIT, None
    try:
        while getattr(verb, "commands", None):
            context = verb.make_context(name, words, parent=context)
            name, verb, words = verb.resolve_command(context, [*context._protected_args, *context.args])
        verb.make_context(name, words, parent=context)
    except Exception as wrong:
        open_end = "…" in command and type(wrong).__name__ == "MissingParameter"
        return "" if open_end else f"{type(wrong).__name__}: {wrong}"
    return ""


@pytest.mark.parametrize("place", [*PAGES, *EXAMPLES])
def test_commands_are_understood(place: str) -> None:
    text = PAGES.get(place) or EXAMPLES[place]
    assert {command: complaint(command) for command in tacit_commands(text) if complaint(command)} == {}


def test_a_command_that_does_not_exist_is_noticed() -> None:
    assert complaint("tacit plan zealous --epsilon 1 --delta 1e-6") == ""
    for wrong in ("--epsilo 1", "--per-user many", "--take best", "--epsilon 1 --delta"):
        assert complaint(f"tacit plan zealous {wrong}") != "", wrong


def options_of(command: Any) -> list[list[str]]:
    """Each option by all its names, ``--scrub`` and ``--no-scrub`` together."""
    return [
        [*parameter.opts, *parameter.secondary_opts]
        for parameter in command.params
        if parameter.opts[0].startswith("-")
    ]


def names_option(text: str, names: list[str]) -> bool:
    return any(re.search(rf"(?<![\w-]){re.escape(name)}(?![\w-])", text) for name in names)


def test_every_option_stands_on_the_page_of_its_command() -> None:
    """A mechanism's options are those of plan, guarantee, audit and release, and stand with the release."""
    absent = {}
    for words, command in leaves(TACIT):
        shown = "release" if words[0] in {"plan", "guarantee", "audit"} else words[0]
        pages = {shown, words[0], *({"series"} & set(words))}
        text = "".join(PAGES[f"docs/reference/commands/{page}.md"] for page in pages)
        if missing := [names[0] for names in options_of(command) if not names_option(text, names)]:
            absent[" ".join(words)] = missing
    assert absent == {}


def test_no_page_names_an_option_that_is_not_there() -> None:
    known = {name for _, command in leaves(TACIT) for names in options_of(command) for name in names}
    scripts = [*(ROOT / "benchmarks").rglob("*.py"), *(ROOT / "examples").rglob("*.py")]
    known |= set(re.findall(r'"(--[a-z][\w-]*)"', "".join(path.read_text() for path in scripts)))
    unknown = {
        name: sorted(named - known - {"--help", "--quick", "--install-completion"})
        for name, text in PAGES.items()
        for spans in [re.findall(r"`((?!redis-server|systemctl)[^`\n]+)`", text)]
        for named in [set(re.findall(r"(?<![\w-])(--[a-z][\w-]*)", " ".join(spans)))]
    }
    assert {name: options for name, options in unknown.items() if options} == {}


def test_the_readme_promises() -> None:
    assert "README.md" in PROMISING


def fewer(command: str) -> str:
    """The command for a tenth of the people: what a page shows is whether its commands fit each other."""
    return re.sub(r"--users (\d+)", lambda found: f"--users {max(400, int(found[1]) // 10)}", command)


@pytest.mark.parametrize("page", PROMISING)
def test_commands_of_the_page_run(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = [command for command in tacit_commands(PAGES[page]) if "…" not in command]
    assert found
    for command in found:
        done = tacit(*shlex.split(fewer(command))[1:])
        assert done.returncode == 0, f"{command}\n{done.stderr}"
