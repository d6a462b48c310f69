"""What the parameters of each mechanism guarantee, provably, beside what its paper prints.

One module a mechanism (:mod:`zealous <tacit.release.analysis.zealous>`, ``click``, ``session``, ``k_query``),
each with frozen parameters, ``charges(parameters)``, ``guarantee(parameters, neighbours)`` and
``paper_figure(parameters)``. :mod:`tacit.release.analysis.exact` computes the divergence of two output
distributions exactly; the tests hold every claim made here against it.
"""

from tacit.release.analysis import click, k_query, session, zealous
from tacit.release.analysis.charge import Charge, PaperFigure
from tacit.release.analysis.click import ClickMode, ClickParameters
from tacit.release.analysis.k_query import KQueryParameters
from tacit.release.analysis.session import SessionClicks, SessionParameters
from tacit.release.analysis.zealous import ZealousParameters

__all__ = [
    "Charge",
    "ClickMode",
    "ClickParameters",
    "KQueryParameters",
    "PaperFigure",
    "SessionClicks",
    "SessionParameters",
    "ZealousParameters",
    "click",
    "k_query",
    "session",
    "zealous",
]
