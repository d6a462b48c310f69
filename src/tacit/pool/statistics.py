"""What the operator of a pool may see: groups and numbers of people, no person."""

from __future__ import annotations

from typing import Any

from tacit.pool.machine import Pool
from tacit.pool.region import information_loss, width_share

__all__ = ["statistics"]


def statistics(pool: Pool, now: float) -> dict[str, Any]:
    """The groups of the present table with their sizes and losses, and how the pool stands."""
    standing, public = pool.store.standing(), pool.publication()
    template, domain = pool.template, pool.template.domain
    groups: list[dict[str, Any]] = []
    if public is not None:
        for number, size in enumerate(public.table.sizes.tolist()):
            region = public.table.region(number)
            groups.append(
                {
                    "group": number,
                    "people": size,
                    "words": template.words(region),
                    "low": region.low,
                    "high": region.high,
                    "information_loss": float(information_loss(region, domain)),
                    "width_share": width_share(region, domain),
                }
            )
    people = sum(group["people"] for group in groups)
    surviving = 0 if public is None else len(public.table.surviving)
    return {
        "epoch": None if standing is None else standing.epoch,
        "phase": None if standing is None else standing.phase.value,
        "phase_ends_in": 0.0 if standing is None else max(0.0, standing.until - now),
        "expires_in": pool.expires_in(now),
        "k": pool.rules.k,
        "window": pool.rules.window,
        "people": people,
        "everyone": public is not None and public.table.everyone,
        "surviving": surviving,
        "expired": max(0, pool.groups_before() - surviving),
        "relay": getattr(pool.relay, "address", None),
        "information_loss": _mean(groups, "information_loss", people),
        "width_share": _mean(groups, "width_share", people),
        "attributes": [
            {"name": a.name, "size": len(a), "first": a.labels[0], "last": a.labels[-1]}
            for a in template.attributes
        ],
        "groups": groups,
    }


def _mean(groups: list[dict[str, Any]], name: str, people: int) -> float | None:
    """The mean over people; None where there are none."""
    return sum(group["people"] * group[name] for group in groups) / people if people else None
