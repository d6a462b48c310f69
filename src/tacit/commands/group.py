"""``tacit group``: places among cohorts, or groups of words, and a service that runs on them.

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
        help="Put people into groups whose profiles serve them, and run a service on them.",
        epilog="Example: tacit group log.parquet -o groups",
    )
    for verb, example in (
        (bundle, "bundle log.parquet --epsilon 2 --budget-epsilon 8 -o groups"),
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


_cohorts = partial(_in_panel, "Cohorts: what they show of people")
_words = partial(_in_panel, "Groups of words, for comparison")

ProfilesFile = Annotated[
    Path, typer.Argument(help='A search log, or profiles as JSON lines: {"user": …, "terms": {term: 1}}.')
]
Criterion = Annotated[
    Literal["cohorts", "strict", "paper"] | None,
    typer.Option(help="Public cohorts (the default), or groups of words (strict where --p is given)."),
]
Epsilon = Annotated[
    float | None,
    _cohorts("ε of the words of one generation; none are shown unless given. 2 suits 1,000 people, 1 5,000."),
]
Delta = Annotated[float, _cohorts("δ of these words.")]
Clicks = Annotated[
    Path | None,
    _cohorts('Past requests as JSON lines {"user", "query", "results", "clicked"}: people vote for λ.'),
]
VoteEpsilon = Annotated[float, _cohorts("ε of that vote.")]
Strength = Annotated[
    float | None, _cohorts("λ where nobody votes: 0 is the engine's order, 12 the strongest. [default: 2]")
]
LedgerFile = Annotated[
    Path | None, _cohorts("The population's ledger (default: where it is known, or beside the input).")
]
BudgetEpsilon = Annotated[
    float | None, _cohorts("Open the ledger, if there is none, with this ε for all that is ever released.")
]
BudgetDelta = Annotated[float, _cohorts("δ of the budget, with --budget-epsilon.")]
Probability = Annotated[
    float | None, _words("Bound on an attacker's belief that a member holds a shown term. [default: 0.4]")
]
Augment = Annotated[int, _words("Steps of WordNet hypernyms added to compare users; 0 is synonyms only.")]
Plain = Annotated[bool, _words("Compare words as they are, without WordNet.")]
FewestHolders = Annotated[int, _words("Show only terms that at least this many users have.")]
FewestInGroup = Annotated[int, _words("Show only terms that at least this many members of the group have.")]
Weights = Annotated[
    Literal["count", "binary", "tf-idf"],
    _words("Weights of a user's terms: in how many queries, all the same, or rarer terms more."),
]
MaxTerms = Annotated[int | None, _words("Keep at most this many terms of each user, by weight.", min=1)]


def bundle(
    profiles: ProfilesFile,
    output: o.OutputFolder,
    criterion: Criterion = None,
    epsilon: Epsilon = None,
    delta: Delta = 1e-6,
    clicks: Clicks = None,
    vote_epsilon: VoteEpsilon = 0.25,
    strength: Strength = None,
    ledger: LedgerFile = None,
    budget_epsilon: BudgetEpsilon = None,
    budget_delta: BudgetDelta = 1e-5,
    p: Probability = None,
    augment: Augment = 1,
    plain: Plain = False,
    fewest_holders: FewestHolders = 2,
    fewest_in_group: FewestInGroup = 3,
    weights: Weights = "count",
    max_terms: MaxTerms = None,
    scrub: o.ScrubFlag = True,
    since: o.Since = None,
    until: o.Until = None,
    seed: o.Seed = 0,
    force: o.ForceFlag = False,
    as_json: o.JsonFlag = False,
) -> None:
    """Put people into groups, and write what each group may show.

    The folder holds representatives.jsonl, which names no user, and apart from it operator/ (readable by
    you alone), which says who is where and what was measured.
    """
    from tacit.groups import Groups

    with Groups.bundle(
        profiles,
        output,
        criterion=criterion,
        epsilon=epsilon,
        delta=delta,
        clicks=clicks,
        vote_epsilon=vote_epsilon,
        strength=strength,
        ledger=ledger,
        budget_epsilon=budget_epsilon,
        budget_delta=budget_delta,
        p=p,
        fewest_holders=fewest_holders,
        fewest_in_group=fewest_in_group,
        augment=None if plain else augment,
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

    place = escape(str(output))
    cohorts = measured["criterion"] == "cohorts"
    lines = _of_cohorts(measured, place) if cohorts else _of_words(measured, place)
    found = measured["singled_out"]
    gain = found["by_language"] - found["without"]
    lines.insert(
        1,
        f"{'[bold red]high[/] ' if found['high'] else ''}somebody who knows one term of a person, and which "
        f"words go together, names another rightly for {found['by_language']:.1%}; without these groups for "
        f"{found['without']:.1%}: {gain:+.1%} is what they give away",
    )
    if without := measured["users_without_terms"]:
        lines.append(f"{without:,} more users have no usable query and are in no group")
    if scrubbed := measured["scrubbed_queries"]:
        lines.append(f"{scrubbed:,} distinct queries were dropped: they hold an address or a personal number")
    console.print("\n".join(lines), soft_wrap=True)
    table = Table("knows", "right", "without", "gain, 95 %", "surest tenth", "without")
    for line in measured["language"]:
        low, high = line["gain_interval"]
        table.add_row(
            f"{line['known_terms']}, {line['knows']}",
            *(f"{line[key]:.3f}" for key in ("right", "without")),
            f"{line['gain']:+.3f} [{low:.3f}, {high:.3f}]",
            *(f"{line[key]:.3f}" for key in ("surest", "surest_without")),
        )
    console.print(table)


def _of_cohorts(measured: dict[str, Any], place: str) -> list[str]:
    """What a report on cohorts says in lines."""
    lines = [
        f"{measured['users']:,} users in {measured['in_use']} of {measured['groups']} public cohorts, "
        f"in {place}",
    ]
    if promise := measured["guarantee"]:
        shown = f"{measured['words_shown']:,} words in {measured['cohorts_with_words']} cohorts"
        lines.append(
            f"{shown}; λ = {measured['strength']:g}; charged: ε = {promise['epsilon']:g}, "
            f"δ = {promise['delta']:.1e}, for adding or removing a user"
        )
    else:
        lines.append(
            f"no words of people are shown, and nothing was charged (--epsilon adds words); "
            f"λ = {measured['strength']:g}"
        )
    for each in measured["fake_accounts"]:
        lines.append(
            f"all but one account fake, {each['generations']} generation(s): a word of the one is named for "
            f"{each['right']:.1%}, by popularity alone for {each['without']:.1%}; taking part is told "
            f"at most {each['told_apart']:.3f} of the time"
        )
    if nowhere := measured["users_without_place"]:
        lines.append(f"{nowhere:,} users have no place: what they ask is sensitive, or in no known word")
    return lines


def _of_words(measured: dict[str, Any], place: str) -> list[str]:
    """What a report on groups of words says in lines."""
    link, kept = measured["linkability"], measured["information"]
    one = next(line for line in measured["attackers"] if line["known_terms"] == 1)
    return [
        f"{measured['users']:,} users in {measured['groups']:,} groups of {measured['smallest']} to "
        f"{measured['largest']} (mean {measured['mean_size']:.1f}), in {place}",
        f"linkability n_t/n: largest {link['max']:.3f}, mean {link['mean']:.3f}; p = {link['p']:g}; "
        f"{link['above_p']:.1%} of released terms above p",
        f"belief by eq. 3 with one known term, if terms were independent: largest {one['belief_max']:.3f}; "
        f"above p for {measured['singled_out']['by_release']:.1%} of users",
        f"kept: {kept['terms_kept']:.1%} of terms, {kept['weight_kept']:.1%} of weight; similarity within "
        f"groups {kept['similarity_within']:.3f}, to the group {kept['similarity_to_group']:.3f}",
    ]


def lookup(folder: Folder, user: User, as_json: o.JsonFlag = False) -> None:
    """Say which group serves a user, or which cohorts the user is in."""
    from tacit.groups import Groups

    with Groups.open(folder) as groups:
        place = groups.place(user)
        places = place.places if place else ()
        about = [groups.representative(each).about for each in places]
    group, member = (place.group, place.member) if place else (None, False)
    if places:
        said = "\n".join(f"{number:3}  {name}" for number, name in zip(places, about, strict=True))
        said += "\none of them is told per request: the nearest to its results"
    elif group is not None:
        guest = f"guest of group {group}: served by its profile, not counted in it"
        said = f"member of group {group}" if member else guest
    else:
        said = f"{'waiting, no similar group' if place else 'unknown'}: use the engine's order"
    found: dict[str, Any] = {"known": place is not None, "group": group, "member": member}
    if places:
        found |= {"places": list(places), "about": about}
    emit(found, as_json=as_json, render=lambda console: console.print(said, soft_wrap=True, highlight=False))


def assign(
    folder: Folder,
    profiles: Annotated[
        Path, typer.Argument(help='Newcomers as JSON lines: {"user": …, "terms": {term: weight}}.')
    ],
    as_json: o.JsonFlag = False,
) -> None:
    """Add newcomers: in cohorts at once; guests of the nearest group of words until a batch is drawn."""
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
            f"{result['assigned']:,} newcomers: {result['members']:,} in groups, "
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


def rebundle(folder: Folder, clicks: Clicks = None, as_json: o.JsonFlag = False) -> None:
    """Release another generation of cohorts' words, charged to the ledger; groups of words are stable."""
    from tacit.groups import Groups

    with Groups.open(folder) as groups:
        groups.rebundle(clicks)
        shown = sum(len(each.terms) for each in groups.representatives())
        result = {"users": len(groups), "groups": groups.count_groups(), "words_shown": shown}
    emit(
        result,
        as_json=as_json,
        render=lambda console: console.print(f"a new generation: {shown:,} words are shown"),
    )
