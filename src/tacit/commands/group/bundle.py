"""``tacit group bundle``: user profiles bundled until no released term links to a person."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tacit.commands.options import JsonFlag, Since, Until
from tacit.terminal import emit, progress

if TYPE_CHECKING:
    from tacit.groups import Profiles
    from tacit.groups.report import Report

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Add ``bundle``."""
    app.command("bundle", epilog="Example: tacit group bundle log.parquet --p 0.4 --augment 1 -o groups")(
        bundle
    )


def bundle(
    profiles: Annotated[
        Path, typer.Argument(help='A search log, or profiles as JSON lines: {"user": …, "terms": {term: 1}}.')
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The folder to make; must not exist.")],
    p: Annotated[
        float, typer.Option("--p", "-p", help="The most sure an attacker may be that a member holds a term.")
    ] = 0.4,
    augment: Annotated[
        int, typer.Option(help="Steps of WordNet hypernyms added to compare users; 0 is synonyms only.")
    ] = 1,
    plain: Annotated[
        bool, typer.Option("--plain", help="Compare words as they are, without WordNet.")
    ] = False,
    criterion: Annotated[
        str, typer.Option(help="strict (every term and member) or paper (an average; not a guarantee).")
    ] = "strict",
    known_terms: Annotated[
        int, typer.Option(help="Terms of a member that the attacker may know already; costs most terms.")
    ] = 0,
    keep: Annotated[
        float, typer.Option(help="Least share of members' terms a group must release; larger groups.")
    ] = 0.0,
    fewest_holders: Annotated[
        int, typer.Option(help="Release only terms that at least so many users have, whatever p allows.")
    ] = 2,
    fewest_in_group: Annotated[
        int, typer.Option(help="Release only terms that at least so many members of the group have.")
    ] = 1,
    representative: Annotated[
        str,
        typer.Option(
            help="Weights of released terms: share (of members who have it), or the paper's centroid or "
            "union, which tell more."
        ),
    ] = "share",
    method: Annotated[
        str, typer.Option(help="auto, greedy (everybody at once) or cells (for large populations).")
    ] = "auto",
    weights: Annotated[
        str, typer.Option(help="Weights of terms from a log: count, binary or tf-idf.")
    ] = "count",
    max_terms: Annotated[
        int | None, typer.Option(help="From a log: keep at most so many terms of each user, the heaviest.")
    ] = None,
    scrub: Annotated[
        bool,
        typer.Option(
            "--scrub/--no-scrub",
            help="From a log: pass over queries with e-mail addresses, phone, card or social security "
            "numbers, long numbers.",
        ),
    ] = True,
    since: Since = None,
    until: Until = None,
    seed: Annotated[int, typer.Option(help="The same seed gives the same groups.")] = 0,
    as_json: JsonFlag = False,
) -> None:
    """Bundle user profiles into groups, and write what each group may show.

    The folder holds representatives.jsonl and report.json, which name no user, and apart from them
    operator/membership.jsonl (readable by you alone), which says who is in which group.
    """
    from tacit.errors import InputError
    from tacit.groups import Bundler
    from tacit.groups.report import report
    from tacit.groups.writing import write_groups

    _check_choices(criterion=criterion, representative=representative, method=method, weights=weights)
    _check_numbers(
        augment=augment,
        known_terms=known_terms,
        seed=seed,
        max_terms=max_terms,
        fewest_holders=fewest_holders,
        fewest_in_group=fewest_in_group,
    )
    _check_shares(p, keep)
    bundler = Bundler(
        p=p,
        criterion=criterion,
        known_terms=known_terms,
        keep=keep,
        augment=None if plain else augment,
        fewest_holders=fewest_holders,
        fewest_in_group=fewest_in_group,
        representative=representative,
        method=method,
        seed=seed,
    )
    if output.exists():  # said before the work, not after it
        raise InputError(f"{output} exists already.", "Choose another output, or remove it first.")
    people = _read(profiles, weights, max_terms, scrub, (since, until))
    with progress("Bundling", total=len(people), unit="users") as shown:
        bundling = bundler.fit(people, shown.advance)
    measured = report(bundling, seed=seed)
    write_groups(bundling, bundler, measured, output)
    result = {"output": str(output), **measured.as_dict()}
    emit(result, as_json=as_json, render=lambda console: _render(console, measured, output))


def _check_choices(**chosen: str) -> None:
    """Refuse a wrong word before the log is read, by the name of its option."""
    from tacit.errors import ParameterError
    from tacit.groups.bundler import METHODS
    from tacit.groups.criterion import CRITERIA
    from tacit.groups.reading import WEIGHTS
    from tacit.groups.representative import REPRESENTATIVES

    known = {"criterion": CRITERIA, "representative": REPRESENTATIVES, "method": METHODS, "weights": WEIGHTS}
    for name, value in chosen.items():
        if value not in known[name]:
            raise ParameterError.outside(f"--{name}", value, f"one of {', '.join(known[name])}")


def _check_numbers(**given: int | None) -> None:
    from tacit.errors import ParameterError
    from tacit.groups.semantics import MOST_STEPS

    augment = given["augment"]
    if augment is not None and augment > MOST_STEPS:
        raise ParameterError.outside("--augment", augment, f"from 0 to {MOST_STEPS}")
    for name, value in given.items():
        least = 1 if name in ("max_terms", "fewest_holders", "fewest_in_group") else 0
        if value is not None and value < least:
            raise ParameterError.outside(f"--{name.replace('_', '-')}", value, f"{least} or more")


def _check_shares(p: float, keep: float) -> None:
    from tacit.errors import ParameterError

    if not 0 < p < 1:
        raise ParameterError.outside("--p", p, "greater than 0 and less than 1")
    if not 0 <= keep < 1:
        raise ParameterError.outside("--keep", keep, "at least 0 and less than 1")


def _read(
    path: Path,
    weights: str,
    max_terms: int | None,
    scrub: bool,
    period: tuple[datetime | None, datetime | None],
) -> Profiles:
    from tacit.groups.reading import profiles_from_log, read_profiles

    if path.is_file():
        with path.open("rb") as opened:
            if opened.read(4) == b"PAR1":
                with progress("Reading", unit="queries") as shown:
                    return profiles_from_log(
                        path,
                        weights=weights,
                        largest=max_terms,
                        scrub=scrub,
                        period=period,
                        advance=shown.advance,
                    )
    return read_profiles(path)


def _render(console: Console, measured: Report, output: Path) -> None:
    from rich.table import Table

    link, kept, found = measured.linkability, measured.information, measured.singled_out
    console.print(
        f"{measured.users:,} users in {measured.groups:,} groups of {measured.smallest} to "
        f"{measured.largest} (mean {measured.mean_size:.1f}), in {output}",
        markup=False,
        soft_wrap=True,
    )
    mark = "[bold red]high[/] " if found.high else ""
    console.print(
        f"{mark}singled out: {found.by_release:.1%} of users by what is released alone, "
        f"{found.by_knowledge:.1%} by somebody who knows one term and which terms go together",
        soft_wrap=True,
    )
    if measured.users_without_terms:
        console.print(f"{measured.users_without_terms:,} more users have no usable term and are in no group")
    if measured.scrubbed_queries:
        console.print(f"{measured.scrubbed_queries:,} distinct queries that name somebody were passed over")
    console.print(
        f"linkability n_t/n: largest {link.max:.3f}, mean {link.mean:.3f}; p = {link.p:g}; "
        f"{link.above_p:.1%} of released terms above p"
    )
    console.print(
        f"kept: {kept.terms_kept:.1%} of terms, {kept.weight_kept:.1%} of weight; "
        f"similarity within groups {kept.similarity_within:.3f}, to the group {kept.similarity_to_group:.3f}"
    )
    table = Table("terms known", "belief max", "belief mean", "change max", "informed max", "informed > p")
    for line in measured.attackers:
        table.add_row(
            str(line.known_terms),
            f"{line.belief_max:.3f}",
            f"{line.belief_mean:.3f}",
            f"{line.change_max:.3f}",
            f"{line.informed_max:.3f}",
            f"{line.informed_above_p:.1%}",
        )
    console.print(table)
    console.print(
        "belief: from what is released (eq. 3); informed: one who also knows which terms go together.",
        soft_wrap=True,
    )
    guessed = measured.weight_attackers[-1]
    console.print(
        f"equal weights, same person: right in {guessed.right:.1%} of {guessed.guesses:,} guesses, "
        f"by chance {guessed.chance:.1%}",
        soft_wrap=True,
    )
