"""The examples on the reference page of ``tacit.release`` run and print what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.release_log import write_log

PAGE = Path(__file__).parent.parent.parent / "docs/reference/python/release.md"


def test_the_examples_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    code = "\n".join(re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
    write_log(tmp_path / "log.parquet")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, PAGE.name, "exec"), {})
    promised = re.findall(r"^print\(.*\) *# (.*)$", code, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == promised
    assert len(promised) == 5
