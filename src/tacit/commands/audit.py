"""``tacit audit``: attack a guard, and show what still leaks."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperGroup

from tacit.commands.options import ForceFlag, JsonFlag, LogFile, Seed, Threads, declared_command, json_flag
from tacit.commands.verbs import Panel
from tacit.release.registry import MECHANISMS, mechanism_class
from tacit.terminal import emit, stderr

PANEL = Panel.EVALUATE

Seconds = Annotated[
    float | None, typer.Option(min=1, help="Do what can be done in so many seconds.", show_default=False)
]
Runs = Annotated[int, typer.Option(min=64, help="Runs of each of two neighbouring logs.")]
Page = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write a page (audit.html) here.", show_default=False)
]


Synthetic = Annotated[
    bool,
    typer.Option("--synthetic", help="You vouch that nobody real is in the log: the report may be shared."),
]
_PAID = "Pay for the run in the data set's ledger: what it found may then be shown."


class _Audited(TyperGroup):
    """Takes a folder of a release in the place of a mechanism."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and self.get_command(ctx, args[0]) is None:
            if (Path(args[0]) / "manifest.json").is_file():
                args = ["folder", *args]
            else:
                raise typer.BadParameter(
                    f"{args[0]!r} is neither a mechanism nor the folder of a release. Mechanisms: "
                    f"{', '.join(MECHANISMS)}.",
                    ctx=ctx,
                )
        return super().resolve_command(ctx, args)


