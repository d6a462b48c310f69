"""A synthetic search log over the embedded world, in the shape of AOL's.

People with interests (some of them sensitive) search the WordNet corpus in sessions, mistype, narrow
down, widen, drift, come back and click. :class:`SyntheticLog` makes the log; the truth behind it is a
second file.
"""

from tacit.world.synth.calibration import AOL, HEAPS_EXPONENT, LogShape, target
from tacit.world.synth.kinds import RecordKind
from tacit.world.synth.log import SynthesisOutcome, SyntheticLog
from tacit.world.synth.truth import TRUTH_SCHEMA

__all__ = [
    "AOL",
    "HEAPS_EXPONENT",
    "TRUTH_SCHEMA",
    "RecordKind",
    "SynthesisOutcome",
    "LogShape",
    "SyntheticLog",
    "target",
]
