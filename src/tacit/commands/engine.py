"""``tacit engine``: a search server that takes a generalised profile with a query."""

from __future__ import annotations

import socket
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from tacit.commands.options import JsonFlag
from tacit.commands.panels import Panel
from tacit.terminal import emit, progress

if TYPE_CHECKING:
    from tacit.web.engine_service import EngineService

__all__ = ["PANEL", "register"]

PANEL = Panel.WORLD


def register(app: typer.Typer) -> None:
    """Add the group of verbs."""
    group = typer.Typer(
        help="A search server that takes a generalised profile with a query.",
        epilog="Example: tacit engine serve --port 8480",
        no_args_is_help=True,
    )
    group.command("serve", epilog="Example: tacit engine serve --port 8480")(serve)
    app.add_typer(group, name="engine")


def serve(
    port: Annotated[
        int, typer.Option(help="The port to listen on; 0 takes a free one.", min=0, max=65535)
    ] = 8480,
    documents: Annotated[
        Path | None, typer.Option(help="Search these instead of WordNet: JSON lines with url, title, text.")
    ] = None,
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    as_json: JsonFlag = False,
) -> None:
    """Serve the embedded engine over HTTP until Ctrl-C. Nothing that is asked is kept or logged.

    GET /search?q=… answers {"results": [{"url", "title", "content"}, …]}. POST /search with {"query",
    "topics", "preferences"} personalises the answer by the exposed topics.
    """
    from tacit.retrieval import EmbeddedEngine
    from tacit.web.engine_service import EngineService
    from tacit.web.own_documents import read_documents
    from tacit.web.serving import bound_socket

    opened = bound_socket(host, port)
    with ExitStack() as until_the_end:
        service = EngineService()
        if documents is not None:
            with progress("Reading documents", unit="documents") as bar:
                read = read_documents(documents, bar.advance)
            folder = until_the_end.enter_context(tempfile.TemporaryDirectory(prefix="tacit-index-"))
            service = EngineService(read, EmbeddedEngine.build(folder, read))
        service.search("ready")
        _announce_and_run(service, opened, host, as_json)


def _announce_and_run(service: EngineService, opened: socket.socket, host: str, as_json: bool) -> None:
    from tacit.web.engine_service import engine_application
    from tacit.web.serving import serve as run

    address = f"http://{f'[{host}]' if ':' in host else host}:{opened.getsockname()[1]}/search"

    def render(console: Console) -> None:
        console.print(f"Search server at {address}?q=… (stop with Ctrl-C)", soft_wrap=True, markup=False)

    run(
        engine_application(service),
        opened,
        lambda: emit({"address": address}, as_json=as_json, render=render),
    )
