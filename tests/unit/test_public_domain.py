"""The public domain is the same everywhere, and files of queries and urls are read as they say."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from tests.short_forms import mechanism_for

from tacit import Click, InfeasibleError, InputError, ParameterError
from tacit.release.public_sets import LARGEST_DOMAIN, bundled_domain, read_domain, take_urls


def test_the_bundled_domain_is_the_same_everywhere() -> None:
    domain = bundled_domain()
    queries = domain.queries.to_pylist()
    assert len(domain) == 150_913
    assert domain.digest.startswith("3f261b4577012c0356ba85dec0857c9978f7e501ec60fc434989b0ef6e69")
    assert queries == sorted(set(queries))
    assert {"java", "weather", "golden eagle", "new york", "person or company"} <= set(queries)


def test_a_file_is_normalised_and_each_query_counts_once(tmp_path: Path) -> None:
    path = tmp_path / "queries.txt"
    path.write_text("# Origin: two titles\nWeather\n\n  weather \nJAVA  Island\n", encoding="utf-8")
    assert read_domain(path).queries.to_pylist() == ["java island", "weather"]
    assert read_domain(path).to_dict()["origin"] == "two titles"
    path.write_text("# origin: nowhere\n\n")
    with pytest.raises(InputError, match="no query"):
        read_domain(path)
    path.write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(InputError, match="UTF-8"):
        read_domain(path)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"weather\ncanary\n", "does not name its origin"),
        (b"# origin:  \nweather\n", "does not name its origin"),
        (b"PAR1canary", "is a Parquet file"),
        (b"# origin: a log\n7\tcanary\t2006-03-01 00:00:00\n", "several columns .a tab in line 2"),
        (b"# origin: a log\n7,canary,2006-03-01 00:00:00\n8,canary,2006-03-01 00:00:01\n", "hold a time"),
        (b"# origin: a paste\n" + b"canary " * 40, "line 2 of .* is longer than 200"),
    ],
)
def test_what_is_no_public_list_of_queries_is_refused_without_showing_it(
    tmp_path: Path, content: bytes, complaint: str
) -> None:
    path = tmp_path / "queries.txt"
    path.write_bytes(content)
    with pytest.raises(InputError, match=complaint) as caught:
        read_domain(path)
    assert "canary" not in str(caught.value)


def test_a_domain_beyond_all_measure_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "queries.txt"
    with path.open("wb") as file:
        file.truncate(LARGEST_DOMAIN + 1)
    with pytest.raises(InputError, match="larger than"):
        read_domain(path)
    with pytest.raises(InputError, match="there is no file"):
        read_domain(tmp_path / "absent.txt")


def test_urls_of_a_file_are_those_of_the_queries_asked_for(tmp_path: Path) -> None:
    path = tmp_path / "urls.tsv"
    path.write_text("Weather\thttp://a\nweather\thttp://b\nnews\thttp://c\n")
    surfaced = take_urls(str(path))
    assert surfaced is not None
    keys = surfaced.keys(pa.table({"query": ["weather", "unknown"]}))
    assert keys.to_pylist() == [
        {"query": "weather", "url": "http://a"},
        {"query": "weather", "url": "http://b"},
    ]
    path.write_text("weather http://a\n")
    with pytest.raises(InputError, match="line 1"):
        take_urls(str(path))


def test_the_wordnet_engine_surfaces_its_documents() -> None:
    surfaced = take_urls("wordnet")
    assert surfaced is not None
    assert "https://wordnet.example/weather_forecast.n.01" in surfaced.urls("weather")


def test_a_pure_release_needs_public_sets(tmp_path: Path) -> None:
    path = tmp_path / "queries.txt"
    path.write_text("# origin: a test\nweather\nnews\n")
    made = mechanism_for("click", 1.0, domain=str(path))
    assert isinstance(made.mechanism, Click) and made.given.clicks_per_user == 0
    with pytest.raises(ParameterError, match="public urls"):
        mechanism_for("click", 1.0, domain=str(path), clicks_per_user=3).check()
    with pytest.raises(ParameterError, match="public domain"):
        mechanism_for("click", 1.0, domain="none")


def test_given_parameters_must_keep_to_what_was_asked() -> None:
    made = mechanism_for("zealous", 1.0, 1e-5, noise=10.0, threshold_2=150, per_user=5)
    assert made.guarantee.epsilon == pytest.approx(0.5)
    with pytest.raises(InfeasibleError, match="was asked for"):
        mechanism_for("zealous", 0.1, noise=10.0, threshold_2=150, per_user=5)
    with pytest.raises(InfeasibleError, match="was asked for"):
        mechanism_for("session", noise=1.0, threshold=9, delta=1e-9)
    with pytest.raises(ParameterError, match="together"):
        mechanism_for("zealous", noise=10.0)
    with pytest.raises(ParameterError, match="noise_clicks` given without"):
        mechanism_for("click", 1.0, noise_clicks=3.0)
    with pytest.raises(ParameterError, match="minimum_frequency` given without"):
        mechanism_for("click", 1.0, minimum_frequency=5)
