"""``tacit group``: profiles bundled until no shown term links to a person, and groups for a service.

``tacit group LOG -o DIR`` makes groups (in full: ``tacit group bundle``); the other verbs run on the folder.
"""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console
from typer.core import TyperGroup

from tacit.commands import options as o
from tacit.commands.verbs import Panel
from tacit.terminal import emit, progress

PANEL = Panel.GROUPS


class _BundleUnlessNamed(TyperGroup):
    """What is no verb of ``tacit group`` is a file to bundle."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        if args and args[0] not in self.commands and args[0] not in ("-h", "--help"):
            args = ["bundle", *args]
        return super().parse_args(ctx, args)


def register(app: typer.Typer) -> None:
    """Add ``group`` with its verbs."""
    group = typer.Typer(
        cls=_BundleUnlessNamed,
        no_args_is_help=True,
        help="Bundle user profiles into groups, and run a service on them.",
        epilog="Example: tacit group log.parquet --p 0.4 -o groups",
    )
    for verb, example in (
        (bundle, "bundle log.parquet --p 0.4 --augment 1 -o groups"),
        (lookup, "lookup groups 217"),
        (assign, "assign groups newcomers.jsonl"),
        (remove, "remove groups 217"),
        (rerank, "rerank groups 217 results.json --query java"),
        (rebundle, "rebundle groups"),
    ):
        group.command(verb.__name__, epilog=f"Example: tacit group {example}")(verb)
    app.add_typer(group, name="group")


Folder = Annotated[Path, typer.Argument(help="The folder that `tacit group LOG -o DIR` made.")]
User = Annotated[str, typer.Argument(help="The user's name, as in the log or profiles.")]


def _in_panel(panel: str, help: str, **more: Any) -> Any:
    return typer.Option(help=help, rich_help_panel=panel, **more)


_of_log = partial(_in_panel, "Profiles from a log")
_shown = partial(_in_panel, "What a group may show")

ProfilesFile = Annotated[
    Path, typer.Argument(help='A search log, or profiles as JSON lines: {"user": …, "terms": {term: 1}}.')
]
Probability = Annotated[
    float, typer.Option("--p", help="Bound on an attacker's belief that a member holds a shown term.")
]
Augment = Annotated[
    int, typer.Option(help="Steps of WordNet hypernyms added to compare users; 0 is synonyms only.")
]
Plain = Annotated[bool, typer.Option("--plain", help="Compare words as they are, without WordNet.")]
Criterion = Annotated[
    Literal["strict", "paper"],
    _shown("p for every term and member (strict), or as an average (paper; not a guarantee)."),
]
KnownTerms = Annotated[int, _shown("Terms of a member that the attacker may know already; costs most terms.")]
FewestHolders = Annotated[int, _shown("Show only terms that at least this many users have.")]
FewestInGroup = Annotated[int, _shown("Show only terms that at least this many members of the group have.")]
Representative = Annotated[
    Literal["share", "centroid", "union"],
    _shown(
        "Weights of released terms: the share of members who have it, or the paper's centroid or union, "
        "which tell more."
    ),
]
Weights = Annotated[
    Literal["count", "binary", "tf-idf"],
    _of_log("Weights of a user's terms: in how many queries, all the same, or rarer terms more."),
]
MaxTerms = Annotated[int | None, _of_log("Keep at most this many terms of each user, by weight.", min=1)]


def bundle(
    profiles: ProfilesFile,
    output: o.OutputFolder,
    p: Probability = 0.4,
    augment: Augment = 1,
    plain: Plain = False,
    criterion: Criterion = "strict",
    known_terms: KnownTerms = 0,
    fewest_holders: FewestHolders = 2,
    fewest_in_group: FewestInGroup = 1,
    representative: Representative = "share",
    weights: Weights = "count",
    max_terms: MaxTerms = None,
    scrub: o.ScrubFlag = True,
    since: o.Since = None,
    until: o.Until = None,
    seed: o.Seed = 0,
    force: o.ForceFlag = False,
    as_json: o.JsonFlag = False,
) -> None:
    """Bundle user profiles into groups, and write what each group may show.

    The folder holds representatives.jsonl and report.json, which name no user, and apart from them
    operator/membership.jsonl (readable by you alone), which says who is in which group.
    """
    from tacit.groups import Groups

    with Groups.bundle(
        profiles,
        output,
        p=p,
        criterion=criterion,
        known_terms=known_terms,
        fewest_holders=fewest_holders,
        fewest_in_group=fewest_in_group,
        augment=None if plain else augment,
        representative=representative,
        seed=seed,
        weights=weights,
        max_terms=max_terms,
        scrub=scrub,
        since=since,
        until=until,
        force=force,
        progress=progress,
    ) as groups:
        measured = groups.report
    result = {"output": str(output), **measured}
    emit(result, as_json=as_json, render=lambda console: _render(console, measured, output))


def _render(console: Console, measured: dict[str, Any], output: Path) -> None:
    from rich.markup import escape
    from rich.table import Table

    link, kept, found = measured["linkability"], measured["information"], measured["singled_out"]
    lines = [
        f"{measured['users']:,} users in {measured['groups']:,} groups of {measured['smallest']} to "
        f"{measured['largest']} (mean {measured['mean_size']:.1f}), in {escape(str(output))}",
        f"{'[bold red]high[/] ' if found['high'] else ''}singled out: {found['by_release']:.1%} of users by "
        f"what is released alone, {found['by_knowledge']:.1%} by somebody who knows one term and which terms "
        "go together",
    ]
    if without := measured["users_without_terms"]:
        lines.append(f"{without:,} more users have no usable term and are in no group")
    if scrubbed := measured["scrubbed_queries"]:
        lines.append(f"{scrubbed:,} distinct queries were dropped: they hold an address or a personal number")
    lines += [
        f"linkability n_t/n: largest {link['max']:.3f}, mean {link['mean']:.3f}; p = {link['p']:g}; "
        f"{link['above_p']:.1%} of released terms above p",
        f"kept: {kept['terms_kept']:.1%} of terms, {kept['weight_kept']:.1%} of weight; similarity within "
        f"groups {kept['similarity_within']:.3f}, to the group {kept['similarity_to_group']:.3f}",
    ]
    console.print("\n".join(lines), soft_wrap=True)
    table = Table("terms known", "belief max", "belief mean", "change max", "informed max", "informed > p")
    for line in measured["attackers"]:
        shown = (f"{line[key]:.3f}" for key in ("belief_max", "belief_mean", "change_max", "informed_max"))
        table.add_row(str(line["known_terms"]), *shown, f"{line['informed_above_p']:.1%}")
    console.print(table)
    guessed = measured["weight_attacker"]
    console.print(
        "belief: from what is released (eq. 3); informed: one who also knows which terms go together.\n"
        f"equal weights, same person: right in {guessed['right']:.1%} of {guessed['guesses']:,} guesses, "
        f"by chance {guessed['chance']:.1%}",
        soft_wrap=True,
    )


def lookup(folder: Folder, user: User, as_json: o.JsonFlag = False) -> None:
    """Say which group serves a user."""
    from tacit.groups import Groups

    with Groups.open(folder) as groups:
        place = groups.place(user)
    group, member = (place.group, place.member) if place else (None, False)
    if group is not None:
        guest = f"guest of group {group}: served by its profile, not counted in it"
        said = f"member of group {group}" if member else guest
    else:
        said = f"{'waiting, no similar group' if place else 'unknown'}: use the engine's order"
    found = {"known": place is not None, "group": group, "member": member}
    emit(found, as_json=as_json, render=lambda console: console.print(said, soft_wrap=True))


def assign(
    folder: Folder,
    profiles: Annotated[
        Path, typer.Argument(help='Newcomers as JSON lines: {"user": …, "terms": {term: weight}}.')
    ],
    as_json: o.JsonFlag = False,
) -> None:
    """Add newcomers: guests of the nearest group until they meet the bound as a group of their own."""
    from tacit.groups import Groups
    from tacit.groups.reading import read_profiles

    read = read_profiles(profiles)
    newcomers = {user: read.profile(row) for row, user in enumerate(read.users)}
    with Groups.open(folder) as groups, progress("Assigning", total=len(newcomers), unit="users") as shown:
        places = groups.assign_all(newcomers, shown.advance)
        groups.publish()
    result = {
        "assigned": len(places),
        "members": sum(place.member for place in places),
        "guests": sum(not place.member and place.group is not None for place in places),
        "waiting": sum(place.group is None for place in places),
    }
    emit(
        result,
        as_json=as_json,
        render=lambda console: console.print(
            f"{result['assigned']:,} newcomers: {result['members']:,} in new groups, "
            f"{result['guests']:,} guests of groups, {result['waiting']:,} without a similar group",
            soft_wrap=True,
        ),
    )


def remove(folder: Folder, user: User, as_json: o.JsonFlag = False) -> None:
    """Erase a person: profile and membership, from every file of the folder."""
    from tacit.groups import Groups

    with Groups.open(folder) as groups:
        groups.remove(user)
        left = len(groups)
    result = {"removed": 1, "users": left}
    emit(result, as_json=as_json, render=lambda console: console.print(f"erased; {left:,} users are left"))


def rerank(
    folder: Folder,
    user: User,
    results: Annotated[
        Path,
        typer.Argument(help='A JSON list of {"url", "title", "snippet"}, best first; - reads it from stdin.'),
    ],
    query: Annotated[str, typer.Option(help="The query; its words do not count.")] = "",
    as_json: o.JsonFlag = False,
) -> None:
    """Show results in the order of the user's group; as they came for people without one."""
    from tacit.errors import InputError
    from tacit.groups import Groups

    text = sys.stdin.read() if str(results) == "-" else results.read_text(encoding="utf-8")
    try:
        given = json.loads(text)
    except ValueError:
        given = None
    if not isinstance(given, list) or not all(isinstance(result, dict) for result in given):
        raise InputError("the results are not a JSON list of objects.", 'Give [{"url": …, "title": …}, …].')
    with Groups.open(folder) as groups:
        ranked = groups.rerank(user, given, query)

    def render(console: Console) -> None:
        for place, result in enumerate(ranked, start=1):
            shown = result.get("title") or result.get("url") or ""
            console.print(f"{place:3}  {shown}", markup=False, soft_wrap=True)

    emit({"results": ranked}, as_json=as_json, render=render)


def rebundle(folder: Folder, as_json: o.JsonFlag = False) -> None:
    """Bundle all users anew, guests included."""
    from tacit.groups import Groups

    with Groups.open(folder) as groups:
        with progress("Bundling", total=len(groups), unit="users") as shown:
            groups.rebundle(shown.advance)
        result = {"users": len(groups), "groups": groups.count_groups()}
    emit(
        result,
        as_json=as_json,
        render=lambda console: console.print(f"{result['users']:,} users in {result['groups']:,} groups"),
    )
