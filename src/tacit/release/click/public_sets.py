"""Whether a manifest names the public sets that a pure release rests on."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tacit.release.manifest import is_hash
from tacit.release.public_domain import BUNDLED, bundled_domain

__all__ = ["check_public_sets"]


def check_public_sets(stated: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether they are named with their digests, and the bundled one is what it claims to be."""
    domain, surfaced, pure = stated["domain"], stated["surfaced"], stated["mode"] == "pure"
    if pure and (domain is None or (stated["clicks_per_user"] and surfaced is None)):
        return False, "a pure release without them"
    for listed, fields in ((domain, {"name", "queries", "sha256"}), (surfaced, {"name", "sha256"})):
        if listed is not None and not (set(listed) - {"origin"} == fields and is_hash(listed["sha256"])):
            return False, "no digest"
    if domain is not None and domain["name"] == BUNDLED:
        made = bundled_domain()
        return (len(made), made.digest) == (domain["queries"], domain["sha256"]), "made again"
    return True, ""
