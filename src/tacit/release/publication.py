"""Publishing a log: the order of steps that leaves nothing half-done and no noise unpaid.

::

    check    output free, log valid, ledger right and sufficient, disk large enough
    count    bounded histograms (the long part, no randomness)
    charge   the ledger, flushed to the disk
    draw     noise
    write    a hidden folder beside the output
    note     in the ledger: this charge is released with this manifest
    rename   flushed, into place, in one step
    confirm  in the ledger: the release that was noted is in its place

Whatever ends the work before the rename leaves no release; every release that is in its place is noted, since
the note comes first. A note without a confirmation is that of a run that ended in between. A charge once
made stays made, even if the release was lost: noise may have been drawn for it, and whoever saw the machine
may have seen it. A new run starts anew, with a new charge and new noise.
"""

import dataclasses
import platform
import resource
import shutil
import tempfile
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pyarrow as pa

from tacit import __version__
from tacit.display import Displayed
from tacit.engines import chosen_engine, memory_for, open_engine
from tacit.errors import (
    BudgetError,
    InfeasibleError,
    InputError,
    IntegrityError,
    LogError,
    ParameterError,
    PrivacyWarning,
    TacitError,
)
from tacit.files import atomic_directory
from tacit.privacy import Guarantee, GuaranteeKind
from tacit.privacy.ledger import Entry, Ledger, LedgerState, Register, budget_of, open_ledger
from tacit.privacy.noise.randomness import RandomSource
from tacit.release import prose
from tacit.release.document import manifest as manifests
from tacit.release.document.about import About, about_file, read_about
from tacit.release.document.page import PAGE, render_page
from tacit.release.document.tables import write_cells, write_parquet
from tacit.release.document.words import ReleaseVerdict, may_show, verdict_on
from tacit.release.execution import Tables, require_drawable
from tacit.release.forecast import foresee, in_words, refuse_if_empty
from tacit.release.mechanism import Mechanism, Plan, plan_of
from tacit.release.parameters import DEFAULT_DELTA, refuse_noise_off
from tacit.release.preparation import Preparation, withheld
from tacit.searchlog import check_log
from tacit.searchlog.schema import damage_of
from tacit.searchlog.sessions import SessionCut
from tacit.validation import flag, moment, place, size, whole

_LEAST_SPACE = 64 << 20
_LEAST_ADDRESS_SPACE = 2 * 10**9
_LIBRARIES = ("duckdb", "ibis-framework", "numpy", "pyarrow")


@dataclass(frozen=True)
class Order:
    """A release to be made."""

    log: Path  # the search log, canonical Parquet
    output: Path  # the folder to make; it must not exist
    mechanism: Plan[Any]  # how
    preparation: Preparation  # which records take part
    ledger: Ledger  # the data set's ledger
    purpose: str = ""  # what the ledger's entry says it is for
    memory: int | None = None  # bytes for the engine; by the length of the log unless given
    threads: int | None = None  # of the engine
    engine: str | None = None  # a Spark master; DuckDB on this machine unless given
    # what the owner states about the release, for its manifest and page
    about: About = field(default_factory=About)
    users: int | None = None  # about how many users the log has, where the owner states it


@dataclass(frozen=True, repr=False)
class Release(Displayed):
    """A release that was made. Its tables are attributes too: ``release.queries``.

    Args:
        folder: where it is.
        manifest: what is stated about it.
        entry: its charge in the ledger.
        tables: the published tables by name, as Arrow tables.
    """

    folder: Path
    manifest: dict[str, Any]
    entry: Entry
    tables: Mapping[str, pa.Table]

    @property
    def guarantee(self) -> Guarantee:
        """What it provably promises."""
        return Guarantee.from_dict(self.manifest["guarantee"])

    @property
    def verdict(self) -> ReleaseVerdict:
        """How strong the protection is, of all releases of the data set so far."""
        return manifests.verdict_of(manifests.mechanism_of(self.manifest), self.manifest)

    def __getattr__(self, name: str) -> pa.Table:
        tables = self.__dict__.get("tables", {})
        if name not in tables:
            raise AttributeError(f"this release has no {name}; its tables: {', '.join(tables)}.")
        return tables[name]

    def _summary(self) -> str:
        return f"Release {self.folder}: {self.guarantee}"

    def _rows(self) -> list[tuple[str, str]]:
        return [(name, f"{table.num_rows:,} rows") for name, table in self.tables.items()]


def refuse_overwriting(folder: Path) -> None:
    """A release is made in a folder of its own, once."""
    if folder.exists():
        raise InputError(
            f"{folder} exists already, and a release is never overwritten: others may hold it, and its "
            "charge stays.",
            "Choose another output.",
        )


