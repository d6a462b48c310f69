"""What an A_Session release does, means and costs, and what the thesis (002) prints for it."""

import math
from collections.abc import Mapping, Sequence

from tacit.privacy.guarantee import Neighbours
from tacit.release.document.words import among, biased_counts, counted, rounded, taken
from tacit.release.mechanisms.session import SessionPlan
from tacit.release.prose import DescribedStep, Notes, PaperFigure, log_alpha, selection_figures
from tacit.release.thresholds import mean_size


def figures(plan: SessionPlan) -> dict[str, float]:
    return {"counts_per_user": plan.mechanism.sensitivity, **selection_figures(plan.sequences)}


def words(plan: SessionPlan) -> Sequence[str]:
    asked, cost = plan.mechanism, figures(plan)
    how = "once, however often it occurs" if asked.counted_once else "as often as it occurs"
    lines = [
        f"Each user gives the {taken(asked.take, asked.sessions_per_user, 'session')}, cut to the first "
        f"{asked.queries_per_session} queries: up to {counted(asked.sensitivity, 'sequence')} of two queries "
        f"and more. A sequence counts {how}, and one user moves one count by at most {asked.largest_move}.",
        f"A sequence needs a count of about {cost['even_chance_at']:.0f} for an even chance to appear, "
        f"and {cost['nearly_sure_at']:.0f} to appear 19 times in 20. Rarer sequences are lost: that is "
        "the cost.",
        f"A published sequence count is off by about {rounded(cost['expected_error'])} on average.",
        *([biased_counts(plan.sequences.scale)] if plan.same_counts else []),
        "Each further query of a session doubles what a user adds, and so the noise.",
    ]
    for part in plan.schedule.parts[1:]:
        lines.append(
            f"The click part counts the {taken(asked.take, asked.counted_clicks, 'click')} of a user; a pair "
            f"appears above {part.above}, off by about {rounded(mean_size(part.error))} "
            "on average. Both parts are paid for."
        )
    return tuple(lines)


def columns(plan: SessionPlan) -> Mapping[str, Mapping[str, str]]:
    asked, part = plan.mechanism, plan.sequences
    times = (
        "Users who asked these queries in this order" if asked.counted_once else "How often they were asked"
    )
    one_of = "" if asked.sessions_per_user == 1 else "one of "
    given = f"{one_of}a user's {taken(asked.take, asked.sessions_per_user, 'session')}"
    found = {
        part.table: {
            "count": f"{times}, others in between or not, within {given}, cut to its first "
            f"{asked.queries_per_session} queries; plus noise of scale {part.error:.4g}."
        }
    }
    for clicks in plan.schedule.parts[1:]:
        taken_clicks = among(asked.take, asked.counted_clicks, "click")
        found[clicks.table] = {
            "count": f"Clicks on it for this query that users have {taken_clicks}, plus noise of scale "
            f"{clicks.error:.4g}; what a user has beyond these is left out."
        }
    return found


def steps(plan: SessionPlan) -> Sequence[DescribedStep]:
    asked = plan.mechanism
    once = ", each once per user" if asked.counted_once else ""
    bound = (
        f"of each user the {taken(asked.take, asked.sessions_per_user, 'session')} of two queries and "
        f"more, cut to {asked.queries_per_session} queries"
    )
    if asked.counted_clicks:
        bound += f"; the {taken(asked.take, asked.counted_clicks, 'click')}"
    listed = [
        DescribedStep("Bound", bound),
        DescribedStep("Count", f"all sequences of two and more of its queries, in their order{once}"),
    ]
    for title, part in zip(("Select", "Select clicks"), plan.schedule, strict=False):
        rule = f"keep counts greater than {part.above}"
        listed.append(DescribedStep(title, f"noise of scale {part.scale:g}; {rule}", noisy=True))
    fresh = not plan.same_counts
    scale = f"with fresh noise of scale {plan.sequences.error:g}" if fresh else "as compared"
    listed.append(DescribedStep("Publish", f"sequences with their counts {scale}", noisy=fresh))
    return tuple(listed)


def notes(plan: SessionPlan) -> Notes:
    """Explain what one user adds, on which the guarantee rests."""
    most, one = plan.mechanism.sensitivity, plan.mechanism.largest_move
    return Notes(words=(f"A user adds at most {most} counts, and at most {one} to one sequence.",))


def paper_figure(plan: SessionPlan) -> PaperFigure:
    """Compute what the thesis prints: eq. 4.5 and 4.6 (Table 4.4) without a click part, eq. 4.7 with one."""
    asked, (sequences, *beside) = plan.mechanism, plan.schedule.parts
    K = sequences.above if asked.threshold is None else asked.threshold
    epsilon, delta = _printed(asked.sensitivity, sequences.scale, K)
    if not beside:
        source = "thesis 002, eq. 4.5 (Table 4.4), sessions alone"
        why = (
            "eq. 4.5 lets one sequence move by all Δf counts of a user; it moves by at most "
            f"{asked.largest_move}, and δ is then the exact chance that a user's own sequence appears."
        )
        return PaperFigure(epsilon, min(1.0, delta), Neighbours.ADD_REMOVE, source, why)
    more = _printed(asked.counted_clicks, beside[0].scale, beside[0].above)
    why = "section 4.4 states the weaker of the two parts for its runs; independent noises add."
    total = epsilon + more[0], min(1.0, delta + more[1])
    return PaperFigure(*total, Neighbours.ADD_REMOVE, "thesis 002, eq. 4.7", why)


def _printed(records: int, noise: float, threshold: float) -> tuple[float, float]:
    """Eq. 4.5 and 4.6: ε = d (ln α + 1/b), δ = d/2 exp((d-K)/b)."""
    epsilon = records * (log_alpha(noise, threshold) + 1 / noise)
    return epsilon, records / 2 * math.exp(min(700.0, (records - threshold) / noise))
