"""Jobs: a folder and a child process that runs the very command a person would type.

There is no queue and no table. The folder says what was asked for, the process writes what it says into it,
and one around it writes how it ended. Both live on without the desk. Whether a job still runs is asked of
the kernel: its processes hold a lock on the folder's file for as long as one of them lives, however it ends.
So a ``kill -9`` of anything, or a restart of the machine, leaves no job that is said to run and does not.
What the files in the folder hold stands in the reference of ``tacit desk``.
"""

import fcntl
import json
import os
import re
import secrets
import shlex
import signal
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Any

from tacit.errors import InputError
from tacit.files import atomic_directory

_NAME = re.compile(r"\d{8}-\d{6}-[a-z-]{1,20}-[0-9a-f]{6}")
_SHOWN = 200_000
_AROUND = """
import os, pathlib, signal, subprocess, sys
folder = pathlib.Path(sys.argv[1])
(folder / "pid").write_text(str(os.getpid()))
with open(folder / "stdout", "wb") as out, open(folder / "stderr", "wb") as err:
    child = subprocess.Popen(sys.argv[2:], stdin=subprocess.DEVNULL, stdout=out, stderr=err, close_fds=False)
    if signal.SIGTERM in signal.sigpending():  # it came before there was a command to get it
        child.terminate()
    code = child.wait()
(folder / ".exit").write_text(str(code if code >= 0 else 128 - code))
(folder / ".exit").rename(folder / "exit")
"""
_CHILDREN: list[subprocess.Popen[bytes]] = []
"""What this process started, so that it takes those that have ended from the kernel's list."""
_STOPPED = 130


class JobStanding(StrEnum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    STOPPED = "stopped"
    KILLED = "killed"
    """It ended without saying how: its processes were killed, or the machine went down."""


@dataclass(frozen=True)
class Job:
    """A job in its folder; everything is read anew when it is asked for."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def asked(self) -> dict[str, Any]:
        """What was asked for, and when."""
        try:
            return dict(json.loads((self.folder / "job.json").read_text("utf-8")))
        except (OSError, ValueError):
            return {"words": [], "started": ""}

    @property
    def command(self) -> str:
        return shlex.join(["tacit", *self.asked["words"]])

    @property
    def standing(self) -> JobStanding:
        if self._held():
            return JobStanding.RUNNING
        try:
            code = int((self.folder / "exit").read_text())
        except (OSError, ValueError):
            return JobStanding.KILLED
        if code in (_STOPPED, 128 + signal.SIGTERM):
            return JobStanding.STOPPED
        return JobStanding.DONE if code == 0 else JobStanding.KILLED if code > 128 else JobStanding.FAILED

    def _held(self) -> bool:
        try:
            handle = os.open(self.folder / "lock", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False

    def said(self, stream: str) -> str:
        """The end of what it has said so far, on ``stdout`` or ``stderr``."""
        try:
            with (self.folder / stream).open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - _SHOWN))
                return file.read().decode("utf-8", errors="replace")
        except OSError:
            return ""

    def stop(self) -> bool:
        """Ask it to end, as Ctrl-C would; False if it does not run. What it writes is whole or absent."""
        try:
            group = int((self.folder / "pid").read_text())
        except (OSError, ValueError):
            return False
        if group <= 1 or not self._held():  # the lock is held, so the group is still the job's
            return False
        try:
            os.killpg(group, signal.SIGTERM)
        except ProcessLookupError:
            return False
        return True


class Jobs:
    """The jobs of a folder in which commands are run."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.folder = home / "jobs"
        self.folder.mkdir(mode=0o700, exist_ok=True)

    def all(self) -> list[Job]:
        return [Job(one) for one in sorted(self.folder.iterdir(), reverse=True) if _NAME.fullmatch(one.name)]

    def find(self, name: str) -> Job:
        if not _NAME.fullmatch(name) or not (self.folder / name).is_dir():
            raise InputError("there is no such job.", "Choose one of the list.")
        return Job(self.folder / name)

    def start(self, words: Sequence[str], shows: str | None = None, form: str = "") -> Job:
        """Start ``tacit`` with these words.

        Args:
            words: the command's arguments.
            shows: the page it will make, by its path in the home folder.
            form: the address of the filled form, without its place.
        """
        moment = datetime.now(UTC)
        folder = self.folder / f"{moment:%Y%m%d-%H%M%S}-{words[0]}-{secrets.token_hex(3)}"
        asked: dict[str, Any] = {"words": list(words), "started": moment.isoformat(timespec="seconds")}
        asked |= {"shows": shows, "form": form}
        with atomic_directory(folder) as made:
            (made / "job.json").write_text(json.dumps(asked, indent=2, ensure_ascii=False), encoding="utf-8")
            (made / "lock").touch()
        folder.chmod(0o700)
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            command = [sys.executable, "-m", "tacit", *words]
            # SIGTERM stays blocked in the process around the command, which says how that ended. The command
            # lets it in when it begins (tacit.entry): one that comes before is not lost.
            usual = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
            child = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _AROUND, str(folder.resolve()), *command],
                cwd=self.home,
                pass_fds=(lock,),
                start_new_session=True,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            signal.pthread_sigmask(signal.SIG_SETMASK, usual)
            _CHILDREN[:] = [child, *(each for each in _CHILDREN if each.poll() is None)]
        finally:
            os.close(lock)  # from here on the job alone holds it
        return Job(folder)
