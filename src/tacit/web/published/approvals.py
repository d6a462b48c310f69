"""Approvals: a data protection officer signs the digest of a release's manifest (Ed25519, RFC 8032).

A release's folder holds nothing but the release, so approvals lie beside it: ``week-01.approvals.json``
beside ``week-01``. What is signed names the manifest by its SHA-256, the approver and the time, so none of
them can be changed, and no approval fits another release. The owner cannot sign for the officer: the key is
the officer's, on an account that needs no access to the log.
"""

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from tacit.errors import InputError, IntegrityError
from tacit.files import atomic_file
from tacit.release.document.manifest import MANIFEST, file_hash, require_plain
from tacit.release.verify import verify
from tacit.validation import text

APPROVALS = ".approvals.json"
"""How the name of a file of approvals goes on after the release's."""
_PURPOSE = b"tacit approval 1\n"
"""Begins what is signed, so that a signature made for anything else is none of ours."""
_LARGEST = 1 << 16
_ANOTHER = "Name the file that `tacit approve --new-key` made."


@dataclass(frozen=True)
class Approval:
    """One approver's signature under one release."""

    manifest: str
    approver: str
    time: str
    key: str
    signature: str = ""

    @property
    def signed(self) -> bytes:
        said = {name: value for name, value in asdict(self).items() if name != "signature"}
        return _PURPOSE + json.dumps(said, sort_keys=True, ensure_ascii=True).encode()

    @property
    def fingerprint(self) -> str:
        """The beginning of the key, for people to compare."""
        return " ".join(self.key[at : at + 4] for at in range(0, 16, 4))

    def holds(self) -> bool:
        """Whether the signature is that of the key it names."""
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

        try:
            key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(self.key))
            key.verify(bytes.fromhex(self.signature), self.signed)
        except (InvalidSignature, ValueError):
            return False
        return True


def approvals_file(folder: Path) -> Path:
    """Return where the approvals of a release lie: beside its folder."""
    return folder.with_name(f"{folder.name}{APPROVALS}")


def read_approvals(folder: Path) -> tuple[Approval, ...]:
    """The approvals beside a release, every signature checked against this very manifest.

    Raises IntegrityError for a file that is malformed, and for one approval that does not hold.
    """
    path = approvals_file(folder)
    if not path.exists() and not path.is_symlink():
        return ()
    require_plain(path)
    try:
        if path.stat().st_size > _LARGEST:
            raise ValueError("too large")
        form = json.loads(path.read_bytes())
        found = tuple(Approval(**each) for each in form["approvals"])
        well = form["format"] == 1 and all(isinstance(v, str) for one in found for v in asdict(one).values())
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise IntegrityError(f"{path} holds no approvals.", "Have the release signed anew.") from error
    digest = file_hash(folder / MANIFEST)
    for each in found:
        if not well or each.manifest != digest or not each.holds():
            remedy = "Have the release signed anew; somebody changed the release or the file."
            raise IntegrityError(f"{path.name} holds a signature that is not one under this release.", remedy)
    return found


def new_key(path: Path) -> str:
    """Make a key pair: ``path`` for its owner only, and ``path.pub`` for everybody. Returns the latter."""
    from cryptography.hazmat.primitives import serialization as form
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    public = path.with_name(f"{path.name}.pub")
    for each in (path, public):
        if each.exists() or each.is_symlink():
            raise InputError(f"{each} exists already; a key is never replaced.", "Choose another name.")
    secret, pem = Ed25519PrivateKey.generate(), form.Encoding.PEM
    written = secret.private_bytes(pem, form.PrivateFormat.PKCS8, form.NoEncryption())
    shown = secret.public_key().public_bytes(pem, form.PublicFormat.SubjectPublicKeyInfo)
    for each, content, mode in ((path, written, 0o600), (public, shown, 0o644)):
        with atomic_file(each, mode=mode) as made:
            made.write_bytes(content)
    return secret.public_key().public_bytes_raw().hex()


def _loaded(path: Path, kind: str) -> Any:
    from cryptography.hazmat.primitives.asymmetric import ed25519
    from cryptography.hazmat.primitives.serialization import load_pem_private_key, load_pem_public_key

    private, found = kind == "private", None
    try:
        content = path.read_bytes()
        found = load_pem_private_key(content, None) if private else load_pem_public_key(content)
    except OSError as error:
        raise InputError(f"the key {path} cannot be read: {error.strerror}.", _ANOTHER) from error
    except (ValueError, TypeError):
        pass
    if not isinstance(found, ed25519.Ed25519PrivateKey if private else ed25519.Ed25519PublicKey):
        raise InputError(f"{path} is no {kind} Ed25519 key.", _ANOTHER)
    return found


def public_key(path: Path) -> str:
    return str(_loaded(path, "public").public_bytes_raw().hex())


def approve(folder: Path, key: Path, approver: str, ledger: Path | None = None) -> Approval:
    """Sign a release that verifies, with the ledger too if it is given, and keep the signature beside it."""
    approver = text("approver", approver)
    if not approver.strip():
        raise InputError("an approval names who approves.", "Give `approver`, a name or an office.")
    found = verify(folder, ledger)
    if not found:
        failed = next(check.what for check in found.checks if not check.holds)
        problem = f"{folder} is not signed: it does not verify ({failed})."
        raise IntegrityError(problem, "See tacit verify for all checks.")
    if key.is_file() and key.stat().st_mode & 0o077:
        problem = f"{key} can be read by others than its owner."
        raise InputError(problem, f"chmod 600 {key}, or make a new key.")
    secret, known = _loaded(key, "private"), read_approvals(folder)
    draft = Approval(
        manifest=file_hash(folder / MANIFEST),
        approver=approver,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
        key=secret.public_key().public_bytes_raw().hex(),
    )
    made = Approval(**{**asdict(draft), "signature": secret.sign(draft.signed).hex()})
    write_approvals([each for each in known if each.key != made.key] + [made], approvals_file(folder))
    return made


def write_approvals(approvals: Iterable[Approval], path: Path) -> None:
    form = {"format": 1, "approvals": [asdict(each) for each in approvals]}
    with atomic_file(path) as made:
        made.write_text(json.dumps(form, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
