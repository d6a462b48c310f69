"""A synthetic search log: what it is, and how it is made."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

from tacit.errors import ParameterError
from tacit.files import atomic_file
from tacit.searchlog import SCHEMA, LogWriter
from tacit.world.synth.activity import quotas
from tacit.world.synth.block import Factory, UserBlock
from tacit.world.synth.calibration import RECORDS_PER_USER_WEEK, LogShape, LogTally, target
from tacit.world.synth.truth import truth_table, truth_writer

__all__ = ["SynthesisOutcome", "SyntheticLog"]

_BLOCK_USERS = 4096


@dataclass(frozen=True)
class SynthesisOutcome:
    """What was made, beside what AOL's shape asks for."""

    target: LogShape
    got: LogShape
    further: dict[str, float]


@dataclass(frozen=True)
class SyntheticLog:
    """A log of ``users`` people searching the WordNet corpus, determined by its four numbers.

    Args:
        users: how many people; everyone makes at least one record.
        seed: another seed gives other people with other histories.
        weeks: the time it spans, from 1 March 2006; records grow with it.
        sensitive_share: the share of users with a sensitive interest.
    """

    users: int
    seed: int = 0
    weeks: int = 13
    sensitive_share: float = 0.15

    def __post_init__(self) -> None:
        if self.users < 1:
            raise ParameterError.outside("users", self.users, "at least 1")
        if not 0 <= self.seed < 1 << 63:
            raise ParameterError.outside("seed", self.seed, "a whole number from 0 to 2^63 - 1")
        if not 1 <= self.weeks <= 104:
            raise ParameterError.outside("weeks", self.weeks, "from 1 to 104")
        if not 0 <= self.sensitive_share <= 1:
            raise ParameterError.outside("sensitive share", self.sensitive_share, "in [0, 1]")

    @property
    def expected_records(self) -> int:
        """The records that AOL's shape asks for."""
        return target(self.users, self.weeks).records

    def blocks(self, threads: int | None = None) -> Iterator[UserBlock]:
        """The log in blocks of users, in order; the same for any number of ``threads``."""
        threads = threads or min(os.cpu_count() or 1, 8)
        factory = Factory(self.seed, self.weeks, self.sensitive_share)
        records = quotas(self.seed, self.users, mean=RECORDS_PER_USER_WEEK * self.weeks, weeks=self.weeks)
        starts = iter(range(0, self.users, _BLOCK_USERS))
        pending: deque[Future[UserBlock]] = deque()
        with ThreadPoolExecutor(threads, thread_name_prefix="synth") as pool:
            try:
                while True:
                    while len(pending) <= threads and (start := next(starts, None)) is not None:
                        pending.append(
                            pool.submit(factory.make, start, records[start : start + _BLOCK_USERS])
                        )
                    if not pending:
                        return
                    yield pending.popleft().result()
            finally:
                pool.shutdown(wait=True, cancel_futures=True)

    def table(self) -> pa.Table:
        """The whole log in memory."""
        return pa.Table.from_batches([block.log for block in self.blocks()], SCHEMA)

    def truth(self) -> pa.Table:
        """What lies behind every record, one row per user; see :mod:`tacit.world.synth.truth`."""
        return pa.concat_tables([truth_table(block) for block in self.blocks()])

    def write(
        self,
        path: str | Path,
        truth: str | Path | None = None,
        *,
        threads: int | None = None,
        advance: Callable[[int], None] | None = None,
    ) -> SynthesisOutcome:
        """Write the log (and the truth beside it), whole or not at all.

        Args:
            path: the Parquet file to make.
            truth: where to write the truth behind the log; not written when None.
            threads: threads to make it with; as many as there are processors when None.
            advance: called with the number of records written since the last call.
        """
        if truth is not None and Path(truth).resolve() == Path(path).resolve():
            raise ParameterError(
                "the log and the truth behind it cannot be the same file.", "Give the truth another name."
            )
        tally = LogTally()
        with ExitStack() as files:
            temporary = files.enter_context(atomic_file(path, mode=0o600))
            log_file = files.enter_context(LogWriter(temporary, origin="synthetic"))
            truth_file = files.enter_context(truth_writer(truth)) if truth is not None else None
            for block in self.blocks(threads):
                log_file.write(block.log)
                if truth_file is not None:
                    truth_file.write_table(truth_table(block))
                tally.add(block)
                if advance is not None:
                    advance(block.records)
        got, further = tally.summary()
        return SynthesisOutcome(target(self.users, self.weeks), got, further)
