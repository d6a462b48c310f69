"""Guard 1, on the device: the interest profile is generalised per query under a risk bound (UPS).

Offline, a profile is built (:func:`build_profile`) and its owner says what is sensitive
(:meth:`ProfileStore.protect`). Online, each query is mapped to topics and the profile generalised
(:class:`OnlineProfiler`), what leaves is recorded (:class:`ExposureLedger`), and results are reranked
(:func:`rerank`). The mathematics works on a :class:`SeedProfile` alone (:func:`generalise`).
"""

from tacit.device.generalise.algorithms import Algorithm, generalise
from tacit.device.guard import Guard
from tacit.device.profile.construction import add_documents, build_profile, clicked_documents
from tacit.device.profile.history import ClickedPage
from tacit.device.profile.imports import SourceDocument, browsing_history
from tacit.device.profile.repository import Repository, load_repository, wordnet_repository
from tacit.device.profile.store import ProfileStore
from tacit.device.profile.user import SeedProfile, UserProfile
from tacit.device.ranking.attention import Placement
from tacit.device.ranking.rerank import borda_fusion, interest_scores, rerank, topic_scores
from tacit.device.sending.decision import Decision, OnlineProfiler, RuntimeProfile
from tacit.device.sending.exposure import ExposureLedger, Protection

__all__ = [
    "Algorithm", "ClickedPage", "Decision", "ExposureLedger", "Guard", "OnlineProfiler", "Placement",
    "ProfileStore", "Protection", "Repository", "RuntimeProfile", "SeedProfile", "SourceDocument",
    "UserProfile", "add_documents", "borda_fusion", "browsing_history", "build_profile", "clicked_documents",
    "generalise", "interest_scores", "load_repository", "rerank", "topic_scores", "wordnet_repository",
]  # fmt: skip
