"""``tacit pool relay``, ``gateway`` and ``issuer``: the parties beside a pool."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console

from tacit.commands.options import ForceFlag, Host, JsonFlag, Port
from tacit.commands.servers import announcement, listen, run
from tacit.terminal import emit

__all__ = ["gateway", "issuer", "relay"]


def relay(
    gateway: Annotated[
        str | None, typer.Option(help="Pass Oblivious HTTP on to this gateway, without addresses.")
    ] = None,
    k: Annotated[
        int | None, typer.Option(help="Keep sealed records, and hand over batches of at least so many.")
    ] = None,
    secret: Annotated[
        Path | None,
        typer.Option(help="With --k: a file with what the pool must show; made if it is not there."),
    ] = None,
    issuer: Annotated[
        str | None, typer.Option(help="With --k: take records with a pass of this issuer only.")
    ] = None,
    hold: Annotated[float, typer.Option(help="Keep sealed records for at most so many seconds.")] = 60.0,
    host: Host = "127.0.0.1",
    port: Port = 8462,
    as_json: JsonFlag = False,
) -> None:
    """Stand between people and a pool that somebody else runs, until Ctrl-C. Nothing is logged.

    With --gateway it passes sealed requests on: it sees addresses, and nothing of the content. With --k it
    keeps the sealed records of each group, and gives the pool none before k are there.
    """
    from tacit.errors import ParameterError
    from tacit.pool.batches import BatchKeeper
    from tacit.pool.channel.batch_routes import batch_routes
    from tacit.pool.channel.relay import relay_app
    from tacit.pool.pass_client import PassGate
    from tacit.pool.secret_file import kept_secret

    if gateway is None and k is None:
        raise ParameterError(
            "a relay needs something to do.",
            "Say --gateway to pass Oblivious HTTP on, --k to keep sealed records, or both.",
        )
    if (k is None) != (secret is None):
        raise ParameterError("--k and --secret belong together.", "Say both, or neither.")
    routes: list[Any] = []
    if k is not None and secret is not None:
        gate = None if issuer is None else PassGate(issuer)
        keeper = BatchKeeper(k, time.monotonic(), hold=hold)
        routes = batch_routes(keeper, kept_secret(secret), gate=gate)
    says = []
    if gateway is not None:
        says.append(f"passes Oblivious HTTP on to {gateway}; addresses stay here, content stays sealed")
    if k is not None:
        says.append(
            f"keeps sealed records for {hold:g} s at most and hands over batches of at least {k}; takes the "
            f"first in {hold:g} s, when whatever was announced before it began is over"
        )
        who = "anybody, as often as they like" if issuer is None else f"whoever has a pass of {issuer}"
        says.append(f"admits {who}")
    result = {"gateway": gateway, "k": k, "hold": hold if k is not None else None, "issuer": issuer}
    _run("Relay", relay_app(gateway, batches=routes), host, port, result, says, as_json)


def gateway(
    target: Annotated[str, typer.Option(help="The address that requests are passed on to, without a path.")],
    key: Annotated[
        Path | None,
        typer.Option(
            help="A file with the gateway's secret key; made if it is not there. Default: a new key."
        ),
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
    from tacit.files import atomic_file, check_output
    from tacit.pool.channel.gateway import gateway_app
    from tacit.pool.channel.oblivious import GatewayKey
    from tacit.pool.secret_file import kept_secret

    own = GatewayKey(None if key is None else bytes.fromhex(kept_secret(key)))
    if write_keys is not None:
        public = own.configurations()
        if not (write_keys.is_file() and write_keys.read_bytes() == public):  # the same at every start
            check_output(write_keys, force=force, inputs=[] if key is None else [key])
            with atomic_file(write_keys) as temporary:
                temporary.write_bytes(public)
    says = [f"opens Oblivious HTTP for {target}; addresses stay with the relay before it"]
    result = {"target": target, "public_key": own.configuration.public_key.hex()}
    _run("Gateway", gateway_app(own, target), host, port, result, says, as_json)


def issuer(
    accounts: Annotated[
        Path, typer.Option(help="The file of accounts: digests of their secrets, a line each.")
    ],
    new: Annotated[
        Path | None, typer.Option(help="Make an account, write its secret to this file, and end.")
    ] = None,
    every: Annotated[
        float, typer.Option(help="Give each account a pass every so many seconds; at most a pool's epoch.")
    ] = 45.0,
    host: Host = "127.0.0.1",
    port: Port = 8466,
    as_json: JsonFlag = False,
) -> None:
    """Give each account one pass a period, so that nobody can be k people at a relay, until Ctrl-C.

    Passes are blind signatures: it sees who gets one, and never what it is used for. Nothing is logged.
    """
    from tacit.errors import InputError
    from tacit.pool.account_file import add_account, read_accounts
    from tacit.pool.admission import PassIssuer
    from tacit.pool.channel.issuer_routes import issuer_app

    if new is not None:
        number = add_account(accounts, new)
        result = {"account": str(new), "accounts": number}
        emit(result, as_json=as_json, render=lambda console: _made(console, new, number))
        return
    known = read_accounts(accounts)
    if not known:
        raise InputError(f"{accounts} holds no account.", "Make one: say --new FILE.")
    says = [f"gives {len(known):,} accounts a pass every {every:g} s each"]
    found = {"accounts": len(known), "every": every}
    _run("Issuer", issuer_app(PassIssuer(known, every)), host, port, found, says, as_json)


def _made(console: Console, path: Path, number: int) -> None:
    console.print(f"account in {path}; hand it to its person, and to nobody else", markup=False)
    console.print(f"{number:,} account{'' if number == 1 else 's'} in all", markup=False)


def _run(
    name: str, app: Any, host: str, port: int, result: dict[str, Any], says: list[str], as_json: bool
) -> None:
    server = listen(host, port)
    run(app, server, announcement(f"{name} at {server.address}", server, result, says, as_json))
