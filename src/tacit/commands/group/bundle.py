"""``tacit group bundle``: user profiles bundled until no released term links to a person."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console

from tacit.commands.group import bundle_options as o
from tacit.commands.options import (
    ForceFlag,
    JsonFlag,
    OutputFolder,
    ScrubFlag,
    Seed,
    SessionGap,
    Sessions,
    Since,
    Until,
)
from tacit.terminal import emit, progress

if TYPE_CHECKING:
    from tacit.groups import Profiles
    from tacit.groups.report import Report


def register(app: typer.Typer) -> None:
    """Add ``bundle``."""
    app.command("bundle", epilog="Example: tacit group bundle log.parquet --p 0.4 --augment 1 -o groups")(
        bundle
    )


def bundle(
    profiles: o.ProfilesFile,
    output: OutputFolder,
    p: o.Probability = 0.4,
    augment: o.Augment = 1,
    plain: o.Plain = False,
    criterion: o.Criterion = "strict",
    known_terms: o.KnownTerms = 0,
    keep: o.Keep = 0.0,
    fewest_holders: o.FewestHolders = 2,
    fewest_in_group: o.FewestInGroup = 1,
    representative: o.Representative = "share",
    method: o.Method = "auto",
    weights: o.Weights = "count",
    max_terms: o.MaxTerms = None,
    scrub: ScrubFlag = True,
    since: Since = None,
    until: Until = None,
    sessions: Sessions = "words",
    session_gap: SessionGap = None,
    seed: Seed = 0,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Bundle user profiles into groups, and write what each group may show.

    The folder holds representatives.jsonl and report.json, which name no user, and apart from them
    operator/membership.jsonl (readable by you alone), which says who is in which group.
    """
    from tacit.files import check_output_folder
    from tacit.groups import Bundler
    from tacit.groups.report import report
    from tacit.groups.store import MARKS, write_groups
    from tacit.searchlog.sessions import SessionCut

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
    cut = SessionCut.of(sessions, session_gap)
    check_output_folder(output, force=force, marks=MARKS, inputs=[profiles])
    people = _read(
        profiles, weights=weights, largest=max_terms, scrub=scrub, period=(since, until), sessions=cut
    )
    with progress("Bundling", total=len(people), unit="users") as shown:
        bundling = bundler.fit(people, shown.advance)
    measured = report(bundling, seed=seed)
    write_groups(bundling, bundler, measured, output, replace=force)
    result = {"output": str(output), **measured.as_dict()}
    emit(result, as_json=as_json, render=lambda console: _render(console, measured, output))


def _read(path: Path, **how: Any) -> Profiles:
    from tacit.groups.reading import profiles_from_log, read_profiles

    if path.is_file():
        with path.open("rb") as opened:
            if opened.read(4) == b"PAR1":
                with progress("Reading", unit="queries") as shown:
                    return profiles_from_log(path, **how, advance=shown.advance)
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
