"""Adaptive rounds as relational work: on Spark, and on DuckDB where who holds what outgrows memory.

Users and items have names of 128 bits, SHA-256 under a key that the engine has drawn for them: no table of
numbers is needed, and what an engine cannot hold it spills. Weights are those of
:mod:`tacit.release.weights`, so both find the same under the same noise. A round::

    weigh   Σv² by user, ⌊√(v²·2^32 / Σv²)⌋ for each pair, summed by item
    stand   noise, standing, threshold, steering: drawn where the rows lie, written once, and read from there
    drop    the pairs of items that are found or out

Only found items leave the engine. Lots and names are no noise: whoever knew their key would know no count.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import ibis
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tacit.engines import Engine
from tacit.errors import InfeasibleError, LogError
from tacit.privacy.noise.randomness import KeyedRandomness, RandomSource
from tacit.release import schedule as schedules
from tacit.release.clipping import Clipped, limit_of
from tacit.release.contribution import bounded_sessions, items_of, searches_of
from tacit.release.execution import (
    Holdings,
    SelectedItems,
    noisy_number,
    noisy_numbers,
    noisy_once,
    selected,
    stand,
    stepped,
)
from tacit.release.mechanisms.adaptive import SEQUENCE, HeldItem
from tacit.release.mechanisms.adaptive_holdings import listed_keys, shown_keys
from tacit.release.parameters import ITEM_KEYS, Choice, Item
from tacit.release.rounds_analysis import single_deviation

_WHOLE = "!int64"
"""Not ``int64``: a cast to what Ibis thinks a sum already is would be left out, and DuckDB's has 128 bits."""

_STOOD = pa.schema(
    [
        ("item", pa.binary()),
        ("score", pa.int64()),
        ("listed", pa.bool_()),
        ("standing", pa.int64()),
        ("first", pa.int64()),
        ("value", pa.int64()),
        ("found", pa.int64()),
    ]
)
"""An item after a round: what its holders give it in the next (0: nothing), and the round that found it."""

_COUNTED = pa.schema([("item", pa.binary()), ("count", pa.int64())])


@ibis.udf.scalar.builtin  # type: ignore[untyped-decorator]
def unhex(text: str) -> bytes:  # type: ignore[empty-body]
    """Convert hexadecimal digits to bytes."""


@ibis.udf.scalar.builtin(name="hex")  # type: ignore[untyped-decorator]
def digits(given: bytes) -> str:  # type: ignore[empty-body]
    """Convert bytes to hexadecimal digits."""


_ALL = 1 << 30
_PLACES = tuple(f"query_{place}" for place in range(1, SEQUENCE + 1))


def held_in(log: Any, kind: HeldItem) -> tuple[Any, Sequence[str]]:
    """Make a table with ``user`` and the columns that make a key, and name these columns."""
    if kind is HeldItem.SESSIONS:
        return _prefixes(log), _PLACES
    item = Item(kind.value)
    return items_of(log, item), ITEM_KEYS[item]


def _prefixes(log: Any) -> Any:
    """List the first two, three … queries of each session; places after the end are empty text."""
    sessions = bounded_sessions(searches_of(log), _ALL, SEQUENCE, Choice.FIRST)
    parts = []
    for length in range(2, SEQUENCE + 1):
        long_enough = sessions.filter(sessions[f"query_{length}"].notnull())
        empty = {name: ibis.literal("") for name in _PLACES[length:]}
        parts.append(long_enough.mutate(**empty).select("user", *_PLACES))
    return ibis.union(*parts)


def number_of_words(keys: Any, columns: Sequence[str]) -> Any:
    """Count how many words each item's queries have, cut at 255; urls do not count."""
    total = ibis.literal(0)
    for column in (keys[name] for name in columns if name != "url"):
        gaps = column.length() - column.replace(" ", "").length()
        total += ibis.ifelse(column == "", 0, gaps + 1)
    return total.clip(upper=255)


def name_of(engine: Engine, of: str, *texts: Any) -> Any:
    """Name texts by 128 bits: of n different ones two are alike with a chance of n²/2^129 at most."""
    said = ibis.literal(f"{engine.naming} {of}")
    for text in texts:
        said = said + text.length().cast("string") + ":" + text
    return unhex(said.hexdigest("sha256").left(32))


