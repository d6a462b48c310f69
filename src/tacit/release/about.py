"""What a release is about, as its owner states it: the data set, who is responsible, and what it is for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from tacit.errors import ParameterError

__all__ = ["About"]

_LONGEST = 200


@dataclass(frozen=True)
class About:
    """Said by the owner, kept in the manifest and shown on the page; nothing follows from it.

    Args:
        data_set: what people call the data set.
        controller: who is responsible for it.
        purpose: what the release is for.
    """

    data_set: str = ""
    controller: str = ""
    purpose: str = ""

    def __post_init__(self) -> None:
        for name, text in asdict(self).items():
            if not isinstance(text, str) or len(text) > _LONGEST or not text.isprintable():
                raise ParameterError.outside(
                    name,
                    f"{len(str(text))} characters",
                    f"one printable line of at most {_LONGEST} characters",
                )

    def to_dict(self) -> dict[str, str]:
        """For the manifest."""
        return asdict(self)

    @classmethod
    def from_dict(cls, form: Mapping[str, Any]) -> About:
        """What ``to_dict`` wrote."""
        return cls(**form)
