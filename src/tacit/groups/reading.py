"""Profiles from a search log, or from a file of profiles.

From a log: the words of a user's queries, without stop words and words that WordNet's nouns do not
know (typing errors, most of them; the paper, section 4). A query repeated for several clicks counts
once. Queries that name somebody (an e-mail address, a telephone number: :mod:`tacit.text.sensitive`) are
passed over, each by its own text. A term weighs in how many of the user's queries it occurs.
"""

import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from scipy import sparse

from tacit.engines import memory_for, open_engine
from tacit.errors import InputError, ParameterError
from tacit.groups.profiles import Period, Profiles, check_period
from tacit.searchlog import check_log
from tacit.searchlog.schema import begins_as_parquet
from tacit.taxonomy import load_wordnet
from tacit.text import STOP_WORDS, SUSPECT, normalise, normalise_column, sensitive_patterns, words


def profiles_from_log(
    path: str | Path,
    *,
    whole_queries: bool = False,
    scrub: bool = True,
    period: Period = (None, None),
    engine: str | None = None,
    advance: Callable[[int], None] = lambda _queries: None,
) -> Profiles:
    """The profiles of all users of a log who have a usable query or term.

    Args:
        path: a search log in canonical Parquet.
        whole_queries: everybody's queries, each as often as it was asked, in place of their words.
        scrub: drop queries that hold an e-mail address or a personal number.
        period: only records from the one time on, and before the other; None where there is no bound.
        engine: a Spark master that counts who asked what; DuckDB on this machine unless given.
        advance: called with the number of distinct queries read since the last call.
    """
    check_period(period)
    counts, users, queries = _asked(check_log(path), period, engine)
    queries = normalise_column(queries)
    naming = _naming_somebody(queries) if scrub else frozenset()
    if whole_queries:
        vocabulary = queries.to_pylist()
        counts.data[np.isin(counts.indices, list(naming))] = 0
        counts.eliminate_zeros()
        advance(len(queries))
    else:
        incidence, vocabulary = _words_of_queries(queries, naming, advance)
        counts = (counts @ incidence).tocsr()
    usable = np.flatnonzero(np.diff(counts.indptr))
    if not usable.size:
        problem = f"none of the log's {len(users)} users has a query or term of use."
        raise InputError(problem, "Profiles need queries in English that name nobody.")
    found, names = counts[usable].tocoo(), users.take(pa.array(usable)).to_pylist()
    profiles = Profiles.from_postings(names, vocabulary, found.row, found.col, found.data)
    return replace(profiles, without_terms=len(users) - usable.size, scrubbed_queries=len(naming))


def people_in(
    given: str | Path | Profiles | Mapping[str, Mapping[str, float]],
    progress: Callable[..., AbstractContextManager[Any]],
    **of_log: Any,
) -> tuple[Profiles, Path | None, bool]:
    """Profiles from whatever was given, the file they come from, and whether that is a log."""
    is_log = isinstance(given, str | Path) and begins_as_parquet(Path(given))
    if of_log.get("engine") is not None and not is_log:
        raise ParameterError("`engine` counts a log, and these are profiles.", "Leave it out.")
    if isinstance(given, Profiles):
        return given, None, False
    if isinstance(given, Mapping):
        return Profiles.from_mappings(given), None, False
    path = Path(given)
    if not is_log:
        return read_profiles(path), path, False
    with progress("Reading", unit="queries") as shown:
        read = profiles_from_log(path, **of_log, **({"advance": shown.advance} if shown else {}))
    return read, path, True


def _asked(path: Path, period: Period, master: str | None) -> tuple[sparse.csr_array, pa.Array, pa.Array]:
    """Count how often each user asked each query (clicks on one list count once), with the names of both."""
    since, until = period
    with open_engine(memory=memory_for(path), master=master) as engine:
        log = engine.log(path)
        log = log if since is None else log.filter(log.time >= since)
        log = log if until is None else log.filter(log.time < until)
        asked = log.group_by("user", "query").aggregate(times=log.time.nunique())
        table = engine.table(asked.order_by("user", "query")).combine_chunks()  # a seed means one thing
    if not len(table):
        raise InputError("the log holds no record of that period.", "Profiles need queries.")
    users = table["user"].chunk(0).dictionary_encode()
    queries = table["query"].chunk(0).dictionary_encode()
    counts = sparse.coo_array(
        (table["times"].to_numpy().astype(float), (users.indices.to_numpy(), queries.indices.to_numpy())),
        shape=(len(users.dictionary), len(queries.dictionary)),
    ).tocsr()
    return counts, users.dictionary, queries.dictionary


