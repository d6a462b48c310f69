"""``tacit pool``: the join file, the parties that it names, an agent beside a person, and the verifier."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer
from rich.console import Console
from rich.table import Table

from tacit.commands.options import ForceFlag, Host, JsonFlag, Port
from tacit.commands.servers import announcement, listen, run
from tacit.commands.verbs import Panel
from tacit.terminal import emit

if TYPE_CHECKING:
    from tacit.pool.channel.join import JoinFile

JoinPath = Annotated[
    Path, typer.Argument(metavar="JOIN", help="The join file of the pool.", show_default=False)
]
Secret = Annotated[Path, typer.Option(help="The file with this party's identity.")]
Workers = Annotated[int, typer.Option(help="Number of processes.", min=1)]
OtherwiseName = Literal["hold", "direct"]
"""As :data:`tacit.pool.agent.agent.Otherwise`, which takes long to load."""
PANEL = Panel.POOL


def register(app: typer.Typer) -> None:
    """Add the group of verbs."""
    group = typer.Typer(
        help="Personal data coarsened until k people who ask share it.",
        epilog="Example: tacit pool create pool.join --k 30 --window 120",
        no_args_is_help=True,
    )
    for verb, example in (
        (create, "pool.join --k 30 --window 120 --people 2000 --relay https://relay.example"),
        (identity, "gateway.secret"),
        (relay, "pool.join --port 8462"),
        (serve, "pool.join --secret pool.secret"),
        (gateway, "pool.join --secret gateway.secret --engine http://127.0.0.1:8480/search"),
        (issuer, "pool.join --secret issuer.secret --accounts accounts.db --new alice.account"),
        (join, "pool.join --record me.json"),
        (verify, "log.parquet --k 30 --window 50"),
    ):
        name = verb.__name__
        group.command(name, epilog=f"Example: tacit pool {name} {example}")(verb)
    app.add_typer(group, name="pool")


def create(
    output: Annotated[Path, typer.Argument(metavar="JOIN", help="The join file to write.")],
    k: Annotated[int, typer.Option(help="How many people must share the region of a query.", min=2)] = 30,
    window: Annotated[
        float, typer.Option(help="w: within how many seconds they must have asked.", min=1)
    ] = 120.0,
    period: Annotated[
        float, typer.Option(help="Seconds for which the pool can link one token's queries; 0: four windows.")
    ] = 0.0,
    people: Annotated[
        int, typer.Option(help="How many people ask within a window; the tree is made for them.", min=1)
    ] = 2000,
    users: Annotated[
        str, typer.Option(help="Public records to cut the tree from: a CSV or Parquet file, or adult.")
    ] = "adult",
    template: Annotated[
        Path | None, typer.Option(help="The template of records (TOML), beside --users.")
    ] = None,
    relay: Annotated[str, typer.Option(help="The relay's address.")] = "http://127.0.0.1:8462",
    pool: Annotated[str, typer.Option(help="The pool's address.")] = "http://127.0.0.1:8460",
    gateway: Annotated[
        str, typer.Option(help="The address of the service's gateway.")
    ] = "http://127.0.0.1:8464",
    issuer: Annotated[
        str | None, typer.Option(help="The issuer's address; without one anybody can pose as k people.")
    ] = None,
    keys: Annotated[
        str | None, typer.Option(help="Where the one copy of all keys is, if not at RELAY/keys.")
    ] = None,
    direct: Annotated[
        str | None, typer.Option(help="The engine's own address, for people who say --otherwise direct.")
    ] = None,
    gateway_identity: Annotated[
        str | None, typer.Option(help="The gateway's public identity; made in gateway.secret unless given.")
    ] = None,
    issuer_identity: Annotated[
        str | None, typer.Option(help="The issuer's public identity; made in issuer.secret unless given.")
    ] = None,
    secret: Annotated[
        Path | None, typer.Option(help="The pool's identity; made in pool.secret unless given.")
    ] = None,
    force: ForceFlag = False,
    as_json: JsonFlag = False,
) -> None:
    """Write the one file that everybody needs: addresses, identities, k, w and the tree, signed.

    At least k people must ask within w, or no query goes out at all: `tacit simulate` shows what a choice
    gives. Each party should make its own identity (`tacit pool identity`) and send its public half; those not
    given are made here, for a pool on one machine.
    """
    from tacit.files import check_output
    from tacit.pool.channel.join import Identity, JoinFile
    from tacit.pool.protocol.counting import Rules
    from tacit.pool.protocol.tree import grow_tree
    from tacit.pool.simulation.population import read_population

    check_output(output, force=force)
    population = read_population(users, template)
    before = JoinFile.read(output).tree if output.exists() else None  # devices refuse a tree cut anew
    if before is not None and before.template.digest != population.template.digest:
        before = None
    tree = grow_tree(population.records, population.template, k, people, before)
    signing = Identity.kept(secret or output.with_name("pool.secret"), make=True)

    def public(given: str | None, name: str) -> str:
        return given or Identity.kept(output.with_name(f"{name}.secret"), make=True).public

    identities = {"pool": signing.public, "gateway": public(gateway_identity, "gateway")}
    if issuer is not None:
        identities["issuer"] = public(issuer_identity, "issuer")
    made = JoinFile(
        Rules(k, window, period),
        tree,
        people,
        relay,
        pool,
        gateway,
        identities,
        issuer,
        keys or "",
        direct,
    )
    made.write(output, signing, force=force)
    fewest = min(tree.counts(population.records).values())
    result = {
        "join": str(output),
        "digest": made.digest,
        "k": k,
        "window": window,
        "period": made.rules.period,
        "leaves": len(tree.leaves),
        "fewest_in_a_leaf": fewest,
        "public_records": len(population.records),
        "identities": identities,
    }

    def render(console: Console) -> None:
        console.print(f"{output}: give it to everybody; its identity {signing.public[:16]}… signed it")
        console.print(
            f"{len(tree.leaves):,} leaves; the smallest holds {fewest:,} of {len(population.records):,} "
            f"public records"
        )
        console.print(
            f"queries go out only while {k} people or more ask within {window:g} s: with fewer, none does"
        )
        if issuer is None:
            console.print("no issuer: anybody can pose as any number of people")

    emit(result, as_json=as_json, render=render)


def identity(
    secret: Annotated[Path, typer.Argument(help="The file with the secret half; made if there is none.")],
    as_json: JsonFlag = False,
) -> None:
    """Make a party's identity, or show it: the public half goes into the join file."""
    from tacit.pool.channel.join import Identity

    public = Identity.kept(secret, make=True).public
    emit({"identity": public}, as_json=as_json, render=lambda console: console.print(public))


