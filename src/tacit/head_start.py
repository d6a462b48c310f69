"""Long work on a log: it is read from the first moment on, beside the loading of all that the work needs."""

import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

_READ_AT_ONCE = (["release"], ["series", "next"])
_MOST_AHEAD = 8_000_000
"""Rows of a log that is read before it is needed: some 300 MB."""

COLUMNS = ("user", "query", "time")
"""What is read ahead."""

ahead: dict[tuple[Path, int], Future[list[Any]]] = {}
"""Record batches by row groups, where they are read ahead."""

numbered: list[Future[dict[tuple[int, ...], Any]]] = []
"""The texts of what was read, numbered (:func:`tacit.row_groups.number_texts`), where that was begun."""

_NUMBERS_ALL = (["release", "adaptive"], ["series", "next"])


def named_log(words: Sequence[str]) -> Path | None:
    """Return the log that the words of a command name, if it reads all of it; a mistake costs time alone."""
    if words[:1] in _READ_AT_ONCE or words[:2] in _READ_AT_ONCE:
        named = (Path(word) for word in words[2:] if word.endswith(".parquet"))
        return next((log for log in named if log.is_file()), None)
    return None


def read_group(log: Path, metadata: Any, group: int, columns: Sequence[str]) -> list[Any]:
    """Read the record batches of a row group, texts as dictionaries."""
    parquet = import_module("pyarrow.parquet")
    with parquet.ParquetFile(log, metadata=metadata, read_dictionary=columns) as file:
        read = file.read_row_group(group, columns, use_threads=False)
    read.validate(full=True)
    return list(read.to_batches())


def begin(log: Path, words: Sequence[str] = ()) -> None:
    """Begin to read a log and keep what is read, unless that has begun or it is long; and then to number its
    texts, where the words are of a command that numbers them all.

    Memory that was freed stays with a command, which ends soon: new pages cost it a sixth of its time. Numpy
    starts no threads, and Arrow is loaded without pandas, which it loads at its first array, and for numpy,
    in 0.25 s, unless that fails.
    """
    if ahead:
        return
    with suppress(AttributeError):  # mallopt is of the GNU C library
        # M_TRIM_THRESHOLD; M_TOP_PAD, for the heap to grow seldom; M_MMAP_MAX; M_ARENA_MAX
        for what, value in ((-1, 2**31 - 1), (-2, 64 << 20), (-4, 0), (-8, 1)):
            import_module("ctypes").CDLL(None).mallopt(what, value)
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    if "pandas" not in sys.modules:
        sys.modules["pandas"] = None  # type: ignore[assignment]
        for _ in ("the first array", "the first for numpy"):
            with suppress(AttributeError, ImportError):
                import_module("numpy").asarray(import_module("pyarrow").array([0]))
        del sys.modules["pandas"]
    arrow = import_module("pyarrow")
    arrow.set_memory_pool(arrow.system_memory_pool())
    with suppress(arrow.ArrowException, OSError):  # said when the log is needed
        metadata = import_module("pyarrow.parquet").read_metadata(log)
        if metadata.num_rows <= _MOST_AHEAD:
            workers = ThreadPoolExecutor(len(os.sched_getaffinity(0)))
            for group in range(metadata.num_row_groups):
                ahead[log, group] = workers.submit(read_group, log, metadata, group, COLUMNS)
            if words[:2] in _NUMBERS_ALL:
                sorting = [workers.submit(_by_length, read) for read in ahead.values()]
                for column, parts in (("user", []), ("query", sorting)):
                    numbered.append(workers.submit(_number, column, [*ahead.values()], parts))
            workers.shutdown(wait=False)  # when all is done


def _by_length(read: Future[list[Any]]) -> list[Any]:
    from tacit.row_groups import ByLength

    return [ByLength.of(batch.column("query").dictionary) for batch in read.result()]


def _number(
    column: str, read: list[Future[list[Any]]], sorting: list[Future[list[Any]]]
) -> dict[tuple[int, ...], Any]:
    from tacit.row_groups import number_texts

    batches, parts = ([each for group in some for each in group.result()] for some in (read, sorting))
    return number_texts([batch.column(column) for batch in batches], parts)


def forget() -> None:
    """Let go of what was read ahead, and of its numbers."""
    every: list[Future[Any]] = [*ahead.values(), *numbered]
    for waiting in every:
        waiting.cancel()
    ahead.clear()
    numbered.clear()


@contextmanager
def at_work_on(log: Path) -> Iterator[None]:
    """While a log is worked on; what was read of it ahead is let go in the end."""
    begin(log)
    try:
        yield
    finally:
        forget()
