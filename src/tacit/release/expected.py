"""Which tables a mechanism publishes, and the least count each can show: what a release is held against."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa

from tacit.release.click import Click
from tacit.release.k_query import KQuery
from tacit.release.mechanism import Mechanism
from tacit.release.page import PAGE
from tacit.release.session import Session
from tacit.release.zealous import ITEM_KEYS, Item, Zealous

__all__ = ["ExpectedTable", "expected_files", "expected_tables"]

_TEXT, _LIST = pa.string(), pa.list_(pa.string())


@dataclass(frozen=True)
class ExpectedTable:
    """A table of a release.

    Args:
        keys: its columns before ``count``, with their types.
        least: the least count that can be published; None where counts carry fresh noise.
    """

    keys: tuple[tuple[str, pa.DataType], ...]
    least: int | None

    def shows(self, schema: pa.Schema) -> bool:
        """Whether a file has these columns and nothing else, not even notes of its own."""
        found = tuple((field.name, field.type) for field in schema)
        return found == (*self.keys, ("count", pa.int64())) and not schema.metadata


def expected_tables(mechanism: Mechanism) -> dict[str, ExpectedTable]:
    """The tables that ``mechanism`` publishes, by name."""
    match mechanism:
        case Zealous(parameters=p, items=items):
            return {item.value: _text(*ITEM_KEYS[item], least=p.threshold_2) for item in items}
        case KQuery(parameters=k, items=items):
            # The queries in a click or a pair have k users each; the click or the pair may have one.
            frequent = (Item.KEYWORDS, Item.QUERIES)
            return {i.value: _text(*ITEM_KEYS[i], least=k.k if i in frequent else 1) for i in items}
        case Click():
            return _click(mechanism)
        case Session(parameters=s):
            least = s.threshold + 1 if s.noise_counts is None else None
            tables = {"sessions": ExpectedTable((("queries", _LIST),), least)}
            if s.clicks:
                least = s.clicks.threshold + 1 if s.clicks.noise_counts is None else None
                tables["clicks"] = _text("query", "url", least=least)
            return tables
    raise TypeError(f"no tables are known for {type(mechanism).__name__}")


def _click(mechanism: Click) -> dict[str, ExpectedTable]:
    p = mechanism.parameters
    assert p.threshold_clicks is not None and p.threshold_transitions is not None  # set on construction
    tables = {"queries": _text("query", least=p.threshold + 1 if p.noise_queries is None else None)}
    if p.clicks_per_user:
        tables["clicks"] = _text("query", "url", least=p.threshold_clicks + 1)
    if p.steps_per_user:
        tables["transitions"] = _text("query", "next_query", least=p.threshold_transitions + 1)
    return tables


def _text(*names: str, least: int | None) -> ExpectedTable:
    return ExpectedTable(tuple((name, _TEXT) for name in names), least)


def expected_files(tables: dict[str, ExpectedTable]) -> set[str]:
    """The files beside the manifest: each table twice, and the page."""
    return {f"{name}.{form}" for name in tables for form in ("parquet", "tsv")} | {PAGE}