def relay(
    join: JoinPath,
    host: Host = "127.0.0.1",
    port: Port = 8462,
    workers: Workers = 1,
    as_json: JsonFlag = False,
) -> None:
    """Relay between people and a pool that somebody else runs, until Ctrl-C. Nothing is logged.

    It sees addresses and nothing of the content, and gives everybody the same copy of the parties' keys. Any
    other relay of Oblivious HTTP (RFC 9458) will do as well.
    """
    import tempfile

    from tacit.pool.server.relay import relay_app

    found = _read(join)
    says = [
        f"passes sealed requests on to {found.pool}; addresses stay here, content stays encrypted",
        "whoever runs it must not run the pool or the service",
    ]
    with tempfile.TemporaryDirectory(prefix="tacit-relay-") as folder:
        _run(
            "Relay",
            lambda: relay_app(found, folder=Path(folder)),
            (host, port, workers),
            {"pool": found.pool},
            says,
            as_json,
        )


def serve(
    join: JoinPath,
    secret: Secret = Path("pool.secret"),
    host: Host = "127.0.0.1",
    port: Port = 8460,
    redis: Annotated[
        str | None, typer.Option(help="Share the pool among workers through this Redis: redis://HOST:PORT/0.")
    ] = None,
    workers: Workers = 1,
    as_json: JsonFlag = False,
) -> None:
    """Serve a pool until Ctrl-C. It sees leaves and tokens, no address and no text; nothing is logged.

    Several workers need a Redis that keeps nothing on disk. The description of the API is at /openapi.json.
    """
    from tacit.errors import ParameterError
    from tacit.pool import Pool

    if workers > 1 and redis is None:
        raise ParameterError(
            f"{workers} workers need a Redis that they share.", "Give `redis=redis://HOST:PORT/0`."
        )
    pool = Pool(join, secret, redis=redis)
    rules = pool.join.rules
    result = {"k": rules.k, "window": rules.window, "period": rules.period, "workers": workers}
    says = [
        f"a query goes out when {rules.k} people who share its region asked within {rules.window:g} s; with "
        "fewer, none does",
        f"texts go on sealed to {pool.join.gateway}",
    ]
    _run("Pool", pool.app, (host, port, workers), result, says, as_json)


