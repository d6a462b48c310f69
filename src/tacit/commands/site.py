"""``tacit desk``, ``tacit approve``, ``tacit site``: from the owner's page to pages that others may read."""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.text import Text

from tacit.commands.options import ForceFlag, Host, OutputFolder, Port
from tacit.commands.verbs import Panel, verb, verb_group
from tacit.errors import InputError, IntegrityError, ParameterError
from tacit.terminal import emit, stderr

PANEL = Panel.RELEASE


def make(
    releases: Annotated[
        list[Path], typer.Argument(metavar="RELEASES…", help="Folders of `tacit release`, of one data set.")
    ],
    ledger: Annotated[Path, typer.Option(help="The ledger that was charged for them.")],
    output: OutputFolder,
    require_approval: Annotated[
        list[Path] | None,
        typer.Option(help="Refuse releases that this public key has not signed. Repeatable."),
    ] = None,
    report: Annotated[
        list[Path] | None,
        typer.Option(help="Also publish this page of evaluate or audit. Repeatable."),
    ] = None,
    address: Annotated[str, typer.Option(help="Where readers will find the site, for its feed.")] = "",
    force: ForceFlag = False,
) -> None:
    """Make a static site of verified releases: catalogue, explorer, budget, how to check it, a feed.

    Each release is copied, and the copy verified against the ledger; if one fails, nothing is written. The
    site needs no server and loads nothing from elsewhere: open index.html, or copy the folder anywhere.
    """
    from tacit.web.published.pages import publish_site

    made = publish_site(
        releases,
        ledger,
        output,
        reports=report or (),
        require_approval=require_approval or (),
        address=address,
        force=force,
        report=lambda stage: stderr().print(f"{stage} …", markup=False, soft_wrap=True),
    )

    number = len(made.releases)
    said = f"{made.folder}: {number} release{'' if number == 1 else 's'}, {len(made.files)} files"
    emit(
        made.to_dict(),
        *(Text(f"missing: {lack}", "bold red") for lack in made.missing),
        f"{said}; spent so far: {made.spent}",
        f"Open {(made.folder / 'index.html').resolve()}",
    )


def serve(
    site: Annotated[Path, typer.Argument(metavar="SITE", help="A folder that tacit site made.")],
    oidc: Annotated[str, typer.Option(metavar="ISSUER", help="The provider at which people sign in.")] = "",
    client: Annotated[str, typer.Option(help="The client id of this server there.")] = "",
    secret_file: Annotated[Path | None, typer.Option(help="The client secret; or TACIT_OIDC_SECRET.")] = None,
    address: Annotated[str, typer.Option(help="Where readers find this server: https://host.")] = "",
    unix: Annotated[Path | None, typer.Option(help="Instead of --oidc: the socket for a proxy.")] = None,
    reader_group: Annotated[list[str] | None, typer.Option(help="A group that may read. Repeatable.")] = None,
    auditor_group: Annotated[
        list[str] | None, typer.Option(help="A group that may open all. Repeatable.")
    ] = None,
    group_claim: Annotated[str, typer.Option(help="The claim that names groups.")] = "groups",
    scope: Annotated[str, typer.Option(help="The scopes to ask for.")] = "openid",
    sessions: Annotated[Path | None, typer.Option(help="The file of sessions (SITE.sessions).")] = None,
    hours: Annotated[float, typer.Option(min=0.1, max=168, help="How long a sign-in lasts.")] = 8,
    revoke: Annotated[str, typer.Option(help="End the sessions of this account ('*': all), and stop.")] = "",
    host: Host = "127.0.0.1",
    port: Port = 8431,
) -> None:
    """Serve a site to members of groups, read-only, until Ctrl-C; each request is logged on stderr."""
    from tacit.commands.servers import Listening, listen, run
    from tacit.web.published import serving

    place = sessions or site.with_name(f"{site.resolve().name}.sessions")
    if revoke:
        if not place.is_file():
            raise InputError(f"there is no file of sessions {place}.", "Name it with `sessions`.")
        ended = serving.Sessions(place).revoke(revoke)
        emit({"revoked": ended}, f"sessions ended: {ended}")
        return
    if bool(oidc) == bool(unix) or bool(oidc) != bool(client and address):
        raise ParameterError("`oidc` with `client` and `address`, or `unix`: one of the two is needed.")
    known = (serving.client_secret(secret_file), address.rstrip("/"), scope, group_claim) if oidc else ()
    who = (serving.Sessions(place, hours), oidc, client, *known) if oidc else ()
    log = partial(stderr().print, markup=False, highlight=False, soft_wrap=True)
    server = serving.SiteServer(site, reader_group or (), auditor_group or (), log, *who)
    made = serving.site_application(server)
    at = Listening(serving.unix_socket(unix), f"unix:{unix}") if unix else listen(host, port)
    says = [f"{site} for {address or 'a proxy'}, listening on {at.address}"]
    run(lambda: made, at, "site", {"site": str(site)}, says)


