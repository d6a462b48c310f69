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
        "Somebody who knows everything else, and holds it for an even chance that a certain person was"
        " in the "
        "log, can be at most 88% sure after reading it.",
    )
    release = output / "released"
    act.run(
        "release", "zealous", log, "--epsilon", 2, "--delta", 1e-6,
        "--budget-epsilon", 10, "--budget-delta", 1e-5, "-o", release,
    )  # fmt: skip
    act.run("verify", release)
    act.say(
        "Groups: profiles are bundled until no term links to a person",
        "Rankings need only what groups show. The report begins with how many people attackers single out.",
    )
    act.run("group", log, "--p", 0.4, "--augment", 1, "--max-terms", 50, "-o", output / "groups")
    user, sensitive = _somebody(log, truth)
    profile = output / "me.profile"
    act.say(
        "Device: the profile is generalised for each query under a risk bound",
        f"One of the log's people, whose interest in {sensitive} is nobody's business.",
    )
    act.run("profile", "build", profile, "--log", log, "--user", user)
    act.run("profile", "protect", profile, sensitive)
    act.run("generalise", _telling_query(log, user, profile), "--profile", profile, "--delta", 0.1)
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


def _somebody(log: Path, truth: Path) -> tuple[str, str]:
    """A person with an ordinary and a sensitive interest and enough clicks: (user, sensitive topic)."""
    import duckdb

    from tacit.files import literal_path
    from tacit.taxonomy import load_wordnet

    with duckdb.connect() as database:
        row = database.execute(
            """
            WITH people AS (
                SELECT "user", interests[list_position(sensitive, true)] AS topic
                FROM read_parquet($truth, hive_partitioning=false)
                WHERE list_contains(sensitive, true) AND list_contains(sensitive, false)
            ), clicks AS (
                SELECT "user", count(url) AS clicked FROM read_parquet($log, hive_partitioning=false)
                GROUP BY ALL HAVING clicked BETWEEN 50 AND 300
            )
            SELECT "user", topic FROM people JOIN clicks USING ("user") ORDER BY clicked DESC, "user"
            """,
            {"log": literal_path(log), "truth": literal_path(truth)},
        ).fetchone()
    assert row is not None  # 500 people and more always have such a one among them
    return str(row[0]), load_wordnet().name(row[1])


def _telling_query(log: Path, user: str, profile: Path) -> str:
    """Of the person's own queries, the one that gains most from a profile that must hide a part."""
    import duckdb

    from tacit.device import OnlineProfiler, ProfileStore, wordnet_repository
    from tacit.files import literal_path

    with duckdb.connect() as database:
        asked = database.execute(
            """
            SELECT DISTINCT query FROM read_parquet(?, hive_partitioning=false)
            WHERE "user" = ? ORDER BY query
            """,
            [literal_path(log), user],
        ).fetchall()
    repository = wordnet_repository()
    with ProfileStore.open(profile, repository.tree) as store:
        profiler = OnlineProfiler(repository, store.profile(), 0.1)
        best, found = -1.0, str(asked[0][0])
        for (query,) in asked:
            result = profiler.profile_query(query)
            if result.personalised and result.generalisation is not None:
                hides = len(result.exposed) < len(result.generalisation.seed)
                gain = result.generalisation.utility + (1.0 if hides else 0.0)
                if gain > best:
                    best, found = gain, str(query)
    return found
