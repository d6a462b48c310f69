import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from tacit.text import normalise, normalise_column


@given(st.text())
def test_scalar_and_column_agree_and_normalising_twice_changes_nothing(query: str) -> None:
    once = normalise(query)
    assert normalise_column(pa.array([query], pa.string()))[0].as_py() == once
    assert normalise(once) == once


def test_width_case_and_space_do_not_matter() -> None:
    assert normalise("  Ｊａｖａ \u3000 COFFEE\n") == "java coffee"


def test_what_nobody_sees_is_removed() -> None:
    hidden = "\u202ejava\u202c \u200bcof\u00adfee\ufeff \u2066x\u2069"
    assert normalise(hidden) == "java coffee x"
    assert normalise("cafe\u200d\u0301") == "café"
    assert normalise("\u200b\u2060") == ""
