"""``tacit engine``: a search server that takes a generalised profile with a query."""

import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated

import typer

from tacit.commands.options import Host, Port
from tacit.commands.servers import listen, run
from tacit.commands.verbs import Panel, verb, verb_group
from tacit.terminal import progress

PANEL = Panel.WORLD


def serve(
    port: Port = 8480,
    documents: Annotated[
        Path | None, typer.Option(help="Search these instead of WordNet: JSON lines with url, title, text.")
    ] = None,
    host: Host = "127.0.0.1",
) -> None:
    """Serve the embedded engine over HTTP until Ctrl-C. Nothing that is asked is kept or logged.

    GET /search?q=… answers {"results": [{"url", "title", "content"}, …]}. POST /search with {"query",
    "topics"} personalises the answer by the topics that were sent.
    """
    from tacit.retrieval import EmbeddedEngine
    from tacit.web.engine_service import EngineService, engine_application, read_documents

    server = listen(host, port)
    with ExitStack() as until_the_end:
        service = EngineService()
        if documents is not None:
            with progress("Reading documents", unit="documents") as bar:
                read = read_documents(documents, bar.advance)
            folder = until_the_end.enter_context(tempfile.TemporaryDirectory(prefix="tacit-index-"))
            service = EngineService(read, EmbeddedEngine.build(folder, read))
        service.search("ready")
        address = f"{server.address}/search"
        title = "Search server at {}/search?q=…"
        run(lambda: engine_application(service), server, title, {"address": address})


register = verb_group(
    "engine",
    "A search server that takes a generalised profile with a query.",
    [verb(serve, "--port 8480")],
)
