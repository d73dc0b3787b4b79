"""All clients of a broker, where names of clients may stand."""

from __future__ import annotations

from enum import Enum
from typing import Final


class Everybody(Enum):
    """All clients of a broker, where names of clients may stand."""

    EVERYBODY = "everybody"

    def __repr__(self) -> str:
        return self.name


EVERYBODY: Final = Everybody.EVERYBODY
