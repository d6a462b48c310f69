"""The plans of all mechanisms compile for Spark as for DuckDB: nothing in them belongs to one engine."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import ibis
import pyarrow as pa
import pytest
from tests.short_forms import click_parameters, session_parameters, zealous_parameters

from tacit import InfeasibleError, KQuery
from tacit.engines import spark
from tacit.release.mechanisms.click import ClickMode
from tacit.release.preparation import Preparation
from tacit.release.public_sets import PublicDomain

LOG = {"user": "string", "query": "string", "time": "timestamp(6)", "rank": "int32", "url": "string"}
MECHANISMS = [
    zealous_parameters(5, 5.0, 1, 76, 4),
    click_parameters(
        *(5, 5, 5.0, 50, 5.0, 5.0, 5.0),
        mode=ClickMode.APPROXIMATE,
        domain=PublicDomain("test", pa.array(["java"])),
    ),
    session_parameters(2, 4, 1.0, 20, 1.0, True, (4, 1.0, 20, 1.0)),
    KQuery(k=5),
]


class Compiling:
    """An engine that compiles what it is asked to keep, and computes nothing."""

    def __init__(self) -> None:
        self.statements: list[str] = []

    def keep(self, expression: Any) -> Any:
        self.statements.append(ibis.to_sql(expression, dialect="pyspark"))
        return ibis.table(expression.schema(), name=f"kept_{len(self.statements)}")

    def load(self, table: pa.Table) -> Any:
        return ibis.table(ibis.Schema.from_pyarrow(table.schema), name="loaded")

    def batches(self, expression: Any) -> list[pa.RecordBatch]:
        self.statements.append(ibis.to_sql(expression, dialect="pyspark"))
        return []


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
def test_every_statement_compiles(mechanism: Any) -> None:
    engine = Compiling()
    log = Preparation(datetime(2006, 3, 1), datetime(2006, 4, 1)).apply(ibis.table(LOG, name="log"))
    mechanism.plan().count(engine, log)
    assert len(engine.statements) >= 1
    for statement in engine.statements:
        assert statement.startswith("SELECT")


def test_a_master_that_does_not_answer_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark itself tries for a minute, and then speaks of a stopped context."""
    monkeypatch.setattr(spark.shutil, "which", lambda _: "java")
    for master in ("spark://127.0.0.1:1", "spark://127.0.0.1:1,127.0.0.1:2", "spark://nowhere"):
        with pytest.raises(InfeasibleError, match="nothing answers at spark"):
            spark._require_reachable(master)
    spark._require_reachable("local[2]")
    monkeypatch.setattr(spark.shutil, "which", lambda _: None)
    with pytest.raises(InfeasibleError, match="needs Java"):
        spark._require_reachable("local[2]")
