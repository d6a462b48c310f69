"""The privacy core: what is promised, what it costs, and the noise that pays for it."""

from tacit.privacy.guarantee import Guarantee, Kind, Neighbours

__all__ = ["Guarantee", "Kind", "Neighbours"]
