"""A wrong mapping makes a person of every line: none is proposed, and a log that looks so is refused."""

from __future__ import annotations

import itertools
import random
from pathlib import Path

import pytest

from tacit.errors import LogError
from tacit.searchlog.importing import ImportOptions, import_log, look_at
from tacit.searchlog.readers import ColumnMapping, Reading

WORDS = "red kite blue whale garden train house river bread music phone paint glass".split()


def rows(seed: int, users: list[str], lines: int = 200) -> list[dict[str, str]]:
    """A log of three columns and what often stands beside them."""
    drawn = random.Random(seed)
    found = []
    for number in range(lines):
        clicked = drawn.random() < 0.4
        found.append(
            {
                "line": str(number + 1000),
                "user": drawn.choice(users),
                "query": " ".join(drawn.choices(WORDS, k=drawn.randint(1, 4))),
                "time": f"2021-03-{drawn.randint(1, 28):02} 05:{number % 60:02}:07",
                "rank": str(drawn.randint(1, 20)) if clicked else "",
                "url": f"http://{drawn.choice(WORDS)}.org/{number}" if clicked else "",
                "country": drawn.choice(["DE", "US", "FR"]),
                "unique": f"{drawn.getrandbits(64):016x}",
                "visit": f"v{number // 3:05}",
                "shop": f"shop {drawn.randint(1, 9)}{drawn.randint(1, 9)}".replace(" ", ""),
                "took": str(drawn.randint(5, 900)),
                "price": f"{drawn.random() * 90:.2f}",
                "title": f"{drawn.choice(WORDS)} {drawn.choice(WORDS)} now",
            }
        )
    return found


USERS = {
    "numbers": [str(10_000 + 37 * n) for n in range(40)],
    "cookies": [f"{n * 7919:08x}" for n in range(60)],
    "small": [str(n) for n in range(30)],
    "addresses": [f"10.0.{n % 7}.{n}" for n in range(50)],
}


@pytest.mark.parametrize("kind", USERS)
@pytest.mark.parametrize("seed", range(40))
def test_the_proposed_mapping_of_shuffled_columns_is_right_or_absent(
    tmp_path: Path, kind: str, seed: int
) -> None:
    drawn = random.Random(seed)
    found = rows(seed, USERS[kind])
    names = ["query", "time", "user"] if seed % 5 else ["query", "time"]  # now and then nobody is named
    beside = ["line", "rank", "url", "country", "unique"]
    if "user" in names:  # where nobody is named, these tell people apart as users would
        beside += ["visit", "shop", "took", "price", "title"]
    names += drawn.sample(beside, k=drawn.randint(0, 5))
    drawn.shuffle(names)
    (tmp_path / "log.txt").write_text("".join("~".join(row[name] for name in names) + "\n" for row in found))
    seen = look_at(tmp_path / "log.txt", None, Reading(delimiter="~"))
    try:
        import_log([tmp_path / "log.txt"], tmp_path / "log.parquet", ImportOptions(delimiter="~"))
    except LogError as error:
        refusal = str(error)
    else:
        refusal = ""
    assert seen.refusal == refusal
    if refusal:
        proposed = refusal.partition("`columns=user=")[2].partition("`")[0]
        if proposed[:1].isdigit():
            places = dict(part.split("=") for part in f"user={proposed}".split(","))
            assert {column: names[int(place) - 1] for column, place in places.items()} == {
                column: column for column in places
            }
    else:
        # The order of AOL's columns was recognised: then it is that order, and a look says the same.
        assert seen.format_name == "csv"
        assert names[:3] == ["user", "query", "time"]
        assert {"rank", "url"} >= set(names[3:])


def test_a_log_with_cookies_is_proposed_rightly(tmp_path: Path) -> None:
    found = rows(1, USERS["cookies"])
    names = ["line", "time", "url", "query", "rank", "user"]
    (tmp_path / "log.csv").write_text("".join(",".join(row[name] for name in names) + "\n" for row in found))
    seen = look_at(tmp_path / "log.csv")
    assert "`columns=user=6,query=4,time=2,rank=5,url=3`" in seen.refusal


@pytest.mark.parametrize("first", ["user", "shop"])
@pytest.mark.parametrize("beside", ["unique", "visit", "title"])
def test_a_fourth_column_that_may_tell_people_apart_is_not_passed_over(
    tmp_path: Path, first: str, beside: str
) -> None:
    names = [first, "query", "time", beside]
    lines = (",".join(row[name] for name in names) for row in rows(3, USERS["cookies"]))
    (tmp_path / "log.csv").write_text("\n".join(lines))
    assert "columns=user=" in look_at(tmp_path / "log.csv").refusal
    with pytest.raises(LogError):
        import_log([tmp_path / "log.csv"], tmp_path / "log.parquet", ImportOptions())


