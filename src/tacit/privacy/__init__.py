"""The privacy core: what is promised, what it costs, and the noise that pays for it.

- :mod:`~tacit.privacy.guarantee`: the kinds of promise, each naming its neighbour relation;
- :mod:`~tacit.privacy.events` and :mod:`~tacit.privacy.composition`: what was done, and what several
  such events promise together;
- :mod:`~tacit.privacy.account`, :mod:`~tacit.privacy.ledger`: a budget, and the file that guards it;
- :mod:`~tacit.privacy.randomness`, :mod:`~tacit.privacy.noise`: exact integer noise.
"""

from tacit.privacy.guarantee import Guarantee, GuaranteeKind, Neighbours

__all__ = ["Guarantee", "GuaranteeKind", "Neighbours"]
