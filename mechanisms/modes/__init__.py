"""Hybrid modes: which events go to clients nearby, and which to the broker (proxy `mode`)."""

from __future__ import annotations

from typing import ClassVar

from bypass.protocol.messages import Kind, Publish
from bypass.transitions import Mechanism

NONE: frozenset[Kind] = frozenset()
LOCAL = frozenset({Kind.LOCAL})
OTHERS = frozenset({Kind.PLAIN, Kind.PLACED})
ALL = LOCAL | OTHERS


class HybridMode(Mechanism):
    """The two ways of an event, by its kind."""

    by_radio: ClassVar[frozenset[Kind]]
    by_broker: ClassVar[frozenset[Kind]]

    def nearby(self, publication: Publish) -> bool:
        """Whether an event is disseminated to clients nearby."""
        return publication.kind in self.by_radio

    def to_broker(self, publication: Publish) -> bool:
        """Whether an event is sent to the broker."""
        return publication.kind in self.by_broker

    def connected(self) -> bool:
        """Whether the broker serves this client."""
        return bool(self.by_broker)


class Cloud(HybridMode):
    """Everything goes to the broker."""

    by_radio, by_broker = NONE, ALL


class AdHoc(HybridMode):
    """Everything goes to clients nearby; the broker is not told of anything.

    A client that has been in this mode from the beginning is unknown to the broker, which can tell it
    nothing.
    """

    by_radio, by_broker = ALL, NONE


class Offload(HybridMode):
    """Local events go to clients nearby, others to the broker."""

    by_radio, by_broker = LOCAL, OTHERS


class Augment(HybridMode):
    """Everything goes to the broker, local events to clients nearby as well."""

    by_radio, by_broker = LOCAL, ALL


class Gateway(Augment):
    """As `augment`; what the broker sends comes by gateways, if it selects any."""
