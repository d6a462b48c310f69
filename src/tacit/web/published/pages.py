"""The published site: a folder of plain files that any web server, or none, can show.

``index.html`` is the catalogue, and each release has its folder, exactly as it was released, so that whoever
downloads it can verify it. Nothing is computed from the log here: pages say what manifests, tables, approvals
and the ledger's balance say. Data for the explorer are script files, since a page opened from a disk may load
those and nothing else.

Who publishes every week and misses one seldom notices, and readers of a chart do not either. So what
is missing is computed from the rhythm of the releases, and said first.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tacit import __version__
from tacit.errors import InputError
from tacit.files import atomic_directory, check_output_folder
from tacit.pages import templates
from tacit.privacy.ledger import Ledger, LedgerState
from tacit.privacy.ledger.register import require_newest
from tacit.release.document.manifest import MANIFEST
from tacit.release.document.page import PAGE, usual_error
from tacit.web.published.approvals import APPROVALS, public_key, write_approvals
from tacit.web.published.crossing import Crossed, cross, cross_report

MARKS = ("index.html", "registry.json", "assets/site.js")
"""Files that every site holds, by which one is known again."""
_SHOWN = 25
_MEASURES = ("count", "deviation", "fewer_than")
_FEWEST = 3
_LATE = 1.5
"""A step of more than this many usual ones has left something out."""
_SHORTEST = timedelta(hours=12)
"""Releases that follow each other faster were made several at a time, and no rhythm says what is due."""
_MOST_NAMED = 200


@dataclass(frozen=True)
class PublishedSite:
    folder: Path
    releases: tuple[str, ...]
    missing: tuple[str, ...]
    spent: str
    files: tuple[str, ...]
    """All that crossed, by its path in the folder."""

    def to_dict(self) -> dict[str, Any]:
        page = str((self.folder / "index.html").resolve())
        listed = {name: list(getattr(self, name)) for name in ("releases", "missing", "files")}
        return {"site": str(self.folder), "page": page, "spent": self.spent, **listed}


def publish_site(
    releases: Sequence[Path],
    ledger: Path,
    to: Path,
    *,
    reports: Sequence[Path] = (),
    require_approval: Sequence[Path] = (),
    address: str = "",
    force: bool = False,
    now: datetime | None = None,
    report: Callable[[str], None] = lambda _stage: None,
) -> PublishedSite:
    """Make the site of some releases of one data set; whole, or not at all.

    Args:
        releases: their folders.
        ledger: the ledger that was charged for them.
        to: the folder to make.
        reports: pages of evaluate and audit that the owner publishes with them.
        require_approval: files of public keys; each must have signed every release.
        address: where the site will be found, for its feed; relative addresses unless given.
        force: replace a site that is there.
        now: the time to go by.
        report: is told what is under way.
    """
    # Approvals are read with their release: week-* names them too.
    releases = [path for path in releases if path.is_dir() or not path.name.endswith(APPROVALS)]
    if not releases:
        raise InputError("there is no release to publish.", "Name the folders that `tacit release` made.")
    check_output_folder(to, force=force, marks=MARKS, inputs=[*releases, ledger, *reports])
    book = Ledger(ledger)
    state = book.verify()
    require_newest(book)
    demanded = [public_key(path) for path in require_approval]
    with atomic_directory(to, replace=force) as made:
        crossed = cross(releases, made, book, demanded, report)
        (made / "assets").mkdir()
        titles: dict[str, str] = {}
        for path in reports:
            (made / "reports").mkdir(exist_ok=True)
            name = (
                f"{path.resolve().parent.name}-{path.name}" if path.stem in ("report", "audit") else path.name
            )
            titles[name] = cross_report(path, made / "reports" / name)
        report("writing pages")
        site = _Site(made, crossed, state, titles, now or datetime.now(UTC), address.rstrip("/"))
        site.write()
        made.chmod(0o755)
        files = sorted(str(path.relative_to(made)) for path in made.rglob("*") if path.is_file())
    missing = tuple(str(each) for each in site.missing)
    return PublishedSite(
        to, tuple(e.name for e in crossed), missing, str(state.account.spent()), tuple(files)
    )


@dataclass
class _Site:
    folder: Path
    releases: Sequence[Crossed]
    state: LedgerState
    reports: Mapping[str, str]
    now: datetime
    address: str

    def __post_init__(self) -> None:
        self.missing = missing_periods(self.releases, self.now)
        self.title = self.releases[-1].manifest["about"]["data_set"] or "A search log"
        self.environment = templates("tacit.web.published", number=_number)

    def write(self) -> None:
        from importlib import resources

        static = resources.files("tacit.web.published") / "static"
        for name in ("site.css", "site.js", "icon.svg"):
            (self.folder / "assets" / name).write_bytes((static / name).read_bytes())
        here = {int(each.manifest["ledger"]["entry"]) for each in self.releases}
        # charged, and no release is here: withdrawn, forgotten, or never finished
        unseen = [entry for entry in self.state.entries if entry.number not in here]
        self._page("index.html", "index.html.j2", unseen=[e for e in unseen if e.standing == "released"])
        self._page(
            "budget.html", "budget.html.j2", unseen=unseen, account=self.state.account, head=self.state.head
        )
        self._page("check.html", "check.html.j2", head=self.state.head)
        self._page("explore.html", "explore.html.j2", explored=self._explored())
        if self.reports:
            self._page("reports.html", "reports.html.j2")
        for release in self.releases:
            tables = release.tables()
            samples = {name: _sample(table) for name, table in tables.items()}
            self._page(f"{release.name}.html", "release.html.j2", release=release, samples=samples)
            (self.folder / "assets" / f"{release.name}.js").write_text(data_script(release, tables), "utf-8")
            if release.approvals:
                (self.folder / "approvals").mkdir(exist_ok=True)
                write_approvals(release.approvals, self.folder / "approvals" / f"{release.name}{APPROVALS}")
        registry = json.dumps(self._registry(), indent=2, ensure_ascii=False, allow_nan=False)
        (self.folder / "registry.json").write_text(f"{registry}\n", "utf-8")
        feed = self.environment.get_template("feed.xml.j2").render(site=self)
        (self.folder / "feed.xml").write_text(feed, "utf-8")

    def _page(self, name: str, template: str, **values: Any) -> None:
        page = self.environment.get_template(template).render(
            site=self, here=name, version=__version__, statement=PAGE, manifest_name=MANIFEST, **values
        )
        (self.folder / name).write_text(page, "utf-8")

    def _explored(self) -> str:
        """List what the explorer must know of each release before its data are loaded."""
        listed = []
        for each in self.releases:
            columns = each.manifest["columns"]
            means = {part.table: columns[part.table].get("count", "") for part in each.plan.schedule}
            rows = sum(table["rows"] for table in each.manifest["published"].values())
            at = {"at": (each.begins or each.released).isoformat(), "series": each.plan.name}
            listed.append({"name": each.name, "period": each.period, "tables": means, "rows": rows, **at})
        return json.dumps(listed, ensure_ascii=False)

    def _registry(self) -> dict[str, Any]:
        account = self.state.account
        return {
            "format": 1,
            "data_set": self.title,
            "made": self.now.isoformat(timespec="seconds"),
            "budget": account.budget.to_dict(),
            "spent": account.spent().to_dict(),
            "composition": account.rule.value,
            "exact_counts": len(self.state.unprotected),
            "ledger_head": self.state.head,
            "missing": [
                {"series": each.series, "from": each.begins.isoformat(), "to": each.ends.isoformat()}
                for each in self.missing
            ],
            "deployments": [
                {
                    **each.manifest["deployment"],
                    "folder": f"{each.name}/",
                    "page": f"{each.name}/{PAGE}",
                    "mechanism": each.manifest["mechanism"],
                    "period": each.period,
                    "strength": each.manifest["strength"],
                    "manifest_sha256": each.digest,
                    "ledger": each.manifest["ledger"],
                    "approvals": [
                        {"approver": a.approver, "time": a.time, "key": a.key} for a in each.approvals
                    ],
                }
                for each in self.releases
            ],
        }


def _number(value: object) -> object:
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else value


def _sample(table: Any) -> dict[str, Any]:
    rows = [
        [("withheld" if name == "count" else "") if v is None else " → ".join(v) if isinstance(v, list) else v
         for name, v in row.items()]
        for row in table.slice(0, _SHOWN).to_pylist()
    ]  # fmt: skip
    return {"columns": table.column_names, "rows": rows, "total": table.num_rows, "numbers": _MEASURES}


def data_script(release: Crossed, tables: Mapping[str, Any]) -> str:
    """A script that hands a release's tables to the explorer, column by column."""
    parts = {part.table: part for part in release.plan.schedule}
    form = {
        name: {
            "keys": {c: _texts(table.column(c)) for c in table.column_names if c not in _MEASURES},
            "numbers": {c: table.column(c).to_pylist() for c in table.column_names if c in _MEASURES},
            # Where it does not stand beside each count: what is exceeded at most once in 20 times.
            "error": None if "deviation" in parts[name].measures else usual_error(parts[name].error),
            "least": parts[name].lowest,
            "nested": parts[name].nested,
        }
        for name, table in tables.items()
    }
    text = json.dumps(form, ensure_ascii=False, separators=(",", ":"))
    # A text that is parsed loads faster than a program of the same size.
    return f"tacitLoaded({json.dumps(release.name)}, JSON.parse({json.dumps(text, ensure_ascii=False)}));\n"


