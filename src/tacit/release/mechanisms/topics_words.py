"""What a release of topics does, means and costs."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from tacit.release.document.words import among, counted, taken
from tacit.release.mechanisms.topics import TopicsPlan
from tacit.release.mechanisms.topics_tree import check_table, check_topics, noise_variance
from tacit.release.prose import Checks, DescribedStep, laplace_step


def figures(plan: TopicsPlan) -> dict[str, float]:
    deviation = math.sqrt(noise_variance(plan.noise))
    return {"largest_deviation": deviation, "told_from_none_at": 2 * deviation}


def _taxonomy(plan: TopicsPlan) -> str:
    named = plan.mechanism.taxonomy
    return str(getattr(named, "name", named)).rpartition("/")[2]


def words(plan: TopicsPlan) -> Sequence[str]:
    asked = plan.mechanism
    how = {"frequent": "most", "first": "first", "last": "last"}[asked.take.value]
    return (
        f"Each user counts for at most {counted(asked.per_user, 'topic')} of the first level of the taxonomy "
        f"“{_taxonomy(plan)}”, and in each for one right below, down to level {asked.levels}: what they "
        f"search for {how}.",
        "All topics are public and all are listed, whether anybody searches for them or not.",
        "A published count has a standard error of at most "
        f"{math.ceil(figures(plan)['largest_deviation']):,} users; beside each stands its own, rounded up. A "
        "count of less than twice that may be noise alone.",
        "The count of a topic is the sum of those right below it, exactly. A topic's users who search for "
        "none of the topics below it are in its “other”.",
        "What a query is about is told from its words by a public rule, which is often wrong about a single "
        "query; queries that it cannot place count nowhere.",
    )


def columns(plan: TopicsPlan) -> Mapping[str, Mapping[str, str]]:
    asked = plan.mechanism
    given = among(asked.take, asked.per_user, "topic")
    count = (
        f"Users who have it {given} of the first level, or as the one topic right below such a one that they "
        "search for; noise is in it, and it is the sum of the topics right below."
    )
    return {"topics": {"count": count, "deviation": "Standard error of the count, at most, in users."}}


def steps(plan: TopicsPlan) -> Sequence[DescribedStep]:
    asked = plan.mechanism
    place = f"each query under a topic of the taxonomy “{_taxonomy(plan)}”, by its text and public data alone"
    return (
        DescribedStep("Place", place),
        DescribedStep(
            "Bound",
            f"of each user the {taken(asked.take, asked.per_user, 'topic')} of the first level, and in each "
            f"the {asked.take.words} one right below, to level {asked.levels}",
        ),
        DescribedStep("Count", "how many users count for each topic, none included"),
        laplace_step(plan.noise),
        DescribedStep(
            "Agree",
            "from the noisy counts alone: least squares, then whole numbers of at least 0, so that each "
            "topic is the sum of those right below it",
        ),
    )


def residual_risks(plan: TopicsPlan) -> Sequence[str]:
    del plan
    return (
        "Nothing about what is in no topic: texts of queries do not appear, only topics that were public "
        "before.",
    )


def checks(plan: TopicsPlan, stated: Mapping[str, Any]) -> Checks:
    del plan
    yield "the taxonomy is named, with its digest", lambda: check_topics(stated)


def table_checks(plan: TopicsPlan, read: Callable[[str], pa.Table]) -> Checks:
    variance = noise_variance(plan.noise)
    yield (
        "topics lists the topics of the taxonomy stated, with the errors that follow",
        lambda: check_table(read("topics"), plan.topics.to_dict(), variance),
    )
