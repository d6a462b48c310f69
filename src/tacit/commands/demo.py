"""``tacit demo``: the life of a query once through, on people who do not exist."""

from __future__ import annotations

import os
import shlex
import shutil
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.rule import Rule

from tacit.commands.options import JsonFlag
from tacit.commands.verbs import Panel
from tacit.terminal import emit, stdout

PANEL = Panel.WORLD

_MARK = ".made-by-tacit-demo"
_USERS = 3000


def register(app: typer.Typer) -> None:
    """Add the verb to ``app``."""
    app.command(epilog="Example: tacit demo -o demo")(demo)


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder to make; an earlier demo's is replaced.")
    ] = Path("demo"),
    users: Annotated[int, typer.Option(help="How many people the synthetic log has.", min=500)] = _USERS,
    as_json: JsonFlag = False,
) -> None:
    """Show the main job in under two minutes: a log is made, published, grouped, and a query guarded.

    Every step is a command of its own, printed before it runs, so that you can repeat it. Nobody in
    the log is real, and nothing leaves this machine.
    """
    begun = time.monotonic()
    _clear(output)
    # The demo's log is made anew each time: its ledger goes with its folder, and is not to be missed.
    os.environ["TACIT_STATE"] = str((output / "state").resolve())
    log, truth = output / "log.parquet", output / "truth.parquet"
    act = _Stage(quiet=as_json)
    act.say("A log", "People with interests, some of them sensitive, search for three months.")
    act.run("synth", "--users", users, "--seed", 1, "-o", log, "--truth", truth)
    act.run("stats", log)
    act.say(
        "Release: the log is published under differential privacy",
        "How sure somebody who knows everything else can become of one person is said by the command, and on"
        " the page that it writes for the data protection officer.",
    )
    release = output / "released"
    act.run(
        "release", "adaptive", log, "--epsilon", 1, "--delta", 1e-6,
        "--budget-epsilon", 1.25, "--budget-delta", 1e-5, "-o", release,
    )  # fmt: skip
    act.run("verify", release, "--ledger", f"{log}.ledger")
    act.say(
        "Groups: a service ranks for a person by a public cohort",
        "The report begins with what a person's cohorts give away to somebody who knows one term of theirs.",
    )
    act.run("group", log, "-o", output / "groups")
    user = _somebody(log, truth)
    profile = output / "me.profile"
    act.say(
        "Device: what goes out with a query",
        "One of the log's people, with a sensitive interest. Before the list of what is sensitive for"
        " everybody was looked at, queries go alone; then with topics that the person reads about and that"
        " are near the query.",
    )
    act.run("profile", "build", profile, "--log", log, "--user", user)
    act.run("profile", "sensitive", profile)
    act.run("generalise", _telling_query(log, user, profile), "--profile", profile)
    seconds = time.monotonic() - begun
    page = (release / "release.html").resolve()
    result = {"output": str(output), "seconds": round(seconds, 1), "commands": act.ran, "page": str(page)}

    def render(console: Console) -> None:
        console.print(Rule(f"[bold]done in {seconds:.0f} s"))
        console.print("Look at the page written for the person who has to agree to the publication:")
        console.print(f"  {escape(str(page))}", soft_wrap=True)
        console.print("Open a private search page with the profile that was just built:")
        console.print(
            f"  {escape(shlex.join(['tacit', 'serve', '--profile', str(profile)]))}", soft_wrap=True
        )
        console.print("Then: tacit world search java, tacit plan click --epsilon 1, tacit --help")

    emit(result, as_json=as_json, render=render)


class _Stage:
    """Prints what is about to be shown, then runs the real command in this process."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self.ran: list[str] = []

    def say(self, title: str, why: str) -> None:
        if not self._quiet:
            stdout().print(Rule(f"[bold]{escape(title)}", align="left"))
            stdout().print(escape(why), "")

    def run(self, *words: Any) -> None:
        from tacit.commands import application

        arguments = [str(word) for word in words]
        self.ran.append(shlex.join(["tacit", *arguments]))
        if self._quiet:
            arguments += ["--json"]
        else:
            stdout().print(f"[bold green]$ {escape(self.ran[-1])}[/]", soft_wrap=True)
        _invoke(application(), arguments, quiet=self._quiet)
        if not self._quiet:
            stdout().print()


def _invoke(app: typer.Typer, arguments: list[str], *, quiet: bool) -> None:
    import contextlib
    import io

    from tacit.commands import STOPPED

    shown = contextlib.redirect_stdout(io.StringIO()) if quiet else contextlib.nullcontext()
    with shown:
        if app(arguments, standalone_mode=False) == STOPPED:
            raise KeyboardInterrupt


def _clear(output: Path) -> None:
    """Make the folder; replace it only if an earlier demo made it."""
    from tacit.errors import InputError

    if output.exists():
        if not (output / _MARK).exists():
            raise InputError(
                f"{output} exists and was not made by `tacit demo`.", "Choose another folder with -o."
            )
        shutil.rmtree(output)
    output.mkdir(parents=True)
    (output / _MARK).touch()


def _somebody(log: Path, truth: Path) -> str:
    """A person with an ordinary and a sensitive interest and enough clicks."""
    import duckdb

    from tacit.files import literal_path

    with duckdb.connect() as database:
        row = database.execute(
            """
            WITH people AS (
                SELECT "user" FROM read_parquet($truth, hive_partitioning=false)
                WHERE list_contains(sensitive, true) AND list_contains(sensitive, false)
            ), clicks AS (
                SELECT "user", count(url) AS clicked FROM read_parquet($log, hive_partitioning=false)
                GROUP BY ALL HAVING clicked BETWEEN 50 AND 300
            )
            SELECT "user" FROM people JOIN clicks USING ("user") ORDER BY clicked DESC, "user"
            """,
            {"log": literal_path(log), "truth": literal_path(truth)},
        ).fetchone()
    assert row is not None  # 500 people and more always have such a one among them
    return str(row[0])


def _telling_query(log: Path, user: str, profile: Path) -> str:
    """The first of the person's own queries that a single topic goes out with; else the first of all."""
    import duckdb

    from tacit.device import Guard
    from tacit.files import literal_path

    with duckdb.connect() as database:
        asked = database.execute(
            """
            SELECT DISTINCT query FROM read_parquet(?, hive_partitioning=false)
            WHERE "user" = ? ORDER BY query
            """,
            [literal_path(log), user],
        ).fetchall()
    queries = [str(query) for (query,) in asked if any(letter.isalpha() for letter in query)]
    with Guard(profile) as guard:
        return next((query for query in queries if len(guard.protect(query).names) == 1), queries[0])