def _texts(column: Any) -> list[str]:
    return [" → ".join(value) if isinstance(value, list) else str(value) for value in column.to_pylist()]


@dataclass(frozen=True)
class Missing:
    """A period for which there ought to be a release."""

    series: str
    begins: datetime
    ends: datetime

    def __str__(self) -> str:
        days = (self.ends - self.begins) / timedelta(days=1)
        span = f"{self.begins:%Y-%m-%d} to {self.ends:%Y-%m-%d}"
        if 6 <= days <= 8:
            return f"the week {self.begins:%G-W%V} ({span})"
        if 27 <= days <= 32:
            return f"the month {self.begins:%Y-%m} ({span})"
        return f"the day {self.begins:%Y-%m-%d}" if 0.9 <= days <= 1.1 else span


def missing_periods(releases: Sequence[Crossed], now: datetime | None = None) -> list[Missing]:
    """The periods that are missing in each series (the releases of one mechanism), in order.

    Where releases state from when to when records took part, these periods have to follow each other; else
    the days of release. With ``now`` a series of the latter kind that has stopped is missing what is due.
    """
    found: list[Missing] = []
    for name in sorted({each.plan.name for each in releases}):
        own = [each for each in releases if each.plan.name == name]
        found += holes(name, [(each.begins, each.ends) for each in own if each.begins and each.ends])
        moments = sorted(each.released for each in own if not (each.begins and each.ends))
        found += holes(name, [(moment, moment) for moment in moments])
        if now is not None and len(moments) >= _FEWEST:
            step = _usual(moments)
            if step >= _SHORTEST and (now - moments[-1]) / step > _LATE:
                found += _named(name, moments[-1] + step, now, step)
    return found


