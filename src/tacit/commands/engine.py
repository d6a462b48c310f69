"""``tacit engine``: a search server that takes a generalised profile with a query."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console

from tacit.commands.options import JsonFlag
from tacit.commands.panels import Panel
from tacit.terminal import emit

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
    host: Annotated[str, typer.Option(help="The address to listen on.")] = "127.0.0.1",
    as_json: JsonFlag = False,
) -> None:
    """Serve the embedded engine over HTTP until Ctrl-C. Nothing that is asked is kept or logged.

    GET /search?q=… answers {"results": [{"url", "title", "content"}, …]}. POST /search with {"query",
    "topics", "preferences"} personalises the answer by the exposed topics.
    """
    from tacit.web.engine_service import EngineService, engine_application
    from tacit.web.serving import bound_socket
    from tacit.web.serving import serve as run

    opened = bound_socket(host, port)
    service = EngineService()
    service.search("ready")
    address = f"http://{f'[{host}]' if ':' in host else host}:{opened.getsockname()[1]}/search"

    def render(console: Console) -> None:
        console.print(f"Search server at {address}?q=… (stop with Ctrl-C)", soft_wrap=True, markup=False)

    run(
        engine_application(service),
        opened,
        lambda: emit({"address": address}, as_json=as_json, render=render),
    )