@dataclass(frozen=True)
class NamedHeld:
    """Who holds what, under names. Secret."""

    engine: Engine  # where the tables are
    pairs: Any  # each once: (user, item, words, listed)
    keys: Mapping[str, Any]  # for each kind its items: (item, the columns of its key), with repetitions
    listed: Any | None  # the items of the public list: (item, words, listed); None without one

    @property
    def holdings(self) -> Holdings:
        """Refused: an audit or a forecast, which need it, are for logs that fit."""
        raise InfeasibleError(
            "who holds what does not fit in memory.", "Give more `memory`, or a smaller log."
        )

    def select(
        self, selection: schedules.Selection, source: RandomSource
    ) -> tuple[SelectedItems, "FoundNames"]:
        """Carry out a selection; what was found, by places among its names."""
        if isinstance(source, KeyedRandomness):
            source = source.within("selection")  # executors see the key of this alone
        if isinstance(selection, schedules.SingleCount):
            names, counts = self._counted_once(selection, source)
            found = SelectedItems(
                np.arange(len(names)), counts, np.full(len(names), single_deviation(selection))
            )
        else:
            names, found = self._found(selection, source)
        return found, FoundNames.read(self.engine, self.keys, names)

    def _cut(self, pairs: Any, held: int) -> Any:
        """Select at most ``held`` pairs a user: those of the largest scores, by lot if alike; kept."""
        sizes = pairs.group_by("user").aggregate(size=pairs.count())
        most = self.engine.table(sizes.aggregate(most=sizes["size"].max()))["most"][0].as_py()
        if (most or 0) <= held:
            return self.engine.keep(pairs)
        many = sizes.filter(sizes["size"] > held)
        over = pairs.semi_join(many, "user")
        lot = name_of(self.engine, "lot", digits(over.user), digits(over.item))
        order = [over.score.desc(), lot, over.item]
        place = ibis.row_number().over(ibis.window(group_by=over.user, order_by=order))
        placed = over.mutate(place=place)
        kept = placed.filter(placed.place < held).drop("place")
        return self.engine.keep(pairs.anti_join(many, "user").union(kept))

    def _counted_once(
        self, selection: schedules.SingleCount, source: RandomSource
    ) -> tuple[list[bytes], NDArray[np.int64]]:
        """The items that are published, in the order of their names, and their noisy counts."""
        pairs = self._cut(self.pairs.select("user", "item", score=1), selection.held)
        counts = pairs.group_by("item").aggregate(count=pairs.count())
        kept = self.engine.changed(counts, partial(_published_once, selection, source), _COUNTED)
        published = self.engine.table(kept).sort_by("item")
        return published["item"].to_pylist(), np.asarray(published["count"])

    def _found(
        self, rounds: schedules.AdaptiveRounds, source: RandomSource
    ) -> tuple[list[bytes], SelectedItems]:
        """Carry the rounds out; what they find in the order of names, with counts where there is a tally."""
        engine = self.engine
        score = _score(rounds, self.pairs)
        left = self._cut(self.pairs.select("user", "item", "listed", score=score), rounds.held)
        valued = left.mutate(value=left.score * schedules.LARGEST_VALUE)
        totals = self._first_totals(rounds, valued)
        written = []
        for number, step in enumerate(rounds.rounds, start=1):
            written.append(engine.changed(totals, partial(_stood, rounds, number, source), _STOOD))
            if step.steering is None:
                break
            state = written[-1].filter(written[-1].value > 0)
            valued = engine.keep(left.select("user", "item").join(state.select("item", "value"), "item"))
            engine.drop(left)
            left = valued
            totals = state.left_join(_totals(left), "item").drop("item_right")
            totals = totals.mutate(weight=totals.weight.fill_null(0))
        engine.drop(left)
        each_round = [stood.filter(stood.found > 0) for stood in written]
        found = engine.table(ibis.union(*each_round) if len(written) > 1 else each_round[0]).sort_by("item")
        for stood in written:
            engine.drop(stood)
        names, first = found["item"].to_pylist(), np.asarray(found["first"])
        if rounds.tally is not None and names:
            return names, self._tally(rounds.tally, names, first, source)
        nothing = np.zeros(0, np.int64)
        below = None if rounds.tally is None else nothing
        return names, SelectedItems(np.arange(len(names)), nothing, np.zeros(0), below)

    def _first_totals(self, rounds: schedules.AdaptiveRounds, valued: Any) -> Any:
        """Sum every item's weight in the first round; those of the public list, held or not."""
        described = valued.group_by("item").aggregate(score=valued.score.max(), listed=valued.listed.any())
        totals = described.join(_totals(valued), "item")
        if self.listed is not None:
            others = self.listed.anti_join(described, "item")
            others = others.select("item", score=_score(rounds, others), listed=True, weight=_whole(0))
            totals = totals.select("item", "score", "listed", "weight").union(others)
        return totals.mutate(standing=_whole(0), first=_whole(0))

    def _tally(
        self, tally: schedules.Tally, names: list[bytes], first: NDArray[np.int64], source: RandomSource
    ) -> SelectedItems:
        """Count the found items over whole histories; which they are is public by now."""
        engine = self.engine
        weights = stepped(tally.weighing, first).astype(np.int64)
        chosen = engine.load(pa.table({"item": pa.array(names, pa.binary()), "value": weights}))
        people = engine.table(self.pairs.aggregate(people=self.pairs.user.nunique()))["people"][0].as_py()
        users = noisy_number(schedules.ONE * people, tally.users_sigma, _of(source, "users", [b""]))
        held = engine.keep(self.pairs.select("user", "item").join(chosen, "item"))
        summed = engine.table(_totals(held, limit_of(weights)))
        numbers = np.zeros(len(names), np.int64)
        places = pc.index_in(summed["item"], pa.array(names, pa.binary()))
        numbers[np.asarray(places)] = np.asarray(summed["weight"].cast(pa.int64()))
        numbers = noisy_numbers(numbers, tally.sigma, _of(source, "counts", names))
        clipped = Clipped(tally, weights, numbers, users)
        bound = clipped.bound_of_squares()
        squares = _squares(held)
        scaled = ibis.least(squares["square"], _whole(bound)) * schedules.ONE
        # without its remainder the quotient is whole, and below 2^53: exact in doubles
        parts = squares.select(part=((scaled - scaled % bound) / _whole(bound)).cast("int64"))
        total = engine.table(parts.aggregate(parts=parts.part.sum().cast(_WHOLE)))["parts"][0].as_py() or 0
        noisy = noisy_number(total, tally.squares_sigma, _of(source, "squares", [b""]))
        engine.drop(held)
        return selected(np.arange(len(names)), clipped.put_right(bound, noisy))