def holes(series: str, periods: Sequence[tuple[datetime, datetime]]) -> Iterator[Missing]:
    """Find what is missing between periods that ought to follow each other at their usual step."""
    if len(periods) < _FEWEST:
        return
    ordered = sorted(periods)
    step = _usual([begins for begins, _ in ordered])
    if step < _SHORTEST:
        return
    reached = ordered[0]
    for begins, ends in ordered[1:]:
        after = reached[1] if reached[1] > reached[0] else reached[0] + step
        if (begins - reached[0]) / step > _LATE and begins > after:
            yield from _named(series, after, begins, step)
        reached = max(reached, (begins, ends), key=lambda each: each[1])


def _named(series: str, begins: datetime, ends: datetime, step: timedelta) -> Iterator[Missing]:
    """The steps from ``begins`` to before ``ends``, one by one unless they are very many."""
    number = max(1, round((ends - begins) / step))
    if number > _MOST_NAMED:
        yield Missing(series, begins, ends)
        return
    for place in range(number):
        first = begins + place * step
        yield Missing(series, first, ends if place == number - 1 and first + step > ends else first + step)


def _usual(moments: list[datetime]) -> timedelta:
    gaps = [(moments[at] - moments[at - 1]).total_seconds() for at in range(1, len(moments))]
    return timedelta(seconds=sorted(gaps)[len(gaps) // 2])