def _require_address_space() -> None:
    """Refuse a limit on the process's memory under which the engine crashes, with no word of its own."""
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    if allowed != resource.RLIM_INFINITY and allowed < _LEAST_ADDRESS_SPACE:
        raise InfeasibleError(
            f"this process may take {allowed / 1e9:.1f} GB of memory; the engine needs 2 GB of addresses, "
            "though it uses less.",
            "Raise the limit (ulimit -v), and bound what is used with `memory`. Nothing was spent.",
        )


def _check(order: Order) -> None:
    """Everything that can be known to fail before the long work."""
    refuse_overwriting(order.output)
    check_log(order.log)
    order.mechanism.check()
    require_drawable(order.mechanism.schedule)
    if order.mechanism.guarantee.kind is not GuaranteeKind.K_QUERY:
        order.ledger.state().account.charge(order.mechanism.event)  # a dry run: refused now or never
    needed = max(_LEAST_SPACE, order.log.stat().st_size)
    for folder in (order.output.absolute().parent, Path(tempfile.gettempdir())):
        if folder.is_dir() and shutil.disk_usage(folder).free < needed:
            raise InfeasibleError(
                f"{folder} has less than {needed >> 20} MB free.",
                "Free some space, choose another output, or set TMPDIR.",
            )


def publish(
    log: str | Path,
    plan: Mechanism | Plan[Any],
    *,
    to: str | Path,
    ledger: Ledger | str | Path | None = None,
    budget_epsilon: float | None = None,
    budget_delta: float = 0.0,
    data_set: str = "",
    controller: str = "",
    purpose: str = "",
    since: datetime | str | None = None,
    until: datetime | str | None = None,
    scrub: bool = True,
    session_gap: float | None = None,
    users: int | None = None,
    even_if_empty: bool = False,
    unsafe_exact_counts: bool = False,
    a_person_may_be_shown: bool = False,
    memory: int | str | None = None,
    threads: int | None = None,
    engine: str | None = None,
    report: Callable[[str], object] = str,
) -> Release:
    """Publish a log: tables, manifest and page in a folder, charged to the data set's ledger.

    Every rule of a release is here; ``Log.release``, which explains the parameters, and ``tacit
    release`` pass on what they were given.

    Raises:
        ParameterError: a parameter is outside its range.
        InputError: the log, the folder or the ledger cannot be used.
        BudgetError: the ledger does not hold what the release costs.
        InfeasibleError: no plan satisfies what is asked, or next to nothing can be expected.
    """
    _require_address_space()
    settled = plan_of(plan)
    refuse_noise_off(settled.mechanism)
    path, output = check_log(place("log", log)), place("to", to)
    refuse_overwriting(output)
    settled.check()
    given = About(data_set=data_set, controller=controller, purpose=purpose).to_dict()
    cut = SessionCut.of(session_gap)
    prepared = Preparation(moment("since", since), moment("until", until), flag("scrub", scrub), cut)
    most = None if memory is None else size("memory", memory)
    workers = None if threads is None else whole("threads", threads, 1)
    engine = chosen_engine(engine, most, workers)
    agreed = flag("a_person_may_be_shown", a_person_may_be_shown)
    _require_consent(settled, flag("unsafe_exact_counts", unsafe_exact_counts))
    _require_stated_delta(settled)
    if users is None:
        users = getattr(settled.mechanism, "users", None)
    if users is not None:
        expected = foresee(settled, whole("users", users, 1), report)
        report(in_words(expected))
        if not flag("even_if_empty", even_if_empty):
            refuse_if_empty(expected.rows, users)
    if not agreed:
        _refuse_showing(settled.guarantee.delta, users, "this release")
    budget = budget_of(budget_epsilon, budget_delta, settled.neighbours, "budget_")
    _require_room(settled.guarantee, budget)
    # Also a ledger that is open already: whether it is this data set's, only the register can say.
    opened = open_ledger(
        ledger if isinstance(ledger, Ledger | None) else place("ledger", ledger), path, budget
    )
    _judge(settled, opened.state(), users, agreed)
    about = read_about(opened.path, given)
    order = Order(path, output, settled, prepared, opened, about.purpose, most, workers, engine, about, users)
    done = publish_log(order, report=report)
    if about.missing:
        said = f"The page shows as missing: {', '.join(about.missing)}."
        _told(report)(f"{said} State them once in {about_file(opened.path)} (tacit ledger about makes it).")
    return done


