"""The published site: only what was verified, charged and, if demanded, signed crosses, and no more."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.in_process import tacit
from tests.publishing import CANARY, START, USERS, canary_log, weekly

from tacit import IntegrityError, Ledger, TacitError, verify
from tacit.privacy.ledger import Register
from tacit.privacy.ledger.ledger import default_ledger
from tacit.release.document.manifest import manifest_text, read_manifest
from tacit.web.published import approvals
from tacit.web.published.pages import holes, publish_site

WEEKS = 5


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The owner's zone: a log, its ledger, five weekly releases."""
    zone = tmp_path_factory.mktemp("owners-zone")
    weekly(canary_log(zone / "raw-log-of-example.parquet"), zone, WEEKS)
    approvals.new_key(zone / "officer.key")
    return zone


@pytest.fixture
def zone(owner: Path, tmp_path: Path) -> Path:
    """A copy that a test may spoil."""
    for week in range(1, WEEKS + 1):
        shutil.copytree(owner / f"week-{week}", tmp_path / f"week-{week}")
    return tmp_path


def ledger_of(owner: Path) -> Path:
    return default_ledger(owner / "raw-log-of-example.parquet")


def folders(zone: Path) -> list[Path]:
    return sorted(zone.glob("week-?"))


def test_nothing_of_the_log_crosses(owner: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    publish_site(folders(owner), ledger_of(owner), site)
    number = re.compile(rf"(?<![0-9a-f]){USERS:,}(?!\d)|(?<![0-9a-f.]){USERS}(?![0-9a-f])".encode())
    told = [value.encode() for value in CANARY.values() if isinstance(value, str)]
    told += [b"13:37", b"raw-log-of-example", str(owner).encode(), b"owners-zone", b"person-0"]
    for path in site.rglob("*"):
        if path.is_file():
            content = path.read_bytes()
            assert [each for each in told if each in content] == [], path
            assert path.suffix == ".parquet" or not number.search(content), path


def test_each_folder_verifies_and_pages_agree(owner: Path, tmp_path: Path) -> None:
    site = tmp_path / "site"
    made = publish_site(folders(owner), ledger_of(owner), site)
    assert made.missing == ()
    registry = json.loads((site / "registry.json").read_text())
    assert [each["folder"] for each in registry["deployments"]] == [f"week-{n}/" for n in range(1, WEEKS + 1)]
    assert registry["spent"]["epsilon"] == registry["deployments"][-1]["spent_so_far"]["epsilon"]
    needed = {
        "name",
        "curator",
        "epsilon",
        "delta",
        "unit",
        "model",
        "flavor",
        "intended_use",
        "data_product",
    }
    for each in registry["deployments"]:
        assert needed <= set(each)
        assert verify(site / each["folder"], ledger_of(owner))
        assert (site / each["page"]).is_file()
    index = (site / "index.html").read_text()
    assert "Searches of &lt;Example&gt;" in index and "<Example>" not in index
    assert "No period between the first release and the last is missing" in index
    assert len(ElementTree.fromstring((site / "feed.xml").read_text())) > WEEKS
    for page in site.glob("*.html"):
        text = page.read_text()
        assert "default-src 'none'; script-src 'self'" in text
        assert not re.search(r"(?:src|href)=\"(?:https?:)?//", text)
        for link in re.findall(r'(?:src|href)="([^"#]+)', text):
            assert (site / link).is_file(), f"{page.name} leads to {link}"


def forge(week: Path) -> None:
    manifest = read_manifest(week)
    manifest["about"]["purpose"] = "anything"
    manifest["deployment"]["intended_use"] = "anything"
    (week / "manifest.json").write_text(manifest_text(manifest), encoding="utf-8")


def link_file(week: Path) -> None:
    (week / "queries.tsv").rename(week.parent / "elsewhere.tsv")
    (week / "queries.tsv").symlink_to(week.parent / "elsewhere.tsv")


def link_folder(week: Path) -> None:
    week.rename(week.parent / "elsewhere")
    week.symlink_to(week.parent / "elsewhere")


def uncharged(week: Path) -> None:
    """Release it again, to a ledger of another data set."""
    shutil.rmtree(week)
    log = canary_log(week.parent / "other.parquet")
    weekly(log, week.parent / "other", 1)[0].rename(week)


SPOILT: dict[str, Callable[[Path], object]] = {
    "forged": forge,
    "stray": lambda week: (week / "notes.txt").write_text("seen: user 7"),
    "hidden stray": lambda week: (week / ".notes").write_text(""),
    "a folder inside": lambda week: (week / "raw").mkdir(),
    "a pipe": lambda week: os.mkfifo(week / "pipe"),
    "a linked file": link_file,
    "a linked folder": link_folder,
    "changed rows": lambda week: (week / "queries.tsv").write_text("query\tcount\nweather\t1\n"),
    "no release": lambda week: (week / "manifest.json").unlink(),
    "gone": shutil.rmtree,
    "a page of its own": lambda week: (week / "release.html").write_text("<script>1</script>"),
}


@pytest.mark.parametrize("how", SPOILT)
def test_what_does_not_hold_is_refused_by_name(owner: Path, zone: Path, how: str) -> None:
    given = folders(zone)
    SPOILT[how](zone / "week-3")
    before = sorted(zone.iterdir())
    why = ".* not a plain file" if how in ("a folder inside", "a pipe", "a linked file") else ""
    with pytest.raises(
        IntegrityError, match=rf"1 of 5 may not be published, and nothing was written\. week-3:{why}"
    ):
        publish_site(given, ledger_of(owner), zone / "site")
    assert sorted(zone.iterdir()) == before


def test_releases_of_another_ledger_are_refused(
    owner: Path, zone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TACIT_STATE", str(zone / "state"))
    (zone / "other").mkdir()
    shutil.rmtree(zone / "week-2")
    weekly(canary_log(zone / "other.parquet"), zone / "other", 1)[0].rename(zone / "week-2")
    with pytest.raises(IntegrityError, match=r"week-2: the charge is in the ledger"):
        publish_site(folders(zone), ledger_of(owner), zone / "site")
    assert not (zone / "site").exists()


def test_an_old_copy_of_the_ledger_is_refused(owner: Path, zone: Path) -> None:
    """It would show less spent than was."""
    Register().remember(Ledger(ledger_of(owner)))
    old = zone / "old.ledger"
    old.write_text("".join(ledger_of(owner).read_text().splitlines(keepends=True)[:4]))
    with pytest.raises(IntegrityError, match="not as it was left"):
        publish_site([zone / "week-1"], old, zone / "site")


def test_approvals_are_demanded_checked_and_shown(owner: Path, zone: Path) -> None:
    key, public = owner / "officer.key", owner / "officer.key.pub"
    given, site = folders(zone)[:2], zone / "site"
    named = [*given, *map(approvals.approvals_file, given)]  # as a shell's week-* names them

    def made() -> int:
        return tacit(
            "site", *named, "--ledger", ledger_of(owner), "-o", site, "--require-approval", public
        ).returncode

    assert made() == 1 and not site.exists()
    signed = tacit("approve", *given, "--key", key, "--approver", "Officer <A>", "--ledger", ledger_of(owner))
    assert signed.returncode == 0, signed.stderr
    assert made() == 0
    assert "Officer &lt;A&gt;" in (site / "index.html").read_text()
    assert tacit("approve", site / "week-1", "--check", public).returncode == 1  # they lie apart there
    shutil.rmtree(site)
    # of another release; of another key; with another name; of a manifest that was changed
    kept = approvals.approvals_file(given[0]).read_text()
    shutil.copy(approvals.approvals_file(given[1]), approvals.approvals_file(given[0]))
    assert made() == 1
    approvals.approvals_file(given[0]).write_text(kept.replace("Officer <A>", "Officer <B>"))
    assert made() == 1
    approvals.approvals_file(given[0]).unlink()
    approvals.new_key(zone / "stranger.key")
    approvals.approve(given[0], zone / "stranger.key", "Officer <A>")
    assert made() == 1 and not site.exists()
    approvals.approvals_file(given[0]).write_text(kept)
    assert made() == 0
    forge(given[0])
    with pytest.raises(TacitError):
        approvals.read_approvals(given[0])
    with pytest.raises(IntegrityError, match="not signed: it does not verify"):
        approvals.approve(given[1].with_name("week-1"), key, "Officer", ledger_of(owner))


def test_a_private_key_is_private(owner: Path, tmp_path: Path) -> None:
    assert (owner / "officer.key").stat().st_mode & 0o777 == 0o600
    loose = tmp_path / "loose.key"
    shutil.copy(owner / "officer.key", loose)
    loose.chmod(0o644)
    with pytest.raises(TacitError, match="can be read by others"):
        approvals.approve(owner / "week-1", loose, "Officer")


def test_a_week_without_its_release_is_named_on_top(owner: Path, zone: Path) -> None:
    shutil.rmtree(zone / "week-3")
    made = publish_site(folders(zone), ledger_of(owner), zone / "site")
    assert made.missing == ("the week 2006-W12 (2006-03-20 to 2006-03-27)",)
    index = (zone / "site" / "index.html").read_text()
    assert index.index("the week 2006-W12") < index.index("All releases")
    assert "The ledger was charged for 1 more release" in index


@pytest.mark.parametrize("days", [1, 7])
def test_every_missing_period_of_a_year_is_found(days: int) -> None:
    step = timedelta(days=days)
    year = [(START + n * step, START + (n + 1) * step) for n in range(52)]
    assert list(holes("queries", year)) == []
    for gone in range(1, 51):
        (found,) = holes("queries", year[:gone] + year[gone + 1 :])
        assert (found.begins, found.ends) == year[gone]
    pair = [(each.begins, each.ends) for each in holes("queries", year[:20] + year[22:])]
    assert pair == year[20:22]
    days_of_release = [
        (begins + timedelta(hours=n % 3), begins + timedelta(hours=n % 3))
        for n, (begins, _) in enumerate(year)
    ]
    assert list(holes("queries", days_of_release)) == []
    (late,) = holes("queries", days_of_release[:9] + days_of_release[10:])
    assert abs(late.begins - year[9][0]) < timedelta(hours=4)


def test_reports_cross_only_if_they_may_be_shared(owner: Path, tmp_path: Path) -> None:
    policy = '<meta http-equiv="Content-Security-Policy"\n  content="default-src \'none\'; img-src data:">'
    pages = {
        "shared": f"<title>What it costs &amp; gives</title>{policy}",
        "sensitive": f'{policy}<p class="banner sensitive">As sensitive as the log itself.</p>',
        "foreign": "<title>x</title><script src=https://elsewhere.example/x.js></script>",
    }
    for name, page in pages.items():
        (tmp_path / f"{name}.html").write_text(page)
    first = folders(owner)[:1]
    made = publish_site(first, ledger_of(owner), tmp_path / "site", reports=[tmp_path / "shared.html"])
    assert "reports/shared.html" in made.files
    assert "What it costs &amp; gives" in (tmp_path / "site" / "reports.html").read_text()
    for name in ("sensitive", "foreign"):
        with pytest.raises(IntegrityError):
            publish_site(first, ledger_of(owner), tmp_path / "other", reports=[tmp_path / f"{name}.html"])
        assert not (tmp_path / "other").exists()


def test_a_site_replaces_only_a_site(owner: Path, tmp_path: Path) -> None:
    site, first = tmp_path / "site", folders(owner)[:1]
    publish_site(first, ledger_of(owner), site)
    with pytest.raises(TacitError, match="exists already"):
        publish_site(first, ledger_of(owner), site)
    publish_site(
        folders(owner)[:2], ledger_of(owner), site, force=True, now=datetime(2030, 1, 1).astimezone()
    )
    assert (site / "week-2").is_dir()
    (tmp_path / "photos").mkdir()
    with pytest.raises(TacitError, match="not a folder that this command made"):
        publish_site(first, ledger_of(owner), tmp_path / "photos", force=True)
