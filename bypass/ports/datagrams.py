"""Datagrams between devices nearby: the link below routing. It reaches neighbours alone and knows no routes.

A broadcast reaches those in reach who receive it, and nobody is told whom it did not reach. A unicast is
acknowledged by the neighbour and repeated by the link, a bounded number of times. Each neighbour gets it at
most once; if the acknowledgements were lost, it may arrive although it was reported as failed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from enum import StrEnum, auto
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from bypass.protocol.datagrams import Datagram
    from bypass.protocol.storage import Decision


STORAGE_PORT = 2  # of datagrams, beside the ports of frames


class DatagramLoss(StrEnum):
    """Why a datagram was not sent or did not arrive, as the links count it."""

    NO_ROOM = auto()  # too much waits to be sent
    UNKNOWN = auto()  # no such neighbour has been heard of
    UNACKNOWLEDGED = auto()  # given up after the last retry
    SWITCHED_OFF = auto()  # the radio was off, or was turned off before it was sent
    INCOMPLETE = auto()  # at the receiver: a fragment did not come, or not in time


Failed = Callable[[DatagramLoss], None]
"""Is told why a unicast was not sent or not acknowledged."""


class DatagramPort(Protocol):
    """The `host.link` of a routing mechanism. Neighbours are named by their numbers, as `host.id`.

    Datagrams that do not fit a frame are sent in fragments. What was handed over is sent even if the
    mechanism is stopped before that, and `failed` is called then, too: who has stopped must ignore it.
    """

    def broadcast(self, datagram: Datagram) -> None:
        """Send to all in reach, unacknowledged."""

    def unicast(self, datagram: Datagram, neighbour: int, failed: Failed) -> None:
        """Send to one neighbour, which acknowledges it.

        `failed` is called once, with the reason, if it is given up: no acknowledgement came, there was no
        room, the neighbour is not known, or the radio is or was turned off. It is never called before this
        method has returned.
        """


class DatagramReceiver(Protocol):
    """The call that the link makes to routing."""

    def arrived(self, datagram: Datagram) -> None:
        """A datagram was received whole. Others may have the same object: it must not be changed."""


class KnownWays(Protocol):
    """The ways of one node as its link knows them: most announcements of ways tell a node what it knows.

    The link may keep a `RouteTable` from a node if it would change nothing there but times: then it notes
    when it heard the neighbour, and when that confirmed a way that leads over it. It may do so while the node
    follows the sender's decision, and for ways and neighbours alone that it was told of.
    """

    def follow(self, decision: Decision, namespace: str) -> None:
        """From now on the node takes datagrams with this decision and namespace; none without a scheme."""

    def serve(self, cell: int | None) -> None:
        """Of datagrams to cells, with the decision and namespace that it follows, the node takes those from
        this cell alone; None: from all, whether it has a use for them or not."""

    def own(self, sequence: int) -> None:
        """The node has given itself a number."""

    def put(self, node: int, next_hop: int, metric: int, sequence: int) -> None:
        """The node has this way to another one."""

    def drop(self, node: int) -> None:
        """The node knows nothing of another one any more."""

    def met(self, neighbour: int) -> None:
        """The node has a neighbour that it did not have."""

    def parted(self, neighbour: int) -> None:
        """The node has a neighbour no longer."""

    def clear(self) -> None:
        """The node has no ways and no neighbours."""

    def confirmed_at(self, node: int) -> float:
        """When the link noted last that a way was confirmed (s), a long time ago if it never did."""

    def heard_at(self, neighbour: int) -> float:
        """When the link noted last that it heard a neighbour (s), a long time ago if it never did."""


class NoKnownWays:
    """The `KnownWays` of a link that keeps nothing from its node."""

    def follow(self, decision: Decision, namespace: str) -> None: ...

    def serve(self, cell: int | None) -> None: ...

    def own(self, sequence: int) -> None: ...

    def put(self, node: int, next_hop: int, metric: int, sequence: int) -> None: ...

    def drop(self, node: int) -> None: ...

    def met(self, neighbour: int) -> None: ...

    def parted(self, neighbour: int) -> None: ...

    def clear(self) -> None: ...

    def confirmed_at(self, node: int) -> float:  # noqa: ARG002
        return -math.inf

    def heard_at(self, neighbour: int) -> float:  # noqa: ARG002
        return -math.inf


class DatagramAnalyzer(Protocol):
    """Is told of all datagrams on a simulated medium, hop by hop. Repetitions of the link are not told."""

    def datagram_sent(self, node: int, datagram: Datagram, neighbour: int | None) -> None:
        """A node sends a datagram to a neighbour, or to all in reach."""

    def datagram_received(self, datagram: Datagram, nodes: Sequence[int]) -> None:
        """Nodes have received a datagram whole."""


class DatagramSender(Protocol):
    """The client's local transport, through which its datagrams go."""

    def send_datagram(self, datagram: Datagram, neighbour: int | None, failed: Failed) -> bool:
        """Send to a neighbour, or to all in reach; false, and nothing else happens, if there is no radio."""


class DatagramOutlet:
    """The `DatagramPort` of one client in every runtime: everything goes out by the active transport.

    `defer(action)` calls an action soon. Without a radio datagrams are `dropped`, and counted.
    """

    __slots__ = ("_defer", "_transport", "dropped")

    def __init__(self, transport: DatagramSender, defer: Callable[[Callable[[], None]], Any]) -> None:
        self.dropped = 0
        self._transport = transport
        self._defer = defer

    def broadcast(self, datagram: Datagram) -> None:
        if not self._transport.send_datagram(datagram, None, _ignore):
            self.dropped += 1

    def unicast(self, datagram: Datagram, neighbour: int, failed: Failed) -> None:
        if not self._transport.send_datagram(datagram, neighbour, failed):
            self.dropped += 1
            self._defer(partial(failed, DatagramLoss.SWITCHED_OFF))


def _ignore(_: DatagramLoss) -> None:
    """Do nothing: nobody is told whom a broadcast does not reach."""
