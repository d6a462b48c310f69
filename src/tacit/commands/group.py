"""``tacit group``: places among cohorts, or groups of words, and a service that runs on them.

``tacit group LOG -o DIR`` makes groups (in full: ``tacit group bundle``); the other verbs run on the folder.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table
from rich.text import Text

from tacit.commands import options as o
from tacit.commands.verbs import Panel, verb, verb_group
from tacit.terminal import emit, progress, table

PANEL = Panel.GROUPS

Folder = Annotated[Path, typer.Argument(help="The folder that `tacit group LOG -o DIR` made.")]
User = Annotated[str, typer.Argument(help="The user's name, as in the log or profiles.")]


def bundle(
    profiles: Annotated[
        Path, typer.Argument(help='A search log, or profiles as JSON lines: {"user": …, "terms": {term: 1}}.')
    ],
    to: o.OutputFolder,
    criterion: Literal["cohorts", "strict", "paper"] | None = None,
    epsilon: float | None = None,
    delta: float = 1e-6,
    clicks: Path | None = None,
    vote_epsilon: float = 0.25,
    strength: float | None = None,
    ledger: Path | None = None,
    budget_epsilon: float | None = None,
    budget_delta: float = 1e-5,
    p: Annotated[float | None, typer.Option("--p")] = None,
    augment: int = 1,
    fewest_holders: int = 2,
    fewest_in_group: int = 3,
    scrub: o.ScrubFlag = True,
    since: o.Since = None,
    until: o.Until = None,
    engine: Annotated[str | None, typer.Option(rich_help_panel=o.WORK)] = None,
    seed: o.Seed = 0,
    force: o.ForceFlag = False,
) -> None:
    """Put people into groups, and write what each group may show.

    The folder holds representatives.jsonl, which names no user, and apart from it operator/ (readable by
    you alone), which says who is where and what was measured.
    """
    options = dict(locals())
    from tacit.groups import Groups

    with Groups.bundle(**options, progress=progress) as groups:
        measured = groups.report
    emit({"output": str(to), **measured}, *_shown(measured, str(to)))


def _shown(measured: dict[str, Any], place: str) -> Iterator[str | Text | Table]:
    found, cohorts = measured["singled_out"], measured["criterion"] == "cohorts"
    said = list((_of_cohorts if cohorts else _of_words)(measured, place))
    yield said[0]
    attacks = [line for line in measured["language"] if line["victims"]]
    source = [each["knows"] for each in attacks if each["right"] == found["by_language"]]
    gained = (
        "the attacker whom these groups help most knows one term of a person and, from "
        f"{''.join(source[:1])}, which words go together, and names another term rightly for "
        f"{found['by_language']:.1%}; without these groups for {found['without']:.1%}: "
        f"{found['by_language'] - found['without']:+.1%} is what they give away"
    )
    unknown = "too few people with several known words to attack: what is given away was not measured"
    yield Text.assemble(("high: ", "bold red") if found["high"] else "", gained if attacks else unknown)
    yield from said[1:]
    if without := measured["users_without_terms"]:
        yield f"{without:,} more users have no usable query and are in no group"
    if scrubbed := measured["scrubbed_queries"]:
        yield f"{scrubbed:,} distinct queries were dropped: they hold an address or a personal number"
    rows = []
    for line in attacks:
        gain = "{:+.3f} [{:.3f}, {:.3f}]".format(line["gain"], *line["gain_interval"])
        shares = [f"{line[key]:.3f}" for key in ("right", "without", "surest", "surest_without")]
        rows.append((f"{line['known_terms']}, {line['knows']}", *shares[:2], gain, *shares[2:]))
    if rows:
        yield table(("knows", "right", "without", "gain, 95 %", "surest tenth", "without"), rows)


def _of_cohorts(measured: dict[str, Any], place: str) -> Iterator[str]:
    yield f"{measured['users']:,} users in {measured['in_use']} of {measured['groups']} cohorts, in {place}"
    strength = f"λ = {measured['strength']:g}"
    if promise := measured["guarantee"]:
        yield (
            f"{measured['words_shown']:,} words in {measured['cohorts_with_words']} cohorts; {strength}; "
            f"charged: ε = {promise['epsilon']:g}, δ = {promise['delta']:.1e}, for adding or removing a user"
        )
        alone = f"{measured['gain_without_words']:+.1%}"
        yield f"places alone, as without --epsilon and so by default, give such an attacker {alone} at most"
    else:
        yield f"no words of people are shown, and nothing was charged (--epsilon adds words); {strength}"
    for each in measured["fake_accounts"]:
        yield (
            f"all but one account fake, {each['generations']} generation(s): a word of the one is named for "
            f"{each['right']:.1%}, by popularity alone for {each['without']:.1%}; taking part is told "
            f"at most {each['told_apart']:.3f} of the time"
        )
    if nowhere := measured["users_without_place"]:
        yield f"{nowhere:,} users have no place: what they ask is sensitive, or in no known word"


def _of_words(measured: dict[str, Any], place: str) -> Iterator[str]:
    link, sizes = measured["linkability"], f"{measured['smallest']} to {measured['largest']}"
    one = next(line for line in measured["attackers"] if line["known_terms"] == 1)
    yield f"{measured['users']:,} users in {measured['groups']:,} groups of {sizes}, in {place}"
    yield (
        f"linkability n_t/n: largest {link['max']:.3f}, mean {link['mean']:.3f}; p = {link['p']:g}; "
        f"{link['above_p']:.1%} of released terms above p"
    )
    yield (
        f"belief by eq. 3 with one known term, if terms were independent: largest {one['belief_max']:.3f}; "
        f"above p for {measured['singled_out']['by_release']:.1%} of users"
    )
    yield f"kept: {measured['information']['terms_kept']:.1%} of terms"


def lookup(folder: Folder, user: User) -> None:
    """Show which group serves a user, or which cohorts the user is in."""
    from tacit.groups import Groups

    with Groups.open(folder) as groups:
        place = groups.place(user)
        places = place.places if place else ()
        about = [groups.representative(each).about for each in places]
    group = place.group if place else None
    if places:
        said = "\n".join(f"{number:3}  {name}" for number, name in zip(places, about, strict=True))
        said += "\none of them is told per request: the nearest to its results"
    elif group is not None:
        said = f"member of group {group}"
    else:
        said = f"{'without a group' if place else 'unknown'}: use the engine's order"
    found: dict[str, Any] = {"known": place is not None, "group": group}
    if places:
        found |= {"places": list(places), "about": about}
    emit(found, said)


def assign(
    folder: Folder,
    profiles: Annotated[
        Path, typer.Argument(help='Newcomers as JSON lines: {"user": …, "terms": {term: weight}}.')
    ],
) -> None:
    """Take in newcomers: into cohorts at once, into groups of words when a random batch is dealt."""
    from tacit.groups import Groups
    from tacit.groups.reading import read_profiles

    read = read_profiles(profiles)
    newcomers = {user: read.profile(row) for row, user in enumerate(read.users)}
    with Groups.open(folder) as groups, progress("Assigning", total=len(newcomers), unit="users") as shown:
        places = groups.assign_all(newcomers, shown.advance)
        groups.publish()
    without = sum(place.group is None for place in places)
    said = f"{len(places):,} newcomers: {len(places) - without:,} in groups, {without:,} without a group"
    emit({"assigned": len(places), "without_place": without}, said)


def remove(folder: Folder, user: User) -> None:
    """Erase a person: profile and membership, from every file of the folder."""
    from tacit.groups import Groups

    with Groups.open(folder) as groups:
        groups.remove(user)
        left = len(groups)
    emit({"removed": 1, "users": left}, f"erased; {left:,} users are left")


def rerank(
    folder: Folder,
    user: User,
    results: Annotated[
        Path, typer.Argument(help='A JSON list of {"title", "snippet"}, best first; - reads stdin.')
    ],
    query: Annotated[str, typer.Option(help="Its words do not count.")] = "",
) -> None:
    """Show results in the order of the user's group; as they came for people without one."""
    from tacit.errors import InputError
    from tacit.groups import Groups

    try:
        given = json.loads(sys.stdin.read() if str(results) == "-" else results.read_text(encoding="utf-8"))
        if not (isinstance(given, list) and all(isinstance(each, dict) for each in given)):
            raise ValueError
    except ValueError:  # nothing of the file is quoted
        raise InputError("the results are no JSON list of objects.", 'Give [{"title": …}, …].') from None
    with Groups.open(folder) as groups:
        ranked = groups.rerank(user, given, query)
    names = (each.get("title") or each.get("url") or "" for each in ranked)
    emit({"results": ranked}, *(f"{place:3}  {name}" for place, name in enumerate(names, start=1)))


