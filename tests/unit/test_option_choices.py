"""The command line lists the choices that the library has; a wrong one is wrong usage everywhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, get_args

import pytest
import typer

from tacit.commands import application
from tacit.device.generalise.algorithms import Algorithm
from tacit.evaluate import task_names
from tacit.groups.criterion import CRITERIA
from tacit.pool.agent import Otherwise
from tacit.pool.simulation.traffic import LEAVERS, MODES
from tacit.privacy.accounting.composition import CompositionRule
from tacit.release.registry import MECHANISMS, mechanism_class
from tacit.searchlog.export import EXPORT_FORMATS
from tacit.searchlog.readers import FORMATS
from tacit.searchlog.readers.source import ENCODINGS
from tacit.searchlog.readers.times import TIME_FORMATS

TACIT: Any = typer.main.get_command(application())


@pytest.mark.parametrize(
    ("option", "library"),
    [
        ("export --format", EXPORT_FORMATS),
        ("ledger init --composition", CompositionRule),
        ("import --format", FORMATS),
        ("import --time-format", TIME_FORMATS),
        ("import --encoding", ENCODINGS),
        ("generalise --algorithm", Algorithm),
        ("simulate --mode", MODES),
        ("simulate --leavers", LEAVERS),
        ("pool join --otherwise", get_args(Otherwise)),
        ("group bundle --criterion", ("cohorts", *CRITERIA)),
        ("evaluate release --task", task_names()),
        (
            "evaluate release --mechanism",
            [name for name in MECHANISMS if mechanism_class(name).publishes_queries],
        ),
    ],
)
def test_the_command_line_lists_what_the_library_has(option: str, library: Any) -> None:
    *words, name = option.split()
    command = TACIT
    for word in words:
        command = command.commands[word]
    (found,) = (parameter for parameter in command.params if name in parameter.opts)
    shown = re.search(r"<(?:list\[)?([^]>]+)", found.get_help_record(typer.Context(command))[0])
    assert shown is not None and shown[1].split("|") == [str(each) for each in library]


def choices(command: Any, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str]]:
    """Every option of every command whose help lists choices."""
    for name, verb in getattr(command, "commands", {}).items():
        yield from choices(verb, (*words, name))
    for parameter in () if hasattr(command, "commands") else command.params:
        shown = parameter.get_help_record(typer.Context(command)) or ("", "")
        if parameter.param_type_name == "option" and "|" in shown[0]:
            yield words, max(parameter.opts, key=len)


def test_a_wrong_choice_is_wrong_usage_everywhere(capsys: pytest.CaptureFixture[str]) -> None:
    found = list(choices(TACIT))
    assert len(found) > 30
    for words, option in found:
        with pytest.raises(SystemExit) as stopped:
            TACIT.main([*words, option, "no such choice"], prog_name="tacit")
        said = capsys.readouterr().err
        assert stopped.value.code == 2, (words, option, said)
        assert "no such choice" in said, (words, option, said)