def _whole(number: int) -> Any:
    return ibis.literal(number, "int64")


def _of(source: RandomSource, purpose: str, names: Sequence[bytes]) -> RandomSource:
    """Return the bits of these items for a purpose, where the source has a key; else its one stream."""
    return source.addressed(purpose, names) if isinstance(source, KeyedRandomness) else source


def _score(rounds: schedules.AdaptiveRounds, items: Any) -> Any:
    """The score of every item, by the number of its words and whether it is on the public list."""

    def by_words(scores: Sequence[int]) -> Any:
        cases = [(items.words <= words, _whole(score)) for words, score in enumerate(scores, start=1)]
        return ibis.cases(*cases, else_=_whole(scores[-1]))

    if rounds.public is None:
        return by_words(rounds.scores)
    return ibis.ifelse(items.listed, by_words(rounds.public.scores), by_words(rounds.scores))


def _squares(pairs: Any) -> Any:
    """Sum v² for each user."""
    return pairs.group_by("user").aggregate(square=(pairs.value * pairs.value).sum().cast(_WHOLE))


def _totals(pairs: Any, least: int = 0) -> Any:
    """Sum every item's weight, ⌊√(v²·2^32 / max(Σv², least))⌋ over its holders, exactly.

    Doubles give the root but for one, and products of whole numbers below 2^63 put it right, whatever an
    engine makes of a division.
    """
    joined = pairs.join(_squares(pairs), "user")
    bound = ibis.greatest(joined.square, _whole(max(1, least)))
    square = joined.value * joined.value * _whole(1 << 32)
    rooted = joined.select(
        "item", bound=bound, square=square, root=(square / bound).sqrt().floor().cast("int64")
    )
    over = (rooted.root * rooted.root * rooted.bound > rooted.square).cast("int64")
    under = ((rooted.root + 1) * (rooted.root + 1) * rooted.bound <= rooted.square).cast("int64")
    weighed = rooted.select("item", weight=rooted.root - over + under)
    return weighed.group_by("item").aggregate(weight=weighed.weight.sum().cast(_WHOLE))


