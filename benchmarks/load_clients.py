"""Clients of `transitions_under_load.py`: peers that say what those of `bypass.connect` would say.

Real clients have a processor each. Hundreds of them in one process would take longer to exchange their
mechanisms, all at once, than the broker does: what is measured would be the load.

Called with a file that says who they are. It says "ready" when all have subscribed, publishes from when it is
told to until its input ends, and writes what was published and received to a file.
"""

from __future__ import annotations

import gc
import heapq
import json
import math
import sys
import time
from array import array
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import zmq
from fanout_clients import PATIENCE, Acknowledgements, Connections, Keys

from bypass import Event, Subscription, attr
from bypass.live.keys import load_client_keys
from bypass.mechanisms import Registry
from bypass.places.sensor import LocationRequest
from bypass.protocol.messages import (
    Assignment,
    ContextUpdate,
    Kind,
    Message,
    OutcomeMessage,
    PlanMessage,
    Publish,
    Subscribe,
)
from bypass.protocol.session import Ack, Hello, Ping, Welcome
from bypass.protocol.wire import bypass_pb2 as pb
from bypass.protocol.wire import decode, encode, unpack
from bypass.transitions import Outcome, Plan
from bypass.transitions.coordinator import Summary

PAYLOAD = bytes(64)
TOGETHER = 50
"""Clients that connect at a time."""

PACKETS_AT_A_TIME = 50
"""Read before it is looked whether something is to be published."""

REPORT_S = LocationRequest().interval
SHORT_S = 0.02
"""The longest that it waits before it looks what is due."""

QUIET_S = 2.0
"""After so long without an event no more are expected."""


@cache
def followed(data: bytes) -> tuple[int, bytes]:
    """The flag of the scheme that a plan wants, and what a client answers that has followed it."""
    plan = Plan.from_bytes(data)
    (action,) = plan.actions
    done = (Summary(id=f"{plan.id}/0", outcome="done"),)
    flag = Registry().flags.of(action.to or "")
    return flag, Outcome(plan=plan.id, host="client", ok=True, records=done).to_bytes()


class Peer:
    """The state of one client."""

    __slots__ = ("at", "channel", "epoch", "flag", "index", "number", "published", "since")

    def __init__(self, index: int, at: tuple[float, float]) -> None:
        self.index = index
        self.at = at
        self.number = 0  # that the broker gave it
        self.flag = 0
        self.epoch = 0
        self.channel: str | None = None
        self.since = 0.0  # it has its scheme
        self.published = 0

    @property
    def reports(self) -> bool:
        """Whether its scheme says where it is, again and again, although it stands still."""
        return self.flag in (1, 2)  # RADIAL, STE

    def context(self) -> ContextUpdate:
        return ContextUpdate(self.at, (0.0, 0.0) if self.flag == 2 else None)


