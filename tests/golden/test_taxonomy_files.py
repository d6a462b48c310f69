"""Taxonomy files: exact counts on the real ones, chosen rows, and every defect by line number."""

import gzip
from pathlib import Path

import pytest
from tests.realdata import shared_data

from tacit.errors import TaxonomyError
from tacit.taxonomy import load_odp, load_path_file, odp_pages

SAMPLE = Path(__file__).parent / "odp_sample.rdf"


def test_open_directory_extract() -> None:
    tree = load_path_file(shared_data("odp_topics_level4_background.tsv"))
    assert tree.names[0] == "Top"
    listed = shared_data("odp_topics_level4_background.tsv").read_text("latin-1").splitlines()
    assert tree.support[0] == pytest.approx(sum(float(line.split("\t")[1]) for line in listed))
    geometry = tree.find("Top/Science/Math/Geometry")
    assert tree.support[geometry] >= 206
    assert len(listed) == 4_872
    assert int(tree.depth.max()) == 3


def test_chrome_topics() -> None:
    tree = load_path_file(shared_data("topics_taxonomy_v2.md"))
    assert len(tree) == 469 + 1
    blues = tree.find("Top/Arts & Entertainment/Music & Audio/Blues")
    assert not len(tree.children(blues))
    assert tree.support[blues] == 1
    assert tree.support[0] == sum(not len(tree.children(topic)) for topic in range(len(tree)))


def test_iab_tiers(tmp_path: Path) -> None:
    file = tmp_path / "iab.tsv"
    file.write_text(
        "Relational ID System\t\t\tContent Taxonomy\n"
        "Unique ID\tParent\tName\tTier 1\tTier 2\tTier 3\tTier 4\n"
        "1\t\tAutomotive\tAutomotive\t\t\t\n"
        "2\t1\tAuto Body Styles\tAutomotive\tAuto Body Styles\t\t\n"
        "3\t2\tCoupe\tAutomotive\tAuto Body Styles\tCoupe\t\n"
        "42\t\tBooks\tBooks\t\t\t\n"
    )
    tree = load_path_file(file)
    assert [tree.label(topic) for topic in range(len(tree))] == [
        "Top",
        "Top/Automotive",
        "Top/Automotive/Auto Body Styles",
        "Top/Automotive/Auto Body Styles/Coupe",
        "Top/Books",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("Top/Arts\t3\nTop//Music\t4\n", "line 2"),
        ("Top/Arts\tmany\n", "line 1"),
        ("\n\n", "no topics"),
        ("| ID | Topic |\n| --- | --- |\n", "no topics"),
        ("| 1 | /A | /B |\n", "line 1: a row has 2 paths"),
        ("Tier 1\tTier 2\n\tMusic\n", "line 2"),
    ],
)
def test_defects_are_told_by_line(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "topics.tsv"
    file.write_text(text)
    with pytest.raises(TaxonomyError, match=message):
        load_path_file(file)


def test_odp_sample_counts_pages_and_shares_inner_ones() -> None:
    tree = load_odp(SAMPLE)
    supports = {tree.label(topic): tree.support[topic] for topic in range(len(tree))}
    assert supports == {
        "Top": 4,
        "Top/Arts": 2,
        "Top/Arts/Music": 2,
        "Top/Arts/Music/Instruments": 2,
        "Top/Arts/Music/Instruments/Harmonica": 2,
        "Top/Sports": 2,
        "Top/Sports/Ice_Skating": 2,
    }
    first = next(odp_pages(SAMPLE))
    assert first.title == "The Harmonica & Its Players"
    assert first.topic == ("Top", "Arts", "Music", "Instruments", "Harmonica")


def test_odp_survives_what_the_dumps_contain(tmp_path: Path) -> None:
    dirty = SAMPLE.read_bytes().replace(b"Choirs", b"Choirs \x0b\x01 caf\xe9")
    file = tmp_path / "content.rdf.u8.gz"
    file.write_bytes(gzip.compress(dirty))
    assert load_odp(file).support[0] == 4
    assert [page.title for page in odp_pages(file)][1] == "Choirs  caf\ufffd"


def test_odp_structure_without_pages_keeps_all_topics(tmp_path: Path) -> None:
    file = tmp_path / "structure.rdf.u8"
    file.write_text('<RDF><Topic r:id="Top/Arts"/><Topic r:id="Top/Sports/Golf"/></RDF>')
    tree = load_odp(file)
    assert {tree.label(topic) for topic in range(len(tree))} == {
        "Top",
        "Top/Arts",
        "Top/Sports",
        "Top/Sports/Golf",
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<RDF><Topic", "not well-formed"),
        ("<RDF></RDF>", "no topics"),
        ('<!DOCTYPE RDF [<!ENTITY a "aaaa">]><RDF>&a;</RDF>', "entities"),
    ],
)
def test_odp_defects(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "broken.rdf"
    file.write_text(text)
    with pytest.raises(TaxonomyError, match=message):
        load_odp(file)