def _require_consent(plan: Plan[Any], unsafe_exact_counts: bool) -> None:
    """Refuse what is not private unless that is known."""
    if not plan.mechanism.private and not unsafe_exact_counts:
        raise ParameterError(
            f"{plan.title} is not private. {verdict_on(plan.guarantee).sentence}",
            "Choose another mechanism; or, if that is acceptable, say `unsafe_exact_counts=True`.",
        )


def _require_stated_delta(plan: Plan[Any]) -> None:
    """Refuse given noise and thresholds that cost more δ than is usual, unless a δ was stated.

    A plan keeps to the δ it was asked for; parameters that are given have nothing to keep to where neither ε
    nor δ is stated.
    """
    defaults: dict[str, Any] = {each.name: each.default for each in dataclasses.fields(plan.mechanism)}
    stated = getattr(plan.mechanism, "epsilon", None), getattr(plan.mechanism, "delta", None)
    usual = max(defaults.get("delta", 0.0), DEFAULT_DELTA)
    if stated == (None, defaults.get("delta")) and plan.guarantee.delta > usual:
        raise ParameterError(
            f"these parameters cost delta {plan.guarantee.delta:.3g}; no `delta` was stated, and at most "
            f"{usual:g} is taken for granted.",
            "State the `delta` that they may cost, or give a higher threshold. Nothing was charged.",
        )


def _refuse_showing(delta: float, users: int | None, of: str) -> None:
    """Refuse a δ that may show a person, unless the owner has said that this is known."""
    shown = may_show(delta, users)
    if shown:
        raise ParameterError(
            f"{of} may show a person outright. {shown}",
            "Ask for a smaller `delta`; or, if that is acceptable, say `a_person_may_be_shown=True`. Nothing "
            "was spent.",
        )


def _judge(plan: Plan[Any], state: LedgerState, users: int | None, agreed: bool) -> None:
    """Look at all that will have been spent with this release: refuse or warn of what protects weakly."""
    private, account = plan.mechanism.private, state.account
    total = (account.charge(plan.event) if private else account).spent()
    if not agreed:
        _refuse_showing(total.delta, users, "all releases of this data set together")
    exact = len(state.unprotected) + (not private)
    verdict = verdict_on(plan.guarantee, total, exact=exact, users=users)
    if verdict.warns:
        warnings.warn(f"{verdict.headline}. {verdict.sentence}", PrivacyWarning, stacklevel=4)


def _require_room(guarantee: Guarantee, budget: Guarantee | None) -> None:
    """Refuse a budget that the first release already exceeds, before a ledger is opened with it for good."""
    if budget is None or guarantee.kind is GuaranteeKind.K_QUERY:
        return
    for name in ("epsilon", "delta"):
        asked, given = getattr(guarantee, name), getattr(budget, name)
        if asked > given:
            raise BudgetError(
                f"this release costs {asked:.4g} of {name}; the budget has {given:.4g}.",
                f"Give a larger `budget_{name}`; no ledger was opened and nothing was spent.",
            )


def publish_log(
    order: Order,
    *,
    source: RandomSource | None = None,
    report: Callable[[str], object] = str,
) -> Release:
    """Make the release that is ordered.

    Args:
        order: what to release.
        source: of the noise; the operating system's randomness unless a test gives another.
        report: told what is under way.
    """
    report = _told(report)
    _check(order)
    memory = order.memory or memory_for(order.log)
    entry = None
    try:
        with (
            open_engine(memory=memory, threads=order.threads, master=order.engine) as engine,
            atomic_directory(order.output) as folder,
        ):
            report("counting")
            counting = order.mechanism.take_in(engine, order.log, order.preparation)
            report("charging the ledger")
            entry = order.ledger.spend(order.mechanism.event, order.purpose or order.mechanism.name)
            _remember(order.ledger, report)
            report("drawing noise" if order.mechanism.mechanism.private else "selecting")
            drawn = source or engine.randomness(entry.hash)  # a key, where there is one, is new for a charge
            tables = order.mechanism.publish(engine, counting, drawn)
            tables = withheld(tables, scrub=order.preparation.scrub)
            report("writing")
            manifest = write_release(folder, order, tables, entry)
            order.ledger.note_release(entry, manifests.file_hash(folder / manifests.MANIFEST))
            _remember(order.ledger, report)
    except LogError as error:
        damage = damage_of(order.log)
        if not damage or entry is not None:
            raise
        raise LogError(
            f"{order.log} is damaged: {damage}. Nothing was charged.", "Copy it again, or import it again."
        ) from error
    except BaseException:
        if entry is not None:
            report(_what_became_of(order, entry, report))
        raise
    _confirm(order.ledger, entry, report)
    return Release(order.output, manifest, entry, tables)


