"""The cellular network: every client has its own link to the broker, reliable and in order.

A message takes its time on the link (size by bandwidth, after what is still being sent) and then a latency.
Sizes are those of the real encoding plus a header for the layers below.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import IntEnum
from functools import cache, partial
from typing import Self, cast

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from bypass.core.downlink import Delivery
from bypass.protocol.messages import (
    AllowFollowing,
    Assignment,
    AssignmentRequest,
    ContextUpdate,
    FollowedPlace,
    Kind,
    Message,
    OutcomeMessage,
    PlanMessage,
    Publish,
    Subscribe,
    Unsubscribe,
)
from bypass.protocol.wire import CODEC, Codec, encoded_size, notify_size, piggyback_size
from bypass.sim.clock import VirtualClock
from bypass.sim.host import stream
from bypass.support.arrays import Ints
from bypass.support.kernel import kernel
from bypass.support.units import MICROSECONDS

BROKER = -1  # the broker's number among the random streams


class CellularModel(BaseModel):
    """Parameters of the network, the same for every client."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    latency: float = Field(default=0.1, ge=0, description="mean one-way latency (s)")
    jitter: float = Field(default=0.025, ge=0, description="latencies are uniform within ± this (s)")
    bandwidth: float = Field(default=1e6, gt=0, description="bit/s of each client's link, each way")
    header: int = Field(default=28, ge=0, description="bytes that lower layers add to a message")

    @model_validator(mode="after")
    def _is_causal(self) -> Self:
        if self.jitter > self.latency:
            raise ValueError(f"jitter {self.jitter}: expected at most the latency, {self.latency}")
        return self


class Traffic(IntEnum):
    """The kinds of traffic by which bytes are counted."""

    EVENTS = 0
    SUBSCRIPTIONS = 1
    CONTEXT = 2
    COORDINATION = 3


CONTEXT, BORDER = Traffic.CONTEXT, Kind.BORDER  # looking a member up takes as long as a call
COUNTED_AS: dict[type[Message], Traffic] = {
    Publish: Traffic.EVENTS,
    Subscribe: Traffic.SUBSCRIPTIONS,
    Unsubscribe: Traffic.SUBSCRIPTIONS,
    ContextUpdate: Traffic.CONTEXT,
    AssignmentRequest: Traffic.CONTEXT,
    Assignment: Traffic.CONTEXT,
    FollowedPlace: Traffic.CONTEXT,
    AllowFollowing: Traffic.SUBSCRIPTIONS,
    PlanMessage: Traffic.COORDINATION,
    OutcomeMessage: Traffic.COORDINATION,
}  # what a message carries piggyback is context, and so are messages that schemes have declared themselves


@dataclass(frozen=True, slots=True)
class Station:
    """One client at its end of the link."""

    receive: Callable[[Message], None]
    notified: Callable[[Publish, tuple[int, ...], bool], None]
    relayed: Callable[[Publish, tuple[int, ...], tuple[int, ...]], None]


GONE = Station(lambda _: None, lambda *_: None, lambda *_: None)
"""Where a client was: what arrives there is lost."""


@kernel
def reserve(
    free: list[int] | Ints, last: list[int] | Ints, client: int, now: int, duration: int, latency: int
) -> int:
    """Reserve a client's link for a message, and return when it arrives.

    `free` says when each link is free again, `last` when the latest message arrives: a message waits until
    its link is free, and never overtakes an earlier one. All times are in microseconds.
    """
    before: int = free[client]
    free[client] = sent = (before if before > now else now) + duration
    latest: int = last[client]
    arrives = sent + latency
    if arrives < latest:
        return latest
    last[client] = arrives
    return arrives


# The same function as it is written: with lists that is faster than a call of compiled code. Where numba is
# told to compile nothing (NUMBA_DISABLE_JIT), there is no other.
reserve_in_lists = cast("Callable[..., int]", getattr(reserve, "py_func", reserve))


@kernel
def reserve_all(
    free: Ints, last: Ints, counted: Ints, number: Ints, clients: Ints,
    now: int, duration: int, latency: int, size: int,
) -> bool:  # fmt: skip
    """Reserve the links of (distinct) clients for one message of `size` bytes to each, and count it.

    Returns whether it arrives at the same moment everywhere.
    """
    alike = True
    for client in clients:
        reserve(free, last, client, now, duration, latency)
        counted[client] += size
        number[client] += 1
        alike = alike and last[client] == last[clients[0]]
    return alike


