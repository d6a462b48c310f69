"""``tacit audit``: attack a guard, and show what still leaks."""

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.commands.options import ForceFlag, LogFile, Seed, Threads, declared_command
from tacit.commands.plan import planned
from tacit.commands.release import stages
from tacit.commands.verbs import Panel, given, library, verb, verb_group
from tacit.release.registry import MECHANISMS, mechanism_class
from tacit.terminal import emit, table

PANEL = Panel.EVALUATE

Seconds = Annotated[
    float | None, typer.Option(min=1, help="Do what can be done in so many seconds.", show_default=False)
]
Runs = Annotated[
    int | None,
    typer.Option(min=64, help="Of each log (default: 100,000; rounds 4,000,000).", show_default=False),
]
Page = Annotated[
    Path | None, typer.Option("--output", "-o", help="Write a page (audit.html) here.", show_default=False)
]
Synthetic = Annotated[
    bool,
    typer.Option("--synthetic", help="You vouch that nobody real is in the log: the report may be shared."),
]
_PAID = "Pay for the run in the data set's ledger: what it found may then be shown."


def release(
    name: str,
    asked: Mapping[str, Any],
    *,
    runs: Runs = None,
    seconds: Seconds = None,
    output: Page = None,
    force: ForceFlag = False,
) -> None:
    """Attack a mechanism: exact checks, then lower bounds on ε from many runs."""
    _attack("tacit.audit.release:audit_release", **locals())


def folder(
    release: Annotated[Path, typer.Argument(help="The folder of a release.")],
    runs: Runs = None,
    seconds: Seconds = None,
    output: Page = None,
    force: ForceFlag = False,
) -> None:
    """Attack the mechanism of a release that was made, or a series, with the parameters stated there."""
    options = {"plan": _plan_in(release), "runs": runs, "seconds": seconds}
    _attack("tacit.audit.release:audit_release", output, force, **options)


def _plan_in(folder: Path) -> Any:
    """The plan of a release that was made, or of a series."""
    from tacit.release.document.manifest import MANIFEST, mechanism_of, read_manifest
    from tacit.release.series.folder import ABOUT, find_series

    if (folder / ABOUT).is_file():
        return find_series(folder).plan
    if not (folder / MANIFEST).is_file():
        raise typer.BadParameter(
            f"{str(folder)!r} is neither a mechanism nor the folder of a release. "
            f"Mechanisms: {', '.join(MECHANISMS)}."
        )
    return mechanism_of(read_manifest(folder))


def log(
    name: str,
    asked: Mapping[str, Any],
    *,
    log: LogFile,
    canaries: Annotated[int, typer.Option(min=10, help="How many people are planted.")] = 400,
    charge: Annotated[bool, typer.Option("--charge", help=_PAID)] = False,
    ledger: Annotated[Path | None, typer.Option(help="The ledger to charge.")] = None,
    seconds: Seconds = None,
    synthetic: Synthetic = False,
    threads: Threads = None,
    output: Page = None,
    force: ForceFlag = False,
) -> None:
    """Plant canaries beside a log, and release it once in memory with a mechanism."""
    _attack("tacit.audit.canaries:audit_log", **locals())


def people(
    log: LogFile,
    known: Annotated[int, typer.Option(min=1, help="Searches that are known of a person.")] = 3,
    people: Annotated[int, typer.Option(min=10, help="About how many people is guessed.")] = 400,
    epsilons: Annotated[
        list[float] | None, typer.Option("--epsilon", help="An ε to try (default: 1, 4, 10); repeat it.")
    ] = None,
    delta: Annotated[float, typer.Option(help="δ of the mechanisms.")] = 1e-6,
    seed: Seed = 0,
    seconds: Seconds = None,
    synthetic: Synthetic = False,
    threads: Threads = None,
    output: Page = None,
    force: ForceFlag = False,
) -> None:
    """Attack people of a log: would they be found, and can it be told what they searched for?

    Hashed ids, k-query anonymity under an attacker with planted accounts, and mechanisms at several ε. It is
    the owner's own look: nothing is charged, and the result is as sensitive as the log.
    """
    _attack("tacit.audit.people:audit_people", **locals())


