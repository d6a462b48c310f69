"""The privacy core: what is promised, what it costs, and the noise that pays for it.

- :mod:`~tacit.privacy.guarantee`: the kinds of promise, each naming its neighbour relation;
- :mod:`~tacit.privacy.accounting.events`, :mod:`~tacit.privacy.accounting.composition`: what was done, what
  several such events promise together, and a budget;
- :mod:`~tacit.privacy.ledger.ledger`: the file that guards it;
- :mod:`~tacit.privacy.noise.randomness`, :mod:`~tacit.privacy.noise.samplers`: exact integer noise.
"""

from tacit.privacy.guarantee import Guarantee, GuaranteeKind, Neighbours

__all__ = ["Guarantee", "GuaranteeKind", "Neighbours"]
