"""Opening the ledger of a data set: found again by content, opened once and deliberately, missed when it is
gone.

A second ledger is a second budget. Deleting a ledger, releasing through a link to the log or a copy of it,
or going back to an old copy of the ledger would each make one without anybody meaning to. So the log is
looked up in the register (:mod:`tacit.privacy.register`) before its ledger is opened:

====================================================  =======================================================
the data set is not known                             its ledger is used, or opened with the budget given
it is known, and its ledger lies where it is looked   that ledger is used, if it holds the last entry known
for
it is known, and its ledger lies somewhere else       that ledger is used, unless another was asked for
it is known, and its ledger is gone                   refused, with how to restore or knowingly replace it
the ledger lacks entries that it had                  refused, with how to restore or knowingly accept it
====================================================  =======================================================
"""

from __future__ import annotations

from pathlib import Path

from tacit.errors import InputError, IntegrityError
from tacit.privacy.composition import CompositionRule
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.ledger_place import default_ledger, refuse_second_ledger
from tacit.privacy.register import Known, Register

__all__ = ["open_ledger", "open_unbound", "refuse_known", "refuse_older"]


def _opened(path: Path, log: Path, budget: Guarantee | None, same_data_set: bool) -> Ledger:
    """The ledger at ``path``, checked against the budget and the log."""
    ledger = Ledger.open(path)
    ledger.require_budget(budget)
    if not same_data_set:
        ledger.require_log(log)
    return ledger


def refuse_older(ledger: Ledger, known: Known) -> None:
    """Refuse a ledger that lacks the last entry it was known to have."""
    chain = ledger.chain()
    if known.head in {record["hash"] for record in chain.records}:
        return
    raise IntegrityError(
        f"the ledger {ledger.path} is not as it was left: it had {known.entries} entries, and the last"
        f" of them is not "
        f"among the {len(chain.records)} it has now. It was restored from an old copy, or is one of two"
        f" copies that went"
        " separate ways.",
        f"Restore its newest copy (last seen at {known.path}). If that is lost, its charges are, too;"
        f" `tacit ledger adopt"
        f" {ledger.path} --log LOG` goes on from this copy knowingly.",
    )


def _vanished(known: Known) -> InputError:
    return InputError(
        f"this data set has a ledger, which has vanished: it was last seen at {known.path}, with"
        f" {known.entries} entries.",
        "Restore it there from a copy, or name its new place with `ledger`. If it is lost, what was"
        " spent is unknown;"
        " `tacit ledger init LEDGER --log LOG --instead-of-lost` opens another one knowingly.",
    )


def _identity(path: Path) -> str:
    return str(Ledger(path).chain().records[0]["hash"])


def refuse_known(known: list[Known]) -> None:
    """Refuse a new ledger for a data set that has one."""
    for entry in known:
        if not entry.path.exists():
            raise _vanished(entry)
    if known:
        raise InputError(
            f"this data set has its ledger already, {known[0].path}; a second one would be a second budget.",
            f"Use that one (`ledger={known[0].path}`), also for copies and parts of the log.",
        )


def open_ledger(
    path: str | Path | None,
    log: str | Path,
    budget: Guarantee | None,
    register: Register | None = None,
    *,
    label: str = "",
    composition: CompositionRule = CompositionRule.BASIC,
) -> Ledger:
    """The data set's ledger; opened with ``budget`` if the data set has none yet.

    A budget given again must be the one that the ledger has, so that the same command can be run each week.

    Args:
        path: where the ledger is; unless given, ``LOG.ledger``, or where the register knows it.
        log: the log to be released.
        budget: what all releases together may cost, when the ledger is to be opened.
        register: where ledgers are known from; the user's own unless given.
        label: what people call the data set, when the ledger is to be opened; the log's name unless given.
        composition: how charges add up, when the ledger is to be opened.
    """
    log = Path(log)
    place = Path(path) if path is not None else default_ledger(log)
    refuse_second_ledger(place, log)
    register = register if register is not None else Register()
    known = register.of_log(log)
    if not known and not place.exists():
        if budget is None:
            raise _none_there(
                place,
                "Give `budget_epsilon` (and `budget_delta`) once to open it, or `ledger` with its place.",
            )
        with register.opening():
            # Whoever was here first has opened it; everybody else uses it.
            known = register.of_log(log)
            if not known and not place.exists():
                ledger = Ledger.create(
                    place, budget, label=label or log.name, composition=composition, log=log
                )
                register.remember(ledger, log)
                return ledger
    ledger = _found(place, path is not None, log, budget, known)
    register.remember(ledger, log)
    return ledger


def open_unbound(
    path: str | Path,
    budget: Guarantee | None,
    register: Register | None = None,
    *,
    label: str = "",
    composition: CompositionRule = CompositionRule.BASIC,
) -> Ledger:
    """The ledger at ``path``, before it is known for which log; the log is looked up when it is released."""
    path = Path(path)
    register = register if register is not None else Register()
    if path.exists():
        ledger = Ledger.open(path)
        ledger.require_budget(budget)
        return ledger
    with register.opening():
        _refuse_gone(path, register)
        if budget is None:
            raise _none_there(path, "Give `epsilon` (and `delta`) once to open it.")
        ledger = Ledger.create(path, budget, label=label, composition=composition)
        register.remember(ledger)
    return ledger


def _refuse_gone(place: Path, register: Register) -> None:
    """Refuse to make a ledger where one with charges was seen last; one that was never charged may go."""
    for entry in register.all():
        if entry.path == place.resolve() and entry.entries > 1:
            raise InputError(
                f"a ledger with {entry.entries} entries was last seen at {entry.path}, and has vanished.",
                "Restore it there from a copy. For the ledger of another data set give `log`, by which data "
                "sets are told apart, or choose another place.",
            )


def _none_there(place: Path, remedy: str) -> InputError:
    return InputError(
        f"there is no ledger at {place}, so nothing says how much may be spent on this data set.", remedy
    )


def _found(place: Path, asked_for: bool, log: Path, budget: Guarantee | None, known: list[Known]) -> Ledger:
    """The ledger that there is: at its place, or where it is known to lie."""
    by_id = {entry.id: entry for entry in known}
    if place.exists():
        identity = _identity(place)
        if known and identity not in by_id:
            refuse_known(known)
        ledger = _opened(place, log, budget, same_data_set=identity in by_id)
        if identity in by_id:
            refuse_older(ledger, by_id[identity])
        return ledger
    there = [entry for entry in known if entry.path.exists()]
    if not there:
        raise _vanished(known[0])
    if asked_for:
        refuse_known(known)
    ledger = _opened(there[0].path, log, budget, same_data_set=True)
    refuse_older(ledger, there[0])
    return ledger
