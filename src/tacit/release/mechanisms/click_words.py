"""What an A_Click release does, means and costs, and what the thesis (002) prints for it."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from tacit.privacy.guarantee import Neighbours
from tacit.release import prose
from tacit.release.document.words import among, biased_counts, counted, rounded, taken
from tacit.release.mechanisms.click import ClickPlan, domain_size, spurious_queries
from tacit.release.thresholds import mean_size, survival


def figures(plan: ClickPlan) -> dict[str, float]:
    asked, noise, K = plan.mechanism, plan.queries.scale, plan.queries.above
    spurious = spurious_queries(asked, domain_size(asked.public_queries), noise, K)
    return {"spurious_queries": spurious, **prose.selection_figures(plan.queries)}


def words(plan: ClickPlan) -> list[str]:
    asked, cost, size = plan.mechanism, figures(plan), domain_size(plan.mechanism.public_queries)
    kind = "different " if asked.once_per_user else ""
    queries = taken(asked.take, asked.queries_per_user, "query", f"{kind}queries")
    clicks = ""
    if asked.counted_clicks:
        on = "it" if asked.queries_per_user == 1 else "them"
        clicks = f" and the {taken(asked.take, asked.counted_clicks, 'click')} on {on}"
    lines = [
        f"Each user gives the {queries}{clicks}; what a user has beyond that is not counted.",
        f"A query needs a count of about {cost['even_chance_at']:.0f} for an even chance to be selected, "
        f"and {cost['nearly_sure_at']:.0f} to be selected 19 times in 20. Rarer queries are lost.",
    ]
    if size:
        lines.append(
            f"Of {size:,} domain queries, about {rounded(cost['spurious_queries'])} that nobody asked get "
            f"in at K = {plan.queries.above}; a lower K would keep rarer queries and let in more of these."
        )
    lines.append(f"A published query count is off by about {rounded(cost['expected_error'])} on average.")
    if plan.same_counts:
        lines.append(biased_counts(plan.queries.scale))
    called = {"clicks": "A click count", "transitions": "A transition"}
    for table, part in plan.besides.items():
        off = rounded(mean_size(part.scale))
        lines.append(f"{called[table]} is published above {part.above}, off by about {off} on average.")
    if asked.pure:
        lines.append(
            "Queries, urls and transitions outside the public sets are not published: delta is 0. The "
            "thresholds only keep out keys of count 0; they may be changed without any cost in privacy."
        )
    return lines


def columns(plan: ClickPlan) -> Mapping[str, Mapping[str, str]]:
    asked, scale = plan.mechanism, plan.queries.error
    kind = "different " if asked.once_per_user else ""
    given = among(asked.take, asked.queries_per_user, "query", f"{kind}queries")
    what = f"Users who have it {given}" if asked.once_per_user else f"Searches for it that users have {given}"
    left_out = "what a user has beyond these is left out."
    found = {"queries": {"count": f"{what}, plus noise of scale {scale:.4g}; {left_out}"}}
    clicked = among(asked.take, asked.counted_clicks, "click")
    said = {
        "clicks": f"Clicks on it for this query that users have {clicked}",
        "transitions": "How often users asked the next query right after this one, in those searches",
    }
    for name, part in plan.besides.items():
        found[name] = {"count": f"{said[name]}, plus noise of scale {part.error:.4g}; {left_out}"}
    return found


def notes(plan: ClickPlan) -> prose.Notes:
    """On what the guarantee rests."""
    said = []
    if plan.mechanism.pure:
        said.append(
            "It holds for queries, urls and transitions of public sets that do not depend on the log; all "
            "else is dropped."
        )
    if plan.mechanism.pool_probability < 1:
        said.append(
            "The public queries are sampled: anew for each release, and which took part is never shown."
        )
    return prose.Notes(words=said)


def residual_risks(plan: ClickPlan) -> Sequence[str]:
    if not plan.mechanism.pure:
        return ()
    return ("Some published rows have no user at all: they come from the public domain by noise.",)


def steps(plan: ClickPlan) -> Sequence[prose.DescribedStep]:
    asked, named = plan.mechanism, plan.mechanism.public_queries
    size, pure = domain_size(named), plan.mechanism.pure
    what = ("query", "different queries") if asked.once_per_user else ("search", "searches")
    kept = f"of each user the {taken(asked.take, asked.queries_per_user, *what)}"
    if asked.counted_clicks:
        on = "it" if asked.queries_per_user == 1 else "them"
        kept += f" and {counted(asked.counted_clicks, 'click')} on {on}"
    listed = []
    if size:
        used = "only queries of it take part" if pure else "its queries take part even if nobody asked them"
        name = named if isinstance(named, str) else getattr(named, "name", "")
        listed.append(prose.DescribedStep("Public domain", f"{size:,} queries of {name}: {used}"))
    of_each = ("users" if asked.once_per_user else "searches") + " of each query"
    select = f"noise of scale {plan.queries.scale:g}; keep queries counted more than {plan.queries.above}"
    fresh = "as compared" if plan.same_counts else f"with fresh noise of scale {plan.queries.error:g}"
    listed += [
        prose.DescribedStep("Bound", kept),
        prose.DescribedStep("Count", of_each + (", with 0 for unasked ones" if size else "")),
        prose.DescribedStep("Select", select, noisy=True),
        prose.DescribedStep("Publish queries", f"counts {fresh}", noisy=not plan.same_counts),
    ]
    where = {
        "clicks": "of public urls" if pure else "of clicked urls",
        "transitions": "of all pairs of published queries" if pure else "that were taken",
    }
    for part in plan.besides.values():
        rule = f"noise of scale {part.scale:g}; published if greater than {part.above}"
        text = f"{where[part.table]}: {rule}"
        listed.append(prose.DescribedStep(f"Publish {part.table}", text, noisy=True))
    return tuple(listed)


def paper_figure(plan: ClickPlan) -> prose.PaperFigure:
    """Compute what the thesis prints: Theorem 1 (eq. 3.4), or with Table 3.10's transition term."""
    asked = plan.mechanism
    prose.require_noise(*(noise.scale for noise in plan.schedule.noises()))
    K = plan.queries.above if asked.threshold is None else asked.threshold
    epsilon = asked.queries_per_user * prose.log_alpha(plan.queries.scale, K, asked.pool_probability)
    epsilon += asked.queries_per_user / plan.queries.error
    for part in plan.besides.values():
        epsilon += part.contribution.total / part.scale
    return prose.PaperFigure(
        epsilon,
        0.0,
        Neighbours.ADD_REMOVE,
        "thesis 002, Theorem 1 (eq. 3.4)"
        + (" with the transition term of Table 3.10" if asked.transitions else ""),
        "the second term of Theorem 1's α is an artefact: over a public domain a threshold is "
        "post-processing, and a query costs 1/b whatever K is; outside a public domain δ is not 0."
        if asked.pure
        else "Theorem 1 claims δ = 0, which holds only for queries, urls and transitions of a public domain.",
    )


