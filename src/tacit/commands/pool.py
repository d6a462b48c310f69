"""``tacit pool``: the join file, the parties that it names, and an agent beside a person."""

import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, Literal

import typer
from rich.table import Table

from tacit.commands.options import ForceFlag, Host, Port
from tacit.commands.servers import listen, run
from tacit.commands.verbs import Panel, verb, verb_group
from tacit.errors import ParameterError
from tacit.terminal import emit, speaks_json, table

JoinPath = Annotated[
    Path, typer.Argument(metavar="JOIN", help="The join file of the pool.", show_default=False)
]
Secret = Annotated[Path, typer.Option(help="The file with this party's identity.")]
Workers = Annotated[int, typer.Option(help="Number of processes.", min=1)]
PANEL = Panel.POOL


def create(
    path: Annotated[Path, typer.Argument(metavar="JOIN", help="The join file to write.")],
    k: Annotated[int, typer.Option(min=2)] = 30,
    window: Annotated[float, typer.Option(min=1)] = 120.0,
    period: float = 0.0,
    people: Annotated[int, typer.Option(min=1)] = 2000,
    users: str = "adult",
    template: Path | None = None,
    relay: str = "http://127.0.0.1:8462",
    pool: str = "http://127.0.0.1:8460",
    gateway: str = "http://127.0.0.1:8464",
    issuer: str | None = None,
    keys: str | None = None,
    direct: str | None = None,
    proof: Annotated[bool, typer.Option("--proof")] = False,
    gateway_identity: str | None = None,
    issuer_identity: str | None = None,
    secret: Path | None = None,
    force: ForceFlag = False,
) -> None:
    """Write the one file that everybody needs: addresses, identities, k, w and the tree, signed.

    At least k people must ask within w, or no query goes out at all: `tacit simulate` shows what a choice
    gives. Each party should make its own identity (`tacit pool identity`) and send its public half; those not
    given are made here, for a pool on one machine.
    """
    options = locals()
    from tacit.pool.channel.join import create_pool
    from tacit.pool.protocol.population import read_population

    made, records = create_pool(**options), read_population(users, template).records
    fewest = min(made.tree.counts(records).values())
    result = _made(path, made) | {"fewest_in_a_leaf": fewest, "public_records": len(records)}
    says = [
        f"{path}: give it to everybody; its identity {made.identities['pool'][:16]}… signed it",
        f"{result['leaves']:,} leaves; the smallest holds {fewest:,} of {len(records):,} public records",
        f"queries go out only while {k} people or more ask within {window:g} s: with fewer, none does",
    ]
    if issuer is None:
        says.append("no issuer: anybody can pose as any number of people")
    emit(result, *says)


def merge(join: JoinPath, secret: Secret = Path("pool.secret")) -> None:
    """Merge leaves of the tree that fewer than 2 k people a day use, as `tacit pool serve` counted them.

    A leaf is what whoever sees leaves learns of a person. The join file is signed anew: give it to everybody,
    and start the parties again. Devices accept it, since a merge cuts nothing anew.
    """
    from tacit.pool.channel.join import JoinFile
    from tacit.pool.server.pool import merge_small_leaves

    before = len(JoinFile.read(join).tree.leaves)
    made = merge_small_leaves(join, secret)
    result = _made(join, made) | {"leaves_before": before}
    said = f"{before:,} leaves before, {len(made.tree.leaves):,} now"
    emit(result, f"{said}; each was used by at least {2 * made.rules.k} people a day")


def _made(path: Path, made: Any) -> dict[str, Any]:
    rules, leaves = made.rules, len(made.tree.leaves)
    said = {"join": str(path), "digest": made.digest, "k": rules.k, "window": rules.window}
    return said | {"period": rules.period, "leaves": leaves, "identities": dict(made.identities)}


def identity(
    secret: Annotated[Path, typer.Argument(help="The file with the secret half; made if there is none.")],
) -> None:
    """Make a party's identity, or show it: the public half goes into the join file."""
    from tacit.pool.channel.join import Identity

    public = Identity.kept(secret, make=True).public
    emit({"identity": public}, public)


