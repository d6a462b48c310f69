"""People planted beside a real log, one release of it, and what an attacker guesses about them.

Each **canary** is a query of its own, accounts that always ask it, just enough to bring it to the threshold,
and one person who asks it or not by a coin. Or, of **people of the log**, a rare query of a real person is
asked or taken out. Right guesses prove an ε (:func:`tacit.audit.bounds.one_run_epsilon`). What else is done
in that run, and who may see it: docs/reference/commands/audit.md.
"""

import math
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tacit.audit import checks
from tacit.audit.bounds import ALARM, SHOWN, one_run_epsilon
from tacit.audit.found import GuardAudit, bar
from tacit.audit.neighbours import CountedPair, history_of, lettered, log_table
from tacit.engines import Engine, memory_for, open_engine
from tacit.errors import InfeasibleError, ParameterError, TacitError
from tacit.privacy.ledger import Ledger, open_ledger
from tacit.privacy.noise.randomness import OperatingSystemRandomness
from tacit.release.mechanism import Counting, Mechanism, Plan, plan_of
from tacit.release.preparation import Preparation, withheld
from tacit.release.rounds_analysis import even_chance_at
from tacit.release.schedule import AdaptiveRounds, SingleCount
from tacit.searchlog import check_log
from tacit.validation import flag, place, real, whole

MEMORY = Path("/dev/shm")
"""Where what does not fit goes: nothing of it is on a disk, whatever ends the process."""
_WORD = "tacitcanary"
_SPEED = 50_000
"""So many records a second are counted and released at least."""


def spill() -> Path:
    """A folder in memory where there is one."""
    return MEMORY if MEMORY.is_dir() else Path(tempfile.gettempdir())


