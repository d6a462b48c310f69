"""Where the ``tacit`` command begins: ready for Ctrl-C before anything else is loaded.

Loading the command takes a moment, and a Ctrl-C in it would otherwise end in a traceback from the middle of
some library. Nothing has been written then, so the process may end on the spot.
"""

import atexit
import gc
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import Any, NoReturn

from tacit.head_start import begin, forget, named_log

_STOPPED = 130  # as tacit.commands.STOPPED, which cannot be loaded yet


def _end_at_once(_signal: int, _frame: Any) -> NoReturn:
    os.write(2, b"stopped; nothing half-written was left\n")
    os._exit(_STOPPED)


def main() -> None:
    """Run ``tacit`` with the process's arguments and exit."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})  # the desk starts its jobs with it blocked
    usual = signal.getsignal(signal.SIGINT)
    if usual is signal.default_int_handler:  # not where Ctrl-C is to be ignored, as in the background
        signal.signal(signal.SIGINT, _end_at_once)
    gc.set_threshold(100_000)  # what is loaded stays to the end, and takes long to look through for garbage
    log = named_log(sys.argv[1:])
    if log is not None:
        begin(log, sys.argv[1:])
    from tacit.commands import main as run

    try:
        signal.signal(signal.SIGINT, usual)
        run()
    except KeyboardInterrupt:  # in the moment before the command looks out for it itself
        _end_at_once(signal.SIGINT, None)
    except SystemExit as stop:
        if log is not None:  # the words after it may be wrong
            forget()
        if isinstance(stop.code, int | None) and threading.active_count() == 1:
            atexit._run_exitfuncs()
            with suppress(OSError, ValueError):  # then Python ends in its own way, with its own exit code
                sys.stdout.flush()
                sys.stderr.flush()
                os._exit(stop.code or 0)  # to take everything apart takes 0.2 seconds more
        raise
