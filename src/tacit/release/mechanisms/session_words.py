"""What an A_Session release does, means and costs, said to a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from tacit.release.document.words import counted, leaning, taken
from tacit.release.mechanism import DescribedStep, FurtherStatement
from tacit.release.mechanisms import session as analysis
from tacit.release.mechanisms.session import THESIS_CLICKS, SessionParameters


def words(p: SessionParameters, figures: Mapping[str, float]) -> Sequence[str]:
    """What the parameters mean and cost."""
    how = "once, however often it occurs" if p.once_per_user else "as often as it occurs"
    lines = [
        f"Each user gives the {taken(p.take, p.sessions_per_user, 'session')}, cut to the first "
        f"{p.queries_per_session} queries: up to {counted(p.sensitivity, 'sequence')} of two queries and "
        f"more. A sequence counts {how}, and one user moves one count by at most {p.largest_move}.",
        f"A sequence needs a count of about {figures['even_chance_at']:.0f} for an even chance to appear, "
        f"and {figures['nearly_sure_at']:.0f} to appear 19 times in 20. Rarer sequences are lost: that is "
        "the cost.",
        f"A published sequence count is off by about {figures['expected_error']:.3g} on average.",
        *([leaning(p.noise)] if p.noise_counts is None and p.noise is not None else []),
        "Each further query of a session doubles what a user adds, and so the noise.",
    ]
    if p.clicks_per_user:
        off = p.noise_clicks if p.noise_click_counts is None else p.noise_click_counts
        lines.append(
            f"The click part counts the {taken(p.take, p.clicks_per_user, 'click')} of a user; a pair "
            f"appears above {p.threshold_clicks}, off by about {off:.3g} on average. Both parts are paid for."
        )
    return tuple(lines)


def steps(p: SessionParameters) -> Sequence[DescribedStep]:
    """What is done to the log, as the thesis lists it."""
    once = ", each once per user" if p.once_per_user else ""
    listed = [
        DescribedStep(
            "Bound",
            f"of each user the {taken(p.take, p.sessions_per_user, 'session')} of two queries and "
            f"more, cut to {p.queries_per_session} queries"
            + (f"; the {taken(p.take, p.clicks_per_user, 'click')}" if p.clicks_per_user else ""),
        ),
        DescribedStep("Count", f"all ordered subsequences of two queries and more{once}"),
        DescribedStep(
            "Select", f"noise of scale {p.noise:g}; keep counts greater than {p.threshold}", noisy=True
        ),
    ]
    if p.clicks_per_user:
        text = f"noise of scale {p.noise_clicks:g}; keep counts greater than {p.threshold_clicks}"
        listed.append(DescribedStep("Select clicks", text, noisy=True))
    fresh = p.noise_counts is not None
    scale = f"with fresh noise of scale {p.noise_counts:g}" if fresh else "as compared"
    listed.append(DescribedStep("Publish", f"sequences with their counts {scale}", noisy=fresh))
    return tuple(listed)


def further(p: SessionParameters, threshold: float | None) -> FurtherStatement:
    """The guarantee for exactly these parameters, and with a click part beside it.

    The thesis's Table 4.4 is about sessions alone. Without a click part that is what the statement is about
    too, and ``with_clicks`` says what the thesis's click part (four clicks per user, same noise and
    threshold) would bring the total to.
    """
    assumed = not p.clicks_per_user
    both = p
    if assumed:
        both = replace(
            p,
            clicks_per_user=THESIS_CLICKS,
            noise_clicks=p.noise,
            threshold_clicks=p.threshold,
            noise_click_counts=p.noise_counts,
        )
    alone = replace(p, clicks_per_user=0, noise_clicks=None, threshold_clicks=None, noise_click_counts=None)
    whole, printed = analysis.guarantee(both), analysis.paper_with_clicks(both)
    assert printed is not None
    together = (
        f"With {THESIS_CLICKS} clicks per user at the same noise"
        if assumed
        else "Sessions and clicks together"
    )
    return FurtherStatement(
        title="A_Session, sessions alone"
        if assumed
        else "A_Session with clicks (the paper's: sessions alone)",
        document={
            "sessions_alone": analysis.guarantee(alone).to_dict(),
            "with_clicks": {
                **whole.to_dict(),
                "clicks_per_user": both.clicks_per_user,
                "assumed": assumed,
            },
        },
        paper={**analysis.paper_figure(p, threshold).to_dict(), "with_clicks": printed.to_dict()},
        words=(
            f"A user adds at most {p.sensitivity} counts, and at most {p.largest_move} to one sequence.",
            f"{together}: ε = {whole.epsilon:.4g}, δ = {whole.delta:.3g}; the two parts add.",
        ),
    )
