"""The part of a profile that a query touched, drawn small: chains of single topics are joined."""

from __future__ import annotations

from typing import NamedTuple

from tacit.device import SentTopic
from tacit.web.topic_names import readable_topic

__all__ = ["Branch", "branch"]


class Branch(NamedTuple):
    """One line of the drawing: a topic, or several of which each has only the next below it."""

    names: str
    """As people read them, from the top down."""
    sent: bool
    share: float
    risk: float
    sensitivity: float
    below: tuple[Branch, ...]


def branch(topic: SentTopic) -> Branch:
    """The drawing of a topic and what lies below it; a change from sent to hidden begins a new line."""
    names = [readable_topic(topic.label)]
    while len(topic.below) == 1 and topic.below[0].sent == topic.sent and not topic.sensitivity:
        topic = topic.below[0]
        names.append(readable_topic(topic.label))
    return Branch(
        names=" › ".join(names),
        sent=topic.sent,
        share=topic.share,
        risk=topic.risk,
        sensitivity=topic.sensitivity,
        below=tuple(map(branch, topic.below)),
    )