def relay(join: JoinPath, host: Host = "127.0.0.1", port: Port = 8462, workers: Workers = 1) -> None:
    """Relay between people and a pool that somebody else runs, until Ctrl-C. Nothing is logged.

    It sees addresses and nothing of the content, and gives everybody the same copy of the parties' keys. Any
    other relay of Oblivious HTTP (RFC 9458) will do as well.
    """
    from tacit.pool.channel.join import JoinFile
    from tacit.pool.server.relay import relay_app

    found = JoinFile.read(join)
    says = [
        f"passes sealed requests on to {found.pool}; addresses stay here, content stays encrypted",
        "whoever runs it must not run the pool or the service",
    ]
    with tempfile.TemporaryDirectory(prefix="tacit-relay-") as folder:
        make = lambda: relay_app(found, folder=Path(folder))  # noqa: E731
        run(make, listen(host, port), "Relay at {}", {"pool": found.pool}, says, workers)


def serve(
    join: JoinPath,
    secret: Secret = Path("pool.secret"),
    host: Host = "127.0.0.1",
    port: Port = 8460,
    redis: Annotated[
        str | None, typer.Option(help="Share the pool among workers through this Redis: redis://HOST:PORT/0.")
    ] = None,
    workers: Workers = 1,
) -> None:
    """Serve a pool until Ctrl-C. It sees leaves and tokens, no address and no text; nothing is logged.

    Several workers need a Redis that keeps nothing on disk. The description of the API is at /openapi.json.
    """
    from tacit.pool.server.pool import Pool

    if workers > 1 and redis is None:
        remedy = "Give `redis=redis://HOST:PORT/0`."
        raise ParameterError(f"{workers} workers need a Redis that they share.", remedy)
    pool = Pool(join, secret, redis=redis)
    rules = pool.join.rules
    result = {"k": rules.k, "window": rules.window, "period": rules.period, "workers": workers}
    says = [
        f"a query goes out only when {rules.k} people who share its region asked within {rules.window:g} s",
        f"texts go on sealed to {pool.join.gateway}",
    ]
    run(pool.app, listen(host, port), "Pool at {}", result, says, workers)


def gateway(
    join: JoinPath,
    engine: Annotated[str, typer.Option(help="The address of the engine's search.")],
    secret: Secret = Path("gateway.secret"),
    host: Host = "127.0.0.1",
    port: Port = 8464,
    workers: Workers = 1,
) -> None:
    """Open texts for the service behind it, until Ctrl-C. It sees text and region, no address and no token.

    A batch of the pool is logged whole or not at all. Nothing is written down here.
    """
    from tacit.pool.channel.join import Identity, JoinFile
    from tacit.pool.server.gateway import Gateway, SharedState

    found, own = JoinFile.read(join), Identity.kept(secret)
    says = [f"asks {engine} with a query and the region that k people share, in words"]
    Gateway(found, own, engine)  # what is wrong with them is said before anything listens
    with tempfile.TemporaryDirectory(prefix="tacit-gateway-") as folder:
        shared = SharedState(Path(folder), found.rules.window)
        state = shared if workers > 1 else None
        make = lambda: Gateway(found, own, engine, state=state).app()  # noqa: E731
        run(make, listen(host, port), "Gateway at {}", {"engine": engine}, says, workers, [shared.hold])


def issuer(
    join: JoinPath,
    accounts: Annotated[Path, typer.Option(help="The issuer's file of accounts and keys; made if missing.")],
    secret: Secret = Path("issuer.secret"),
    new: Annotated[
        Path | None, typer.Option(help="Create an account, write its secret to this file, and exit.")
    ] = None,
    host: Host = "127.0.0.1",
    port: Port = 8466,
    workers: Workers = 1,
) -> None:
    """Give each account one token a period, so that nobody can pose as k people, until Ctrl-C.

    Tokens are blind signatures (RFC 9578): the issuer sees who gets them, and never where they are used.
    """
    from tacit.pool.channel.join import Identity, JoinFile
    from tacit.pool.server.issuer import Issuer, IssuerFile

    found, own, file = JoinFile.read(join), Identity.kept(secret), IssuerFile(accounts)
    if new is not None:
        number = file.new_account(new)
        said = f"account in {new}, for its person only; {number:,} account{'' if number == 1 else 's'} in all"
        emit({"account": str(new), "accounts": number}, said)
        return
    made = Issuer(found, own, file)
    says = [f"gives {file.accounts:,} accounts one token each for every {found.rules.period:g} s"]
    result = {"accounts": file.accounts, "period": found.rules.period, "keys_ahead": made.ahead}
    run(made.app, listen(host, port), "Issuer at {}", result, says, workers)


