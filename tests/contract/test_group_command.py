"""The ``group`` command: real log in, groups out; nothing leaks, nothing is left half-written."""

import json
import os
import random
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.in_process import tacit
from tests.realdata import shared_data

from tacit import Groups
from tacit.text import normalise, words

CANARY = "canary-7f3a9c"
SECRET = "xylophonist"


def write_profiles(path: Path, users: int, terms: int = 6) -> Path:
    lines = [
        {"user": f"{CANARY}-{user}", "terms": {f"{SECRET}{user * 3 + term}": 1.0 for term in range(terms)}}
        for user in range(users)
    ]
    path.write_text("\n".join(json.dumps(line) for line in lines))
    return path


@pytest.fixture(scope="module")
def excite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("excite")
    done = tacit("import", shared_data("excite-small.log"), "-o", folder / "log.parquet")
    assert done.returncode == 0, done.stderr
    done = tacit(
        "group", folder / "log.parquet", "--p", 0.4, "--fewest-in-group", 1, "-o", folder / "groups", "--json"
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["users"] == 725
    return folder


def lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_a_real_log_is_grouped_and_the_figures_agree_with_the_files(excite: Path) -> None:
    groups = lines(excite / "groups/representatives.jsonl")
    membership = lines(excite / "groups/operator/membership.jsonl")
    found = json.loads((excite / "groups/report.json").read_text())
    assert found["users"] == len(membership) == len({line["user"] for line in membership}) == 725
    assert found["groups"] == len(groups)
    counted = [sum(line["group"] == group["group"] for line in membership) for group in groups]
    assert counted == [group["members"] for group in groups]
    assert min(counted) >= 3
    assert found["users_without_terms"] == 891 - 725
    assert found["scrubbed_queries"] == 9
    assert 0 < found["linkability"]["max"] <= 0.4
    assert found["linkability"]["owned_max"] <= 0.4
    assert [line["known_terms"] for line in found["attackers"]] == [0, 1, 5, 10]
    assert all(line["belief_max"] <= 0.4 for line in found["attackers"])


def test_no_term_that_one_user_of_the_log_alone_has_is_released(excite: Path) -> None:
    """Counted from the log's own words, and not in a bundling that leaves the rule out."""
    holders: dict[str, set[str]] = {}
    for record in pq.read_table(excite / "log.parquet", columns=["user", "query"]).to_pylist():
        for word in words(normalise(record["query"])):
            holders.setdefault(word, set()).add(record["user"])

    def alone(folder: Path) -> int:
        shown = {term for line in lines(folder / "representatives.jsonl") for term in dict(line["terms"])}  # type: ignore[call-overload]
        assert shown <= holders.keys()
        return sum(len(holders[term]) == 1 for term in shown)

    assert alone(excite / "groups") == 0
    done = tacit(
        "group",
        excite / "log.parquet",
        *("--p", 0.4, "--fewest-in-group", 1, "--fewest-holders", 1, "-o", excite / "anyones"),
    )
    assert done.returncode == 0, done.stderr
    assert alone(excite / "anyones") > 100


def test_membership_is_for_the_operator_alone(excite: Path) -> None:
    folder = excite / "groups"
    assert stat.S_IMODE((folder / "operator").stat().st_mode) == 0o700
    assert stat.S_IMODE((folder / "operator/membership.jsonl").stat().st_mode) == 0o600
    users = {str(line["user"]) for line in lines(folder / "operator/membership.jsonl")}
    for shown in ["representatives.jsonl", "report.json"]:
        text = (folder / shown).read_text()
        assert not [user for user in users if user in text]


def test_neither_users_nor_terms_are_said_on_the_terminal(tmp_path: Path) -> None:
    profiles = write_profiles(tmp_path / "p.jsonl", users=12)
    for more in ([], ["--json"], ["--p", 0.4], ["--criterion", "paper"]):
        done = tacit("group", profiles, "-o", tmp_path / f"out{len(list(tmp_path.iterdir()))}", *more)
        assert CANARY not in done.stdout + done.stderr
        assert SECRET not in done.stdout + done.stderr
    for shown in tmp_path.glob("out*/*"):
        if shown.is_file():
            assert CANARY not in shown.read_text()
    for report in tmp_path.glob("out*/**/report.json"):
        assert SECRET not in report.read_text() and CANARY not in report.read_text()


def test_an_attack_on_nobody_is_no_figure(tmp_path: Path) -> None:
    """With one person there is nobody whose words an attacker could guess: 0.0% would be a claim."""
    (tmp_path / "p.jsonl").write_text('{"user": "a", "terms": {"weather": 1, "java": 1}}')
    done = tacit("group", tmp_path / "p.jsonl", "-o", tmp_path / "groups")
    assert done.returncode == 0, done.stderr
    assert "too few people" in done.stdout and "what is given away was not measured" in done.stdout
    assert "0.0%" not in done.stdout and "0.000" not in done.stdout


def test_what_is_infeasible_exits_1_says_why_and_writes_nothing(tmp_path: Path) -> None:
    done = tacit(
        "group",
        write_profiles(tmp_path / "p.jsonl", users=5),
        "--p",
        0.1,
        "--fewest-in-group",
        1,
        "-o",
        tmp_path / "out",
    )
    assert done.returncode == 1
    assert "needs groups of at least 10 users; there are 5" in " ".join(done.stderr.split())
    assert CANARY not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["p.jsonl"]


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("--seed", -1),
        ("--augment", -1),
        ("--augment", 1_000_000_000),
        ("--p", "nan"),
        ("--epsilon", -1),
        ("--strength", 13),
        ("--criterion", "x"),
    ],
)
def test_a_wrong_option_is_named_before_the_log_is_read(tmp_path: Path, option: str, value: object) -> None:
    done = tacit("group", tmp_path / "absent.parquet", "-o", tmp_path / "out", option, value)
    assert done.returncode == 2
    assert option in done.stderr and not (tmp_path / "out").exists()


