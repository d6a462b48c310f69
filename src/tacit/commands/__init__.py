"""The ``tacit`` command: one module for each verb, found by name.

A verb is a module in this package with a function ``register(app)`` that adds it to the command, and a
``PANEL`` that says under which heading ``tacit --help`` lists it. Options that several verbs share are in
:mod:`tacit.commands.options`. Modules load what they need inside the command's function, so that
``tacit --help`` stays instant.

Exit codes: 0 done, 1 Tacit says why not, 2 wrong usage, 130 stopped by Ctrl-C.
"""

import errno
import importlib.metadata
import pkgutil
import re
import signal
import sys
from typing import Any, NoReturn

import typer
from rich.text import Text

from tacit import __version__
from tacit.commands.verbs import Panel, VerbGroup, shape
from tacit.errors import ParameterError, TacitError
from tacit.terminal import ready_streams, stderr, stdout

WRONG_USAGE = 2
"""The exit code when an option or argument is wrong, whoever notices it."""

STOPPED = 130
"""The exit code after Ctrl-C."""

_UNWRITABLE = (
    "Choose a place that you can write to; TACIT_STATE names one for what Tacit keeps, TMPDIR one for work."
)
_REMEDIES = {
    errno.EACCES: _UNWRITABLE,
    errno.EPERM: _UNWRITABLE,
    errno.EROFS: _UNWRITABLE,
    errno.ENOSPC: "Make room there, or choose another place.",
    errno.ENOMEM: "Allow it more memory (ulimit -v), or give a smaller --memory where the command has it.",
}


def _show_version(value: bool) -> None:
    if value:
        stdout().print(f"tacit {__version__}")
        raise typer.Exit


def application(asked: str = "") -> typer.Typer:
    """The command with all its verbs; with the one alone that is ``asked`` for, which is loaded sooner."""
    app = typer.Typer(
        name="tacit",
        help="Private search, from the query to the published log.",
        epilog="Example: tacit demo",
        no_args_is_help=True,
        rich_markup_mode=None,  # Verb and VerbGroup lay out the help
        cls=VerbGroup,
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

    for module in _verbs(asked):
        before = len(app.registered_commands), len(app.registered_groups)
        module.register(app)
        added: Any
        for added in [*app.registered_commands[before[0] :], *app.registered_groups[before[1] :]]:
            added.rich_help_panel = module.PANEL
    shape(app)
    return app


def _verbs(asked: str) -> list[Any]:
    """The modules of the verbs, by the order of the guards and then by name; one if it is named as asked."""
    names = [found.name for found in pkgutil.iter_modules(__path__)]
    if asked in names and hasattr(importlib.import_module(f"{__name__}.{asked}"), "register"):
        names = [asked]
    modules = [importlib.import_module(f"{__name__}.{name}") for name in names]
    verbs = [module for module in modules if hasattr(module, "register")]
    return sorted(verbs, key=lambda module: (list(Panel).index(module.PANEL), module.__name__))


def _extra_with(module: str) -> str | None:
    """The extra of this package that installs ``module``; of several the one that the command names."""
    wanted = module.partition(".")[0].replace("_", "-")
    extras = []
    for requirement in importlib.metadata.requires("tacit") or ():
        name, _, marker = requirement.partition(";")
        found = re.search(r"extra == ['\"](\w+)['\"]", marker)
        if found and found[1] != "all" and re.match(rf"{re.escape(wanted)}\b", name.strip()):
            extras.append(found[1])
    named = [extra for extra in extras if any(extra in word for word in sys.argv)]
    return next(iter(named or extras), None)


def _on_terminate(_signal: int, _frame: Any) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Run ``tacit`` with the process's arguments and exit."""
    signal.signal(signal.SIGTERM, _on_terminate)
    ready_streams()
    try:
        application("".join(sys.argv[1:2]))()
    except TacitError as error:
        _end(error.problem, error.remedy, WRONG_USAGE if isinstance(error, ParameterError) else 1)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        _end(f"{error.strerror or type(error).__name__}{where}", _REMEDIES.get(error.errno or 0, ""))
    except MemoryError:
        _end("the memory that this process may take is used up.", _REMEDIES[errno.ENOMEM])
    except ModuleNotFoundError as error:
        extra = _extra_with(error.name or "")
        if extra is None:
            raise
        remedy = f"Install tacit[{extra}], or tacit[all]."
        _end(f"this command needs {error.name}, which is not installed here.", remedy)
    except SystemExit as stop:  # Typer turns Ctrl-C into an exit with 130
        if stop.code == STOPPED:
            stderr().print("stopped; nothing half-written was left")
        raise
    except KeyboardInterrupt:
        stderr().print("stopped; nothing half-written was left")
        sys.exit(STOPPED)


def _end(problem: str, remedy: str, code: int = 1) -> NoReturn:
    """Print on stderr what is wrong and what to do about it, and exit."""
    stderr().print(Text.assemble(("error:", "bold red"), f" {problem}"), soft_wrap=True)
    if remedy:
        stderr().print(remedy, markup=False, soft_wrap=True)
    sys.exit(code)
