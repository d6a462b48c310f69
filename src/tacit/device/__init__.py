"""Guard 1, on the device: the interest profile is generalised per query under a risk bound (UPS).

Offline, a profile is built (:func:`build_profile`) and its owner says what is sensitive
(:meth:`ProfileStore.protect`). Online, each query is mapped to topics and the profile generalised
(:class:`OnlineProfiler`), what leaves is recorded (:class:`ExposureLedger`), and results are reranked
(:func:`rerank`). The mathematics works on a :class:`SeedProfile` alone (:func:`generalise`).
"""

from tacit.device.construction import BuildReport, build_profile
from tacit.device.exposure import Exposure, ExposureBound, ExposureLedger
from tacit.device.exposure_course import CoursePoint, ExposureCourse
from tacit.device.generalise import Algorithm, Generalisation, generalise
from tacit.device.guard import Guard
from tacit.device.mapping import MappedQuery
from tacit.device.online import Decision, OnlineProfiler, RuntimeProfile
from tacit.device.profile import UserProfile
from tacit.device.protection import ClickedPage, Forgotten, Placement, Protection, SentTopic, TopicNode
from tacit.device.repository import (
    Repository,
    TopicDocuments,
    load_repository,
    load_taxonomy,
    taxonomy_repository,
    wordnet_repository,
)
from tacit.device.rerank import borda_fusion, interest_scores, rerank, topic_scores, uscore
from tacit.device.seed import SeedProfile
from tacit.device.sending import Sending
from tacit.device.sources import SourceDocument, browsing_history, clicked_documents, plain_documents
from tacit.device.store import ProfileStore
from tacit.device.upstream import outgoing

__all__ = [
    "Algorithm",
    "BuildReport",
    "ClickedPage",
    "CoursePoint",
    "Decision",
    "Exposure",
    "ExposureBound",
    "ExposureCourse",
    "ExposureLedger",
    "Forgotten",
    "Generalisation",
    "Guard",
    "MappedQuery",
    "OnlineProfiler",
    "Placement",
    "ProfileStore",
    "Protection",
    "Repository",
    "RuntimeProfile",
    "Sending",
    "SeedProfile",
    "SentTopic",
    "SourceDocument",
    "TopicDocuments",
    "TopicNode",
    "UserProfile",
    "borda_fusion",
    "browsing_history",
    "build_profile",
    "clicked_documents",
    "generalise",
    "interest_scores",
    "load_repository",
    "load_taxonomy",
    "outgoing",
    "plain_documents",
    "rerank",
    "taxonomy_repository",
    "topic_scores",
    "uscore",
    "wordnet_repository",
]