def refused(tmp_path: Path, text: str, **options: object) -> str:
    (tmp_path / "log.csv").write_text(text)
    with pytest.raises(LogError, match="hardly a log of what people searched") as error:
        import_log([tmp_path / "log.csv"], tmp_path / "log.parquet", ImportOptions(**options))  # type: ignore[arg-type]
    assert not (tmp_path / "log.parquet").exists()
    accepted = ImportOptions(accept_unusual=True, **options)  # type: ignore[arg-type]
    assert import_log([tmp_path / "log.csv"], tmp_path / "log.parquet", accepted).records
    return str(error.value)


def test_numbers_of_lines_as_users_are_refused(tmp_path: Path) -> None:
    found = rows(2, USERS["cookies"])
    text = "".join(f"{row['line']},{row['query']},{row['time']}\n" for row in found)
    assert "200 of its 200 users have a single record" in refused(tmp_path, text)


def test_an_aggregated_table_is_refused(tmp_path: Path) -> None:
    counted = enumerate(itertools.product(WORDS, WORDS), 7)
    text = "query,count,rank\n" + "".join(f"{a} {b},{n},{n}\n" for n, (a, b) in counted)
    mapping = ColumnMapping.parse("user=query,query=count,time=rank")
    assert "users' names are several words" in refused(tmp_path, text, mapping=mapping, time_format="epoch")


def test_times_in_1970_are_refused(tmp_path: Path) -> None:
    text = "user,query,time\n" + "".join(f"u{n % 9},red kite,{n * 1000}\n" for n in range(100))
    assert "100 of its 100 records are from 1970" in refused(tmp_path, text, time_format="epoch")


def test_queries_that_are_counts_are_refused(tmp_path: Path) -> None:
    text = "user,query,time\n" + "".join(f"u{n % 9},{n},2021-03-04\n" for n in range(100))
    assert "of its queries are plain numbers" in refused(tmp_path, text)


def test_a_log_of_one_busy_hour_may_be_accepted_by_name(tmp_path: Path) -> None:
    text = "user,query,time\n" + "".join(f"u{n},red kite,2021-03-04\n" for n in range(19))
    (tmp_path / "log.csv").write_text(text)
    report = import_log([tmp_path / "log.csv"], tmp_path / "log.parquet")
    assert report.figures is not None and report.figures.users == 19  # too few to judge


def test_a_wrong_name_of_a_column_is_said_with_the_right_ones(tmp_path: Path) -> None:
    (tmp_path / "log.csv").write_text("at,visitor,text\n2021-03-04,u1,red kite\n")
    with pytest.raises(LogError, match="has no column person; its first line names at, visitor, text"):
        import_log(
            [tmp_path / "log.csv"],
            tmp_path / "log.parquet",
            ImportOptions(mapping=ColumnMapping.parse("user=person,query=text,time=at")),
        )


@pytest.mark.parametrize("most", [90, 5000])
@pytest.mark.parametrize("named", [True, False])
def test_how_many_asked_a_query_on_a_day_is_no_user(tmp_path: Path, most: int, named: bool) -> None:
    drawn = random.Random(most)
    lines = [
        f"2021-03-{n % 28 + 1:02},{' '.join(drawn.choices(WORDS, k=2))},{drawn.randint(1, most)}"
        for n in range(300)
    ]
    (tmp_path / "counts.csv").write_text("\n".join([*(["day,phrase,searches"] if named else []), *lines]))
    seen = look_at(tmp_path / "counts.csv")
    assert "columns=user" not in seen.refusal.partition("Name its format")[0]


def test_objects_without_a_user_are_refused_with_the_names_they_have(tmp_path: Path) -> None:
    line = '{"visit": {"who": "u%d"}, "q": "red kite", "@timestamp": "2021-03-04T05:06:07Z"}\n'
    (tmp_path / "log.jsonl").write_text("".join(line % n for n in range(30)))
    with pytest.raises(
        LogError, match=r"no object at the beginning of .* has user; most have visit\.who, q, @times"
    ):
        import_log([tmp_path / "log.jsonl"], tmp_path / "log.parquet")
    assert look_at(tmp_path / "log.jsonl").columns == ()
    text = (tmp_path / "log.jsonl").read_text().replace("visit", "user").replace("who", "id")
    (tmp_path / "log.jsonl").write_text(text)
    assert (
        import_log(
            [tmp_path / "log.jsonl"], tmp_path / "log.parquet", ImportOptions(accept_unusual=True)
        ).records
        == 30
    )