def _given(name: str, kind: Any, default: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


_LAST = (
    _given("runs", Runs, 100_000),
    _given("seconds", Seconds, None),
    _given("output", Page, None),
    _given("force", ForceFlag, False),
    json_flag(),
)


def register(app: typer.Typer) -> None:
    """Add the group of verbs."""
    verbs = typer.Typer(
        help="Attack a guard, and show what still leaks.",
        epilog="Example: tacit audit release zealous --epsilon 1 --delta 1e-6",
        no_args_is_help=True,
    )
    releases = typer.Typer(
        help="Attack a mechanism with its parameters, or those of a release that was made.",
        epilog="Example: tacit audit release zealous --epsilon 1\nExample: tacit audit release week-01",
        no_args_is_help=True,
        cls=_Audited,
    )
    for name in MECHANISMS:
        parameters = mechanism_class(name)
        command = declared_command(parameters, _release(name), after=_LAST)
        help_ = f"Attack {parameters.title}: exact checks, then lower bounds on ε from many runs."
        example = f"Example: tacit audit release {name} {parameters.example}"
        releases.command(name, help=help_, epilog=example)(command)
    releases.command("folder", epilog="Example: tacit audit release folder week-01")(folder)
    verbs.add_typer(releases, name="release")
    logs = typer.Typer(
        help="Plant canaries beside a log, release it once in memory, and guess who asked.",
        epilog="Example: tacit audit log zealous log.parquet --epsilon 1",
        no_args_is_help=True,
    )
    for name in MECHANISMS:
        parameters = mechanism_class(name)
        if parameters.publishes_queries:
            command = declared_command(parameters, _log(name), before=[_given_log()], after=_CANARIES)
            help_ = f"Plant canaries beside a log, and release it once in memory with {parameters.title}."
            example = f"Example: tacit audit log {name} log.parquet {parameters.example}"
            logs.command(name, help=help_, epilog=example)(command)
    verbs.add_typer(logs, name="log")
    verbs.command("people", epilog="Example: tacit audit people log.parquet --known 3 -o people")(people)
    verbs.command("groups", epilog="Example: tacit audit groups cohorts -o groups")(groups)
    verbs.command("pool", epilog="Example: tacit audit pool log.parquet --k 30 --window 50")(pool)
    verbs.command("gallery", epilog="Example: tacit audit gallery")(gallery)
    app.add_typer(verbs, name="audit")


def _given_log() -> inspect.Parameter:
    return inspect.Parameter("log", inspect.Parameter.KEYWORD_ONLY, annotation=LogFile)


_CANARIES = (
    _given("canaries", Annotated[int, typer.Option(min=10, help="How many people are planted.")], 400),
    _given("charge", Annotated[bool, typer.Option("--charge", help=_PAID)], False),
    _given("ledger", Annotated[Path | None, typer.Option(help="The ledger to charge.")], None),
    _given("synthetic", Synthetic, False),
    _given("threads", Threads, None),
    *_LAST[2:],
)


def _log(name: str) -> Any:
    def log(asked: Mapping[str, Any], **words: Any) -> None:
        from tacit.audit.canaries import audit_log
        from tacit.commands.plan import planned

        output, force, as_json = (words.pop(each) for each in ("output", "force", "as_json"))
        with _stages() as report:
            found = audit_log(words.pop("log"), planned(name, asked), **words, report=report)
        _end(found, output, force, as_json)

    return log


def people(
    log: LogFile,
    known: Annotated[int, typer.Option(min=1, help="Searches that are known of a person.")] = 3,
    number: Annotated[int, typer.Option("--people", min=10, help="About how many people is guessed.")] = 400,
    epsilons: Annotated[
        list[float] | None, typer.Option("--epsilon", help="An ε to try (default: 1, 4, 10); repeat it.")
    ] = None,
    delta: Annotated[float, typer.Option(help="δ of the mechanisms.")] = 1e-6,
    seed: Seed = 0,
    synthetic: Synthetic = False,
    threads: Threads = None,
    output: Page = None,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Attack people of a log: would they be found, and can it be told what they searched for?

    Hashed ids, k-query anonymity under an attacker with accounts of his own, and mechanisms at several ε. It
    is the owner's own look: nothing is charged, and the result is as sensitive as the log.
    """
    from tacit.audit.people import EPSILONS, audit_people

    with _stages() as report:
        found = audit_people(
            log,
            known=known,
            people=number,
            epsilons=epsilons or EPSILONS,
            delta=delta,
            seed=seed,
            synthetic=synthetic,
            threads=threads,
            report=report,
        )
    _end(found, output, force, as_json)


def groups(
    folder: Annotated[Path, typer.Argument(help="The folder that `tacit group LOG -o DIR` made.")],
    steps: Annotated[int, typer.Option(min=2, help="How many people come and go, in a copy.")] = 60,
    draws: Annotated[int, typer.Option(min=1000, help="Draws of the noise on one count.")] = 100_000,
    seed: Seed = 0,
    synthetic: Synthetic = False,
    output: Page = None,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Attack groups: what they show, the noise on it, and what people who come and go give away.

    Exit code 1 where a leak exceeds what is claimed. That the told cohort is private is not claimed.
    """
    from tacit.audit.groups import audit_groups

    with _stages() as report:
        found = audit_groups(folder, steps=steps, draws=draws, seed=seed, synthetic=synthetic, report=report)
    _end(found, output, force, as_json)


def pool(
    log: Annotated[Path, typer.Argument(help="A query log with senders, of `tacit simulate --log`.")],
    k: Annotated[int, typer.Option(min=1, help="How many people must match each entry.")] = 30,
    window: Annotated[float, typer.Option(min=0, help="How well the time of a query is known, ±.")] = 50.0,
    synthetic: Synthetic = False,
    output: Page = None,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Attack a pool's log: does anybody who knows a record and a time find fewer than k people?

    Exit code 1 where the sender of an entry with a region is k-identified.
    """
    from tacit.audit.pool import audit_pool

    with _stages() as report:
        found = audit_pool(log, k, window, synthetic=synthetic, report=report)
    _end(found, output, force, as_json)


def gallery(as_json: JsonFlag = False) -> None:
    """Break mechanisms on purpose, one way after the other, and see each caught by the check that is named.

    Noise halved or shared, bounds off by one, charges left out: each is made by weakening the real code while
    it runs. Exit code 1 if one is not caught.
    """
    from tacit.audit.gallery import gallery as shown

    with _stages() as report:
        found = list(shown(report))
    missed = [each["name"] for each in found if not each["caught"]]

    def render(console: Console) -> None:
        table = Table("broken", "check", "")
        for each in found:
            table.add_row(each["name"], each["check"], "caught" if each["caught"] else "NOT CAUGHT")
        console.print(table)

    emit({"broken": found, "missed": missed}, as_json=as_json, render=render)
    if missed:
        raise typer.Exit(1)


def _release(name: str) -> Any:
    def release(asked: Mapping[str, Any], **words: Any) -> None:
        from tacit.commands.plan import planned

        _audit_plan(planned(name, asked), **words)

    return release


def folder(
    release: Annotated[Path, typer.Argument(help="The folder of a release.")],
    runs: Runs = 100_000,
    seconds: Seconds = None,
    output: Page = None,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Attack the mechanism of a release that was made, with the parameters of its manifest."""
    from tacit.release.document.manifest import mechanism_of, read_manifest

    plan = mechanism_of(read_manifest(release))
    _audit_plan(plan, runs=runs, seconds=seconds, output=output, force=force, as_json=as_json)


@contextmanager
def _stages() -> Iterator[Callable[[str], object]]:
    console = stderr()
    if not console.is_terminal:
        yield lambda stage: console.print(f"{stage} …", markup=False)
        return
    with console.status("…") as status:
        yield lambda stage: status.update(f"{stage} …")


def _audit_plan(
    plan: Any, *, runs: int, seconds: float | None, output: Path | None, force: bool, as_json: bool
) -> None:
    from tacit.audit.release import audit_release

    with _stages() as report:
        found = audit_release(plan, runs=runs, seconds=seconds, report=report)
    _end(found, output, force, as_json)


def _end(found: Any, output: Path | None, force: bool, as_json: bool) -> None:
    """Print what was found, write the page, and exit with 1 where a leak exceeds a claim."""
    result = found.to_dict()
    if output is not None:
        from tacit.audit.page import write_page

        result["page"] = str(write_page(result, output, force=force))
    result.pop("page_parts", None)

    def render(console: Console) -> None:
        console.print(str(found), markup=False, soft_wrap=True)

    emit(result, as_json=as_json, render=render)
    if result["verdict"] == "broken":
        raise typer.Exit(1)