def rebundle(folder: Folder, clicks: Path | None = None) -> None:
    """Release another generation of cohorts' words, charged to the ledger; groups of words are stable."""
    from tacit.groups import Groups

    with Groups.open(folder) as groups:
        groups.rebundle(clicks)
        shown = sum(len(each.terms) for each in groups.representatives())
        result = {"users": len(groups), "groups": groups.count_groups(), "words_shown": shown}
    emit(result, f"a new generation: {shown:,} words are shown")


_HEADINGS = {
    "Cohorts: what they show of people": "epsilon delta clicks vote_epsilon strength ledger budget_epsilon "
    "budget_delta",
    "Groups of words, for comparison": "p augment fewest_holders fewest_in_group",
}
register = verb_group(
    "group",
    "Put people into groups whose profiles serve them, and run a service on them.",
    [
        verb(
            bundle,
            "log.parquet --epsilon 2 --budget-epsilon 8 -o groups",
            by="tacit.groups:Groups.bundle",
            headings=_HEADINGS,
        ),
        verb(lookup, "groups 217"),
        verb(assign, "groups newcomers.jsonl"),
        verb(remove, "groups 217"),
        verb(rerank, "groups 217 results.json --query java"),
        verb(rebundle, "groups", by="tacit.groups:Groups.bundle"),
    ],
    usual="bundle",
)
