"""Secrets in files that only their owner can read (64 hexadecimal digits), and an issuer's accounts."""

from __future__ import annotations

import re
import secrets
from pathlib import Path

from tacit.errors import InputError
from tacit.files import atomic_file
from tacit.pool.protocol.batches import account_digest

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


def read_accounts(path: Path) -> list[str]:
    """Read the digests of an issuer's accounts; a file without any is refused."""
    found = _digests(path)
    if not found:
        raise InputError(f"{path} holds no account.", "Make one: tacit pool issuer --new FILE.")
    return found


def _digests(path: Path) -> list[str]:
    try:
        lines = path.read_text(encoding="ascii").split() if path.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the accounts in {path} cannot be read.") from error
    wrong = [number for number, line in enumerate(lines, 1) if not _SECRET.fullmatch(line)]
    if wrong:
        raise InputError(
            f"line {wrong[0]} of {path} is no account; an account is 64 hexadecimal digits.",
            "Make accounts with tacit pool issuer --new FILE.",
        )
    return list(dict.fromkeys(lines))


def add_account(path: Path, secret: Path) -> int:
    """Make an account with a new secret in a file of its own; how many accounts there are then."""
    if secret.exists():
        raise InputError(f"{secret} exists already.", "Name a new file for the account's secret.")
    known = [*_digests(path), account_digest(kept_secret(secret))]
    with atomic_file(path, mode=0o600) as temporary:
        temporary.write_text("".join(f"{digest}\n" for digest in known), encoding="ascii")
    return len(known)
