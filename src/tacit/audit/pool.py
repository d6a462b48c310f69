"""Readers of a pool's log, who know a person's record, and when the person asked to within a window.

Which of them find fewer than k people, against Definition 2 and beside it: docs/reference/commands/audit.md.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from tacit.audit.found import Deadline, GuardAudit, bar, table
from tacit.errors import InfeasibleError
from tacit.pool.simulation.verification import AuditedLog, companions, read_audited_log, verify_log
from tacit.validation import flag

CLOCKS = (1, 2, 5, 10)
"""How many times better than the window a reader's clock is; the first is the claim's."""


def audit_pool(
    log: AuditedLog | str | Path,
    k: int = 30,
    window: float = 50.0,
    *,
    seconds: float | None = None,
    synthetic: bool = False,
    report: Callable[[str], object] = str,
) -> GuardAudit:
    """Attack every entry of a query log with its senders, or of its file.

    Args:
        k: how many people must match each entry.
        window: how well an attacker knows the time of a query, plus or minus.
        seconds: leave out further readers for whom there is no time.
        synthetic: you vouch that nobody real is in the log: the result may be shown.
    """
    deadline = Deadline.after(seconds)
    entries = log if isinstance(log, AuditedLog) else read_audited_log(log)
    report("counting who matches each entry")
    verdict, guarded = verify_log(entries, k, window), entries.guarded
    if not verdict.guarded:
        found = f"none of the {len(entries):,} entries carries a group's region: there is nothing to attack."
        raise InfeasibleError(found, "Name a log of a pool in which groups of k people formed.")
    exact = replace(entries, low=entries.record, high=entries.record)
    tried = [(f"knows the time to ±{window / times:g}", entries, window / times) for times in CLOCKS]
    readers: list[dict[str, Any]] = []
    for name, seen, clock in [*tried, ("pool and service together, who know the leaf", exact, window)]:
        if readers and deadline.passed and seen is entries:
            continue
        report(name)
        # Everybody's entries are there to hide among, those under d* too.
        match = companions(seen, k, clock)[guarded]
        below, unique = int((match < k).sum()), int((match == 1).sum())
        readers.append({"reader": name, "identified": below, "unique": unique, "fewest": int(match.min())})
    bare = readers[-1]
    rows = [
        bar(e["reader"], e["identified"], verdict.guarded, None, bad=e["identified"] > 0) for e in readers
    ]
    rows[0] |= {"worst": 0.0, "bad": not verdict.holds}
    found = f"{verdict.identified:,} of {verdict.guarded:,}"
    columns = {"reader": "Reader", "identified": f"Below {k}", "unique": "Alone", "fewest": "Fewest"}
    caption = f"Entries that fewer than {k} people match, that one does, and the fewest, up to {k}."
    return GuardAudit(
        audit="pool",
        about=f"{verdict.entries:,} entries of {np.unique(entries.sender).size:,} people. A reader knows "
        "somebody's exact record and when that person asked.",
        claim=f"of entries with a region, at least {k} people match each within ±{window:g} (Definition 2).",
        held=[(f"No sender of an entry with a region is {k}-identified.", verdict.holds, found)],
        sentence=f"{found} senders are {k}-identified: {verdict.fewest} or more people match an entry. If "
        f"pool and service were one party, {bare['unique']:,} entries would each name one person.",
        measured=verdict.as_dict()
        | {"unique_by_record": bare["unique"], "below_k_by_record": bare["identified"], "readers": readers},
        rows=rows,
        tables=[table("Readers of the log", readers, columns, (1,), caption)],
        not_claimed=(
            f"a reader who knows the time better than ±{window:g}.",
            "pool and service as one party: then only the leaf protects.",
            f"entries under d*: {verdict.identified_general:,} of {(~guarded).sum():,} fail.",
            "entries that a reader can tell to be one person's, by what they ask.",
        ),
        sensitive=not flag("synthetic", synthetic),
        figure={"begin": 0, "coin": 0, "worst": "claimed: none", "counted": "Of 100 entries so many."}
        | {"question": f"Do fewer than {k} people match an entry?"},
    )
