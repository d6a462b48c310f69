"""The ``tacit`` command: one module a verb, found by name.

A verb is a module in this package with a function ``register(app)`` that adds it to the command.
Modules load what they need inside the command's function, so that ``tacit --help`` stays instant.

Exit codes: 0 done, 1 Tacit says why not, 2 wrong usage, 130 stopped by Ctrl-C.
"""

from __future__ import annotations

import importlib
import pkgutil
import signal
import sys
from typing import Any

import typer
from rich.markup import escape

from tacit import __version__
from tacit.errors import TacitError
from tacit.terminal import stderr, stdout

__all__ = ["STOPPED", "application", "main"]

STOPPED = 130
"""The exit code after Ctrl-C."""


def _show_version(value: bool) -> None:
    if value:
        stdout().print(f"tacit {__version__}")
        raise typer.Exit


def application() -> typer.Typer:
    """The command with all its verbs."""
    app = typer.Typer(
        name="tacit",
        help="Private search, from the query to the published log.",
        epilog="Example: tacit demo",
        no_args_is_help=True,
        rich_markup_mode="rich",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )

    @app.callback()
    def tacit(
        version: bool = typer.Option(
            False, "--version", help="Print the version and exit.", callback=_show_version, is_eager=True
        ),
    ) -> None:
        del version

    for module in sorted(pkgutil.iter_modules(__path__), key=lambda found: found.name):
        importlib.import_module(f"{__name__}.{module.name}").register(app)
    return app


def _on_terminate(_signal: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Run ``tacit`` with the process's arguments and exit."""
    signal.signal(signal.SIGTERM, _on_terminate)
    try:
        application()()
    except TacitError as error:
        console = stderr()
        console.print(f"[bold red]error:[/] {escape(error.problem)}", soft_wrap=True)
        if error.remedy:
            console.print(escape(error.remedy), soft_wrap=True)
        sys.exit(1)
    except OSError as error:
        stderr().print(
            f"[bold red]error:[/] {escape(error.strerror or type(error).__name__)}"
            f"{': ' + escape(str(error.filename)) if error.filename else ''}",
            soft_wrap=True,
        )
        sys.exit(1)
    except SystemExit as stop:  # Typer turns Ctrl-C into an exit with 130
        if stop.code == STOPPED:
            stderr().print("stopped; nothing half-written was left")
        raise
    except KeyboardInterrupt:
        stderr().print("stopped; nothing half-written was left")
        sys.exit(STOPPED)
