"""Groups on disk: what may be shown, and apart from it who is in which group.

::

    DIR/
      representatives.jsonl      one group per line: its number, its members' number, its weighted terms
      report.json                what was measured when the groups were made; aggregates only
      operator/                  mode 0700: for the service that must know whose requests use which group
        groups.sqlite            mode 0600: profiles, memberships and groups, kept up to date
        membership.jsonl         mode 0600: {"user": ..., "group": ..., "member": ...}

All of it appears at once, or nothing does. The two files of lines repeat what ``groups.sqlite`` holds, for
programs that read lines; ``Groups.publish`` writes them again.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from tacit.files import atomic_directory, atomic_file, check_output_folder
from tacit.groups.bundler import Bundler, Bundling
from tacit.groups.profiles import Profiles
from tacit.groups.report import Report
from tacit.groups.store import FILE, GroupsStore, Shown

__all__ = ["MARKS", "fill", "named_terms", "stored_profiles", "write_files", "write_groups"]

MARKS = ("representatives.jsonl", f"operator/{FILE}")
"""By these files a folder of groups is told from any other."""


def write_groups(
    bundling: Bundling, bundler: Bundler, measured: Report, folder: str | Path, *, replace: bool = False
) -> Path:
    """Write a bundling, and the parameters it was made with, into a folder.

    Args:
        folder: must not exist, or be a folder of groups that is to be replaced.
        replace: put the new groups in the place of those that are there. A service that runs on the old ones
            must be started again.
    """
    folder = Path(folder)
    check_output_folder(folder, force=replace, marks=MARKS)
    with atomic_directory(folder, replace=replace) as temporary:
        text = json.dumps(measured.as_dict(), indent=2, allow_nan=False)
        (temporary / "report.json").write_text(text + "\n", encoding="utf-8")
        (temporary / "operator").mkdir(mode=0o700)
        store = GroupsStore.create(temporary / "operator" / FILE, asdict(bundler))
        try:
            with store.transaction():
                fill(store, bundling, first=0)
            write_files(store, temporary)
        finally:
            store.close()
    return folder


def fill(store: GroupsStore, bundling: Bundling, first: int) -> None:
    """Write a bundling into an empty store; the groups' numbers begin at ``first``."""
    profiles, released = bundling.profiles, bundling.released
    store.add_terms(profiles.vocabulary, np.bincount(profiles.terms, minlength=len(profiles.vocabulary)))
    for group in range(len(released)):
        held = slice(released.offsets[group], released.offsets[group + 1])
        shown = Shown(int(bundling.sizes[group]), released.terms[held], released.weights[held])
        store.form(shown, first + group)
    store.add_rows(
        (
            user,
            first + int(bundling.labels[row]),
            profiles.terms[profiles.offsets[row] : profiles.offsets[row + 1]],
            profiles.weights[profiles.offsets[row] : profiles.offsets[row + 1]],
        )
        for row, user in enumerate(profiles.users)
    )


def write_files(store: GroupsStore, folder: Path) -> None:
    """Write both files of lines anew, each whole or not at all."""
    vocabulary = store.vocabulary()
    with atomic_file(folder / "representatives.jsonl") as path:
        _write_lines(path, (_line(group, shown, vocabulary) for group, shown in store.all_shown()))
    with atomic_file(folder / "operator" / "membership.jsonl", mode=0o600) as path:
        # In the order of names: the order of the input, or of the bundling, is nobody's business.
        rows = ({"user": user, "group": at.group, "member": at.member} for user, at in store.everybody())
        _write_lines(path, rows)


def named_terms(shown: Shown, vocabulary: Mapping[int, str]) -> dict[str, float]:
    """What a group shows, by name in alphabetical order, with six digits."""
    pairs = zip(shown.terms.tolist(), shown.shares.tolist(), strict=True)
    return dict(sorted((vocabulary[term], float(f"{share:.6g}")) for term, share in pairs))


def _line(group: int, shown: Shown, vocabulary: Mapping[int, str]) -> dict[str, Any]:
    return {"group": group, "members": shown.size, "terms": named_terms(shown, vocabulary)}


def _write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    with path.open("w", encoding="utf-8") as lines:
        for row in rows:
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def stored_profiles(found: Mapping[str, Any], vocabulary: Mapping[int, str]) -> Profiles:
    """What a store holds of its users, as profiles to bundle."""
    column = {term: place for place, term in enumerate(vocabulary)}
    users = list(found)
    rows = np.repeat(np.arange(len(users)), [found[user][0].size for user in users])
    terms = np.concatenate([found[user][0] for user in users])
    weights = np.concatenate([found[user][1] for user in users])
    columns = [column[term] for term in terms.tolist()]
    return Profiles.from_postings(users, list(vocabulary.values()), rows, columns, weights)