class Load:
    """All clients of the load. Times are on the clock that all processes of a machine share."""

    def __init__(self, settings: dict[str, Any]) -> None:
        self._settings = settings
        self._peers = [Peer(i, (x, y)) for i, (x, y) in enumerate(settings["places"])]
        self._index_of: dict[int, int] = {}  # by the broker's numbers
        self._subscribed = 0
        self._acknowledgements = Acknowledgements(lambda index, ids: self._send(self._peers[index], Ack(ids)))
        self._heard = 0.0
        self._reports: list[tuple[float, int, float]] = []  # when, whose, and in the scheme it has since then
        self._row_of: dict[int, int] = {}  # of publications that are not acknowledged
        self._connections = Connections()
        # Of each publication: who, which of its own, when it was due, published, and acknowledged (0: never).
        self.who, self.serial = array("q"), array("q")
        self.due, self.published, self.acknowledged = array("d"), array("d"), array("d")
        # Of each event that was handed over: to whom, whose, which of its own, and when.
        self.to, self.of, self.number, self.at = array("q"), array("q"), array("q"), array("d")
        self.cpu = 0.0

    def run(self) -> None:
        """Connect, publish until the input ends, and write the results."""
        self._connect()
        gc.collect()
        gc.freeze()
        print("ready", flush=True)
        begin = float(sys.stdin.readline())
        cpu = time.process_time()
        self._publish_on(begin)
        self.cpu = time.process_time() - cpu
        self._read_until(lambda: not self._row_of and time.monotonic() - self._heard > QUIET_S)
        self._acknowledgements.flush(math.inf)
        self._write(Path(self._settings["out"]))
        self._connections.close()

    def _connect(self) -> None:
        settings, peers = self._settings, self._peers
        keys = load_client_keys(settings["keys"])
        wanted = Subscription.of(attr("kind") == "x")
        for first in range(0, len(peers), TOGETHER):
            some = peers[first : first + TOGETHER]
            for peer in some:
                pair = Keys(keys.public, keys.secret, keys.broker)
                self._connections.connect(settings["endpoint"], peer.index, pair)
                self._send(peer, Hello(f"client-{peer.index}", peer.index + 1))
            self._read_until(lambda: all(peer.number for peer in some))  # noqa: B023 - called here
            for peer in some:
                self._send(peer, Subscribe(1, wanted, settings["radius"], peer.context()))
            self._read_until(lambda: self._subscribed == first + len(some))  # noqa: B023

    def _publish_on(self, begin: float) -> None:
        """One client after the other, evenly, whatever becomes of what was published before."""
        peers, rate, n = self._peers, self._settings["rate"], 0
        poller = zmq.Poller()
        poller.register(sys.stdin.fileno(), zmq.POLLIN)
        checked = 0.0
        while True:
            now = time.monotonic()
            if now - checked > 0.1:
                checked = now
                if poller.poll(0):  # its end
                    return
            while (due := begin + n / rate) <= time.monotonic():
                self._publish(peers[n % len(peers)], due)
                n += 1
            self._read(min(due - time.monotonic(), SHORT_S))

    def _publish(self, peer: Peer, due: float) -> None:
        peer.published += 1
        self._row_of[peer.number << 32 | peer.published] = len(self.who)
        self.who.append(peer.index)
        self.serial.append(peer.published)
        self.due.append(due)
        self.acknowledged.append(0.0)
        self.published.append(time.monotonic())
        identity = peer.number << 32 | peer.published
        event = Event(kind="x", payload=PAYLOAD)
        self._send(peer, Publish(identity, event, Kind.LOCAL, round(due * 1e6), peer.at, peer.channel))

    # -- what the broker says -----------------------------------------------------------------------------

    def _read_until(self, done: Callable[[], bool]) -> None:
        """Raises TimeoutError."""
        deadline = time.monotonic() + PATIENCE
        while not done():
            if time.monotonic() > deadline:
                raise TimeoutError(f"{self._subscribed} have subscribed, {len(self._row_of)} wait")
            self._read(0.01)

    def _read(self, wait: float) -> None:
        """Take some of what has arrived, and say what is due."""
        socket = self._connections.socket
        if socket.poll(max(0, round(1000 * wait))):
            receive = socket.recv
            try:
                for _ in range(PACKETS_AT_A_TIME):
                    peer = self._peers[int(receive(zmq.NOBLOCK))]
                    for data in unpack(receive()):
                        self._take(peer, data)
            except zmq.Again:
                pass
        now = time.monotonic()
        self._acknowledgements.flush(now)
        while self._reports and self._reports[0][0] <= now:
            at, index, since = heapq.heappop(self._reports)
            peer = self._peers[index]
            if peer.since == since:
                self._send(peer, peer.context())
                heapq.heappush(self._reports, (at + REPORT_S, index, since))

    def _take(self, peer: Peer, data: bytes) -> None:
        envelope = pb.Envelope.FromString(data)
        body = envelope.WhichOneof("body")
        self._heard = now = time.monotonic()
        if body == "ack":
            for identity in envelope.ack.ids:
                self.acknowledged[self._row_of.pop(identity)] = now
            self._subscribed += len(envelope.ack.handles)
            return
        if body != "notify":
            self._take_other(peer, decode(data))
            return
        identity = envelope.notify.publication.id
        self.to.append(peer.index)
        self.of.append(self._index_of[identity >> 32])
        self.number.append(identity & 0xFFFFFFFF)
        self.at.append(now)
        self._acknowledgements.add(peer.index, identity)

    def _take_other(self, peer: Peer, message: Message) -> None:
        if isinstance(message, PlanMessage):
            peer.flag, outcome = followed(message.plan)
            peer.epoch, peer.channel = message.epoch, None
            self._send(peer, OutcomeMessage(outcome))
            self._begin_scheme(peer)
        elif isinstance(message, Assignment):
            peer.channel = message.publish
        elif isinstance(message, Welcome):
            peer.number, peer.flag, peer.epoch = message.client, message.scheme, message.epoch
            self._index_of[peer.number] = peer.index
            self._begin_scheme(peer)
        elif isinstance(message, Ping):
            if message.asks:
                self._send(peer, Ping())
        else:
            raise TypeError(f"from the broker: {message}")

    def _begin_scheme(self, peer: Peer) -> None:
        peer.since = time.monotonic()
        if peer.reports:
            heapq.heappush(self._reports, (peer.since, peer.index, peer.since))

    # -- what clients say ---------------------------------------------------------------------------------

    def _send(self, peer: Peer, message: Message) -> None:
        message.client, message.scheme, message.epoch = peer.number, peer.flag, peer.epoch
        self._connections.send(peer.index, encode(message))

    def _write(self, path: Path) -> None:
        names = ("who", "serial", "due", "published", "acknowledged", "to", "of", "number", "at", "cpu")
        noted: dict[str, Any] = {name: np.array(getattr(self, name)) for name in names}
        np.savez(path, **noted)


def main() -> None:
    Load(json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))).run()


if __name__ == "__main__":
    main()
