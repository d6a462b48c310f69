"""What lies behind the records: for evaluation and audit, never part of the log.

One row per user, in the order of the log. The lists ``meanings``, ``behind`` and ``kinds`` have one entry
for each of the user's records, in the order of the log. Topics are numbers of WordNet synsets, which are
also documents of the corpus and nodes of its topic tree.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tacit.files import atomic_file
from tacit.world.synth.block import UserBlock, user_names
from tacit.world.synth.kinds import RecordKind
from tacit.world.synth.lexicon import load_world
from tacit.world.synth.queries import INTEREST, KIND, MEANING

__all__ = ["TRUTH_SCHEMA", "truth_table", "truth_writer"]

TRUTH_SCHEMA = pa.schema(
    [
        pa.field("user", pa.string(), nullable=False),
        pa.field("interests", pa.list_(pa.int32()), nullable=False),
        pa.field("sensitive", pa.list_(pa.bool_()), nullable=False),
        pa.field("meanings", pa.list_(pa.int32()), nullable=False),
        pa.field("behind", pa.list_(pa.int32()), nullable=False),
        pa.field("kinds", pa.list_(pa.string()), nullable=False),
    ]
)
"""user; interests, strongest first, and whether each is sensitive; for each record the meaning in mind,
the interest behind it (null: none, an errand or a curiosity) and what led to it."""

_KIND_NAMES = pa.array([kind.name.lower().replace("_", "-") for kind in RecordKind])


def truth_table(block: UserBlock) -> pa.Table:
    """The truth behind a block's records."""
    sensitive_topics = load_world().interests.sensitive
    held = block.interests >= 0
    per_user = np.concatenate(([0], np.cumsum(held.sum(axis=1)))).astype(np.int32)
    interests = block.interests[held]
    per_record = np.searchsorted(block.of_row, block.bounds).astype(np.int32)
    columns = block.rows[block.of_row]
    behind = columns[:, INTEREST]
    lists = {
        "interests": (per_user, pa.array(interests, pa.int32())),
        "sensitive": (per_user, pa.array(np.isin(interests, sensitive_topics))),
        "meanings": (per_record, pa.array(columns[:, MEANING], pa.int32())),
        "behind": (per_record, pa.array(behind, pa.int32(), mask=behind < 0)),
        "kinds": (per_record, _KIND_NAMES.take(pa.array(columns[:, KIND]))),
    }
    return pa.Table.from_arrays(
        [
            user_names(block.first_user, block.users),
            *(pa.ListArray.from_arrays(bounds, values) for bounds, values in lists.values()),
        ],
        schema=TRUTH_SCHEMA,
    )


@contextmanager
def truth_writer(path: str | Path) -> Iterator[pq.ParquetWriter]:
    """A writer of truth tables, whole or absent."""
    with (
        atomic_file(path, mode=0o600) as temporary,
        pq.ParquetWriter(temporary, TRUTH_SCHEMA, compression="zstd") as writer,
    ):
        yield writer
