"""What an A_Click release does, means and costs, said to a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tacit.release.document.words import counted, leaning, taken
from tacit.release.mechanism import DescribedStep, FurtherStatement
from tacit.release.mechanisms.click import ClickParameters


def words(p: ClickParameters, figures: Mapping[str, float], size: int) -> list[str]:
    """What the parameters mean and cost."""
    kind = "different " if p.once_per_user else ""
    queries = taken(p.take, p.queries_per_user, "query", f"{kind}queries")
    clicks = ""
    if p.clicks_per_user:
        on = "it" if p.queries_per_user == 1 else "them"
        clicks = f" and the {taken(p.take, p.clicks_per_user, 'click')} on {on}"
    lines = [
        f"Each user gives the {queries}{clicks}; what a user has beyond that is not counted.",
        f"A query needs a count of about {figures['even_chance_at']:.0f} for an even chance to be selected, "
        f"and {figures['nearly_sure_at']:.0f} to be selected 19 times in 20. Rarer queries are lost.",
    ]
    if size:
        lines.append(
            f"Of {size:,} domain queries, about {figures['spurious_queries']:.2g} that nobody asked get "
            f"in at K = {p.threshold}; a lower K would keep rarer queries and let in more of these."
        )
    lines.append(f"A published query count is off by about {figures['expected_error']:.3g} on average.")
    if p.noise_counts is None and p.noise is not None:
        lines.append(leaning(p.noise))
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
    if p.pure:
        lines.append(
            "Queries, urls and transitions outside the public sets are not published: delta is 0. The "
            "thresholds only keep out keys of count 0; they may be changed without any cost in privacy."
        )
    return lines


def further(p: ClickParameters) -> FurtherStatement:
    """On what the guarantee rests."""
    said = []
    if p.pure:
        said.append(
            "It holds for queries, urls and transitions of public sets that do not depend on the log; all "
            "else is dropped."
        )
    if p.pool_probability < 1:
        said.append(
            "The public queries are sampled: anew for each release, and which took part is never shown."
        )
    return FurtherStatement(words=said)


def still_learns(p: ClickParameters) -> Sequence[str]:
    """What is particular to it."""
    if not p.pure:
        return ()
    return ("Some published rows have no user at all: they come from the public domain by noise.",)


def steps(p: ClickParameters, domain: str, size: int) -> Sequence[DescribedStep]:
    """What is done to the log, in the order of Algorithm 1."""
    what = ("query", "different queries") if p.once_per_user else ("search", "searches")
    kept = f"of each user the {taken(p.take, p.queries_per_user, *what)}"
    if p.clicks_per_user:
        on = "it" if p.queries_per_user == 1 else "them"
        kept += f" and {counted(p.clicks_per_user, 'click')} on {on}"
    listed = []
    if size:
        used = "only queries of it take part" if p.pure else "its queries take part even if nobody asked them"
        listed.append(DescribedStep("Public domain", f"{size:,} queries of {domain}: {used}"))
    listed += [
        DescribedStep("Bound", kept),
        DescribedStep(
            "Count",
            ("users" if p.once_per_user else "searches")
            + " of each query"
            + (", with 0 for unasked ones" if size else ""),
        ),
        DescribedStep(
            "Select", f"noise of scale {p.noise:g}; keep queries counted more than {p.threshold}", noisy=True
        ),
    ]
    fresh = "as compared" if p.noise_counts is None else f"with fresh noise of scale {p.noise_counts:g}"
    listed.append(DescribedStep("Publish queries", f"counts {fresh}", noisy=p.noise_counts is not None))
    where = "of public urls" if p.pure else "of clicked urls"
    if p.clicks_per_user:
        text = f"{where}: noise of scale {p.noise_clicks:g}; published if greater than {p.threshold_clicks}"
        listed.append(DescribedStep("Publish clicks", text, noisy=True))
    if p.steps_per_user:
        where = "of all pairs of published queries" if p.pure else "that were taken"
        text = f"{where}: noise of scale {p.noise_transitions:g}; published if greater than "
        listed.append(DescribedStep("Publish transitions", f"{text}{p.threshold_transitions}", noisy=True))
    return tuple(listed)