def join(
    join: JoinPath,
    record: Annotated[Path, typer.Option(help="Your own values: a JSON file with the pool's attributes.")],
    account: Path | None = None,
    k: int | None = None,
    window: float | None = None,
    patience: float = 60.0,
    delay: Annotated[float, typer.Option(min=0)] = 1.0,
    otherwise: Literal["hold", "direct"] = "hold",
    proxy: str | None = None,
    memory: Path | None = None,
    show: Annotated[bool, typer.Option("--show", help="Show what joining means, and exit.")] = False,
    port: Port = 8470,
) -> None:
    """Show who can learn what in a pool, join it, and ask through it until Ctrl-C.

    Listens on 127.0.0.1 alone; /search takes what `tacit engine serve` takes, so that `tacit serve` can ask
    it. Of your record only the number of a leaf of the public tree leaves this device. Refuses a pool whose k
    has fallen or whose w has grown.
    """
    options = {name: value for name, value in locals().items() if name not in ("show", "port")}
    import asyncio

    from tacit.pool.agent import Agent

    person = Agent(**options)
    result = asyncio.run(person.meaning())
    if show or not speaks_json():
        emit(result, *meaning_shown(result))
    if show:
        return
    where = "from your own address" if otherwise == "direct" else "and never directly"
    says = [f"/search asks through the pool; what is not shared in {patience:g} s: {otherwise}, {where}"]
    run(person.app, listen("127.0.0.1", port), "Agent at {}", result, says)


def meaning_shown(result: dict[str, Any]) -> Iterator[str | Table]:
    """Show what joining a pool means, as :meth:`tacit.Agent.meaning` says it."""
    k, window, now = result["k"], result["window"], result["now"]
    yield f"A query goes out only under a region that {k} people asked under within {window:g} s."
    if "trouble" in now:
        yield f"now: unknown; {now['trouble']}"
    elif now["people"] < k:
        yield f"now: fewer than {k} people ask; your queries will wait"
    else:
        yield f"now: at least {now['people']:,} people asked within {window:g} s"
    leaf = ", ".join(f"{name}: {said}" for name, said in result["leaf"].items()) or "anybody"
    yield f"all that the pool learns of your record: {leaf}\n"
    rows = [(name, *said.values()) for name, said in result["parties"].items()]
    yield table(("who", "at", "learns", "never"), rows)
    yield ""
    yield from (f"{name}, together: {said}" for name, said in result["together"].items())
    yield "pool and service as one party: only your leaf protects you"
    if "issuer" not in result["parties"]:
        yield "no issuer: somebody can pose as any number of the people around you"
    if result["proof"]:
        yield f"proof: with each answer the pool shows signatures of {k} accounts that asked. So others in"
        yield "your region see a key of yours for one period, and when it asked; no leaf, text or address."
        yield "A service with an account there can tell which texts of a period come from one person"
    else:
        yield f"no proof: that the pool counts {k} people honestly is believed"
    yield ""


register = verb_group(
    "pool",
    "Personal data coarsened until k people who ask share it.",
    [
        verb(
            create,
            "pool.join --k 30 --window 120 --people 2000 --relay https://relay.example",
            by="tacit.pool.channel.join:create_pool",
        ),
        verb(merge, "pool.join --secret pool.secret"),
        verb(identity, "gateway.secret"),
        verb(relay, "pool.join --port 8462"),
        verb(serve, "pool.join --secret pool.secret"),
        verb(gateway, "pool.join --secret gateway.secret --engine http://127.0.0.1:8480/search"),
        verb(issuer, "pool.join --secret issuer.secret --accounts accounts.db --new alice.account"),
        verb(join, "pool.join --record me.json", by="tacit:Agent"),
    ],
)
