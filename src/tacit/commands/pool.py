"""``tacit pool``: the pool as a service, the parties beside it, an agent beside a person, and the
verifier."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from tacit.commands.options import ForceFlag, Host, JsonFlag, Port
from tacit.commands.servers import announcement, listen, run
from tacit.commands.verbs import Panel
from tacit.terminal import emit

WithoutRegion = Literal["hold", "general"]


def agent(
    pool: Annotated[str, typer.Option(help="The pool's address.")],
    record: Annotated[Path, typer.Option(help="Your own values: a JSON file with the pool's attributes.")],
    engine: Annotated[
        str | None, typer.Option(help="Pass searches on to this search server, with your region attached.")
    ] = None,
    without: Annotated[
        WithoutRegion,
        typer.Option(help="While you have no region: hold queries back, or send them with d*, unprotected."),
    ] = "hold",
    wait: Annotated[float, typer.Option(help="Hold a query back for at most this many seconds.")] = 60.0,
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
        str | None, typer.Option(help="The issuer of your passes, if that relay requires them.")
    ] = None,
    account: Annotated[
        Path | None, typer.Option(help="With --issuer: the file with the secret of your account.")
    ] = None,
    port: Port = 8470,
    as_json: JsonFlag = False,
) -> None:
    """Join a pool and attach your region to searches, until Ctrl-C.

    Listens on 127.0.0.1 alone. GET /region shows what would be sent now; /search (as `tacit engine serve`
    takes it, so that `tacit serve` can ask it) attaches your region and passes the query on. Your record
    leaves only sealed, in the pool's phase of identifying.
    """
    from tacit.pool import Agent

    person = Agent(
        pool,
        record,
        engine=engine,
        without=without,
        wait=wait,
        channel=channel,
        engine_channel=engine_channel,
        keys=keys,
        relay=relay,
        relay_channel=relay_channel,
        relay_keys=relay_keys,
        issuer=issuer,
        account=account,
    )
    result = {"pool": pool, "engine": engine, "without": without, "channel": channel, "relay": relay}
    _run(f"Agent for {pool}", person.app(), "127.0.0.1", port, result, person.channels, as_json)


def relay(
    gateway: Annotated[
        str | None, typer.Option(help="Pass Oblivious HTTP on to this gateway, without addresses.")
    ] = None,
    k: Annotated[
        int | None, typer.Option(help="Keep sealed records, and hand over batches of at least k.")
    ] = None,
    secret: Annotated[
        Path | None,
        typer.Option(help="With --k: the file with the secret the pool must present; created if missing."),
    ] = None,
    issuer: Annotated[
        str | None, typer.Option(help="With --k: take records with a pass of this issuer only.")
    ] = None,
    hold: Annotated[float, typer.Option(help="Keep sealed records for at most this many seconds.")] = 60.0,
    host: Host = "127.0.0.1",
    port: Port = 8462,
    as_json: JsonFlag = False,
) -> None:
    """Relay between people and a pool that somebody else runs, until Ctrl-C. Nothing is logged.

    With --gateway it passes sealed requests on: it sees addresses, and nothing of the content. With --k it
    keeps the sealed records of each group, and gives the pool none before there are k.
    """
    from tacit.pool.server.relay import relay_app

    app = relay_app(gateway, k=k, secret=secret, issuer=issuer, hold=hold)
    says = []
    if gateway is not None:
        says.append(f"passes Oblivious HTTP on to {gateway}; addresses stay here, content stays encrypted")
    if k is not None:
        says.append(
            f"keeps sealed records for {hold:g} s at most and hands over batches of at least {k}; accepts "
            f"the first in {hold:g} s, when what was announced before its start is over"
        )
        who = "anybody, any number of times" if issuer is None else f"whoever has a pass of {issuer}"
        says.append(f"admits {who}")
    result = {"gateway": gateway, "k": k, "hold": hold if k is not None else None, "issuer": issuer}
    _run("Relay", app, host, port, result, says, as_json)


def gateway(
    target: Annotated[str, typer.Option(help="The address that requests are passed on to, without a path.")],
    key: Annotated[
        Path | None,
        typer.Option(help="A file with the gateway's secret key; created if missing. Default: a new key."),
    ] = None,
    write_keys: Annotated[
        Path | None,
        typer.Option(help="Write the public keys to this file, for people to get elsewhere than the relay."),
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 8464,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Open Oblivious HTTP for one server behind it, until Ctrl-C. Nothing is logged.

    It sees what is asked, and the relay's address instead of the person's.
    """
    from tacit.pool.server.relay import gateway_app, gateway_key

    own = gateway_key(key, write_keys, force=force)
    says = [f"opens Oblivious HTTP for {target}; addresses stay with the relay before it"]
    result = {"target": target, "public_key": own.configuration.public_key.hex()}
    _run("Gateway", gateway_app(own, target), host, port, result, says, as_json)


def issuer(
    accounts: Annotated[
        Path, typer.Option(help="The file of accounts: digests of their secrets, a line each.")
    ],
    new: Annotated[
        Path | None, typer.Option(help="Create an account, write its secret to this file, and exit.")
    ] = None,
    every: Annotated[
        float, typer.Option(help="Seconds between two passes of an account; at most a pool's epoch.")
    ] = 45.0,
    host: Host = "127.0.0.1",
    port: Port = 8466,
    as_json: JsonFlag = False,
) -> None:
    """Issue one pass per account and period, so that nobody can pose as k people, until Ctrl-C.

    Passes are blind signatures: the issuer sees who gets one, and never where it is used. Nothing is logged.
    """
    from tacit.pool.channel.secret_files import add_account, read_accounts
    from tacit.pool.protocol.batches import PassIssuer
    from tacit.pool.server.relay import issuer_app

    if new is not None:
        number = add_account(accounts, new)
        result = {"account": str(new), "accounts": number}
        emit(result, as_json=as_json, render=lambda console: _made(console, new, number))
        return
    known = read_accounts(accounts)
    says = [f"gives {len(known):,} accounts a pass every {every:g} s each"]
    found = {"accounts": len(known), "every": every}
    _run("Issuer", issuer_app(PassIssuer(known, every)), host, port, found, says, as_json)


