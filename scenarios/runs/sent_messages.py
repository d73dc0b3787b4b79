"""The number of messages that clients of a store send to each other."""

from __future__ import annotations

from collections.abc import Sequence

from bypass.ports.datagrams import DatagramAnalyzer
from bypass.protocol.datagrams import Datagram


class SentMessages(DatagramAnalyzer):
    """Counts the datagrams of the first `clients` nodes, each at every hop; what the link repeats counts
    once, and so does one in fragments."""

    def __init__(self, clients: int) -> None:
        self.messages = 0
        self._clients = clients

    def datagram_sent(self, node: int, datagram: Datagram, neighbour: int | None) -> None:  # noqa: ARG002
        """Count one of a client."""
        self.messages += node < self._clients

    def datagram_received(self, datagram: Datagram, nodes: Sequence[int]) -> None:
        """Do nothing: senders are counted."""
