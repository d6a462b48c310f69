"""``tacit serve``: the private search that people open in a browser."""

from collections import Counter
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from tacit.commands.options import Port
from tacit.commands.servers import listen
from tacit.commands.verbs import Panel, verb
from tacit.errors import ParameterError
from tacit.terminal import emit, speaks_json, stderr

PANEL = Panel.DEVICE


def serve(
    port: Port = 8420,
    profile: Annotated[
        Path | None, typer.Option(help="The profile file; made if there is none. Yours, if none is named.")
    ] = None,
    engine: Annotated[
        list[str] | None,
        typer.Option(
            help="Ask this engine, not the stored ones: embedded, KIND=ADDRESS, or a JSON file. Repeatable."
        ),
    ] = None,
    pool: Annotated[
        Path | None, typer.Option(help="Ask through the pool of this join file, with --record.")
    ] = None,
    record: Annotated[
        Path | None, typer.Option(help="With --pool: your own values, a JSON file with its attributes.")
    ] = None,
    account: Annotated[
        Path | None, typer.Option(help="With --pool: the secret of your account, if it has an issuer.")
    ] = None,
    proxy: Annotated[
        str | None, typer.Option(help="Send all requests through a SOCKS proxy: socks5://127.0.0.1:9050.")
    ] = None,
    released: Annotated[
        list[Path] | None,
        typer.Option(help="Suggest queries of this release too, a folder of `tacit release`. Repeatable."),
    ] = None,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser window.")] = False,
) -> None:
    """Serve a private search page on 127.0.0.1 until Ctrl-C, and print the address that opens it.

    What you read and open stays in one file on this machine and puts results in your order. Engines get the
    query, and at most some topics of your profile, bounded in risk and recorded.
    """
    from tacit.web.engines.catalogue import engine_from_data, parse_engine
    from tacit.web.server import bound_socket, open_browser, profile_place, served_beside
    from tacit.web.server import serve as run
    from tacit.web.site.application import page_application
    from tacit.web.site.site import open_site
    from tacit.web.suggestions import released_queries

    given = [parse_engine(text) for text in engine or ()]
    beside: Any = nullcontext()
    if pool is not None:
        member = _member(pool, record, account, proxy)
        listening = listen("127.0.0.1", 0)
        beside = served_beside(member.app(), listening.socket)
        about = {"kind": "pool", "address": listening.address, "name": f"pool of {member.join.rules.k}"}
        given.append(engine_from_data(about))
    asked: Counter[str] = Counter()
    for folder in released or ():
        asked |= released_queries(folder)
    path = profile_place() if profile is None else profile
    opened = bound_socket("127.0.0.1", port)
    with beside, open_site(path, opened.getsockname()[1], given, proxy, asked) as site:
        address = site.admission.address
        result = {"address": address, "profile": str(path), "engines": [one.name for one in site.engines]}
        said = f"Open this address in your browser:\n  {address}\nYour profile: {path} (stop with Ctrl-C)"

        def started() -> None:
            emit(result, f"Tacit is ready. {said}")
            if not no_browser:
                open_browser(address)

        run(page_application(site), opened, started)


register = verb(serve, "--engine searxng=http://127.0.0.1:8888")


def _member(pool: Path, record: Path | None, account: Path | None, proxy: str | None) -> Any:
    """The person's agent in a pool; who can learn what is said first."""
    import asyncio

    from tacit.commands.pool import meaning_shown
    from tacit.pool.agent import Agent

    if record is None:
        raise ParameterError("`pool` needs your own values.", "Name their file with `record`.")
    member = Agent(pool, record, account=account, patience=25.0, proxy=proxy)
    if not speaks_json():
        for said in meaning_shown(asyncio.run(member.meaning())):
            stderr().print(said, markup=False)
    return member
