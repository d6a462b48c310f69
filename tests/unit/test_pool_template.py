"""Templates of personal information: what they accept, what they say in words, what they refuse."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tacit import InputError
from tacit.pool.protocol.population import adult, read_population
from tacit.pool.protocol.template import (
    Region,
    Template,
    parse_template,
    read_template,
    without_values,
)
from tacit.pool.protocol.tree import losses

FIGURE_4 = {
    "attribute": [
        {"name": "age", "low": 25, "high": 28},
        {"name": "zip code", "low": 32001, "high": 32003},
    ]
}
PLACES = {"British Columbia": ["Burnaby", "Vancouver"], "Washington": ["Redmond", "Seattle", "Spokane"]}


def places() -> Template:
    return parse_template(
        {
            "attribute": [
                {"name": "age", "low": 18, "high": 99},
                {"name": "place", "part": "query", "taxonomy": PLACES},
            ]
        }
    )


def test_the_example_of_figure_4() -> None:
    template = parse_template(FIGURE_4)
    first = Region(
        template.encode({"age": 25, "zip code": 32001}), template.encode({"age": 28, "zip code": 32002})
    )
    loss, penalty = losses(np.array([[first.low, first.high]]), template)
    assert loss.tolist() == pytest.approx([7 / 12])
    assert penalty.tolist() == pytest.approx([(3 / 3 + 1 / 2) / 2])
    assert ", ".join(template.words(first).values()) == "32001 to 32002"


def test_generalised_values_in_words() -> None:
    template = places()
    assert ", ".join(template.words(Region((7, 0), (10, 0))).values()) == "25 to 28, Burnaby"
    assert ", ".join(template.words(Region((7, 0), (7, 1))).values()) == "25, British Columbia"
    assert ", ".join(template.words(Region((0, 1), (81, 3))).values()) == "Vancouver or Redmond or Seattle"
    assert ", ".join(template.words(Region((0, 1), (81, 4))).values()) == "Vancouver or Washington"
    assert template.words(template.domain) == {}
    assert template.values(template.domain) == {"age": "any age", "place": "any place"}


def test_long_intervals_are_shortened() -> None:
    occupation = adult().template.attributes[4]
    assert occupation.words(1, 8) == "Exec-managerial to Armed-Forces (8 of 14)"
    assert occupation.words(0, 2) == "Professional"
    assert occupation.words(1, len(occupation) - 1) == f"any but {occupation.labels[0]}"


def test_what_a_query_names_is_generalised_along_with_the_record() -> None:
    template = places()
    mine = template.encode({"age": 20, "place": "Redmond"})
    assert without_values(template, mine, "stripper club redmond") == ("stripper club", ["place"])
    assert without_values(template, mine, "redmonds  pie") == ("redmonds  pie", [])
    with pytest.raises(InputError, match="names 2 values"):
        without_values(template, mine, "from Redmond to Seattle")
    with pytest.raises(InputError, match="not that of your record"):
        without_values(template, mine, "stripper club, seattle")


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ([], "1 to 64 attributes"),
        ([{"low": 1, "high": 2}], "no name"),
        ([{"name": "a"}], "one way; found none"),
        ([{"name": "a", "low": 1}], "one way"),
        ([{"name": "a", "low": 1, "high": 2, "values": ["x"]}], "one way"),
        ([{"name": "a", "low": 5, "high": 2}], "found 5 and 2"),
        ([{"name": "a", "low": 0, "high": 10**9}], "65,536"),
        ([{"name": "a", "low": True, "high": 3}], "whole numbers"),
        ([{"name": "a", "values": []}], "has 0 values"),
        ([{"name": "a", "values": ["x", "X"]}], "'X' twice"),
        ([{"name": "a", "values": "xy"}], "list of names"),
        ([{"name": "a", "taxonomy": {}}], "table of topics"),
        ([{"name": "a", "taxonomy": {"t": 3}}], "table of topics"),
        ([{"name": "a", "values": ["x"], "part": "both"}], "'person' or 'query'; found 'both'"),
        ([{"name": "a", "values": ["x"], "kind": "odd"}], "unknown key 'kind'"),
        ([{"name": "a", "values": ["x"]}, {"name": "a", "values": ["x"]}], "'a' twice"),
    ],
)
def test_what_a_template_must_not_say(attributes: list[dict[str, object]], message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_template({"attribute": attributes})


def test_files_that_are_no_templates(tmp_path: Path) -> None:
    path = tmp_path / "template.toml"
    path.write_text("[[attribute]\n")
    with pytest.raises(InputError, match="not TOML"):
        read_template(path)
    path.write_text("attribute = 3\n")
    with pytest.raises(InputError, match="found none"):
        read_template(path)


def test_errors_name_the_attribute_and_never_the_person() -> None:
    template = places()
    for wrong in ({"age": 107, "place": "Seattle"}, {"age": 50, "place": "Atlantis"}, {"age": 50}):
        with pytest.raises(InputError) as caught:
            template.encode(wrong)
        assert "107" not in str(caught.value) and "Atlantis" not in str(caught.value)
        assert "age" in str(caught.value) or "place" in str(caught.value)
    with pytest.raises(InputError, match=r"1 attribute\(s\) that the template does not declare"):
        template.encode({"age": 50, "place": "Seattle", "name": "Thelma"})


def test_adult_is_whole_and_its_template_survives_json() -> None:
    population = adult()
    assert population.records.shape == (30_162, 8)
    assert population.template.sizes == (74, 7, 16, 7, 14, 5, 2, 41)
    first = {
        attribute.name: attribute.labels[code]
        for attribute, code in zip(population.template.attributes, population.records[0], strict=True)
    }
    assert first == {
        "age": "39",
        "work class": "State-gov",
        "education": "Bachelors",
        "marital status": "Never-married",
        "occupation": "Adm-clerical",
        "race": "White",
        "gender": "Male",
        "native country": "United-States",
    }
    again = parse_template(json.loads(json.dumps(population.template.declared)))
    assert again == population.template and again.digest == population.template.digest
    assert np.bincount(population.records[:, 6]).tolist() == [20_380, 9_782]


def test_a_population_from_a_file(tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    path.write_text("age,place\n30,Seattle\n99,burnaby\n")
    assert read_population(path, places()).records.tolist() == [[12, 3], [81, 0]]
    path.write_text("age\n30\n")
    with pytest.raises(InputError, match="no column 'place'"):
        read_population(path, places())
    path.write_text("age,place\n30,\n31,Atlantis\n")
    with pytest.raises(InputError, match="outside the template"):
        read_population(path, places())
    path.write_text("age,place\n")
    with pytest.raises(InputError, match="no record"):
        read_population(path, places())
