"""Errors of the library name parameters; the same errors of a command name its options."""

from __future__ import annotations

from typing import Annotated

import pytest
import typer

from tacit import InputError, ParameterError, TacitError
from tacit.commands.verbs import say_in_options
from tacit.validation import size as size_of


def verb(
    log: Annotated[str, typer.Argument()],
    epsilon: Annotated[float, typer.Option()] = 1.0,
    format_name: Annotated[str, typer.Option("--format", "-F")] = "aol",
    force: Annotated[bool, typer.Option("--force", "-f")] = False,
    scrub: Annotated[bool, typer.Option("--scrub/--no-scrub")] = True,
) -> None:
    """Do nothing."""


APP = typer.Typer()
APP.command()(verb)
COMMAND = typer.main.get_command(APP)


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (
            ParameterError.outside("epsilon", -1, "greater than 0"),
            "--epsilon must be greater than 0; found -1.",
        ),
        (ParameterError.outside("users", -1, "at least 1"), "users must be at least 1; found -1."),
        (InputError("x exists.", "Say `force=True`."), "x exists. Say --force."),
        (InputError("names found.", "Give `scrub=False`."), "names found. Give --no-scrub."),
        (InputError("unknown.", "Try `format='csv'`."), "unknown. Try --format csv."),
        (InputError("unknown.", "Name `format_name`."), "unknown. Name --format."),
        (InputError("`log` is empty.", "Give `another`."), "LOG is empty. Give `another`."),
    ],
)
def test_parameters_become_options(error: TacitError, said: str) -> None:
    say_in_options(error, COMMAND)
    assert str(error) == said


@pytest.mark.parametrize(
    ("text", "size"),
    [("2GB", 2 * 10**9), ("500 MB", 500 * 10**6), ("1.5gib", 3 * 2**29), ("10B", 10)],
)
def test_sizes_are_read(text: str, size: int) -> None:
    assert size_of("memory", text) == size


@pytest.mark.parametrize("text", ["", "2", "GB", "-1GB", "2XB", "nanGB", "infGB", "1e30GB"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(ParameterError, match="a size such as 2GB"):
        size_of("memory", text)
