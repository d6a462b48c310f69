"""Whether a domain that is said to be public was taken from the very log that is to be released.

Its queries may be published whether anybody asked them or not, so such a list would publish what single
people asked, whatever the noise. It is known by the queries that one user alone asked: a public list holds
few of them (WordNet's nouns and phrases 9%, of the Excite log as of the synthetic one), the log's own list
holds all.

The refusal depends on the log, and no guarantee covers it: it is said to the log's owner alone, before
anything is charged or published, and without a figure. The share is taken over all users together and is far
from the limit on either side, so that whether a release is made does not hang on one person. A small log,
where it could, is not judged.
"""

from __future__ import annotations

from typing import Any

from tacit.errors import InputError
from tacit.release.engines import Engine
from tacit.release.public_domain import PublicDomain

__all__ = ["FEWEST", "LARGEST_SHARE", "refuse_domain_of_log"]

LARGEST_SHARE = 0.5
"""Of the queries that one user alone asked, a domain may hold this share at most."""

FEWEST = 100
"""With fewer such queries nothing is judged."""


def refuse_domain_of_log(engine: Engine, log: Any, domain: PublicDomain) -> None:
    """Refuse a domain file that holds most of the queries that one user alone asked."""
    asked = log.group_by("query").aggregate(users=log.user.nunique())
    alone = engine.keep(asked.filter(asked.users == 1).select("query"))
    listed = engine.load(domain.table())
    held = alone.semi_join(listed, "query")
    total = engine.table(alone.aggregate(rows=alone.count())).column("rows")[0].as_py()
    found = engine.table(held.aggregate(rows=held.count())).column("rows")[0].as_py()
    engine.drop(alone)
    if total >= FEWEST and found > LARGEST_SHARE * total:
        raise InputError(
            f"the domain {domain.name} holds most of the queries that single users of this log asked: it was "
            "taken from the log, or from one like it, and is not public.",
            "Nothing was charged or published. Give a list that was public before the log, or wordnet.",
        )
