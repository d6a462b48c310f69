"""The example on the reference page of ``tacit.privacy`` runs and prints what it says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs/reference/python/privacy.md"


def test_the_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(code, PAGE.name, "exec"), {})
    promised = re.findall(r"^print\(.*\) *# (.*)$", code, re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == promised
    assert len(promised) == 2
