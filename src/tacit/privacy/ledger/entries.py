"""What a ledger's entries mean: from the lines of its file to charges and a balance."""

import hashlib
import json
import re
from dataclasses import dataclass, replace
from typing import Any

from tacit.errors import IntegrityError, ParameterError, TacitError
from tacit.privacy.accounting.composition import Account, CompositionRule
from tacit.privacy.accounting.events import Event, event_from_dict
from tacit.privacy.guarantee import Guarantee, GuaranteeKind
from tacit.privacy.ledger.journal import Chain, Record

FORMAT = 1
"""The version of the ledger's file format."""


@dataclass(frozen=True)
class Entry:
    """One charge (``spent``, or ``torn`` and still readable)."""

    number: int
    hash: str
    time: str
    purpose: str
    event: Event
    torn: bool = False
    manifest: str | None = None
    """SHA-256 of the manifest of what is published for it, noted just before it is."""
    published: bool = False  # whether the release is known to have come into its place after the note
    step: int = 0  # of a series: the last step noted, before its noise is drawn,
    mark: str = ""  # the keyed hash of its state then, and
    issued: tuple[str, ...] = ()  # SHA-256 of the manifests of its weeks

    @property
    def standing(self) -> str:
        """What became of the charge, in a word: ``torn``, ``spent``, ``noted`` or ``released``."""
        if self.torn:
            return "torn"
        if self.published or self.issued:
            return "released"
        return "spent" if self.manifest is None else "noted"

    @property
    def guarantee(self) -> Guarantee:
        return self.event.guarantee


@dataclass(frozen=True)
class LedgerState:
    """All that a ledger's file says, checked and added up."""

    label: str
    fingerprint: str | None
    opened: str
    account: Account
    entries: tuple[Entry, ...]
    head: str
    length: int
    torn: int

    @property
    def unprotected(self) -> tuple[Entry, ...]:
        """Releases without any ε (k-query): no total can be stated about a data set that has one."""
        return tuple(entry for entry in self.entries if entry.guarantee.kind is GuaranteeKind.K_QUERY)


def read_entry(record: Record) -> Entry:
    event = event_from_dict(record["event"])
    if event.guarantee.to_dict() != record["guarantee"]:
        raise IntegrityError(
            f"entry {record['entry']} of the ledger states another guarantee than its event."
        )
    return Entry(
        number=record["entry"],
        hash=record["hash"],
        time=record["time"],
        purpose=record["purpose"],
        event=event,
        torn=record["type"] == "torn",
    )


def replay(chain: Chain, before: LedgerState | None = None) -> LedgerState:
    """Return what a chain says, read from its start, or on from a state ``before`` that it continues.

    Raises IntegrityError if an entry or the arithmetic does not hold.
    """
    try:
        if before is not None and not chain.holds(before.head):
            before = None
        return _replay(chain, before)
    except (KeyError, TypeError, ValueError, ParameterError) as error:
        raise IntegrityError(f"the ledger lacks a field or holds a wrong one ({error}).") from error


def _replay(chain: Chain, before: LedgerState | None) -> LedgerState:
    opened = chain.records[0]
    if opened["type"] != "opened" or opened["format"] != FORMAT:
        raise IntegrityError("this file is no ledger that this version of Tacit can read.")
    entries = {entry.number: entry for entry in before.entries} if before else {}
    for record in chain.records[before.length if before else 1 :]:
        kind = record["type"]
        if kind in _NOTES:
            entries[record["of"]] = _annotated(entries.get(record["of"]), record)
        elif kind == "spent" or (kind == "torn" and "event" in record):
            entries[record["entry"]] = read_entry(record)
        elif kind != "torn":
            raise IntegrityError(f"entry {record['entry']} of the ledger is of an unknown type.")
    charged = tuple(
        entry.event for entry in entries.values() if entry.guarantee.kind is not GuaranteeKind.K_QUERY
    )
    if before is not None and len(charged) == len(before.account.charged):
        account = before.account
    else:
        rule = CompositionRule(opened["composition"])
        account = Account(Guarantee.from_dict(opened["budget"]), rule, charged)
        # Costs only grow, so if the total fits, every charge fitted when it was made.
        if not account.within_budget():
            raise IntegrityError(
                "the charges of the ledger exceed its budget.", "The file was not written by Tacit."
            )
    return LedgerState(
        label=opened["label"],
        fingerprint=opened.get("fingerprint"),
        opened=opened["time"],
        account=account,
        entries=tuple(entries.values()),
        head=chain.head,
        length=len(chain.records),
        torn=sum(record["type"] == "torn" for record in chain.records) + bool(chain.fragment),
    )


_NOTES = ("noted", "published", "step", "issued")
"""What is noted of a charge."""


def _annotated(entry: Entry | None, record: Record) -> Entry:
    """The charge with what is noted of it; refused where that cannot follow from what is known of it."""
    if entry is not None:
        match record["type"]:
            case "noted" if entry.manifest is None:
                return replace(entry, manifest=record["manifest"])
            case "published" if entry.manifest is not None and not entry.published:
                return replace(entry, published=True)
            case "step" if record["step"] > entry.step:
                return replace(entry, step=record["step"], mark=record["mark"])
            case "issued" if entry.step:
                return replace(entry, issued=(*entry.issued, record["manifest"]))
    raise IntegrityError(
        f"entry {record['entry']} of the ledger says {record['type']} of what was never charged, or not yet."
    )


def describe_fragment(fragment: bytes) -> Record:
    """Describe a torn append for the record, with its charge if that part of it was written."""
    body: dict[str, Any] = {"bytes": len(fragment), "fragment": hashlib.sha256(fragment).hexdigest()}
    found = re.search(rb'"type":"(?:spent|torn)".*?"event":(?=\{)', fragment)
    if found is None:
        return body
    try:
        form, _ = json.JSONDecoder().raw_decode(fragment[found.end() :].decode("utf-8", errors="replace"))
        event = event_from_dict(form)
    except (ValueError, TacitError):
        return body
    return body | {"purpose": "torn charge", "event": form, "guarantee": event.guarantee.to_dict()}
