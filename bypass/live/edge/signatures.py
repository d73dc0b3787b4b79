"""Signatures of edges: clients believe no answer and no beacon that an edge they know has not signed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from bypass.live.adhoc.datagrams import Refusal
from bypass.protocol.datagrams import Datagram, EdgeAnswer, EdgeBeacon, NodeAddress
from bypass.protocol.wire import CODEC, Codec
from bypass.transitions.recent import Recent

if TYPE_CHECKING:
    from bypass.live.edge.keys import EdgeKeys, KnownEdge

_PURPOSE = b"bypass edge 1\0"


def signed_content(datagram: Datagram, codec: Codec = CODEC) -> bytes:
    """The bytes that an edge signs of an answer or a beacon: the message as it is encoded, with its sender,
    its domain and the decision there, but without its number, its hops and the signature itself."""
    body = datagram.body
    assert isinstance(body, EdgeAnswer | EdgeBeacon)
    sender = datagram.client
    bare = replace(
        datagram,
        id=sender << 32,
        origin=NodeAddress(sender),
        targets=(),
        hops=0,
        recovery=None,
        body=replace(body, signature=b""),
    )
    return _PURPOSE + codec.encode(bare)


class EdgeSigner:
    """Signs what an edge tells clients."""

    def __init__(self, keys: EdgeKeys) -> None:
        self._sign = keys.signing.sign

    def outgoing(self, datagram: Datagram) -> Datagram:
        """Give a datagram as it is to be sent."""
        body = datagram.body
        if not isinstance(body, EdgeAnswer | EdgeBeacon):
            return datagram
        return replace(datagram, body=replace(body, signature=self._sign(signed_content(datagram))))

    def refusal(self, datagram: Datagram) -> None:
        """Take whatever arrives: an edge does nothing because of what others say to clients."""


class _Heard(Recent[tuple[int, str], int]):
    """The number of the latest beacon, by edge and domain."""

    LIMIT = 4096


class EdgeVerifier:
    """Takes answers and beacons of edges that are known, by their numbers, if they have signed them; of
    beacons those alone that are newer than all that were taken of an edge in a domain.

    An answer repeats a client's random number, so that an old one is of no use. An old beacon that somebody
    has recorded is taken by a client that has taken no newer one: it keeps a client with its edge, and makes
    others ask for one, but does not show one to be there.
    """

    def __init__(self, edges: Mapping[int, KnownEdge]) -> None:
        self._edges = edges
        self._heard = _Heard()

    def outgoing(self, datagram: Datagram) -> Datagram:
        """Give a datagram as it is to be sent."""
        return datagram

    def refusal(self, datagram: Datagram) -> Refusal | None:
        """Say why a datagram that has arrived is not taken; None if it is."""
        body = datagram.body
        if not isinstance(body, EdgeAnswer | EdgeBeacon):
            return None
        edge = self._edges.get(body.edge)
        if edge is None or not body.signature or datagram.client != body.edge:
            return Refusal.UNSIGNED
        where = body.edge, datagram.namespace
        if isinstance(body, EdgeBeacon) and body.sequence <= self._heard.get(where, -1):
            return Refusal.REPLAYED
        if not _is_signed(edge, datagram):
            return Refusal.FORGED
        if isinstance(body, EdgeBeacon):
            self._heard[where] = body.sequence
        return None


def _is_signed(edge: KnownEdge, datagram: Datagram) -> bool:
    from cryptography.exceptions import InvalidSignature

    body = datagram.body
    assert isinstance(body, EdgeAnswer | EdgeBeacon)
    try:
        edge.verifying.verify(body.signature, signed_content(datagram))
    except InvalidSignature:
        return False
    return True