def gateway(
    join: JoinPath,
    engine: Annotated[str, typer.Option(help="The address of the engine's search.")],
    secret: Secret = Path("gateway.secret"),
    host: Host = "127.0.0.1",
    port: Port = 8464,
    workers: Workers = 1,
    as_json: JsonFlag = False,
) -> None:
    """Open texts for the service behind it, until Ctrl-C. It sees text and region, no address and no token.

    A batch of the pool is logged whole or not at all. Nothing is written down here.
    """
    from tacit.pool.channel.join import Identity
    from tacit.pool.server.gateway import Gateway, GatewayState, shared_state

    def nothing() -> None:
        pass

    found, own = _read(join), Identity.kept(secret)
    state, end = (GatewayState(), nothing) if workers == 1 else shared_state()
    says = [f"asks {engine} with a query and the region that k people share, in words"]
    Gateway(found, own, engine, state=state)  # what is wrong with them is said before anything listens
    try:
        _run(
            "Gateway",
            lambda: Gateway(found, own, engine, state=state).app(),
            (host, port, workers),
            {"engine": engine},
            says,
            as_json,
        )
    finally:
        end()


def issuer(
    join: JoinPath,
    accounts: Annotated[Path, typer.Option(help="The issuer's file of accounts and keys; made if missing.")],
    secret: Secret = Path("issuer.secret"),
    new: Annotated[
        Path | None, typer.Option(help="Create an account, write its secret to this file, and exit.")
    ] = None,
    ahead: Annotated[
        float, typer.Option(help="How many days of tokens a person can fetch at once.", min=0)
    ] = 2.0,
    host: Host = "127.0.0.1",
    port: Port = 8466,
    workers: Workers = 1,
    as_json: JsonFlag = False,
) -> None:
    """Give each account one token a period, so that nobody can pose as k people, until Ctrl-C.

    Tokens are blind signatures (RFC 9578): the issuer sees who gets them, and never where they are used.
    """
    from tacit.errors import InputError
    from tacit.pool.channel.join import Identity, read_secret
    from tacit.pool.server.front import KeyRing
    from tacit.pool.server.issuer import Issuer, IssuerFile

    found, own, file = _read(join), Identity.kept(secret), IssuerFile(accounts)
    if new is not None:
        if new.exists():
            raise InputError(f"{new} exists already.", "Name a new file for the account's secret.")
        Identity.kept(new, make=True)
        number = file.add_account(read_secret(new))
        said = f"account in {new}, for its person only; {number:,} account{'' if number == 1 else 's'} in all"
        result = {"account": str(new), "accounts": number}
        emit(result, as_json=as_json, render=lambda console: console.print(said, markup=False))
        return
    ring = KeyRing()
    made = Issuer(found, own, file, ring=ring, ahead=ahead * 86_400)
    says = [f"gives {file.accounts:,} accounts one token each for every {found.rules.period:g} s"]
    result = {"accounts": file.accounts, "period": found.rules.period, "keys_ahead": made.ahead}
    _run("Issuer", made.app, (host, port, workers), result, says, as_json)


def join(
    join: JoinPath,
    record: Annotated[Path, typer.Option(help="Your own values: a JSON file with the pool's attributes.")],
    account: Annotated[
        Path | None, typer.Option(help="The file with the secret of your account, if the pool has an issuer.")
    ] = None,
    k: Annotated[
        int | None, typer.Option(help="The least k you accept. Default: what was promised before.")
    ] = None,
    window: Annotated[
        float | None, typer.Option(help="The longest w you accept, in seconds. Default: likewise.")
    ] = None,
    patience: Annotated[float, typer.Option(help="For how many seconds a query waits for k people.")] = 60.0,
    delay: Annotated[
        float, typer.Option(help="Send after a random time of at most so many seconds.", min=0)
    ] = 1.0,
    otherwise: Annotated[
        OtherwiseName,
        typer.Option(
            help="A query that k people did not share in time: hold it, or ask the engine directly."
        ),
    ] = "hold",
    proxy: Annotated[
        str | None, typer.Option(help="Reach the relay through this SOCKS proxy: socks5://HOST:PORT.")
    ] = None,
    memory: Annotated[
        Path | None, typer.Option(help="Where the device remembers this pool. Default: your data folder.")
    ] = None,
    show: Annotated[bool, typer.Option("--show", help="Show what joining means, and exit.")] = False,
    port: Port = 8470,
    as_json: JsonFlag = False,
) -> None:
    """Show who can learn what in a pool, join it, and ask through it until Ctrl-C.

    Listens on 127.0.0.1 alone; /search takes what `tacit engine serve` takes, so that `tacit serve` can ask
    it. Of your record only the number of a leaf of the public tree leaves this device. Refuses a pool whose k
    has fallen or whose w has grown.
    """
    from tacit.pool import Agent

    found = checked_join(join)
    person = Agent(
        found,
        record,
        account=account,
        patience=patience,
        delay=delay,
        otherwise=otherwise,
        k=k,
        window=window,
        memory=memory,
        proxy=proxy,
    )
    result = join_meaning(person)
    if show:
        emit(result, as_json=as_json, render=lambda console: show_meaning(console, found, result))
        return
    if not as_json:
        show_meaning(Console(), found, result)
    where = "from your own address" if otherwise == "direct" else "and never directly"
    says = [f"/search asks through the pool; what is not shared in {patience:g} s: {otherwise}, {where}"]
    _run("Agent", person.app, ("127.0.0.1", port, 1), result, says, as_json)


