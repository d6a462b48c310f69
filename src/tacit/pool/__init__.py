"""The second guard: personal data is coarsened until at least k people online share it.

(k, w)-online anonymity after Huang, Qi, Xu and Chen, "A Privacy-enhancing Model for Location-based
Personalized Recommendations". A person's record d follows a template; a service sees only a region d' of
records that at least k people used within w of each other.

Inside, imports run one way: :mod:`~tacit.pool.protocol` (records, the tree, rule S, the gateway's log),
:mod:`~tacit.pool.channel` (who learns what: sealing, tokens, the join file), :mod:`~tacit.pool.agent` (a
person's side), :mod:`~tacit.pool.server` (relay, pool, gateway and issuer), :mod:`~tacit.pool.simulation`.
"""
