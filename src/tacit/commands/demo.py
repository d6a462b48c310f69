"""``tacit demo``: the life of a query once through, on people who do not exist."""

import contextlib
import io
import os
import shlex
import shutil
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.markup import escape
from rich.rule import Rule
from rich.text import Text

from tacit.commands.verbs import Panel, verb
from tacit.errors import InputError
from tacit.terminal import emit, gathered, speaks_json, stdout

PANEL = Panel.WORLD

_MARK = ".made-by-tacit-demo"


def demo(
    output: Annotated[
        Path, typer.Option("--output", "-o", help="The folder to make; an earlier demo's is replaced.")
    ] = Path("demo"),
    users: Annotated[int, typer.Option(help="How many people the synthetic log has.", min=500)] = 3000,
) -> None:
    """Follow one query through every guard, in about two minutes, and write a page about it.

    Every step is a command of its own, printed before it runs, so that you can repeat it. Nobody in
    the log is real, and nothing leaves this machine.
    """
    import tacit.evaluate
    from tacit.web.story import WINDOW, K, Searcher, write_story

    _ = tacit.evaluate.evaluate_release  # says what is not installed before anything is made
    begun = time.monotonic()
    _clear(output)
    log, profile, released = output / "log.parquet", output / "me.profile", output / "released"
    # The demo's log is made anew each time: its ledger goes with its folder, and is not to be missed.
    os.environ["TACIT_STATE"] = str((output / "state").resolve())
    act = _Stage(quiet=speaks_json())
    act.say("A search log", "3 months of searches by people with interests, some of them sensitive.")
    act.run("synth", "--users", users, "--seed", 1, "-o", log, "--truth", output / "truth.parquet")
    person = Searcher.of(log, output / "truth.parquet")
    act.say(
        "Release: the log is published under differential privacy",
        "It says how sure an attacker who knows everything else can become about one person, here and on"
        " the page for the data protection officer.",
    )
    act.run(
        "release", "adaptive", log, "--epsilon", 1, "--delta", 1e-6, "--budget-epsilon", 1.25,
        "--budget-delta", 1e-5, "--data-set", "Searches of people who do not exist", "-o", released,
    )  # fmt: skip
    act.run("verify", released, "--ledger", f"{log}.ledger")
    act.say(
        "Groups: a service personalises by public cohorts instead of profiles",
        "The report begins with what a person's cohorts reveal to somebody who knows one of their words.",
    )
    groups = output / "groups"
    act.run("group", log, "-o", groups)
    few = ("--steps", 20, "--draws", 20_000)
    act.run("audit", "groups", groups, "--synthetic", *few, "-o", output / "groups-audit")
    act.say(
        "Device: what goes out with a query",
        "One of the people, who has a sensitive interest. Before the list of sensitive topics has been looked"
        " at, only the query is sent; afterwards also topics near it that the person reads about.",
    )
    act.run("profile", "build", profile, "--log", log, "--user", person.user)
    act.run("profile", "sensitive", profile)
    query = person.query_to_follow(profile, released)
    act.run("generalise", query, "--profile", profile)
    act.run("audit", "device", profile, "--people", 40, "--synthetic", "-o", output / "device-audit")
    act.say("Pool: the query is sent with a description that others share", "People come, search and go.")
    pool = output / "pool.parquet"
    act.run("simulate", "--k", K, "--windows", 4, "--arrivals", 5, "--log", pool)
    within = ("--k", K, "--window", WINDOW, "--synthetic")
    act.run("audit", "pool", pool, *within, "-o", output / "pool-audit")
    act.say("Evaluate: what the release is good for", "Half of the people are released, the others use it.")
    act.run(
        "evaluate", "release", log, "--synthetic", "-m", "adaptive", "--epsilon", 1, "-t", "suggestion",
        "-t", "index-caching", "--folds", 2, "--draws", 2, "-o", output / "evaluation",
    )  # fmt: skip
    act.say("Audit: what an attacker can find out", "From hashed ids, from exact counts, and under noise.")
    act.run("audit", "people", log, "--synthetic", "--epsilon", 1, "-o", output / "audit")
    act.say("The site: what readers get", "Verified releases, and nothing else of the log.")
    act.run("site", released, "--ledger", f"{log}.ledger", "-o", output / "site")
    page = write_story(output, person, query, act.ran).resolve()
    seconds = time.monotonic() - begun
    result = {
        "output": str(output), "seconds": round(seconds, 1), "commands": list(act.ran), "page": str(page)
    }  # fmt: skip

    emit(
        result,
        Rule(Text(f"done in {seconds:.0f} s", "bold")),
        f"The life of a query, made from what was just computed:\n  {page.as_uri()}",
        "A private search page with the profile that was just built:",
        f"  {shlex.join(['tacit', 'serve', '--profile', str(profile)])}",
    )


register = verb(demo, "-o demo")


class _Stage:
    """Prints what is about to be shown, then runs the real command in this process."""

    def __init__(self, *, quiet: bool) -> None:
        self._quiet = quiet
        self.ran: dict[str, Any] = {}
        """Each command as it was typed, with its result."""

    def say(self, title: str, why: str) -> None:
        if not self._quiet:
            stdout().print(Rule(f"[bold]{escape(title)}", align="left"))
            stdout().print(escape(why), "")

    def run(self, *words: Any) -> None:
        from tacit.commands import STOPPED, application

        typed = shlex.join(["tacit", *map(str, words)])
        if not self._quiet:
            stdout().print(f"[bold green]$ {escape(typed)}[/]", soft_wrap=True)
        shown = contextlib.redirect_stdout(io.StringIO()) if self._quiet else contextlib.nullcontext()
        with gathered() as results, shown:
            if application()(list(map(str, words)), standalone_mode=False) == STOPPED:
                raise KeyboardInterrupt
        self.ran[typed] = results[0]
        if not self._quiet:
            stdout().print()


def _clear(output: Path) -> None:
    """Make the folder; replace it only if an earlier demo made it."""
    if output.exists():
        if not (output / _MARK).exists():
            problem = f"{output} exists and was not made by `tacit demo`."
            raise InputError(problem, "Choose another folder with -o.")
        shutil.rmtree(output)
    output.mkdir(parents=True)
    (output / _MARK).touch()
