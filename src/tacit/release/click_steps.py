"""The steps of an A_Click release in words, for its page."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.release.analysis.click import ClickMode, ClickParameters
from tacit.release.contribution import Choice
from tacit.release.mechanism import Step
from tacit.release.pool import Domain

__all__ = ["click_steps"]


def click_steps(p: ClickParameters, choice: Choice, domain: Domain | None) -> Sequence[Step]:
    """What is done to the log, in the order of Algorithm 1."""
    pure = p.mode is ClickMode.PURE
    kept = f"of each user the {choice.value} {p.queries_per_user} searches"
    if p.clicks_per_user:
        kept += f" and {p.clicks_per_user} clicks on them"
    listed = []
    if domain is not None:
        used = "only queries of it take part" if pure else "its queries take part even if nobody asked them"
        listed.append(Step("Public domain", f"{len(domain):,} queries of {domain.name}: {used}"))
    listed += [
        Step("Bound", kept),
        Step("Count", "searches of each query" + (", with 0 for unasked ones" if domain else "")),
        Step(
            "Select", f"noise of scale {p.noise:g}; keep queries counted more than {p.threshold}", noisy=True
        ),
    ]
    fresh = "as compared" if p.noise_queries is None else f"with fresh noise of scale {p.noise_queries:g}"
    listed.append(Step("Publish queries", f"counts {fresh}", noisy=p.noise_queries is not None))
    where = "of public urls" if pure else "of clicked urls"
    if p.clicks_per_user:
        text = f"{where}: noise of scale {p.noise_clicks:g}; published if greater than {p.threshold_clicks}"
        listed.append(Step("Publish clicks", text, noisy=True))
    if p.steps_per_user:
        where = "of all pairs of published queries" if pure else "that were taken"
        text = f"{where}: noise of scale {p.noise_transitions:g}; published if greater than "
        listed.append(Step("Publish transitions", f"{text}{p.threshold_transitions}", noisy=True))
    return tuple(listed)
