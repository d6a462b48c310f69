"""Ad-hoc search judged by people: rank documents for a query of a topic (TREC's qrels).

Units are the lists that were shown for a query of a judged topic: by a session of the TREC Session track, or
by a run. Each is reranked by released clicks on its query; with nothing released it stays as it was.
"""

from tacit.evaluate.data import CountedLog, LogPart
from tacit.evaluate.judged import JudgedTask, JudgedTrial


class JudgedAdhoc(JudgedTask):
    """Ad-hoc search on judged topics."""

    name = "judged-adhoc"
    title = "ad-hoc search judged by people"
    description = "rank documents for a query of a judged topic"
    unit = "query of a judged topic"
    nothing = "the engine's own order"

    def against(self, original: CountedLog, test: LogPart) -> JudgedTrial:
        del original, test
        units = [(unit, [shown]) for unit in self._judgments.units for shown in unit.lists]
        return JudgedTrial(self._judgments, units, 1.0)