def approve(
    releases: Annotated[list[Path] | None, typer.Argument(help="Folders of releases.")] = None,
    key: Annotated[Path | None, typer.Option(help="Sign with this key, which is yours alone.")] = None,
    approver: Annotated[str, typer.Option(help="Who signs: a name or an office, shown to readers.")] = "",
    ledger: Annotated[
        Path | None, typer.Option(help="Sign only releases that this ledger was charged for.")
    ] = None,
    new_key: Annotated[
        Path | None,
        typer.Option(help="Make a key pair: this file, and with .pub the public key to give away."),
    ] = None,
    check: Annotated[
        Path | None, typer.Option(help="Check that the owner of this public key has signed the releases.")
    ] = None,
) -> None:
    """Sign a release as a data protection officer, or check a signature (Ed25519).

    Make a key first, once: tacit approve --new-key officer.key. A release that does not verify is not signed.
    The signature lies beside the folder, in RELEASE.approvals.json; tacit site --require-approval
    officer.key.pub publishes nothing without it.
    """
    from tacit.web.published import approvals

    if sum(given is not None for given in (key, new_key, check)) != 1 or bool(releases) == bool(new_key):
        raise ParameterError(
            "`key` signs releases, `check` checks them, `new_key` makes a key: one of the three is needed.",
            "See the examples in tacit approve --help.",
        )
    result: dict[str, Any]
    if new_key is not None:
        public = approvals.new_key(new_key)
        result = {"key": str(new_key), "public": f"{new_key}.pub", "public_key": public}
        said = [f"{new_key}: yours alone; keep it, and a copy"]
        said.append(f"{new_key}.pub: give this one away ({public})")
    elif key is not None:
        made = [approvals.approve(folder, key, approver, ledger) for folder in releases or ()]
        result = {"approvals": [asdict(each) for each in made]}
        said = [f"{approvals.approvals_file(f)}: signed by {approver}" for f in releases or ()]
    else:
        assert check is not None
        wanted, found = approvals.public_key(check), []
        for folder in releases or ():
            signed = [each for each in approvals.read_approvals(folder) if each.key == wanted]
            if not signed:
                raise IntegrityError(f"{folder} is not signed with {check}.", "Ask the approver to sign it.")
            found += signed
        result = {"approvals": [asdict(each) for each in found]}
        said = [f"{each.manifest[:16]}…: signed by {each.approver}, {each.time}" for each in found]

    emit(result, *said)


def desk(
    folder: Annotated[
        Path, typer.Argument(help="The folder with your logs, ledgers and releases; commands run in it.")
    ] = Path(),
    port: Port = 8430,
    no_browser: Annotated[bool, typer.Option("--no-browser", help="Open no browser window.")] = False,
) -> None:
    """Serve the owner's desk on 127.0.0.1 until Ctrl-C, and print the address that opens it.

    It has forms for import, plan, release, evaluate, audit and publish. Each shows the command it stands for
    and runs it as a job. Jobs continue when the desk ends, and are listed again when it starts.
    """
    from tacit.web.desk.application import desk_application, open_desk
    from tacit.web.server import bound_socket, open_browser, serve

    opened = bound_socket("127.0.0.1", port)
    with open_desk(folder.resolve(), opened.getsockname()[1]) as made:
        address = made.admission.address
        said = f"The desk is ready. Open this address in your browser:\n  {address}"

        def started() -> None:
            about = f"It stands on {made.home} (stop with Ctrl-C; jobs go on)"
            emit({"address": address, "folder": str(made.home)}, said, about)
            if not no_browser:
                open_browser(address)

        serve(desk_application(made), opened, started)


_SITE = verb_group(
    "site",
    "Publish verified releases as a static web site: tacit site RELEASES…",
    [
        verb(make, "week-* --ledger log.parquet.ledger -o site"),
        verb(serve, "site --unix proxy.sock --reader-group analysts"),
    ],
    usual="make",
)
_APPROVE = verb(approve, 'week-01 --key officer.key --approver "A. Muster, data protection officer"')
_DESK = verb(desk, "logs")


def register(app: typer.Typer) -> None:
    """Add the verbs to ``app``."""
    for add in (_SITE, _APPROVE, _DESK):
        add(app)
