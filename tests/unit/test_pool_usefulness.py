"""What a region is good for: the measure itself, and that it orders what a service may know."""

from __future__ import annotations

import numpy as np
import pytest
from benchmarks.pool_usefulness import topic_kinds, usefulness

from tacit.pool.protocol.population import adult
from tacit.pool.simulation.traffic import SimulationSetting
from tacit.retrieval import average_precision
from tacit.world import wordnet_corpus, wordnet_engine


def test_average_precision_is_that_of_ir_measures() -> None:
    import ir_measures

    random = np.random.default_rng(2)
    for _ in range(20):
        wanted = random.random(12) < 0.3
        wanted[random.integers(12)] = True
        judged = [ir_measures.Qrel("q", str(place), int(want)) for place, want in enumerate(wanted)]
        ranked = [ir_measures.ScoredDoc("q", str(place), -float(place)) for place in range(12)]
        expected = ir_measures.calc_aggregate([ir_measures.AP], judged, ranked)[ir_measures.AP]
        assert average_precision(range(12), set(np.flatnonzero(wanted))) == pytest.approx(expected)
    assert average_precision(range(2), set()) == 0.0


def test_a_region_is_worth_more_than_nothing_and_less_than_the_record() -> None:
    setting = SimulationSetting(k=5, windows=1)
    kinds = topic_kinds(wordnet_corpus().tree)
    found = usefulness(setting, adult(), wordnet_engine(), kinds)
    assert found["d"] > found["region"] > found["d*"] > found["nothing"]
    assert 0 < found["kept"] < 1