def join_meaning(person: Any) -> dict[str, Any]:
    """Say who can learn what of this person, and how many people ask now."""
    import asyncio

    now = asyncio.run(_now(person))
    return {**_meaning(person.join), "now": now, "leaf": person.words(person.leaf)}


async def _now(person: Any) -> dict[str, Any]:
    """What the pool says of itself; that it cannot be reached does not keep an agent from starting."""
    from tacit.pool.channel.oblivious import RelayedError

    async with person:
        try:
            said: dict[str, Any] = await person.standing()
        except RelayedError as error:
            return {"trouble": error.problem}
    return said


def checked_join(path: Path) -> JoinFile:
    """The join file, if the leaves of its tree hold enough of the public records, where these are at hand."""
    from tacit.pool.simulation.population import adult

    found, public = _read(path), adult()
    if found.template.digest == public.template.digest:
        found.tree.check(public.records, min(1.0, found.rules.k / found.people))
    return found


_TOGETHER = (
    ("relay + pool", "your address with your leaf and times; not what you ask"),
    ("pool + service", "the leaf of each text, and the texts of one token; not your address"),
    ("relay + service", "your address with texts, by their times, if few people ask"),
    ("issuer + pool or service", "your account with your leaf, or with linkable texts, within hours"),
)


def _meaning(found: JoinFile) -> dict[str, Any]:
    """Who can learn what."""
    minutes = f"{found.rules.period / 60:g} min"
    learns = {
        "relay": {"learns": "your address, when and how often you ask", "never": "leaf, text, token"},
        "pool": {
            "learns": f"your leaf, your token for {minutes}, when you ask",
            "never": "address, text, record",
        },
        "service": {"learns": "text, region, when", "never": "address, leaf, token"},
    }
    addresses = {"relay": found.relay, "pool": found.pool, "service": found.gateway}
    if found.issuer is not None:
        learns["issuer"] = {"learns": "your account, that your agent runs", "never": "token, leaf, text"}
        addresses["issuer"] = found.issuer
    return {
        "k": found.rules.k,
        "window": found.rules.window,
        "period": found.rules.period,
        "signed_by": found.identities["pool"],
        "parties": {name: {"address": addresses[name], **said} for name, said in learns.items()},
        "together": dict(_TOGETHER),
        "direct": found.direct,
    }


def show_meaning(console: Console, found: JoinFile, result: dict[str, Any]) -> None:
    """Print what joining means."""
    k, window = found.rules.k, found.rules.window
    console.print(f"A query goes out only under a region that {k} people asked under within {window:g} s.")
    now = result["now"]
    if "trouble" in now:
        console.print(f"now: unknown; {now['trouble']}", markup=False)
    elif now["people"] < k:
        console.print(f"now: fewer than {k} people ask; your queries will wait")
    else:
        console.print(f"now: at least {now['people']:,} people asked within {window:g} s")
    leaf = ", ".join(f"{name}: {said}" for name, said in result["leaf"].items()) or "anybody"
    console.print(f"all that the pool learns of your record: {leaf}", markup=False)
    table = Table("who", "at", "learns", "never", box=None, pad_edge=False)
    for name, said in result["parties"].items():
        table.add_row(name, said["address"], said["learns"], said["never"])
    console.print()
    console.print(table)
    console.print()
    for name, said in _TOGETHER:
        if found.issuer is not None or not name.startswith("issuer"):
            console.print(f"{name}, together: {said}", markup=False)
    console.print("pool and service as one party: only your leaf protects you")
    if found.issuer is None:
        console.print("no issuer: somebody can pose as any number of the people around you")
    console.print()


def _read(path: Path) -> JoinFile:
    from tacit.pool.channel.join import JoinFile

    return JoinFile.read(path)


def _run(
    name: str,
    make: Callable[[], Any],
    where: tuple[str, int, int],
    result: dict[str, Any],
    says: list[str],
    as_json: bool,
) -> None:
    host, port, workers = where
    server = listen(host, port)
    started = announcement(f"{name} at {server.address}", server, result, says, as_json)
    run(make, server, started, workers)


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
