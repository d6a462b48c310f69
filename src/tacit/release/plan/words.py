"""What planned parameters mean and cost, said to a person."""

from __future__ import annotations

from collections.abc import Mapping

from tacit.release.analysis.click import ClickMode, ClickParameters
from tacit.release.analysis.session import SessionParameters
from tacit.release.analysis.zealous import ZealousParameters

__all__ = ["click_words", "session_words", "zealous_words"]


def _some(count: int, thing: str, things: str = "") -> str:
    return f"{count:,} {thing if count == 1 else things or thing + 's'}"


def zealous_words(p: ZealousParameters, figures: Mapping[str, float]) -> tuple[str, ...]:
    """ZEALOUS in words."""
    return (
        f"Each user gives at most {_some(p.per_user, 'distinct item')} to each of "
        f"{_some(p.histograms, 'histogram')}; what a user has beyond that is not counted.",
        f"Items of fewer than {_some(p.threshold_1, 'user')} never appear; an item of exactly "
        f"{p.threshold_1} appears with chance {figures['chance_at_first_threshold']:.2g}.",
        f"An item needs about {p.threshold_2} users for an even chance to appear, and "
        f"{figures['nearly_sure_at']:.0f} to appear 19 times in 20. Rarer items are lost: that is the cost.",
        f"A published count is off by about {p.noise:.3g} users on average.",
    )


def click_words(p: ClickParameters, figures: Mapping[str, float], pool_size: int) -> tuple[str, ...]:
    """A_Click in words."""
    lines = [
        f"Each user gives the first {_some(p.queries_per_user, 'query', 'queries')} and the first "
        f"{_some(p.clicks_per_user, 'click')} on them; what a user has beyond that is not counted.",
        f"A query needs a count of about {figures['even_chance_at']:.0f} for an even chance to be selected, "
        f"and {figures['nearly_sure_at']:.0f} to be selected 19 times in 20. Rarer queries are lost.",
    ]
    if pool_size:
        lines.append(
            f"Of {pool_size:,} domain queries, about {figures['spurious_queries']:.2g} that nobody asked get "
            f"in at K = {p.threshold}; a lower K would keep rarer queries and let in more of these."
        )
    biased = ", and leans upwards near K: it is the count that was compared" * (p.noise_queries is None)
    lines.append(
        f"A published query count is off by about {figures['expected_error']:.3g} on average{biased}."
    )
    if p.clicks_per_user:
        lines.append(
            f"A click count is published above {p.threshold_clicks}, off by about {p.noise_clicks:.3g} on "
            "average."
        )
    if p.steps_per_user:
        lines.append(
            f"A transition is published above {p.threshold_transitions}, off by about "
            f"{p.noise_transitions:.3g} on average."
        )
    if p.mode is ClickMode.PURE:
        lines.append(
            "Queries, urls and transitions outside the public sets are not published: delta is 0. The "
            "thresholds only keep out keys of count 0; they may be changed without any cost in privacy."
        )
    return tuple(lines)


def session_words(p: SessionParameters, figures: Mapping[str, float]) -> tuple[str, ...]:
    """A_Session in words."""
    counted = "once, however often it occurs" if p.once_per_user else "as often as it occurs"
    lines = [
        f"Each user gives the first {_some(p.sessions_per_user, 'session')}, cut to the first "
        f"{p.queries_per_session} queries each: up to {p.sensitivity} sequences of two queries and more. A "
        f"sequence counts {counted}, and one user moves one count by at most {p.largest_move}.",
        f"A sequence needs a count of about {figures['even_chance_at']:.0f} for an even chance to appear, "
        f"and {figures['nearly_sure_at']:.0f} to appear 19 times in 20. Rarer sequences are lost: that is "
        "the cost.",
        f"A published sequence count is off by about {figures['expected_error']:.3g} on average.",
        "Each further query of a session doubles what a user adds, and so the noise.",
    ]
    if p.clicks is not None:
        off = p.clicks.noise if p.clicks.noise_counts is None else p.clicks.noise_counts
        lines.append(
            f"The click part counts the first {_some(p.clicks.clicks_per_user, 'click')} of a user; a pair "
            f"appears above {p.clicks.threshold}, off by about {off:.3g} on average. Both parts are paid for."
        )
    return tuple(lines)
