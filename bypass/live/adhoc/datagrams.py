"""Datagrams between the members of a group who share a key: who is no member is not heard, nothing is heard
twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from enum import StrEnum, auto
from hashlib import blake2b
from hmac import compare_digest
from struct import Struct

from bypass.errors import BypassError

VERSION = 1
MOST_BYTES = 1400  # fits one packet on every network in use, with headers and a tunnel around it
SHORTEST_KEY, LONGEST_KEY = 16, 64
WINDOW = 64  # counters: what comes later than so many newer ones is taken for a repetition
MOST_SENDERS = 1024
BOUND_S = 30.0  # so long a number belongs to the address from which it was heard last
FURTHEST_US = 24 * 3600 * 10**6  # that a sender's counter may get ahead of the time of day here
LONGEST_STEP = 1 << 20  # ... unless it goes on in steps no longer than this

_HEADER = Struct("!BIQ")  # version, sender, counter
_TAG = 16
MOST_CONTENT = MOST_BYTES - _HEADER.size - _TAG

_PERSON = b"bypass nearby"  # a key that serves for something else, too, makes other tags there
_MASK = (1 << WINDOW) - 1


class InvalidGroupKey(BypassError):
    """A key that no group can use."""


class Refusal(StrEnum):
    """Why a datagram was not taken."""

    OVERSIZED = auto()
    TRUNCATED = auto()
    VERSION = auto()
    UNAUTHENTIC = auto()
    OWN = auto()  # a broadcast comes back to its sender
    NAMESAKE = auto()  # another device has this one's number
    REPEATED = auto()
    IMPOSTOR = auto()  # the number belongs to another device
    LEAP = auto()  # a counter far ahead of what can be
    MALFORMED = auto()  # a member sent what is neither a frame nor a packet of the link
    TOO_MANY = auto()  # packets of the link from one address
    STRAY = auto()  # a packet for another device
    UNASKED = auto()  # an acknowledgement of nothing that is under way
    OUTDATED = auto()  # a packet of a link that its sender has replaced
    OUT_OF_ORDER = auto()  # a piece whose predecessors are not there
    UNSIGNED = auto()  # an edge's answer or beacon without a signature, or of an edge that is not known
    FORGED = auto()  # ... with a signature that is not the edge's
    REPLAYED = auto()  # a beacon that is not newer than one that was taken


class DatagramGroup:
    """One member's view of a group; `number` is the member's, which nobody else may have.

    A datagram is version, sender, counter, content and a tag over all of that: BLAKE2b with the group's key,
    16 bytes. A sender's counter rises with each datagram. It begins with the time of day in microseconds, so
    that a member who starts anew is not taken for somebody who repeats what was heard before. If its clock
    was set back meanwhile, it has to start once more when the clock is right: members who remember it do not
    hear it until then.

    This keeps out everybody who does not have the key: nobody else can make a datagram, change one, or have
    one taken a second time by a member who has heard it, or something sufficiently newer of the same sender.

    As all have the same key, it cannot keep members from everything. What is done: a number belongs to the
    address from which it was heard last, for `BOUND_S` seconds, so that nobody else can speak in its name
    while it is heard, other than by false addresses; and counters cannot be pushed more than a day ahead, so
    that nobody is made deaf for longer to a sender that it knows.

    Contents are not encrypted: who is near can read them. Who records a datagram can still play it, later or
    elsewhere, to a member who has heard nothing newer of its sender: who was out of reach, has been started
    since, or has heard `MOST_SENDERS` others meanwhile. Nor does it help against those who drown the network.
    """

    def __init__(self, key: bytes, number: int, clock: Callable[[], float] = time.monotonic) -> None:
        """Raises InvalidGroupKey."""
        if not isinstance(key, bytes):
            raise InvalidGroupKey(f"group key of type {type(key).__name__}: expected bytes")
        if not SHORTEST_KEY <= len(key) <= LONGEST_KEY:
            raise InvalidGroupKey(
                f"group key of {len(key)} bytes: expected {SHORTEST_KEY} to {LONGEST_KEY} random ones"
            )
        self._number = number
        self._clock = clock
        self._keyed = blake2b(digest_size=_TAG, key=key, person=_PERSON)
        self._counter = time.time_ns() // 1000
        self._windows: dict[int, _Window] = {}  # whoever was heard last is last

    def seal(self, content: bytes) -> bytes:
        """A datagram that other members take, once; `content` is at most `MOST_CONTENT` bytes long."""
        assert len(content) <= MOST_CONTENT
        self._counter += 1
        data = _HEADER.pack(VERSION, self._number, self._counter) + content
        return data + self._tag(data)

    def open(self, data: bytes, source: tuple[int, int] = (0, 0)) -> tuple[int, bytes] | Refusal:
        """The number of the sender and the content of a datagram, or why it must not be taken.

        `source` is the network in which it was heard, and the address that it came from.
        """
        if len(data) > MOST_BYTES:
            return Refusal.OVERSIZED
        if len(data) < _HEADER.size + _TAG:
            return Refusal.TRUNCATED
        version, sender, counter = _HEADER.unpack_from(data)
        if version != VERSION:
            return Refusal.VERSION
        if not compare_digest(self._tag(data[:-_TAG]), data[-_TAG:]):
            return Refusal.UNAUTHENTIC
        if sender == self._number:
            return Refusal.OWN
        return self._refusal(sender, counter, source) or (sender, data[_HEADER.size : -_TAG])

    def _tag(self, data: bytes) -> bytes:
        keyed = self._keyed.copy()
        keyed.update(data)
        return keyed.digest()

    def _refusal(self, sender: int, counter: int, source: tuple[int, int]) -> Refusal | None:
        network, address = source
        now, window = self._clock(), self._windows.get(sender)
        if window is not None:
            bound_to, since = window.sources.get(network, (address, now))
            if bound_to != address and now - since < BOUND_S:
                return Refusal.IMPOSTOR
            latest = max(window.highest + LONGEST_STEP, time.time_ns() // 1000 + FURTHEST_US)
            if counter > latest:
                return Refusal.LEAP
            if not window.admits(counter):
                return Refusal.REPEATED
            del self._windows[sender]
        else:
            window = _Window(counter)
            if len(self._windows) == MOST_SENDERS:
                del self._windows[next(iter(self._windows))]
        window.sources[network] = (address, now)
        self._windows[sender] = window
        return None


class _Window:
    """Which of a sender's latest counters have been heard. Bit k of `heard` stands for `highest` - k.

    `sources` are the addresses that it was heard from, and when, by network.
    """

    __slots__ = ("heard", "highest", "sources")

    def __init__(self, counter: int) -> None:
        self.highest = counter
        self.heard = 1
        self.sources: dict[int, tuple[int, float]] = {}

    def admits(self, counter: int) -> bool:
        """Say whether a counter has not been heard yet, as far as is known; from now on it has."""
        ahead = counter - self.highest
        if ahead > 0:
            self.heard = (self.heard << ahead | 1) & _MASK if ahead < WINDOW else 1
            self.highest = counter
            return True
        bit = 1 << -ahead if -ahead < WINDOW else 0
        new = bit != 0 and not self.heard & bit
        self.heard |= bit
        return new
