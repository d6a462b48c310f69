"""Session search judged by people: rank documents for a whole session of the TREC Session track.

The lists of a session's queries, each reranked by released clicks on its query, are merged as in
:mod:`tacit.evaluate.tasks.session_search`: a document scores one over its place in each, those closer to the
end counting more by γ. Judged by the qrels of the session's topic.
"""

from tacit.evaluate.data import CountedLog, LogPart
from tacit.evaluate.judged import JudgedTask, JudgedTrial
from tacit.evaluate.tasks.session_search import DISCOUNT


class JudgedSessions(JudgedTask):
    """Session search on judged sessions."""

    name = "judged-sessions"
    title = "session search judged by people"
    description = "rank documents for a whole judged session"
    unit = "judged session"
    nothing = "the engine's own order for each query"

    def against(self, original: CountedLog, test: LogPart) -> JudgedTrial:
        del original, test
        units = [(unit, unit.lists) for unit in self._judgments.units if unit.session]
        return JudgedTrial(self._judgments, units, DISCOUNT)