def paper_setting(plan: ClickPlan) -> dict[str, Any] | None:
    """The thesis's choice in Table 3.10: one noise scale for all, K at the turning point (eq. 3.11)."""
    asked = plan.mechanism
    if asked.epsilon is None:
        return None
    clicks = asked.queries_per_user if asked.clicks_per_user is None else asked.clicks_per_user
    noise = (2 * asked.queries_per_user + clicks + asked.steps_per_user) / asked.epsilon
    threshold = prose.turning_point(noise)
    # noisy counts are whole: > K is > floor(K)
    zero = domain_size(asked.public_queries) * survival(noise, math.floor(threshold) + 1)
    return {
        **dict.fromkeys(("noise", "noise_counts", "noise_clicks", "noise_transitions"), noise),
        "threshold": threshold,
        "spurious_queries": zero,
        "source": "thesis 002, Table 3.10 (K at eq. 3.11)",
        "why": "one noise scale for all, and a K that balances two terms of which one is an artefact; at the "
        f"thesis's about {zero:,.0f} domain queries that nobody asked would get in.",
    }


def checks(plan: ClickPlan, stated: Mapping[str, Any]) -> prose.Checks:
    del plan
    yield "the public sets are named, with their digests", lambda: _check_public_sets(stated)


def _check_public_sets(stated: Mapping[str, Any]) -> tuple[bool, str]:
    """Tell whether they are named with their digests, and the bundled one is what it claims to be."""
    from tacit.release.public_sets import BUNDLED, bundled_domain

    domain, surfaced, pure = stated["domain"], stated["surfaced"], stated["mode"] == "pure"
    if pure and (domain is None or (stated["clicks_per_user"] and surfaced is None)):
        return False, "a pure release without them"
    for listed, fields in ((domain, {"name", "queries", "sha256"}), (surfaced, {"name", "sha256"})):
        if listed is not None and not (
            set(listed) - {"origin"} == fields and re.fullmatch("[0-9a-f]{64}", str(listed["sha256"]))
        ):
            return False, "no digest"
    if domain is not None and domain["name"] == BUNDLED:
        made = bundled_domain()
        return (len(made), made.digest) == (domain["queries"], domain["sha256"]), "made again"
    return True, ""