def test_an_existing_folder_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    done = tacit("group", write_profiles(tmp_path / "p.jsonl", users=9), "-o", tmp_path / "out")
    assert done.returncode == 1
    assert "exists already" in done.stderr
    assert list((tmp_path / "out").iterdir()) == []


def test_groups_are_replaced_when_asked_and_nothing_else_is(tmp_path: Path) -> None:
    output = tmp_path / "groups"
    first = write_profiles(tmp_path / "p.jsonl", users=9)
    assert tacit("group", first, "-o", output).returncode == 0
    second = write_profiles(tmp_path / "q.jsonl", users=12)
    kept = tacit("group", second, "-o", output)
    assert kept.returncode == 1 and "--force" in kept.stderr
    assert len(lines(output / "operator/membership.jsonl")) == 9
    assert tacit("group", second, "-o", output, "--force").returncode == 0
    assert len(lines(output / "operator/membership.jsonl")) == 12
    other = tmp_path / "other"
    other.mkdir()
    (other / "precious").write_text("x")
    refused = tacit("group", second, "-o", other, "--force")
    assert refused.returncode == 1 and "not a folder that this command made" in refused.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["groups", "other", "p.jsonl", "q.jsonl"]


def test_an_interrupted_run_leaves_nothing(tmp_path: Path) -> None:
    # The attackers of the report need seconds; by then a folder of another name lies beside the output.
    chance, profiles = random.Random(1), tmp_path / "p.jsonl"
    words = [f"{SECRET}{number}" for number in range(2000)]
    profiles.write_text(
        "\n".join(
            json.dumps({"user": f"{CANARY}-{user}", "terms": dict.fromkeys(chance.sample(words, 20), 1)})
            for user in range(4000)
        )
    )
    command = [sys.executable, "-m", "tacit", "group", str(profiles), "-o", str(tmp_path / "out")]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        try:
            while len(list(tmp_path.iterdir())) == 1 and running.poll() is None:
                time.sleep(0.05)
            assert running.poll() is None, "it was over before it could be interrupted"
            os.kill(running.pid, signal.SIGINT)
            _, said = running.communicate(timeout=60)
        finally:
            running.kill()  # where it did not stop, the test must
    # The second if the signal comes while Python runs a text as code, as numba and dataclasses let it.
    assert running.returncode in (130, -signal.SIGINT), said
    assert CANARY not in said
    assert [path.name for path in tmp_path.iterdir()] == ["p.jsonl"]


