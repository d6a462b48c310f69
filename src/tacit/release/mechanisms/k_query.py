"""k-query anonymity (Adar), the baseline: parameters and schedule."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from tacit.errors import InfeasibleError
from tacit.release.parameters import GIVEN, ITEM_KEYS, Item, Parameters, check_whole, declared
from tacit.release.schedule import Contribution, Part, Schedule, text_columns


@dataclass(frozen=True, kw_only=True)
class KQueryParameters(Parameters):
    """k, given or from how many honest users shall share a query with how many accounts of an attacker."""

    name: ClassVar[str] = "k-query"
    title: ClassVar[str] = "k-query anonymity"
    summary: ClassVar[str] = "k-query anonymity: exact counts of what k users asked. No differential privacy."
    example: ClassVar[str] = "--hide-among 20 --attacker-accounts 10"
    given_example: ClassVar[str] = "--k 20"
    private: ClassVar[bool] = False

    items: tuple[Item, ...] = declared(
        tuple(Item), "What is counted; repeat it for several histograms.", option="--item"
    )
    hide_among: int = declared(
        20, "How many honest users shall share a published query.", least=1, planning=True
    )
    attacker_accounts: int = declared(0, "How many accounts the attacker may have.", least=0, planning=True)
    k: int | None = declared(
        None,
        "The least number of users behind a published query (honest users and attacker's accounts together).",
        least=2,
        panel=GIVEN,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epsilon is not None or self.delta is not None:
            raise InfeasibleError(
                "k-query anonymity gives no differential privacy; no epsilon can be had from it.",
                "Leave `epsilon` and `delta` out and give `k`, or choose zealous, click or session.",
            )

    @property
    def given(self) -> bool:
        """Whether k was given."""
        return self.k is not None

    def honest_users(self, attacker_accounts: int) -> int:
        """How many users at least share a published query, of whom the attacker controls none."""
        check_whole("attacker_accounts", attacker_accounts, 0)
        return max(0, (self.k or 0) - attacker_accounts)


PARAMETERS = KQueryParameters


def k_query_schedule(p: KQueryParameters) -> Schedule:
    """Exact histograms of what k users have, in every table. A user may add to any number of keys: no ε."""
    assert p.k is not None
    return Schedule(
        tuple(
            Part(
                table=item.value,
                columns=text_columns(*ITEM_KEYS[item]),
                contribution=Contribution((), once=True),
                noise=None,
                least=None,
                minimum=p.k,
            )
            for item in p.items
        )
    )
