"""Datagrams that arrive in pieces: put together, or forgotten if that takes too long or too much room."""

from __future__ import annotations

from collections.abc import Callable

from bypass.live.adhoc.link_packets import LinkPacket, LinkPacketKind
from bypass.protocol.wire.codec import MAX_MESSAGE_BYTES

MOST_OF_SOURCE = 4  # datagrams from one address that are not complete
BYTES_OF_SOURCE = 3 * MAX_MESSAGE_BYTES
MOST_BYTES = 16 * MAX_MESSAGE_BYTES  # from all addresses
PIECE_COST = 200  # bytes that a piece takes beside its own, roughly
LONGEST_PAUSE_S = 5.0  # between two pieces

_Key = tuple[int, LinkPacketKind, int, int]
"""The sender, the kind of packets, their session, and the number of the one with the first piece."""


class _Partial:
    """A datagram in `parts` parts of which these pieces are there, by number."""

    __slots__ = ("at", "parts", "pieces", "size")

    def __init__(self, parts: int) -> None:
        self.parts = parts
        self.pieces: dict[int, bytes] = {}
        self.size = 0
        self.at = 0.0


class _Share:
    """The datagrams from one address that are not complete; the one that got a piece last is last."""

    __slots__ = ("partials", "size")

    def __init__(self) -> None:
        self.partials: dict[_Key, _Partial] = {}
        self.size = 0


class Reassembly:
    """The datagrams from all addresses that are not complete. `clock` gives seconds.

    Where there is no room for a piece, datagrams from the same address are forgotten first, those that have
    waited longest, so that nobody takes room from others; if it is all together that are too many, those from
    the address that has most. `forgotten` counts them, `size` is the room that is taken, in bytes.
    """

    def __init__(self, clock: Callable[[], float]) -> None:
        self.forgotten = 0
        self.size = 0
        self._clock = clock
        self._shares: dict[int, _Share] = {}  # by address

    def __bool__(self) -> bool:
        return bool(self._shares)

    def expects(self, source: int, sender: int, packet: LinkPacket) -> bool:
        """Say whether a piece is the first of its datagram, or follows those that are there."""
        if packet.part == 0:
            return True
        share = self._shares.get(source)
        partial = None if share is None else share.partials.get(_key(sender, packet))
        return partial is not None and packet.part == len(partial.pieces)

    def add(self, source: int, sender: int, packet: LinkPacket) -> bytes | None:
        """Take a piece; gives the datagram if it is complete with it."""
        if packet.parts == 1:
            return packet.piece
        share, key = self._shares.setdefault(source, _Share()), _key(sender, packet)
        partial = share.partials.pop(key, None) or _Partial(packet.parts)
        share.partials[key] = partial
        partial.at = self._clock()
        if packet.parts == partial.parts and packet.part not in partial.pieces:
            partial.pieces[packet.part] = packet.piece
            self._resize(share, partial, len(packet.piece) + PIECE_COST)
        if len(partial.pieces) == partial.parts:
            self._remove(source, key)
            return b"".join(partial.pieces[index] for index in range(partial.parts))
        self._make_room(source, share)
        return None

    def expire(self) -> None:
        """Forget what has waited for its next piece for too long."""
        latest = self._clock() - LONGEST_PAUSE_S
        for source, share in list(self._shares.items()):
            for key, partial in list(share.partials.items()):
                if partial.at > latest:
                    break
                self._forget(source, key)

    def clear(self) -> None:
        """Forget everything."""
        for source, share in list(self._shares.items()):
            for key in list(share.partials):
                self._forget(source, key)

    def _make_room(self, source: int, share: _Share) -> None:
        while len(share.partials) > MOST_OF_SOURCE or share.size > BYTES_OF_SOURCE:
            self._forget(source, next(iter(share.partials)))
        while self.size > MOST_BYTES:
            greedy = max(self._shares, key=lambda each: self._shares[each].size)
            self._forget(greedy, next(iter(self._shares[greedy].partials)))

    def _forget(self, source: int, key: _Key) -> None:
        self._remove(source, key)
        self.forgotten += 1

    def _remove(self, source: int, key: _Key) -> None:
        share = self._shares[source]
        partial = share.partials.pop(key)
        self._resize(share, partial, -partial.size)
        if not share.partials:
            del self._shares[source]

    def _resize(self, share: _Share, partial: _Partial, by: int) -> None:
        partial.size += by
        share.size += by
        self.size += by


def _key(sender: int, packet: LinkPacket) -> _Key:
    return sender, packet.kind, packet.session, packet.number - packet.part
