"""Secrets in files of their own: 64 hexadecimal digits, readable by their owner alone."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from tacit.errors import InputError
from tacit.files.atomic import atomic_file

__all__ = ["kept_secret", "read_secret"]

_SECRET = re.compile(r"[0-9a-f]{64}")


def read_secret(path: Path) -> str:
    """The secret in a file.

    Raises:
        InputError: there is none; nothing of the file is repeated.
    """
    try:
        found = path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(
            f"the secret in {path} cannot be read.", "Whoever made it can copy it here."
        ) from error
    if not _SECRET.fullmatch(found):
        raise InputError(
            f"{path} holds no secret; a secret is 64 hexadecimal digits.", "Name a new file to make one."
        )
    return found


def kept_secret(path: Path) -> str:
    """The secret in a file; a new one is made where there is no such file."""
    if not path.exists():
        with atomic_file(path, mode=0o600) as temporary:
            temporary.write_text(secrets.token_hex(32) + "\n", encoding="ascii")
    return read_secret(path)
