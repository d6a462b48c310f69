"""The second guard: personal data is coarsened until at least k people online share it.

(k, w)-online anonymity after Huang, Qi, Xu and Chen, "A Privacy-enhancing Model for Location-based
Personalized Recommendations". A person's record d follows a template; a service sees only a region d' of
records that at least k people used within w of each other::

    tacit.simulate_pool(k=30, window=50)                # what a choice of k and w costs
    uvicorn.run(tacit.Pool("pool.join", "pool.secret").app())
    async with tacit.Agent("pool.join", "me.json") as agent:
        answer = await agent.search("concert tonight")               # HeldError: it was not sent

Inside, imports run one way: :mod:`~tacit.pool.protocol` (records, the tree, rule S, the gateway's log),
:mod:`~tacit.pool.channel` (who learns what: sealing, tokens, the join file), :mod:`~tacit.pool.agent` (a
person's side), :mod:`~tacit.pool.server` (relay, pool, gateway and issuer), :mod:`~tacit.pool.simulation`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tacit.pool.agent import Agent as Agent
    from tacit.pool.channel.join import create_pool as create_pool
    from tacit.pool.protocol.template import Region as Region
    from tacit.pool.protocol.template import Template as Template
    from tacit.pool.server.pool import Pool as Pool
    from tacit.pool.simulation.traffic import PoolSimulation as PoolSimulation
    from tacit.pool.simulation.traffic import simulate_pool as simulate_pool
    from tacit.pool.simulation.verification import AnonymityAudit as AnonymityAudit
    from tacit.pool.simulation.verification import verify_log as verify_log

_HOMES = {
    "Agent": "agent",
    "AnonymityAudit": "simulation.verification",
    "Pool": "server.pool",
    "PoolSimulation": "simulation.traffic",
    "Region": "protocol.template",
    "Template": "protocol.template",
    "create_pool": "channel.join",
    "simulate_pool": "simulation.traffic",
    "verify_log": "simulation.verification",
}
"""Loaded when they are first used: an agent needs no server, a server no simulation."""


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
