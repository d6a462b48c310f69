"""``tacit pool agent``: what stands beside a person, keeps them in a pool and attaches their region."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import typer

from tacit.commands.options import JsonFlag, Port
from tacit.commands.servers import announcement, listen, run

__all__ = ["agent"]

WithoutRegion = Literal["hold", "general"]


def agent(
    pool: Annotated[str, typer.Option(help="The pool's address.")],
    record: Annotated[Path, typer.Option(help="Your own values: a JSON file with the pool's attributes.")],
    engine: Annotated[
        str | None, typer.Option(help="Pass searches on to this search server, with your region attached.")
    ] = None,
    without: Annotated[
        WithoutRegion, typer.Option(help="While no region guards you: hold queries back, or send d*.")
    ] = "hold",
    wait: Annotated[float, typer.Option(help="Hold a query at most so many seconds.")] = 60.0,
    channel: Annotated[
        str, typer.Option(help="How to reach the pool: direct, socks5://HOST:PORT or ohttp:RELAY_ADDRESS.")
    ] = "direct",
    engine_channel: Annotated[
        str, typer.Option(help="How to reach the search server: direct, socks5://… or ohttp:….")
    ] = "direct",
    keys: Annotated[
        Path | None, typer.Option(help="With ohttp: the gateway's keys, got from elsewhere than the relay.")
    ] = None,
    relay: Annotated[
        str | None, typer.Option(help="Hand your sealed record to this relay, which the pool must name too.")
    ] = None,
    relay_channel: Annotated[
        str, typer.Option(help="How to reach that relay: direct, socks5://… or ohttp:….")
    ] = "direct",
    relay_keys: Annotated[
        Path | None, typer.Option(help="With ohttp: the keys of the gateway before that relay.")
    ] = None,
    issuer: Annotated[
        str | None, typer.Option(help="Who gives you passes, if that relay wants them.")
    ] = None,
    account: Annotated[
        Path | None, typer.Option(help="With --issuer: the file with the secret of your account.")
    ] = None,
    port: Port = 8470,
    as_json: JsonFlag = False,
) -> None:
    """Keep you in a pool, and attach your region to searches, until Ctrl-C.

    Listens on 127.0.0.1 alone. GET /region says what would be sent now; /search (as `tacit engine serve`
    takes it, so that `tacit serve` can ask it) attaches your region and passes the query on. Your record
    leaves only sealed, in the pool's phase of identifying.
    """
    from tacit.pool.agent_service import agent_app, read_record

    secret = _account_secret(issuer, account)
    app = agent_app(
        pool,
        read_record(record),
        engine=engine,
        without=without,
        wait=wait,
        channel=channel,
        engine_channel=engine_channel,
        keys=_content(keys),
        relay=relay,
        relay_channel=relay_channel,
        relay_keys=_content(relay_keys),
        issuer=issuer,
        account=secret,
    )
    server = listen("127.0.0.1", port)
    result = {"pool": pool, "engine": engine, "without": without, "channel": channel, "relay": relay}
    title = f"Agent at {server.address}, for {pool}"
    says = _what_channels_give(channel, None if relay is None else relay_channel)
    run(app, server, announcement(title, server, result, says, as_json))


def _content(path: Path | None) -> bytes | None:
    return None if path is None else path.read_bytes()


def _account_secret(issuer: str | None, account: Path | None) -> str:
    from tacit.errors import ParameterError
    from tacit.pool.secret_file import read_secret

    if (issuer is None) != (account is None):
        raise ParameterError("--issuer and --account belong together.", "Say both, or neither.")
    return "" if account is None else read_secret(account)


def _what_channels_give(pool: str, relay: str | None) -> list[str]:
    from tacit.pool.channel.choice import what_it_gives

    says = [f"pool: {what_it_gives(pool)}"]
    return says if relay is None else [*says, f"relay: {what_it_gives(relay)}"]