def _stood(
    rounds: schedules.AdaptiveRounds, number: int, source: RandomSource, batch: pa.RecordBatch
) -> pa.Table:
    """Select items after a round, by their own noisy numbers alone: the found, and those that go on."""
    step = rounds.rounds[number - 1]
    names = batch.column("item")
    own = _of(source, f"round {number}", names.to_pylist())
    weights = noisy_numbers(np.asarray(batch.column("weight")), step.sigma, own)
    listed, score = np.asarray(batch.column("listed")), np.asarray(batch.column("score"))
    standing, reached, steered = stand(rounds, number, np.asarray(batch.column("standing")), weights, listed)
    value = np.where(reached, 0, steered * score)
    kept = pa.array(reached | (value > 0))
    first = weights if number == 1 else np.asarray(batch.column("first"))
    found = np.where(reached, number, 0)
    columns = [names, score, batch.column("listed"), standing, first, value, found]
    return pa.table([pa.array(column) for column in columns], schema=_STOOD).filter(kept)


def _published_once(
    selection: schedules.SingleCount, source: RandomSource, batch: pa.RecordBatch
) -> pa.Table:
    """Select items whose noisy count is published, and that count."""
    names = batch.column("item")
    numbers = noisy_once(
        selection, np.asarray(batch.column("count")), _of(source, "compared", names.to_pylist())
    )
    kept = pa.array(numbers >= selection.least)
    return pa.table([names, pa.array(numbers)], schema=_COUNTED).filter(kept)


@dataclass(frozen=True)
class FoundNames:
    """The texts of what was found: of each kind a table with the ``place`` of its name and its key."""

    tables: Mapping[str, pa.Table]

    @classmethod
    def read(cls, engine: Engine, keys: Mapping[str, Any], names: Sequence[bytes]) -> "FoundNames":
        chosen = engine.load(pa.table({"item": pa.array(names, pa.binary()), "place": np.arange(len(names))}))
        tables = {
            kind: engine.table(items.join(chosen, "item").drop("item").distinct()).sort_by("place")
            for kind, items in keys.items()
        }
        if sum(table.num_rows for table in tables.values()) != len(names):
            raise LogError("the log was changed while it was released.", "Release it again.")
        return cls(tables)

    def of_kind(self, table: str, items: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Select the found that are keys of this table."""
        return np.isin(items, np.asarray(self.tables[table]["place"]))

    def keys(self, table: str, items: NDArray[np.int64]) -> pa.Table:
        """The keys of these, all of one table, in their order, as the published table shows them."""
        places = np.searchsorted(np.asarray(self.tables[table]["place"]), items)
        return shown_keys(table, self.tables[table].drop_columns("place").take(pa.array(places)))


def read_named(
    engine: Engine, log: Any, kinds: Sequence[HeldItem], public: pa.Array | None = None
) -> NamedHeld:
    """Read from a log who holds what, under keyed names.

    ``public`` texts are items whether anybody holds them or not; of keywords those of one word.
    """
    pairs, keys, listed = [], {}, []
    for kind in kinds:
        table, columns = held_in(log, kind)

        def named(rows: Any, kind: HeldItem = kind, columns: Sequence[str] = columns) -> Any:
            return name_of(engine, kind.value, *(rows[column] for column in columns))

        keys[kind.value] = table.select(*columns, item=named(table))
        words = number_of_words(table, columns).cast("int64")
        user = name_of(engine, "user", table.user)
        pairs.append(table.select(user=user, item=named(table), words=words, listed=False))
        if public is not None and len(columns) == 1:
            known = engine.load(pa.table({columns[0]: listed_keys(kind.value, public)}))
            (column,) = columns  # a union wants the very same types
            known = known.select(**{column: known[column].cast(table[column].type())})
            keys[kind.value] = keys[kind.value].union(known.select(column, item=named(known)))
            words = number_of_words(known, columns).cast("int64")
            listed.append(known.select(item=named(known), words=words, listed=True))
    held = (ibis.union(*pairs) if len(pairs) > 1 else pairs[0]).distinct()
    if not listed:
        return NamedHeld(engine, engine.keep(held), keys, None)
    there = engine.keep(ibis.union(*listed) if len(listed) > 1 else listed[0])
    marked = held.drop("listed").left_join(there.select("item", "listed"), "item").drop("item_right")
    return NamedHeld(engine, engine.keep(marked.mutate(listed=marked.listed.fill_null(False))), keys, there)
