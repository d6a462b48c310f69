"""An envelope that closes nothing, for tests of a pool's rules."""

from __future__ import annotations

from tacit.pool.protocol.messages import HpkeSealing
from tacit.pool.protocol.template import Record


class OpenEnvelope(HpkeSealing):
    """No sealing at all: records go as text."""

    def keys(self) -> tuple[str, str]:
        """No keys."""
        return "", ""

    def seal(self, public: str, epoch: int, group: int, record: Record) -> str:
        """The record's codes as text."""
        del public, epoch, group
        return ",".join(map(str, record))

    def unseal(self, secret: str, epoch: int, group: int, sealed: str) -> Record | None:
        """The record that the text gives."""
        del secret, epoch, group
        try:
            return tuple(map(int, sealed.split(",")))
        except ValueError:
            return None
