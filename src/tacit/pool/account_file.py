"""An issuer's accounts in a file: of each the digest of its secret, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from tacit.errors import InputError
from tacit.files.atomic import atomic_file
from tacit.pool.admission import account_digest
from tacit.pool.secret_file import kept_secret

__all__ = ["add_account", "read_accounts"]

_DIGEST = re.compile(r"[0-9a-f]{64}")


def read_accounts(path: Path) -> list[str]:
    """The digests in a file; an empty file, or none, has none."""
    try:
        lines = path.read_text(encoding="ascii").split() if path.exists() else []
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"the accounts in {path} cannot be read.") from error
    wrong = [number for number, line in enumerate(lines, 1) if not _DIGEST.fullmatch(line)]
    if wrong:
        raise InputError(
            f"line {wrong[0]} of {path} is no account; an account is 64 hexadecimal digits.",
            "Make accounts with --new.",
        )
    return list(dict.fromkeys(lines))


def add_account(path: Path, secret: Path) -> int:
    """Make an account with a new secret in a file of its own; how many accounts there are then."""
    if secret.exists():
        raise InputError(f"{secret} exists already.", "Name a new file for the account's secret.")
    known = [*read_accounts(path), account_digest(kept_secret(secret))]
    with atomic_file(path, mode=0o600) as temporary:
        temporary.write_text("".join(f"{digest}\n" for digest in known), encoding="ascii")
    return len(known)
