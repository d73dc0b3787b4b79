"""Those who want to be told, and must not be able to disturb."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Generic, TypeVar

L = TypeVar("L")

_log = logging.getLogger(__name__)


class Listeners(Generic[L]):
    """Tells each listener in turn; what one raises is logged and reaches nobody else."""

    def __init__(self) -> None:
        self._all: tuple[L, ...] = ()

    def add(self, listener: L) -> None:
        self._all = (*self._all, listener)

    def tell(self, call: Callable[[L], None]) -> None:
        for listener in self._all:
            try:
                call(listener)
            except Exception:
                _log.exception("listener %r failed", listener)
