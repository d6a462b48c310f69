"""A synthetic search log over the embedded world, in the shape of AOL's.

People with interests (some of them sensitive) search the WordNet corpus in sessions, mistype, narrow
down, widen, drift, come back and click. :class:`SyntheticLog` makes the log; the truth behind it is a
second file.
"""

from tacit.world.loops.queries import RecordKind
from tacit.world.synth.log import AOL, HEAPS_EXPONENT, LogShape, SynthesisOutcome, SyntheticLog, target

__all__ = ["AOL", "HEAPS_EXPONENT", "LogShape", "RecordKind", "SynthesisOutcome", "SyntheticLog", "target"]