def _naming_somebody(queries: pa.Array) -> frozenset[int]:
    """The places of the queries that name somebody; few are suspect, and only those are looked at closely."""
    suspect = np.flatnonzero(pc.match_substring_regex(queries, SUSPECT).to_numpy(zero_copy_only=False))
    texts = queries.take(pa.array(suspect)).to_pylist()
    return frozenset(at for at, text in zip(suspect.tolist(), texts, strict=True) if sensitive_patterns(text))


def _words_of_queries(
    queries: pa.Array, naming: frozenset[int], advance: Callable[[int], None]
) -> tuple[sparse.csr_array, list[str]]:
    """Find which usable words occur in which distinct (normalised) query; none where it names somebody."""
    wordnet = load_wordnet()
    column: dict[str, int | None] = {}
    vocabulary: list[str] = []
    rows, columns = [], []
    for row, query in enumerate(queries.to_pylist()):
        for word in sorted(set(words(query))) if row not in naming else ():
            if word not in column:
                usable = word not in STOP_WORDS and wordnet.lemma(word) is not None
                column[word] = len(vocabulary) if usable else None
                if usable:
                    vocabulary.append(word)
            found = column[word]
            if found is not None:
                rows.append(row)
                columns.append(found)
        advance(1)
    shape = (len(queries), len(vocabulary))
    return sparse.coo_array((np.ones(len(rows)), (rows, columns)), shape=shape).tocsr(), vocabulary


def read_profiles(path: str | Path) -> Profiles:
    """Profiles from JSON lines: ``{"user": "17", "terms": {"kitten": 1, "riding": 0.8}}``.

    Terms are normalised as queries are; weights of terms that become equal add up.
    """
    people: dict[str, dict[str, float]] = {}
    for number, user, terms in _records(Path(path)):
        if user in people:
            raise InputError(f"line {number}: this user has a profile on an earlier line.", "Merge the two.")
        held = people[user] = {}
        for term, weight in terms.items():
            text = normalise(term)
            held[text] = held.get(text, 0.0) + _checked_weight(number, weight)
    if not people:
        raise InputError(f"{path} holds no profile.", "One JSON object per line is expected.")
    return Profiles.from_mappings(people)


def _records(path: Path) -> Iterator[tuple[int, str, dict[str, object]]]:
    if not path.is_file():
        raise InputError(f"there is no file at {path}.", "Give a search log or a file of profiles.")
    with path.open(encoding="utf-8") as lines:
        try:
            for number, line in enumerate(lines, start=1):
                if line.strip():
                    yield number, *_checked_record(number, line)
        except UnicodeDecodeError:
            raise InputError(f"{path} is not UTF-8 text.", "Profiles are JSON lines in UTF-8.") from None


def _checked_record(number: int, line: str) -> tuple[str, dict[str, object]]:
    # Nothing of the line is quoted, nor kept as the error's cause: it is somebody's profile.
    try:
        record = json.loads(line)
    except ValueError:
        raise InputError(f"line {number} is not a JSON object.", "One object per line is expected.") from None
    user = record.get("user") if isinstance(record, dict) else None
    terms = record.get("terms") if isinstance(record, dict) else None
    if not (isinstance(user, str | int) and str(user)) or not (isinstance(terms, dict) and terms):
        problem = f'line {number} lacks "user" (a string) or "terms" (an object that is not empty).'
        raise InputError(problem, 'A line looks like {"user": "17", "terms": {"kitten": 1}}.')
    try:
        "".join((str(user), *terms)).encode()
    except UnicodeEncodeError:
        raise InputError(f"line {number} holds half a surrogate pair.", "Write it as UTF-8.") from None
    if not all(normalise(term) for term in terms):
        raise InputError(f"line {number} holds an empty term.", "Remove it.")
    return str(user), terms


def _checked_weight(number: int, weight: object) -> float:
    if isinstance(weight, bool) or not (isinstance(weight, int | float) and 0 < weight < math.inf):
        raise InputError(f"line {number} holds a weight that is no finite number above 0.", "Leave it out.")
    return float(weight)