def _sending(bandwidth: float, size: int) -> int:
    return round(size * 8 * MICROSECONDS / bandwidth)


class Cellular:
    """All links of one broker. Bytes are counted in `up` and `down`, by `Traffic` and client."""

    def __init__(
        self, clock: VirtualClock, model: CellularModel, clients: int, seed: int, codec: Codec = CODEC
    ) -> None:
        self._codec = codec
        self.down = np.zeros((len(Traffic), clients), np.int64)
        self._events_down = self.down[Traffic.EVENTS]
        self._notifications = np.zeros(clients, np.int64)
        self._bandwidth = model.bandwidth
        self._clock = clock
        # Numbers of its own: to read a field of a pydantic model takes several times as long.
        self._mean_latency = model.latency
        self._jitter = model.jitter
        self._header = model.header
        self._sending = cache(partial(_sending, model.bandwidth))  # few sizes, again and again
        self._receive: list[Callable[[Message], None]] = []
        self._notified: list[Callable[[Publish, tuple[int, ...], bool], None]] = []
        self._relayed: list[Callable[[Publish, tuple[int, ...], tuple[int, ...]], None]] = []
        self._broker: Callable[[Message], None]
        self._replaced: dict[int, int] = {}  # when (µs) a client came or went: what was on its way is lost
        # Lists where there are single messages alone, arrays where there are batches.
        self._sent_up = [[0] * clients for _ in Traffic]
        self._up_free, self._up_last = [0] * clients, [0] * clients
        self._down_free, self._down_last = np.zeros(clients, np.int64), np.zeros(clients, np.int64)
        # A stream for each kind of traffic: more context messages must not change what events experience.
        self._up_streams = [[stream(seed, c, f"up/{t.name}") for t in Traffic] for c in range(clients)]
        self._down_streams = [[stream(seed, c, f"down/{t.name}") for t in Traffic] for c in range(clients)]
        self._notify_stream = stream(seed, BROKER, "notify")

    @property
    def up(self) -> Ints:
        """Bytes that clients have sent so far, by `Traffic` and client."""
        return np.array(self._sent_up)

    def notified(self, client: int) -> tuple[int, float]:
        """How many notifications were sent to a client, and how many seconds they kept its link busy."""
        return int(self._notifications[client]), float(self._events_down[client]) * 8 / self._bandwidth

    def attach_broker(self, receive: Callable[[Message], None]) -> None:
        """Set the function that receives messages from clients."""
        self._broker = receive

    def attach_client(self, station: Station) -> None:
        """Add the next client, in the order of their numbers."""
        self._receive.append(station.receive)
        self._notified.append(station.notified)
        self._relayed.append(station.relayed)

    def replace_client(self, number: int, station: Station) -> None:
        """Put another station in the place of a client's. Messages on their way from or to the old one are
        lost."""
        self._replaced[number] = self._clock.now_us
        self._receive[number] = station.receive
        self._notified[number] = station.notified
        self._relayed[number] = station.relayed

    def send_up(self, message: Message) -> None:
        """Send a message from the client that it names to the broker."""
        client = message.client
        kind = COUNTED_AS.get(type(message), CONTEXT)
        if isinstance(message, Publish) and message.kind is BORDER:
            kind = CONTEXT
        size = encoded_size(message, self._codec) + self._header
        carried = 0
        if isinstance(message, (Publish, Subscribe)) and message.piggyback is not None:
            carried = piggyback_size(message)
            self._sent_up[Traffic.CONTEXT][client] += carried
        self._sent_up[kind][client] += size - carried
        now, latency = self._clock.now_us, self._latency(self._up_streams[client][kind].random())
        due = reserve_in_lists(self._up_free, self._up_last, client, now, self._sending(size), latency)
        self._clock.at(due, self._reach_broker, message, now)

    def send(self, client: int, message: Message) -> None:
        """Send a message from the broker to one client."""
        kind = COUNTED_AS.get(type(message), CONTEXT)
        size = encoded_size(message, self._codec) + self._header
        self.down[kind, client] += size
        now, latency = self._clock.now_us, self._latency(self._down_streams[client][kind].random())
        due = reserve(self._down_free, self._down_last, client, now, self._sending(size), latency)
        self._clock.at(due, self._deliver, client, message, now)

    def notify(self, deliveries: Iterable[Delivery]) -> None:
        """Notify clients of several events, one event after the other."""
        for publication, gateways, groups, _ in deliveries:
            if gateways is not None:
                self.relay(publication, *gateways)
            for group in groups:
                self.multicast(publication, *group)

    def multicast(
        self, publication: Publish, clients: Ints, handles: list[tuple[int, ...]], unfiltered: bool
    ) -> None:
        """Notify clients of one event. Its notifications share one draw of latency."""
        latency = self._latency(self._notify_stream.random())
        lengths = set(map(len, handles))
        for length in sorted(lengths):
            size = notify_size(publication, length, unfiltered, codec=self._codec) + self._header
            if len(lengths) == 1:
                self._multicast(publication, clients, handles, unfiltered, size, latency)
            else:
                chosen = [i for i, own in enumerate(handles) if len(own) == length]
                self._multicast(
                    publication, clients[chosen], [handles[i] for i in chosen], unfiltered, size, latency
                )

    def relay(
        self,
        publication: Publish,
        clients: list[int],
        handles: list[tuple[int, ...]],
        targets: list[tuple[int, ...]],
    ) -> None:
        """Notify clients of an event that they pass on.

        Each has a latency of its own: gateways that are told at the same moment would all speak at once.
        """
        now = self._clock.now_us
        for client, own, others in zip(clients, handles, targets, strict=True):
            latency = self._latency(self._notify_stream.random())
            size = self._header + notify_size(
                publication, len(own), False, True, len(others), codec=self._codec
            )
            self._events_down[client] += size
            self._notifications[client] += 1
            due = reserve(self._down_free, self._down_last, client, now, self._sending(size), latency)
            self._clock.at(due, self._pass_on, client, publication, own, others, now)

    def _multicast(
        self,
        publication: Publish,
        clients: Ints,
        handles: list[tuple[int, ...]],
        unfiltered: bool,
        size: int,
        latency: int,
    ) -> None:
        alike = reserve_all(
            self._down_free, self._down_last, self._events_down, self._notifications, clients,
            self._clock.now_us, self._sending(size), latency, size,
        )  # fmt: skip
        to = clients.tolist()
        if alike:
            due = int(self._down_last[to[0]])
            self._clock.at(due, self._arrive, publication, to, handles, unfiltered, self._clock.now_us)
            return
        batches: dict[int, tuple[list[int], list[tuple[int, ...]]]] = {}
        for time, client, own in zip(self._down_last[clients].tolist(), to, handles, strict=True):
            batch = batches.get(time)
            if batch is None:
                batch = batches[time] = ([], [])
            batch[0].append(client)
            batch[1].append(own)
        for time, (some, theirs) in batches.items():
            self._clock.at(time, self._arrive, publication, some, theirs, unfiltered, self._clock.now_us)

    def _arrive(
        self,
        publication: Publish,
        clients: list[int],
        handles: list[tuple[int, ...]],
        unfiltered: bool,
        sent_us: int,
    ) -> None:
        notified = self._notified
        if not self._replaced:
            for client, own in zip(clients, handles, strict=True):
                notified[client](publication, own, unfiltered)
            return
        for client, own in zip(clients, handles, strict=True):
            if not self._is_lost(client, sent_us):
                notified[client](publication, own, unfiltered)

    def _reach_broker(self, message: Message, sent_us: int) -> None:
        if not self._replaced or not self._is_lost(message.client, sent_us):
            self._broker(message)

    def _deliver(self, client: int, message: Message, sent_us: int) -> None:
        if not self._is_lost(client, sent_us):
            self._receive[client](message)

    def _pass_on(
        self,
        client: int,
        publication: Publish,
        own: tuple[int, ...],
        others: tuple[int, ...],
        sent_us: int,
    ) -> None:
        if not self._is_lost(client, sent_us):
            self._relayed[client](publication, own, others)

    def _is_lost(self, client: int, sent_us: int) -> bool:
        """Whether a client has come or gone since a message was sent."""
        return self._replaced.get(client, -1) > sent_us

    def _latency(self, draw: float) -> int:
        return round((self._mean_latency + self._jitter * (2.0 * draw - 1.0)) * MICROSECONDS)
