"""The second guard: personal data is coarsened until k people online share it.

(k, w)-online anonymity after Huang, Qi, Xu and Chen, "A Privacy-enhancing Model for Location-based
Personalized Recommendations". A person's record d follows a :mod:`~tacit.pool.protocol.template`; a
service sees only
a region d' of records (:mod:`~tacit.pool.protocol.template`) that at least k people used within w of each
other. The
regions come from a partition of the people online (:mod:`~tacit.pool.server.partition`).
"""