def _made(console: Console, path: Path, number: int) -> None:
    console.print(f"account in {path}; give this file to its person only", markup=False)
    console.print(f"{number:,} account{'' if number == 1 else 's'} in all", markup=False)


def _run(
    name: str, app: Any, host: str, port: int, result: dict[str, Any], says: list[str], as_json: bool
) -> None:
    server = listen(host, port)
    run(app, server, announcement(f"{name} at {server.address}", server, result, says, as_json))


PANEL = Panel.POOL


def register(app: typer.Typer) -> None:
    """Add the group of verbs."""
    group = typer.Typer(
        help="Personal data coarsened until k people online share it.",
        epilog="Example: tacit pool serve --k 30 --window 120",
        no_args_is_help=True,
    )
    engine = "--engine http://127.0.0.1:8480/search"
    for verb, example in (
        (serve, "--template template.toml --k 30 --window 120"),
        (agent, f"--pool http://127.0.0.1:8460 --record me.json {engine}"),
        (relay, "--gateway https://gateway.example/ --k 30 --secret pool.secret"),
        (gateway, "--target http://127.0.0.1:8460"),
        (issuer, "--accounts accounts.txt --new alice.account"),
        (verify, "log.parquet --k 30 --window 50"),
    ):
        name = verb.__name__
        group.command(name, epilog=f"Example: tacit pool {name} {example}")(verb)
    app.add_typer(group, name="pool")


def serve(
    template: Annotated[str, typer.Option(help="The template of records: a TOML file, or adult.")] = "adult",
    k: Annotated[int, typer.Option(help="The least number of people who share a region.")] = 30,
    window: Annotated[
        float, typer.Option(help="w: how far apart in time their queries may lie, in seconds.")
    ] = 120.0,
    overlap: Annotated[float, typer.Option(help="The share of the usable time that is overlap.")] = 0.5,
    count: Annotated[float, typer.Option(help="Length of the counting phase, in seconds.")] = 4.0,
    identify: Annotated[float, typer.Option(help="Length of the identification phase, in seconds.")] = 4.0,
    form: Annotated[float, typer.Option(help="Time to form the next table, in seconds.")] = 2.0,
    skew: Annotated[
        float, typer.Option(help="Twice the delay with which a table may be published, in seconds.")
    ] = 2.0,
    host: Host = "127.0.0.1",
    port: Port = 8460,
    redis: Annotated[
        str | None, typer.Option(help="Keep the epoch in this Redis: redis://HOST:PORT/0.")
    ] = None,
    relay: Annotated[
        str | None, typer.Option(help="Take sealed records only in batches, from this relay.")
    ] = None,
    relay_secret: Annotated[
        Path | None, typer.Option(help="With --relay: the file with the secret that the relay requires.")
    ] = None,
    workers: Annotated[
        int, typer.Option(help="Number of processes; more than one needs --redis.", min=1)
    ] = 1,
    as_json: JsonFlag = False,
) -> None:
    """Serve a pool over HTTP until Ctrl-C. Nothing is logged, and nothing is kept beyond the window.

    The operator's page is at the address itself, the description of the API at /openapi.json.
    """
    from tacit.pool import Pool
    from tacit.pool.server.app import run_workers

    pool = Pool(
        k,
        window,
        template,
        overlap=overlap,
        count=count,
        identify=identify,
        form=form,
        skew=skew,
        redis=redis,
        relay=relay,
        relay_secret=relay_secret,
        workers=workers,
    )
    server = listen(host, port)
    kept = (
        f"kept by {relay}"
        if relay
        else "kept by this pool itself: people must trust you not to open them before k are there"
    )
    says = [
        f"a table is open for {pool.rules.open_length:g} s, the overlap is {pool.rules.overlap_length:g} s; "
        f"people who share a region sent their queries at most {window:g} s apart",
        f"sealed records are {kept}",
    ]
    started = announcement(f"Pool at {server.address}", server, pool.as_dict(), says, as_json)

    def work(then: Callable[[], None] = lambda: None) -> None:
        run(pool.app(), server, then)

    if workers == 1:
        work(started)
        return
    server.socket.listen(2048)
    run_workers(workers, work, started)


def verify(
    log: Annotated[
        Path, typer.Argument(help="A query log with senders, as `tacit simulate --log` writes it.")
    ],
    k: Annotated[int, typer.Option(min=1, help="The least number of people who must match each entry.")] = 30,
    window: Annotated[
        float, typer.Option(min=0, help="How well an attacker knows the time, plus or minus.")
    ] = 50.0,
    as_json: JsonFlag = False,
) -> None:
    """Check Definitions 2 and 3 for every entry of a query log; exit with 1 if somebody is identified."""
    from tacit.pool import verify_log

    verdict = verify_log(log, k, window)

    def render(console: Console) -> None:
        console.print(
            f"{verdict.guarded:,} entries with a region: {verdict.identified:,} fail Definition 2 (sender "
            f"is {k}-identified), {verdict.unequal:,} fail Definition 3"
        )
        console.print(
            f"{verdict.entries - verdict.guarded:,} entries with d*: {verdict.identified_general:,} fail "
            f"Definition 2, {verdict.unequal_general:,} fail Definition 3"
        )

    emit(verdict.as_dict(), as_json=as_json, render=render)
    if not verdict.holds:
        raise typer.Exit(1)
