"""The listener that a broker tells of its clients."""

from __future__ import annotations

from typing import Protocol


class ClientListener(Protocol):
    """Is told where clients are; it may execute plans."""

    def client_located(self, client: int, x: float, y: float) -> None:
        """A client reported its place (m)."""

    def client_left(self, client: int) -> None:
        """A client has left for good."""
