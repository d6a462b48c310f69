"""``tacit group lookup``, ``assign``, ``move``, ``remove``, ``rerank``, ``rebundle``: a service on groups."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.console import Console

from tacit.commands.options import JsonFlag
from tacit.terminal import emit, progress

if TYPE_CHECKING:
    from tacit.groups.store import Place


Folder = Annotated[Path, typer.Argument(help="The folder that `tacit group LOG -o DIR` made.")]
User = Annotated[str, typer.Argument(help="The user's name, as in the log or profiles.")]


def register(app: typer.Typer) -> None:
    """Add the verbs that run on a folder of groups."""
    app.command("lookup", epilog="Example: tacit group lookup groups 217")(lookup)
    app.command("assign", epilog="Example: tacit group assign groups newcomers.jsonl")(assign)
    app.command("move", epilog="Example: tacit group move groups 217 --group 12")(move)
    app.command("remove", epilog="Example: tacit group remove groups 217")(remove)
    app.command("rerank", epilog="Example: tacit group rerank groups 217 results.json --query java")(rerank)
    app.command("rebundle", epilog="Example: tacit group rebundle groups")(rebundle)


def _said(place: Place | None) -> dict[str, Any]:
    if place is None:
        return {"known": False, "group": None, "member": False}
    return {"known": True, "group": place.group, "member": place.member}


def _in_words(found: dict[str, Any]) -> str:
    if not found["known"]:
        return "not known here: serve the engine's own order"
    if found["group"] is None:
        return "waiting, near to no group: serve the engine's own order"
    if found["member"]:
        return f"member of group {found['group']}"
    return f"guest of group {found['group']}: served by its profile, not counted in it"


def lookup(folder: Folder, user: User, as_json: JsonFlag = False) -> None:
    """Say which group serves a user."""
    from tacit.groups.service import Groups

    with Groups.open(folder) as groups:
        found = _said(groups.place(user))
    emit(found, as_json=as_json, render=lambda console: console.print(_in_words(found), soft_wrap=True))


def assign(
    folder: Folder,
    profiles: Annotated[
        Path, typer.Argument(help='Newcomers as JSON lines: {"user": …, "terms": {term: weight}}.')
    ],
    as_json: JsonFlag = False,
) -> None:
    """Take in newcomers: guests of the nearest group until they meet the bound as a group of their own."""
    from tacit.groups.reading import read_profiles
    from tacit.groups.service import Groups

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
            f"{result['guests']:,} guests of groups, {result['waiting']:,} near to none",
            soft_wrap=True,
        ),
    )


def move(
    folder: Folder,
    user: User,
    group: Annotated[
        int | None, typer.Option(help="The group to be a guest of (default: the nearest).")
    ] = None,
    as_json: JsonFlag = False,
) -> None:
    """Let a user leave a group and be a guest of another."""
    from tacit.groups.service import Groups

    with Groups.open(folder) as groups:
        found = _said(groups.move(user, group))
        groups.publish()
    emit(found, as_json=as_json, render=lambda console: console.print(_in_words(found), soft_wrap=True))


def remove(folder: Folder, user: User, as_json: JsonFlag = False) -> None:
    """Erase a person: profile and membership, from every file of the folder."""
    from tacit.groups.service import Groups

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
    as_json: JsonFlag = False,
) -> None:
    """Show results in the order of the user's group; as they came for people without one."""
    from tacit.errors import InputError
    from tacit.groups.service import Groups

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


def rebundle(folder: Folder, as_json: JsonFlag = False) -> None:
    """Bundle everybody anew, guests included."""
    from tacit.groups.service import Groups

    with Groups.open(folder) as groups:
        with progress("Bundling", total=len(groups), unit="users") as shown:
            groups.rebundle(shown.advance)
        result = {"users": len(groups), "groups": groups.count_groups()}
    emit(
        result,
        as_json=as_json,
        render=lambda console: console.print(f"{result['users']:,} users in {result['groups']:,} groups"),
    )