def coins(number: int) -> NDArray[np.bool_]:
    """Fair coins."""
    bits = np.frombuffer(OperatingSystemRandomness().bits(number // 8 + 1), np.uint8)
    return np.unpackbits(bits, count=number).astype(np.bool_)


def accounts_for(plan: Plan[Any]) -> tuple[int, float]:
    """How many accounts ask each canary, and the line above which a published count says that one more did.

    The line is NaN where counts lean: it is then the median of all canaries'.
    """
    schedule, part = plan.schedule, plan.schedule.parts[0]
    if isinstance(schedule.selection, AdaptiveRounds):
        return round(even_chance_at(schedule.selection)), math.nan
    if isinstance(schedule.selection, SingleCount):
        number = schedule.selection.least + math.ceil(2 * schedule.selection.scale)
    elif schedule.exact:
        number = min(each.minimum for each in schedule) - 1
    else:
        number = max(part.least or 1, part.minimum) + math.ceil(2 * part.scale)
    return number, number + 0.5


@dataclass(frozen=True)
class Secret:
    """A query about which is guessed: with others' queries where steps are published, and who may ask it."""

    queries: tuple[str, ...]
    person: str


def guess(
    plan: Plan[Any],
    engine: Engine,
    log: Any,
    secrets: Sequence[Secret],
    asked: NDArray[np.bool_],
    *,
    at: Any,
    real: bool,
    counted: Callable[[Any, Counting], object] = lambda *_: None,
) -> NDArray[np.bool_]:
    """Release the log with accounts for each secret, and guess every coin: which guesses are right.

    Args:
        asked: the coins.
        at: when accounts ask.
        real: the persons are the log's, and records of those who did not ask are taken out.
        counted: called with all records and their counts, before the first draw.
    """
    number, line = accounts_for(plan)
    asking = {s: [(query, n, f"http://{_WORD}/{n}") for n, query in enumerate(s.queries)] for s in secrets}
    planted = {f"{s.queries[0]} {n}": asking[s] for s in secrets for n in range(number)}
    if real:
        gone = [(s.person, s.queries[0]) for s, there in zip(secrets, asked, strict=True) if not there]
        users, queries = ([row[n] for row in gone] for n in (0, 1))
        taken = engine.load(pa.table({"user": pa.array(users, pa.string()), "query": queries}))
        log = log.anti_join(taken, ["user", "query"])
    else:
        planted |= {s.person: asking[s] for s, there in zip(secrets, asked, strict=True) if there}
    joined = log.union(engine.load(log_table(planted, at)))
    counting = plan.count(engine, Preparation().apply(joined))
    counted(joined, counting)
    tables = withheld(plan.publish(engine, counting, OperatingSystemRandomness()))
    table = tables.get("queries", tables[plan.schedule.parts[0].table])
    keys = [key[0] if isinstance(key, list) else key for key in table.column(0).to_pylist()]
    counts = table.column("count").to_pylist() if "count" in table.column_names else [1] * len(keys)
    shown = {key: 0 if count is None else count for key, count in zip(keys, counts, strict=True)}
    scores = np.array([shown.get(secret.queries[0], -1) for secret in secrets], float)
    if math.isnan(line):
        line = float(np.median(scores)) + 1e-9
    return np.asarray((scores > line) == asked)


def adds_beside(plan: Plan[Any], engine: Engine, joined: Any, counting: Counting, at: Any) -> str:
    """One person more, who goes beyond every bound, adds to the counts of the log no more than is stated."""
    history = history_of(plan)
    if plan.schedule.selection is not None:  # where all that a person has is read, and cut afterwards
        history = [(lettered(_WORD, n % 5 + 90_000), n, None) for n in range(10)]
    person = log_table({f"{_WORD} beyond": history}, at)
    more = plan.count(engine, Preparation().apply(joined.union(engine.load(person))))
    if plan.schedule.selection is not None:
        without, having = (each["held"].holdings for each in (counting, more))
        checks.require_holders(having, without.starts.size)
        added = having.items.size - without.items.size
        queries = [part.table for part in plan.schedule] == ["queries"]
        checks.require(added == 5 or not queries, f"a person with five queries adds {added} items")
        return f"{added} items"
    keys: dict[str, Any] = {}
    for part in plan.schedule:
        one, two = (each[part.table] for each in (counting, more))
        names = [name for name in two.columns if name not in ("count", "public")]
        both = two.select(*names, "count").union(one.mutate(count=-one["count"]).select(*names, "count"))
        moved = both.group_by(names).aggregate(count=both["count"].sum())
        rows = engine.table(moved.filter(moved["count"] != 0)).to_pylist()
        keys[part.table] = {tuple(row[name] for name in names): (0, row["count"], False) for row in rows}
    return checks.adds_as_analysed(plan, CountedPair("log", keys), 1)


def histories_for(plan: Plan[Any], engine: Engine, log: Any, number: int) -> list[tuple[str, ...]]:
    """A query, or two where steps are published, for each canary: none of them is the log's."""
    if not plan.mechanism.publishes_queries:
        problem = f"{plan.title} publishes a fixed set of keys: a query of one's own is not among them."
        raise ParameterError(problem, "Audit its parameters with `tacit audit release`.")
    domain = getattr(getattr(plan, "sets", {}).get("domain"), "queries", None)
    if domain is not None and all(part.keys.value == "public" for part in plan.schedule):
        unasked = engine.load(pa.table({"query": domain})).anti_join(log, "query").order_by("query")
        return [(query,) for query in engine.table(unasked.limit(number)).column("query").to_pylist()]
    several = plan.schedule.parts[0].table in ("pairs", "sessions", "transitions")
    own = [lettered(_WORD, n) for n in range(number)]
    return [(query, f"{query}x") if several else (query,) for query in own]


def audit_log(
    log: str | Path,
    plan: Mechanism | Plan[Any],
    *,
    canaries: int = 400,
    charge: bool = False,
    ledger: Ledger | str | Path | None = None,
    seconds: float | None = None,
    synthetic: bool = False,
    threads: int | None = None,
    report: Callable[[str], object] = str,
) -> GuardAudit:
    """Plant canaries beside a log, release it once in memory, and guess who asked.

    Args:
        charge: pay for the run in the data set's ledger, so that its result may be shown.
        ledger: of the data set, with ``charge``.
        seconds: take some of the users alone where all would take longer.
        synthetic: you vouch that nobody real is in the log: the result may be shown.
    """
    settled, path = plan_of(plan), check_log(place("log", log))
    settled.check()
    number = whole("canaries", canaries, 10)
    if number >= 100_000:
        raise ParameterError.outside("canaries", number, "below 100,000")
    records_at_most = math.inf if seconds is None else _SPEED * real("seconds", seconds)
    opened = None
    if charge:
        opened = open_ledger(
            ledger if isinstance(ledger, Ledger | None) else place("ledger", ledger), path, None
        )
        opened.state().account.charge(settled.event)  # refused now or never
    with open_engine(memory=memory_for(path), threads=threads, spill=spill()) as engine:
        report("planting canaries")
        source, part = engine.log(path), min(1.0, records_at_most / max(1, pq.read_metadata(path).num_rows))
        if part < 1:
            if charge:
                raise ParameterError("`seconds` is too short for all users; a part is not charged.")
            source = source.filter(source.user.hash().abs() % 1000 < max(1, round(1000 * part)))
        at = middle_of(source, engine)
        histories = histories_for(settled, engine, source, number)
        if len(histories) < number:
            room = f"there is room for {len(histories)} canaries."
            raise InfeasibleError(room, "Ask for fewer `canaries`.")
        secrets = [Secret(queries, f"{queries[0]} person") for queries in histories]
        tossed, came = coins(number), list[checks.ExactCheck]()

        def counted(joined: Any, counting: Counting) -> None:
            if settled.mechanism.private:
                report("counting with one person more")
                came.append(checks.checked(adds_beside, settled, engine, joined, counting, at))
                came.extend(checks.exact_checks(settled, (), checks.OF_NOISE))
            report("drawing noise")
            if opened is not None:
                opened.spend(settled.event, "audit")

        report("counting")
        right = np.zeros(number, np.bool_)
        with checks.failures(came, but=(TacitError, duckdb.Error)):
            right = guess(settled, engine, source, secrets, tossed, at=at, real=False, counted=counted)
    paid, guessed = charge or flag("synthetic", synthetic), int(right.sum())
    private, accounts = settled.mechanism.private, accounts_for(settled)[0]
    claimed = settled.epsilon if private else None
    most, epsilon = (one_run_epsilon(each, number, number, settled.delta) for each in (number, guessed))
    held = [(f"{check.says}.", check.holds, check.found) for check in came]
    if private:
        # A sound mechanism fails once in a million, and where what δ stands for happens.
        surely = one_run_epsilon(guessed, number, number, 0.0, ALARM) <= settled.epsilon
        held.append(("No more is proved of ε than is promised.", surely, f"ε ≥ {epsilon:.3f}"))
    said = f"{guessed:,} of {number:,} coins were guessed right"
    sentence = f"{said}: nobody is protected from whoever plants {accounts} accounts."
    if private:
        sentence = f"{said}: ε is at least {epsilon:.3g}, and {claimed:.3g} is promised. This run could "
        sentence += f"have shown up to {most:.2g}; a bound of 0 is no clean bill."
    about = f"{settled.title}; {number:,} canaries of {accounts} accounts each in one run."
    return GuardAudit(
        audit="log",
        about=about if part == 1 else f"{about} There was time for {part:.0%} of the users.",
        claim=f"{settled.guarantee}.",
        held=held,
        sentence=sentence,
        measured={"epsilon": epsilon, "confidence": 1 - SHOWN, "right": guessed, "guesses": number}
        | {"noticeable": most},
        rows=[bar(str(settled.title), guessed, number, claimed, bad=claimed is None)],
        sensitive=not paid,
        figure={"question": "Did this person ask that?"},
        more={"mechanism": settled.name, "parameters": settled.to_dict(), "share": part, "charged": charge}
        | {"claimed": {"epsilon": claimed, "delta": settled.delta}, "accounts": accounts},
    )


def middle_of(log: Any, engine: Engine) -> Any:
    """A time within the log's period."""
    ends = engine.table(log.aggregate(first=log.time.min(), last=log.time.max())).to_pylist()[0]
    if ends["first"] is None:
        raise InfeasibleError("the log is empty: there is nobody to hide among.", "Name another log.")
    return ends["first"] + (ends["last"] - ends["first"]) / 2
