"""The runs of a sweep on disk: one file per run, complete or absent, so that a sweep can be resumed.

A run is one setting on one fold with one draw of noise. Its file holds the value of every measure for every
test unit, numbered, not named: no query, url or user. It is as sensitive as the log all the same, and
readable by its owner only.
"""

import hashlib
import json
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.errors import InputError
from tacit.evaluate.sweep.settings import ReleaseSetting
from tacit.files import atomic_file, check_output_folder, move_directory

_STATE = "sweep.json"
MARKS = (_STATE,)
"""The file that identifies the folder of a sweep."""
_FORMAT = 2
_OWNERS = "owners of "


@dataclass(frozen=True, eq=False)
class SweepRun:
    """One setting on one fold with one draw.

    Args:
        values: by ``task/measure``, one value per unit.
        rows: how many rows each released table had.
        seconds: of a processor, that the release and each task took.
        owners: by task, the number of each unit's user, where units share users.
    """

    fold: int
    draw: int
    values: Mapping[str, NDArray[np.floating]]
    rows: Mapping[str, int]
    seconds: Mapping[str, float]
    owners: Mapping[str, NDArray[np.int64]] = field(default_factory=dict)


def file_digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _differences(state: Path, identity: Mapping[str, Any]) -> list[str]:
    """List what differs between a sweep on disk and the one asked for."""
    found = json.loads(state.read_text(encoding="utf-8"))
    return sorted(name for name in {**identity, **found} if identity.get(name) != found.get(name))


class RunStore:
    """The runs of one sweep.

    Args:
        folder: of the report; made if it is missing, readable by its owner only.
        identity: what all runs share (the log, the folds, the tasks); another identity is refused.
        anew: remove a sweep of another identity instead.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any], *, anew: bool = False) -> None:
        self.folder, self._runs = folder, folder / "runs"
        identity = json.loads(json.dumps({"format": _FORMAT, **identity}))
        state = folder / _STATE
        if folder.exists() and not state.exists() and any(folder.iterdir()):
            problem = f"{folder} exists and holds no sweep to resume."
            raise InputError(problem, "Choose another folder, or remove it.")
        if not folder.parent.is_dir():
            problem = f"the folder {folder.parent} does not exist."
            raise InputError(problem, "Create it first, or choose another.")
        folder.mkdir(mode=0o700, exist_ok=True)
        folder.chmod(0o700)
        self._runs.mkdir(mode=0o700, exist_ok=True)
        if state.exists() and anew and _differences(state, identity):
            for run in self._runs.iterdir():
                run.unlink()
            state.unlink()  # last: a state must not be found beside runs that are not its own
        if not state.exists():
            with atomic_file(state, mode=0o600) as temporary:
                temporary.write_text(json.dumps(identity, indent=2) + "\n", encoding="utf-8")
            return
        if different := _differences(state, identity):
            raise InputError(
                f"{folder} holds a sweep with another {', '.join(different)}.",
                "Resume it with the same parameters, choose another folder, or replace it with `force=True`.",
            )

    def _path(self, setting: ReleaseSetting, fold: int, draw: int) -> Path:
        return self._runs / f"{setting.key}-{fold}-{draw}.npz"

    def has(self, setting: ReleaseSetting, fold: int, draw: int) -> bool:
        return self._path(setting, fold, draw).exists()

    def save(self, setting: ReleaseSetting, run: SweepRun) -> None:
        about = json.dumps({"rows": dict(run.rows), "seconds": dict(run.seconds)})
        path = self._path(setting, run.fold, run.draw)
        owners = {f"{_OWNERS}{task}": found for task, found in run.owners.items()}
        stored: dict[str, Any] = {"about": np.array(about), **run.values, **owners}
        with atomic_file(path, mode=0o600) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, **stored)

    def load(self, setting: ReleaseSetting, fold: int, draw: int) -> SweepRun:
        with np.load(self._path(setting, fold, draw)) as stored:
            about = json.loads(str(stored["about"]))
            named = {name: stored[name] for name in stored.files if name != "about"}
        owners = {key.removeprefix(_OWNERS): named.pop(key) for key in [*named] if key.startswith(_OWNERS)}
        return SweepRun(fold, draw, named, about["rows"], about["seconds"], owners)


@contextmanager
def sweep_folder(output: str | Path | None, log: str | Path, *, force: bool) -> Iterator[Path]:
    """The folder to work in; on a clean exit its content is at ``output``, or gone where that is None.

    Without ``force`` that is ``output`` itself, so that a stopped sweep is resumed. With it, where a report
    exists, the work is done in a hidden folder beside it, which replaces it when it is complete. If the sweep
    is stopped, the hidden folder stays and the next call resumes it; the old report stays until then.
    """
    if output is None:
        with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
            yield Path(folder) / "sweep"
        return
    output = Path(output)
    if not (force and (output.exists() or output.is_symlink())):
        yield output
        return
    check_output_folder(output, force=True, marks=MARKS, inputs=[log])
    beside = output.with_name(f".{output.name}.next")
    yield beside
    move_directory(beside, output)