def _told(report: Callable[[str], object]) -> Callable[[str], None]:
    """``report``, of which nothing that fails ends a release: a terminal that is gone costs no charge."""

    def told(said: str) -> None:
        with suppress(OSError, ValueError):  # closed, full, or without the letter ε
            report(said)

    return told


def _remember(ledger: Ledger, report: Callable[[str], object]) -> None:
    """Note the ledger's last entry, by which an old copy of it is told; a release does not fail over this."""
    try:
        Register().remember(ledger)
    except (OSError, TacitError) as error:
        report(f"the register of ledgers could not be written ({type(error).__name__})")


def _confirm(ledger: Ledger, entry: Entry, report: Callable[[str], object]) -> None:
    """Record in the ledger that the release is in its place, where it is even if this fails."""
    try:
        ledger.confirm_release(entry)
    except (OSError, TacitError) as error:
        report(f"the release is in its place; the ledger could not be told ({type(error).__name__})")
    _remember(ledger, report)


def _what_became_of(order: Order, entry: Entry, report: Callable[[str], object]) -> str:
    """Explain what became of a charge when the work ended after it: nothing was published, or all of it."""
    try:
        published = manifests.read_manifest(order.output)["ledger"]["hash"] == entry.hash
    except (OSError, KeyError, TypeError, IntegrityError):
        published = False
    if published:
        _confirm(order.ledger, entry, report)
        return f"{order.output} was published before this, whole, and charged as entry {entry.number}."
    spent = entry.guarantee
    what = (
        "recorded"
        if spent.k
        else f"charged, and stays spent: epsilon {spent.epsilon:g}, delta {spent.delta:g}"
    )
    return f"Entry {entry.number} of the ledger was {what}. Nothing was published for it."


def write_release(folder: Path, order: Order, tables: Tables, entry: Entry) -> dict[str, Any]:
    """Write tables, manifest and page of a release into a folder; returns the manifest."""
    files: dict[str, Path] = {}
    meanings = prose.columns(order.mechanism)
    for name, table in tables.items():
        files[f"{name}.parquet"] = folder / f"{name}.parquet"
        write_parquet(table, files[f"{name}.parquet"], meanings.get(name, {}))
        files[f"{name}.tsv"] = folder / f"{name}.tsv"
        write_cells(table, files[f"{name}.tsv"])
    manifest = _manifest(order, tables, files, entry)
    files[PAGE] = folder / PAGE
    # As whoever verifies it can make it again: from what the manifest says, not from paths of this machine.
    files[PAGE].write_text(render_page(manifests.mechanism_of(manifest), manifest, tables), encoding="utf-8")
    manifest["files"][PAGE] = {
        "sha256": manifests.file_hash(files[PAGE]),
        "bytes": files[PAGE].stat().st_size,
    }
    (folder / manifests.MANIFEST).write_text(manifests.manifest_text(manifest), encoding="utf-8")
    return manifest


def _manifest(order: Order, tables: Tables, files: Mapping[str, Path], entry: Entry) -> dict[str, Any]:
    """Write all that is to be said about a release, from public constants and from what is published."""
    mechanism, state = order.mechanism, order.ledger.state()  # with this release charged
    account = state.account
    manifest: dict[str, Any] = {
        "format": manifests.FORMAT,
        "mechanism": mechanism.name,
        "guarantee": mechanism.guarantee.to_dict(),
        "users": order.users,
        "about": order.about.to_dict(),
        "budget": {
            "total": account.budget.to_dict(),
            "used": account.spent().to_dict(),
            "left": account.remaining().to_dict(),
            "composition": account.rule.value,
            "exact_counts": len(state.unprotected),
        },
        "parts": mechanism.parts(),
        "paper": manifests.paper_of(mechanism),
        "parameters": mechanism.to_dict(),
        "schedule": mechanism.schedule.to_dict(),
        "preparation": order.preparation.to_dict(),
        "published": {name: manifests.describe_table(table) for name, table in tables.items()},
        "columns": prose.columns(mechanism),
        "files": {
            name: {"sha256": manifests.file_hash(path), "bytes": path.stat().st_size}
            for name, path in sorted(files.items())
        },
        "ledger": {"entry": entry.number, "hash": entry.hash},
        "released": datetime.now(UTC).isoformat(timespec="seconds"),
        "versions": {
            "tacit": __version__,
            "python": platform.python_version(),
            **{name: version(name) for name in _LIBRARIES},
        },
    }
    return {**manifest, **manifests.following(mechanism, manifest)}
