"""The risk of everything an upstream was told together: equation 14 on the union of the exposed trees."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tacit.device.profile import UserProfile
from tacit.device.risk import normalised, risk_layer
from tacit.device.seed import Floats, Integers, SeedProfile

__all__ = ["union_risk", "with_exposed"]


def union_risk(profile: UserProfile, exposed: Integers) -> float:
    """The risk of a set of exposed topics (a rooted subtree); 0 for none."""
    if len(exposed) == 0:
        return 0.0
    return normalised(float(_exposed_layer(profile, exposed)[0]), profile.wealth)


def _exposed_layer(profile: UserProfile, exposed: Integers) -> Floats:
    parent = np.searchsorted(exposed, profile.tree.parent[exposed]).astype(np.int32)
    nothing = np.zeros(len(exposed))
    layer, _ = risk_layer(parent, profile.cost[exposed], nothing, nothing, np.ones(len(exposed), np.bool_))
    return layer


def with_exposed(seed: SeedProfile, profile: UserProfile, exposed: Integers) -> SeedProfile:
    """The seed profile in the eyes of an upstream that has seen the ``exposed`` topics already.

    Its risk is then that of the union of what it keeps with what was exposed before.
    """
    absent, base = np.zeros(len(seed)), np.zeros(len(seed))
    if len(exposed):
        layer = _exposed_layer(profile, exposed)
        place = np.searchsorted(seed.node, exposed)
        inside = (place < len(seed)) & (seed.node[np.minimum(place, len(seed) - 1)] == exposed)
        absent[place[inside]] = layer[inside]
        outside = exposed[~inside]
        above = profile.tree.parent[outside]
        spot = np.searchsorted(seed.node, above)
        touching = (spot < len(seed)) & (seed.node[np.minimum(spot, len(seed) - 1)] == above)
        np.add.at(base, spot[touching], layer[~inside][touching])
    return replace(seed, absent=absent, base=base)
