"""The ledger of a data set: what may be spent on it in all, and what has been.

- :mod:`~tacit.privacy.ledger.journal`: an append-only file of JSON lines, bound to each other by hashes
- :mod:`~tacit.privacy.ledger.entries`: what its lines mean, as charges and a balance
- :mod:`~tacit.privacy.ledger.ledger`: charging, noting and confirming releases
- :mod:`~tacit.privacy.ledger.data_set`: how a data set is known again
- :mod:`~tacit.privacy.ledger.register`: which ledgers this user has, so that none is lost or doubled
"""

from tacit.privacy.ledger.entries import Entry, LedgerState
from tacit.privacy.ledger.ledger import Ledger, budget_of, default_ledger
from tacit.privacy.ledger.register import Register, open_ledger

__all__ = ["Entry", "Ledger", "LedgerState", "Register", "budget_of", "default_ledger", "open_ledger"]
