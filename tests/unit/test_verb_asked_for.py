"""The command loads the verb that is asked for alone; any other word finds all of them."""

from __future__ import annotations

import pytest

from tacit.commands import application


def names(asked: str) -> set[str | None]:
    app = application(asked)
    return {each.name for each in (*app.registered_commands, *app.registered_groups)}


@pytest.mark.parametrize("asked", ["release", "ledger", "verify", "synth"])
def test_it_is_there_and_alone(asked: str) -> None:
    assert names(asked) == {asked}


@pytest.mark.parametrize("asked", ["", "--help", "relase", "options", "verbs", "import"])
def test_all_others_are_there_for_another_word(asked: str) -> None:
    assert names(asked) >= {"release", "import", "guarantee", "ledger"}
