"""A folder that a command makes replaces nothing unless asked, then only its like, and in one step."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit import InputError
from tacit import files as atomic
from tacit.evaluate.sweep.runs import RunStore, sweep_folder
from tacit.files import atomic_directory, check_output_folder, exchange


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def made(folder: Path, content: str = "old") -> Path:
    folder.mkdir()
    (folder / "mark").write_text(content)
    (folder / content).write_text("")
    return folder


def test_two_folders_change_places(tmp_path: Path) -> None:
    one, other = made(tmp_path / "one", "1"), made(tmp_path / "other", "2")
    assert exchange(one, other)
    assert ((one / "mark").read_text(), (other / "mark").read_text()) == ("2", "1")
    assert not exchange(one, tmp_path / "absent")
    assert names(tmp_path) == ["one", "other"]


@pytest.mark.parametrize("in_one_step", [True, False])
def test_a_folder_is_replaced_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_one_step: bool
) -> None:
    if not in_one_step:  # as on a file system that cannot
        monkeypatch.setattr(atomic, "exchange", lambda one, other: False)
    output = made(tmp_path / "out")
    with atomic_directory(output, replace=True) as temporary:
        (temporary / "mark").write_text("new")
        assert names(output) == ["mark", "old"], "the old one is whole until the new one is"
    assert names(output) == ["mark"]
    assert (output / "mark").read_text() == "new"
    assert names(tmp_path) == ["out"]


def test_at_no_moment_is_there_no_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two renames would leave a moment without either; here the two change places in one call."""
    output = made(tmp_path / "out")

    def renamed(_self: Path, _target: Path) -> Path:
        raise AssertionError("moved in more than one step")

    monkeypatch.setattr(Path, "rename", renamed)
    monkeypatch.setattr(Path, "replace", renamed)
    with atomic_directory(output, replace=True) as temporary:
        (temporary / "mark").write_text("new")
    assert (output / "mark").read_text() == "new"
    assert names(tmp_path) == ["out"]


@pytest.mark.parametrize("failure", [ValueError, KeyboardInterrupt])
def test_a_failure_leaves_the_old_folder(tmp_path: Path, failure: type[BaseException]) -> None:
    output = made(tmp_path / "out")

    def write() -> None:
        with atomic_directory(output, replace=True) as temporary:
            (temporary / "mark").write_text("half")
            raise failure

    with pytest.raises(failure):
        write()
    assert names(tmp_path) == ["out"]
    assert (output / "mark").read_text() == "old"


def test_only_a_folder_of_the_same_kind_is_replaced(tmp_path: Path) -> None:
    marks = ("mark",)
    check_output_folder(tmp_path / "new", force=False, marks=marks)
    output = made(tmp_path / "out")
    with pytest.raises(InputError, match="exists already") as refused:
        check_output_folder(output, force=False, marks=marks)
    assert "`force=True`" in refused.value.remedy
    check_output_folder(output, force=True, marks=marks)
    home = tmp_path / "home"
    home.mkdir()
    (home / "thesis.txt").write_text("precious")
    with pytest.raises(InputError, match="not a folder that this command made"):
        check_output_folder(home, force=True, marks=marks)
    with pytest.raises(InputError, match="holds one of the inputs"):
        check_output_folder(output, force=True, marks=marks, inputs=[output / "old"])
    link = tmp_path / "link"
    link.symlink_to(output)
    with pytest.raises(InputError, match="is a link"):
        check_output_folder(link, force=True, marks=marks)
    with pytest.raises(InputError, match="not a folder"):
        check_output_folder(output / "mark", force=True, marks=marks)


def sweep(folder: Path, log: str, *, anew: bool = False) -> RunStore:
    return RunStore(folder, {"log": log, "folds": 2}, anew=anew)


def test_a_sweep_is_replaced_when_its_successor_is_whole(tmp_path: Path) -> None:
    output, log = tmp_path / "report", tmp_path / "log.parquet"
    with sweep_folder(output, log, force=False) as folder:
        assert folder == output
        sweep(folder, "first")
    with pytest.raises(InputError, match="another log") as refused:
        sweep(output, "second")
    assert "`force=True`" in refused.value.remedy

    def stopped() -> None:
        with sweep_folder(output, log, force=True) as folder:
            assert folder != output
            sweep(folder, "second", anew=True)
            (folder / "runs" / "0.npz").write_text("done")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert json.loads((output / "sweep.json").read_text())["log"] == "first", "the old report is there still"
    with sweep_folder(output, log, force=True) as folder:
        sweep(folder, "second", anew=True)
        assert len(names(folder / "runs")) == 1, "it goes on where it was stopped"
    assert json.loads((output / "sweep.json").read_text())["log"] == "second"
    assert names(tmp_path) == ["report"]


def test_a_stopped_successor_with_other_options_begins_anew(tmp_path: Path) -> None:
    sweep(tmp_path / "next", "second")
    (tmp_path / "next" / "runs" / "0.npz").write_text("done")
    sweep(tmp_path / "next", "third", anew=True)
    assert not names(tmp_path / "next" / "runs")


def test_a_sweep_replaces_no_other_folder(tmp_path: Path) -> None:
    output = made(tmp_path / "home")
    with (
        pytest.raises(InputError, match="not a folder that this command made"),
        sweep_folder(output, tmp_path / "log", force=True),
    ):
        pass
    assert names(output) == ["mark", "old"]
