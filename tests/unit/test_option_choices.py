"""The command line lists the choices that the library has; a wrong one is wrong usage everywhere."""

from __future__ import annotations

from typing import Any, get_args

import pytest
import typer
from typer.testing import CliRunner

from tacit.commands import application, evaluate, export, generalise, group, import_log, ledger, simulate
from tacit.commands import pool as pool_agent
from tacit.commands.options import SessionMethodName
from tacit.device.generalise.algorithms import Algorithm
from tacit.evaluate import task_names
from tacit.groups.criterion import CRITERIA
from tacit.groups.profiles import WEIGHTS
from tacit.pool.agent.agent import Otherwise
from tacit.pool.simulation.traffic import LEAVERS, MODES
from tacit.privacy.accounting.composition import CompositionRule
from tacit.release.registry import MECHANISMS, mechanism_class
from tacit.searchlog.export import EXPORT_FORMATS
from tacit.searchlog.readers import FORMATS
from tacit.searchlog.readers.source import ENCODINGS
from tacit.searchlog.readers.times import TIME_FORMATS
from tacit.searchlog.sessions import SessionMethod


@pytest.mark.parametrize(
    ("shown", "library"),
    [
        (get_args(SessionMethodName), SessionMethod),
        (get_args(export.ExportFormat), EXPORT_FORMATS),
        (get_args(ledger.CompositionName), CompositionRule),
        (get_args(import_log.FormatName), FORMATS),
        (get_args(import_log.TimeFormatName), TIME_FORMATS),
        (get_args(import_log.EncodingName), ENCODINGS),
        (get_args(generalise.AlgorithmName), Algorithm),
        (get_args(simulate.ModeName), MODES),
        (get_args(simulate.LeaversName), LEAVERS),
        (get_args(pool_agent.OtherwiseName), get_args(Otherwise)),
        (get_args(get_args(get_args(group.Criterion)[0])[0]), ("cohorts", *CRITERIA)),
        (get_args(get_args(group.Weights)[0]), WEIGHTS),
        (evaluate.TaskName, task_names()),
        (
            evaluate.MechanismName,  # type: ignore[arg-type]
            [name for name in MECHANISMS if mechanism_class(name).publishes_queries],
        ),
    ],
)
def test_the_command_line_lists_what_the_library_has(shown: Any, library: Any) -> None:
    assert [str(each) for each in shown] == [str(each) for each in library]


def choices(app: typer.Typer) -> list[tuple[tuple[str, ...], str]]:
    """Every option of every command whose help lists choices."""

    def below(command: Any, words: tuple[str, ...]) -> list[tuple[tuple[str, ...], str]]:
        inner = getattr(command, "commands", None)
        if inner:
            return [found for name, verb in inner.items() for found in below(verb, (*words, name))]
        return [
            (words, max(parameter.opts, key=len))
            for parameter in command.params
            if parameter.param_type_name == "option"
            and "|" in parameter.get_help_record(typer.Context(command))[0]
        ]

    return below(typer.main.get_command(app), ())


def test_a_wrong_choice_is_wrong_usage_everywhere() -> None:
    app = application()
    found = choices(app)
    assert len(found) > 30
    for words, option in found:
        done = CliRunner().invoke(app, [*words, option, "no such choice"])
        assert done.exit_code == 2, (words, option, done.output)
        assert "no such choice" in done.output, (words, option, done.output)
