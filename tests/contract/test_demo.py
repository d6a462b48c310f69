"""The demo runs from beginning to end, on a small log."""

from __future__ import annotations

import html
import json
import math
import re
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from tests.in_process import tacit

from tacit import Guarantee
from tacit.release.document.words import verdict_on


def test_the_demo_ends_with_what_it_promises(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("os.sched_getaffinity", lambda _process: {0})  # workers would load all of it again
    done = tacit("demo", "-o", "demo", "--users", 500, "--json")
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    page = Path(result["page"])
    assert page == tmp_path / "demo/index.html"
    told = page.read_text(encoding="utf-8")
    stops = re.findall(r'<section id="(\w+)".*?</section>', told, re.DOTALL)
    assert stops == ["device", "pool", "service", "release"]
    for stop, command in zip(stops, ("generalise", "simulate", "group", "release"), strict=True):
        part = told.partition(f'<section id="{stop}"')[2].partition("</section>")[0]
        (typed,) = [line for line in result["commands"] if line.split()[1] == command]
        assert typed in html.unescape(part)
        assert all(said in part for said in ("Without Tacit", "With Tacit", "An attacker", "What it costs"))
        assert "tacit serve --profile" in part or 'href="' in part, "each stop leads to the real page"
    for target in re.findall(r'(?:href|src)="([^#"]+)"', told):
        assert (page.parent / target).is_file(), "every step links to the page that it made"
    manifest = json.loads((page.parent / "released/manifest.json").read_text(encoding="utf-8"))
    verdict = verdict_on(Guarantee.from_dict(manifest["guarantee"]))
    assert verdict.sentences[0] in html.unescape(told)
    officer = (page.parent / "released/release.html").read_text(encoding="utf-8")
    assert verdict.sure in told and verdict.sure in officer, "both pages say the same of the same release"
    assert [command.split()[1] for command in result["commands"]] == [
        "synth", "release", "verify", "group", "audit", "profile", "profile", "generalise", "audit",
        "simulate", "audit", "evaluate", "audit", "site",
    ]  # fmt: skip
    entries = pq.read_table(page.parent / "pool.parquet").num_rows
    assert f"of the {entries:,} searches that went through the pool" in told
    rows = manifest["published"]["queries"]["rows"]
    assert re.search(rf"<p>{rows} quer(y|ies) that many people asked", told)
    released = pq.read_table(page.parent / "released/queries.parquet").to_pylist()
    error = {row["query"]: math.ceil(1.96 * row["deviation"]) for row in released if row["count"]}
    listed = re.findall(r"<p>“([^<]*)”: about [\d,]+ people, ± ([\d,]+)</p>", told)
    assert listed, "the release has counts"
    for text, stated in listed:
        assert int(stated.replace(",", "")) == error[html.unescape(text)], "as the site's explorer says"
    telling = re.search(r"Of the (\d+) queries that show this person's sensitive interest", told)
    assert telling and int(telling[1]) > 1, "the page is about somebody who has something to hide"
    assert "Nothing: this person has no place" not in told
    attacks = {
        part: (page.parent / f"{part}/audit.html").read_text("utf-8") for part in ("audit", "groups-audit")
    }
    drawn = re.findall(r'<span class="said">([\d.]+ of 100)', attacks["audit"])
    assert drawn and all(each in told for each in drawn), "the audit's figure"
    guessed = re.search(r"correctly for ([\d.]+%) of people;\s+without the cohorts, for ([\d.]+%)", told)
    assert guessed and all(each in attacks["groups-audit"] for each in guessed.groups())
    sent = re.search(r"what the person reads about near it: ([^<]*)\.</p>", told)
    assert sent and sent[1] != "nothing", "the query is one with which a topic goes out"
