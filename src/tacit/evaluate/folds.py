"""Users in k parts, for cross-validation: whoever is tested gave nothing to the release.

A user belongs to a part by a keyed hash of the name, so that the parts do not depend on the order of the log,
and a record more or less moves nobody.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.errors import InputError, ParameterError
from tacit.evaluate.log_part import LogPart
from tacit.searchlog.session_cut import BY_PAUSES, SessionCut

__all__ = ["fold_of_records", "folds", "split"]


def fold_of_records(users: pa.ChunkedArray, count: int, seed: int = 0) -> NDArray[np.int64]:
    """The part, from 0, of each record's user."""
    if count < 2:
        raise ParameterError.outside("folds", count, "at least 2")
    coded = pc.dictionary_encode(users.combine_chunks() if isinstance(users, pa.ChunkedArray) else users)
    key = f"tacit-folds-{seed}".encode()
    parts = [
        int.from_bytes(hashlib.blake2b(user.as_py().encode(), key=key, digest_size=8).digest(), "big") % count
        for user in coded.dictionary
    ]
    found: NDArray[np.int64] = np.array(parts, np.int64)[np.asarray(coded.indices)]
    return found


def split(
    records: pa.Table, fold: int, count: int, seed: int = 0, sessions: SessionCut = BY_PAUSES
) -> tuple[LogPart, LogPart]:
    """The part to release (all users but those of ``fold``) and the part to test on."""
    part = fold_of_records(records.column("user"), count, seed)
    test = pa.array(part == fold)
    return LogPart(records.filter(pc.invert(test)), sessions), LogPart(records.filter(test), sessions)


def folds(records: pa.Table, count: int = 5, seed: int = 0) -> Iterator[tuple[LogPart, LogPart]]:
    """Every split in turn: (to release, to test on)."""
    if not records.num_rows:
        raise InputError("the log has no records, so there is nothing to evaluate.")
    for fold in range(count):
        yield split(records, fold, count, seed)