def test_a_failure_while_writing_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profiles = write_profiles(tmp_path / "p.jsonl", users=12)

    def full_disk(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tacit.groups.store.GroupsStore.create", full_disk)  # between two files
    with pytest.raises(OSError, match="No space left"):
        Groups.bundle(profiles, tmp_path / "out", p=0.4, fewest_in_group=1)
    assert [path.name for path in tmp_path.iterdir()] == ["p.jsonl"]


def test_a_service_runs_on_the_folder(excite: Path, tmp_path: Path) -> None:
    folder = tmp_path / "groups"
    shutil.copytree(excite / "groups", folder)
    held = lines(folder / "operator/membership.jsonl")
    member, group = str(held[0]["user"]), held[0]["group"]
    found = json.loads(tacit("group", "lookup", folder, member, "--json").stdout)
    assert found == {"known": True, "group": group}
    assert json.loads(tacit("group", "lookup", folder, "nobody", "--json").stdout)["known"] is False
    newcomers = tmp_path / "new.jsonl"
    newcomers.write_text(json.dumps({"user": CANARY, "terms": {SECRET: 2.0}}))
    waits = tacit("group", "assign", folder, newcomers, "--json")
    assert json.loads(waits.stdout) == {"assigned": 1, "without_place": 1}, waits.stderr
    assert CANARY not in waits.stderr and SECRET not in waits.stderr
    found = json.loads(tacit("group", "lookup", folder, CANARY, "--json").stdout)
    assert found == {"known": True, "group": None}
    again = tacit("group", "assign", folder, newcomers)
    assert again.returncode == 1 and "here already" in again.stderr and CANARY not in again.stderr
    shown = next(line for line in lines(folder / "representatives.jsonl") if line["group"] == group)
    results, term = tmp_path / "results.json", max(shown["terms"])
    results.write_text(json.dumps([{"title": "x"}, {"title": term}, {"title": f"{term} {term}"}]))
    ranked = json.loads(tacit("group", "rerank", folder, member, results, "--json").stdout)["results"]
    assert [result["title"] for result in ranked] == [term, f"{term} {term}", "x"]
    asked = json.loads(tacit("group", "rerank", folder, member, results, "--query", term, "--json").stdout)
    assert [result["title"] for result in asked["results"]] == ["x", term, f"{term} {term}"]
    for wrong in ("{}", f'["{SECRET}"]', f"[{SECRET}", '{"title": "x"}'):
        results.write_text(wrong)
        refused = tacit("group", "rerank", folder, member, results)
        assert refused.returncode == 1 and "no JSON list of objects" in refused.stderr
        assert SECRET not in refused.stderr
    assert "erased" in tacit("group", "remove", folder, member).stdout
    assert tacit("group", "remove", folder, member).returncode == 1
    assert member not in {line["user"] for line in lines(folder / "operator/membership.jsonl")}
    assert stat.S_IMODE((folder / "operator/groups.sqlite").stat().st_mode) == 0o600
    assert stat.S_IMODE((folder / "operator/membership.jsonl").stat().st_mode) == 0o600


@pytest.fixture(scope="module")
def cohorts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cohorts")
    done = tacit("group", write_profiles(folder / "p.jsonl", users=12), "-o", folder / "groups")
    assert done.returncode == 0, done.stderr
    return folder / "groups"


def test_newcomers_join_cohorts_and_an_erased_one_is_in_no_file(cohorts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "groups"
    shutil.copytree(cohorts, folder)
    newcomers = tmp_path / "new.jsonl"
    newcomers.write_text(json.dumps({"user": "new-7341", "terms": {"piano": 2.0}}))
    done = tacit("group", "assign", folder, newcomers, "--json")
    assert json.loads(done.stdout) == {"assigned": 1, "without_place": 0}, done.stderr
    assert any(line["user"] == "new-7341" for line in lines(folder / "operator/membership.jsonl"))
    assert tacit("group", "assign", folder, newcomers).returncode == 1
    assert "erased" in tacit("group", "remove", folder, "new-7341").stdout
    gone = tacit("group", "remove", folder, "new-7341")
    assert gone.returncode == 1 and "new-7341" not in gone.stderr
    for path in folder.rglob("*"):
        assert not path.is_file() or b"new-7341" not in path.read_bytes()


def test_a_killed_assignment_is_all_or_nothing(cohorts: Path, tmp_path: Path) -> None:
    folder = tmp_path / "groups"
    shutil.copytree(cohorts, folder)
    newcomers = tmp_path / "new.jsonl"
    words = ["piano", "garden", "football", "recipe", "engine", "island", "guitar", "harbour"]
    draw = random.Random(1)
    newcomers.write_text(
        "\n".join(
            json.dumps({"user": f"{CANARY}-{n}", "terms": dict.fromkeys(draw.sample(words, 5), 1.0)})
            for n in range(20_000)
        )
    )
    command = [sys.executable, "-m", "tacit", "group", "assign", str(folder), str(newcomers)]
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    journal = folder / "operator/groups.sqlite-journal"
    while running.poll() is None and not journal.exists():
        time.sleep(0.002)
    running.send_signal(signal.SIGKILL)
    running.wait()
    with Groups.open(folder) as groups:
        assert len(groups) in (12, 20_012)
        assert groups.of(f"{CANARY}-0") is None or len(groups) == 20_012