def groups(
    folder: Annotated[Path, typer.Argument(help="The folder that `tacit group LOG -o DIR` made.")],
    steps: Annotated[int, typer.Option(min=2, help="How many people come and go, in a copy.")] = 60,
    draws: Annotated[int, typer.Option(min=1000, help="Draws of the noise on one count.")] = 100_000,
    release: Annotated[
        Path | None, typer.Option(help="A release of the same people, which the attacker has too.")
    ] = None,
    seed: Seed = 0,
    seconds: Seconds = None,
    synthetic: Synthetic = False,
    output: Page = None,
    force: ForceFlag = False,
) -> None:
    """Attack groups: what they show, the noise on it, and what people who come and go give away.

    Exit code 1 where a leak exceeds what is claimed. That the told cohort is private is not claimed.
    """
    options = locals() | {"release": None if release is None else _plan_in(release)}
    _attack("tacit.audit.groups:audit_groups", **options)


def pool(
    log: Annotated[Path, typer.Argument(help="A query log with senders, of `tacit simulate --log`.")],
    k: Annotated[int, typer.Option(min=1, help="How many people must match each entry.")] = 30,
    window: Annotated[float, typer.Option(min=0, help="How well the time of a query is known, ±.")] = 50.0,
    seconds: Seconds = None,
    synthetic: Synthetic = False,
    output: Page = None,
    force: ForceFlag = False,
) -> None:
    """Attack a pool's log: does anybody who knows a record and a time find fewer than k people?

    Exit code 1 where the sender of an entry with a region is k-identified.
    """
    _attack("tacit.audit.pool:audit_pool", **locals())


def device(
    profile: Annotated[Path, typer.Argument(help="A profile file, of `tacit profile build`.")],
    people: Annotated[int, typer.Option(min=2, help="How many people are made up of it.")] = 400,
    seed: Seed = 0,
    seconds: Seconds = None,
    synthetic: Synthetic = False,
    output: Page = None,
    force: ForceFlag = False,
) -> None:
    """Attack what a profile sends with many queries: does it tell what sensitive things somebody read?

    Exit code 1 where a leak exceeds what is claimed. The profile is only read, and nothing is sent.
    """
    _attack("tacit.audit.device:audit_device", **locals())


def gallery(seconds: Seconds = None) -> None:
    """Break mechanisms on purpose, one way after the other, and see each caught by the check that is named.

    Noise halved or shared, bounds off by one, charges left out: each is made by weakening the real code while
    it runs. Exit code 1 if one is not caught.
    """
    from tacit.audit.gallery import gallery as shown

    with stages() as report:
        found = list(shown(report, seconds))
    said = {True: "caught", False: "NOT CAUGHT", None: "no time"}
    rows = [(each["name"], each["check"], said[each["caught"]]) for each in found]
    tried = [each for each in found if each["caught"] is not None]
    missed, left_out = ([e["name"] for e in found if e["caught"] is which] for which in (False, None))
    emit({"broken": tried, "missed": missed, "left_out": left_out}, table(("broken", "check", ""), rows))
    if missed:
        raise typer.Exit(1)


def _attack(
    audit: str, output: Path | None, force: bool, name: str = "", asked: Any = None, **options: Any
) -> None:
    """Run an audit, print what was found, write the page; exit with 1 where a leak exceeds a claim."""
    options |= {"plan": planned(name, asked)} if name else {}
    with stages() as report:
        found = library(audit)(**given(options), report=report)
    result = found.to_dict()
    if output is not None:
        from tacit.audit.found import write_page

        result["page"] = str(write_page(result, output, force=force))
    result.pop("page_parts", None)
    emit(result, str(found))
    if result["verdict"] == "broken":
        raise typer.Exit(1)


def _by_mechanism(run: Any, group: str, log: str, about: str, others: Any, usual: str = "") -> Any:
    """Make a group with a verb for each mechanism whose release is to be attacked."""
    verbs = []
    for name in MECHANISMS:
        mechanism = mechanism_class(name)
        if mechanism.publishes_queries or not log:
            meaning = run.__doc__.replace("a mechanism", mechanism.title)
            command = declared_command(mechanism, partial(run, name), meaning)
            verbs.append(verb(command, f"{log}{mechanism.example}", name))
    return verb_group(f"audit {group}", about, [*verbs, *others], usual)


register = verb_group(
    "audit",
    "Attack a guard, and show what still leaks.",
    [
        _by_mechanism(
            release,
            "release",
            "",
            "Attack a mechanism with its parameters, or those of a release: tacit audit release week-01.",
            [verb(folder, "week-01")],
            usual="folder",
        ),
        _by_mechanism(
            log,
            "log",
            "log.parquet ",
            "Plant canaries beside a log, release it once in memory, and guess who asked.",
            [],
        ),
        verb(people, "log.parquet --known 3 -o people"),
        verb(device, "me.profile -o device"),
        verb(groups, "cohorts -o groups"),
        verb(pool, "log.parquet --k 30 --window 50"),
        verb(gallery, ""),
    ],
)
