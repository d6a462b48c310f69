"""``tacit pool``: the pool as a service, who stands between, an agent beside a person, and the verifier."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tacit.commands.options import Host, JsonFlag, Port
from tacit.commands.panels import Panel
from tacit.commands.pool_agent import agent
from tacit.commands.pool_relay import gateway, issuer, relay
from tacit.commands.servers import announcement, listen, run
from tacit.terminal import emit

__all__ = ["PANEL", "register"]

PANEL = Panel.POOL


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
    host: Host = "127.0.0.1",
    port: Port = 8460,
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
    from tacit.pool.machine import Pool
    from tacit.pool.protocol import Rules
    from tacit.pool.redis_store import RedisStore
    from tacit.pool.service import pool_app
    from tacit.pool.store import MemoryStore
    from tacit.pool.workers import run_workers

    _refuse_half_given(workers, redis, relay, relay_secret)
    rules = Rules(k, window, overlap, count, identify, form, skew, margin)
    handover = _handover(relay, relay_secret, rules)
    chosen = _template(template)
    server = listen(host, port)
    result = {
        "rules": rules.as_dict(),
        "overlap_length": rules.overlap_length,
        "open_length": rules.open_length,
        "template_digest": chosen.digest,
        "workers": workers,
        "relay": relay,
    }
    started = announcement(f"Pool at {server.address}", server, result, _what_is_kept(rules, relay), as_json)

    def work(then: Callable[[], None] = lambda: None) -> None:
        store = MemoryStore() if redis is None else RedisStore(redis, name, 3 * rules.window)
        pool = Pool(rules, chosen, store, relay=handover())
        run(pool_app(pool, listeners=listeners, requests_at_once=requests_at_once), server, then)

    if workers == 1:
        work(started)
        return
    server.socket.listen(2048)
    run_workers(workers, work, started)


def _refuse_half_given(workers: int, redis: str | None, relay: str | None, relay_secret: Path | None) -> None:
    from tacit.errors import ParameterError

    if workers > 1 and redis is None:
        raise ParameterError(
            "several workers need a Redis that they share.", "Say --redis redis://HOST:PORT/0."
        )
    if (relay is None) != (relay_secret is None):
        raise ParameterError("--relay and --relay-secret belong together.", "Say both, or neither.")


def _what_is_kept(rules: Any, relay: str | None) -> list[str]:
    kept = f"kept by {relay}" if relay else "kept by this pool itself: batches of k rest on your word"
    return [
        f"a table is open for {rules.open_length:g} s, the overlap is {rules.overlap_length:g} s; people "
        f"who share a region asked at most {rules.window:g} s apart",
        f"sealed records are {kept}",
    ]


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
