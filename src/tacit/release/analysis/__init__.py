"""What a schedule guarantees, provably.

:mod:`~tacit.release.analysis.accounting` computes the guarantee, the cost of each part and the event for
the ledger from a schedule; :mod:`~tacit.release.analysis.threshold` has the argument that all of it rests
on. :mod:`~tacit.release.analysis.exact` computes the divergence of two output distributions exactly; the
tests hold every claim against it. What a paper prints for the same parameters stands in the mechanism's own
folder.
"""
