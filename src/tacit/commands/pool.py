"""``tacit pool``: the pool as a service, who stands between, an agent beside a person, and the verifier."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.console import Console

from tacit.commands.options import JsonFlag
from tacit.commands.panels import Panel
from tacit.commands.pool_relay import gateway, issuer, relay
from tacit.terminal import emit

__all__ = ["PANEL", "register"]

PANEL = Panel.POOL

WithoutRegion = Literal["hold", "general"]

PortOption = Annotated[int, typer.Option(help="The port to listen on; 0 takes a free one.", min=0, max=65535)]


def register(app: typer.Typer) -> None:
    """Add the group of verbs."""
    group = typer.Typer(
        help="Personal data coarsened until k people online share it.",
        epilog="Example: tacit pool serve --k 30 --window 120",
        no_args_is_help=True,
    )
    group.command("serve", epilog="Example: tacit pool serve --template template.toml --k 30 --window 120")(
        serve
    )
    group.command(
        "agent",
        epilog="Example: tacit pool agent --pool http://127.0.0.1:8460 --record me.json "
        "--engine http://127.0.0.1:8480/search",
    )(agent)
    group.command(
        "relay",
        epilog="Example: tacit pool relay --gateway https://gateway.example/ --k 30 --secret pool.secret",
    )(relay)
    group.command("gateway", epilog="Example: tacit pool gateway --target http://127.0.0.1:8460")(gateway)
    group.command("issuer", epilog="Example: tacit pool issuer --accounts accounts.txt --new alice.account")(
        issuer
    )
    group.command("verify", epilog="Example: tacit pool verify log.parquet --k 30 --window 50")(verify)
    app.add_typer(group, name="pool")


def serve(
    template: Annotated[str, typer.Option(help="The template of records: a TOML file, or adult.")] = "adult",
    k: Annotated[int, typer.Option(help="How many people share a region, at least.")] = 30,
    window: Annotated[float, typer.Option(help="How far apart their queries may lie, in seconds.")] = 120.0,
    overlap: Annotated[float, typer.Option(help="The share of the usable time that is overlap.")] = 0.5,
    count: Annotated[float, typer.Option(help="Seconds to count who is online.")] = 4.0,
    identify: Annotated[float, typer.Option(help="Seconds to take sealed records.")] = 4.0,
    form: Annotated[float, typer.Option(help="Seconds to form the next table.")] = 2.0,
    skew: Annotated[float, typer.Option(help="Twice the seconds by which a table may be late.")] = 2.0,
    margin: Annotated[int, typer.Option(help="Ask groups from k and so many more counts on.")] = 0,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    port: PortOption = 8460,
    redis: Annotated[
        str | None, typer.Option(help="Keep the epoch in this Redis: redis://HOST:PORT/0.")
    ] = None,
    name: Annotated[str, typer.Option(help="The pool's name in Redis.")] = "pool",
    relay: Annotated[
        str | None, typer.Option(help="Take sealed records only in batches, from this relay.")
    ] = None,
    relay_secret: Annotated[
        Path | None, typer.Option(help="With --relay: the file with the secret that it wants to be shown.")
    ] = None,
    workers: Annotated[int, typer.Option(help="So many processes; more than one needs Redis.", min=1)] = 1,
    listeners: Annotated[int, typer.Option(help="How many may follow each worker's broadcast.")] = 20_000,
    requests_at_once: Annotated[int, typer.Option(help="Requests each worker serves at once.")] = 1_000,
    as_json: JsonFlag = False,
) -> None:
    """Serve a pool over HTTP until Ctrl-C. Nothing is logged, and nothing is kept beyond the window.

    The operator's page is at the address itself, the description of the API at /openapi.json.
    """
    from tacit.errors import ParameterError
    from tacit.pool.machine import Pool
    from tacit.pool.protocol import Rules
    from tacit.pool.redis_store import RedisStore
    from tacit.pool.service import pool_app
    from tacit.pool.store import MemoryStore
    from tacit.pool.workers import run_workers
    from tacit.web.serving import bound_socket
    from tacit.web.serving import serve as run

    if workers > 1 and redis is None:
        raise ParameterError(
            "several workers need a Redis that they share.", "Say --redis redis://HOST:PORT/0."
        )
    if (relay is None) != (relay_secret is None):
        raise ParameterError("--relay and --relay-secret belong together.", "Say both, or neither.")
    rules = Rules(k, window, overlap, count, identify, form, skew, margin)
    handover = _handover(relay, relay_secret, rules)
    chosen = _template(template)
    opened = bound_socket(host, port)
    address = f"http://{f'[{host}]' if ':' in host else host}:{opened.getsockname()[1]}"
    result = {
        "address": address,
        "rules": rules.as_dict(),
        "overlap_length": rules.overlap_length,
        "open_length": rules.open_length,
        "template_digest": chosen.digest,
        "workers": workers,
        "relay": relay,
    }

    def render(console: Console) -> None:
        console.print(f"Pool at {address} (stop with Ctrl-C)", markup=False)
        console.print(
            f"a table is open for {rules.open_length:g} s, the overlap is {rules.overlap_length:g} s; people "
            f"who share a region asked at most {rules.window:g} s apart",
            markup=False,
        )
        kept = f"kept by {relay}" if relay else "kept by this pool itself: batches of k rest on your word"
        console.print(f"sealed records are {kept}", markup=False)

    def started() -> None:
        emit(result, as_json=as_json, render=render)

    def work(then: Any = lambda: None) -> None:
        store = MemoryStore() if redis is None else RedisStore(redis, name, 3 * rules.window)
        pool = Pool(rules, chosen, store, relay=handover())
        run(pool_app(pool, listeners=listeners, requests_at_once=requests_at_once), opened, then)

    if workers == 1:
        work(started)
        return
    opened.listen(2048)
    run_workers(workers, work, started)


def _handover(relay: str | None, secret: Path | None, rules: Any) -> Callable[[], Any]:
    """What makes the way to the relay, in each worker anew."""
    from tacit.pool.relay_client import RelayHandover
    from tacit.pool.secret_file import read_secret

    if relay is None or secret is None:
        return lambda: None
    shown = read_secret(secret)
    return lambda: RelayHandover(relay, shown, rules.form)


def _template(name: str) -> Any:
    from tacit.pool.population import adult
    from tacit.pool.template import read_template

    return adult().template if name == "adult" else read_template(name)


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
    port: PortOption = 8470,
    as_json: JsonFlag = False,
) -> None:
    """Keep you in a pool, and attach your region to searches, until Ctrl-C.

    Listens on 127.0.0.1 alone. GET /region says what would be sent now; /search (as `tacit engine serve`
    takes it, so that `tacit serve` can ask it) attaches your region and passes the query on. Your record
    leaves only sealed, in the pool's phase of identifying.
    """
    from tacit.errors import ParameterError
    from tacit.pool.agent_service import agent_app, read_record
    from tacit.pool.channel.choice import what_it_gives
    from tacit.pool.secret_file import read_secret
    from tacit.web.serving import bound_socket
    from tacit.web.serving import serve as run

    if (issuer is None) != (account is None):
        raise ParameterError("--issuer and --account belong together.", "Say both, or neither.")
    values = read_record(record)
    opened = bound_socket("127.0.0.1", port)
    address = f"http://127.0.0.1:{opened.getsockname()[1]}"
    app = agent_app(
        pool,
        values,
        engine=engine,
        without=without,
        wait=wait,
        channel=channel,
        engine_channel=engine_channel,
        keys=None if keys is None else keys.read_bytes(),
        relay=relay,
        relay_channel=relay_channel,
        relay_keys=None if relay_keys is None else relay_keys.read_bytes(),
        issuer=issuer,
        account="" if account is None else read_secret(account),
    )

    def render(console: Console) -> None:
        console.print(f"Agent at {address}, for {pool} (stop with Ctrl-C)", markup=False)
        console.print(f"pool: {what_it_gives(channel)}", markup=False)
        if relay is not None:
            console.print(f"relay: {what_it_gives(relay_channel)}", markup=False)

    result = {
        "address": address,
        "pool": pool,
        "engine": engine,
        "without": without,
        "channel": channel,
        "relay": relay,
    }
    run(app, opened, lambda: emit(result, as_json=as_json, render=render))


def verify(
    log: Annotated[
        Path, typer.Argument(help="A query log with senders, as `tacit simulate --log` writes it.")
    ],
    k: Annotated[int, typer.Option(min=1, help="How many people must match.")] = 30,
    window: Annotated[
        float, typer.Option(min=0, help="How well an attacker knows the time, plus or minus.")
    ] = 50.0,
    as_json: JsonFlag = False,
) -> None:
    """Check Definitions 2 and 3 for every entry of a query log; exit with 1 if somebody is identified."""
    from tacit.pool.query_log import read_audited_log
    from tacit.pool.verification import verify_log

    verdict = verify_log(read_audited_log(log), k, window)
    result = verdict.as_dict()

    def render(console: Console) -> None:
        console.print(
            f"{verdict.guarded:,} entries with a region: {verdict.identified:,} fail Definition 2 (sender "
            f"is {k}-identified), {verdict.unequal:,} fail Definition 3"
        )
        console.print(
            f"{verdict.entries - verdict.guarded:,} entries with d*: {verdict.identified_general:,} fail "
            f"Definition 2, {verdict.unequal_general:,} fail Definition 3"
        )

    emit(result, as_json=as_json, render=render)
    if not verdict.holds:
        raise typer.Exit(1)
