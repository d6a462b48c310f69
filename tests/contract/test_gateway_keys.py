"""The file of a gateway's public keys: written again as it is, and over nothing else unless asked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tacit.commands import main
from tacit.commands import pool as pool_relay


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> object:
    monkeypatch.setattr(pool_relay, "_run", lambda *_: None)  # what is served is not asked here

    def run(*more: str) -> int:
        words = [
            "pool",
            "gateway",
            "--target",
            "http://127.0.0.1:1",
            "--key",
            str(tmp_path / "secret"),
            *more,
        ]
        monkeypatch.setattr(sys, "argv", ["tacit", *words])
        try:
            main()
        except SystemExit as stop:
            return int(stop.code or 0)
        return 0

    return run


def test_keys_replace_nothing_but_themselves(run: object, tmp_path: Path) -> None:
    assert callable(run)
    keys = tmp_path / "keys"
    assert run("--write-keys", str(keys)) == 0
    public = keys.read_bytes()
    assert public
    assert run("--write-keys", str(keys)) == 0
    keys.write_text("precious")
    assert run("--write-keys", str(keys)) == 1
    assert keys.read_text() == "precious"
    assert run("--write-keys", str(keys), "--force") == 0
    assert keys.read_bytes() == public
    assert run("--write-keys", str(tmp_path / "secret"), "--force") == 1, "the secret key is never replaced"
