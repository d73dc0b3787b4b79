"""Devices nearby in virtual time: the radios of all clients, and the ports behind them.

The kernels of the medium sort what arrives; only what a mechanism must hear of comes up here.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from bypass.mechanisms.transports import RadioTransport
from bypass.models.radio.kernels.arrivals import (
    forget_event,
    forget_station,
    make_ports,
)
from bypass.models.radio.kernels.state import NOBODY, FrameUse, S
from bypass.models.radio.medium import Medium, Positions, grown
from bypass.models.radio.radio import RadioModel
from bypass.models.radio.walls import NO_WALLS, Walls
from bypass.ports.datagrams import DatagramReceiver, Failed, KnownWays
from bypass.ports.local_access import PORTS, NoSuchRadio, Unless
from bypass.ports.monitor import Monitor
from bypass.protocol.datagrams import Datagram
from bypass.protocol.messages import Frame, Publish
from bypass.protocol.wire import CODEC, Codec, digest_size, frame_size
from bypass.sim.clock import VirtualClock
from bypass.sim.datagrams import Arrived, Losses, MediumDatagrams, SentDatagram
from bypass.sim.port import ArrivedFrame, SimPort
from bypass.sim.radio_kinds import RADIOS, radio_models
from bypass.sim.route_news import RouteNews
from bypass.support.units import MICROSECONDS

EVENTS, HELLO, DIGEST = int(FrameUse.EVENTS), int(FrameUse.HELLO), int(FrameUse.DIGEST)
HELLO_SIZES = (frame_size((), False), frame_size((), True))
LEAST_EVENTS = 2048  # that ports remember at a time, or 4 for each client if that is more

Heard = Callable[[Publish, int, float], None]
PortEntry = tuple[int, bool, int]
"""An event's place in the ports' tables, whether its first sender said where it was, and its frame's size."""


def _nobody(publication: Publish, sender: int, distance: float) -> None:
    """Ignores frames at a port that is bound to nobody."""


def _ignore(datagram: Datagram) -> None:
    """Ignores datagrams at a client that has no routing."""


class LocalNetwork:
    """The radios of `clients` clients. `positions(seconds)` gives x and y (m) of all of them.

    `radios` are the kinds of radio, beside those that `transports` have models of, which may become more.
    `walls` stand between clients, for radios that lose power by them. Raises as `radio_models` does.
    """

    def __init__(
        self,
        clock: VirtualClock,
        positions: Positions,
        clients: int,
        seed: int,
        radios: Mapping[str, RadioModel] = RADIOS,
        transports: Mapping[str, type[RadioTransport]] = {},
        codec: Codec = CODEC,
        monitor: Monitor | None = None,
        walls: Walls = NO_WALLS,
    ) -> None:
        radio_models(radios, transports.values())
        self.clock = clock
        self._positions = positions
        self._clients = clients
        self._seed = seed
        self._radios = radios
        self._transports = transports
        self._walls = walls
        self.codec = codec
        self.monitor = monitor or Monitor()
        events = max(LEAST_EVENTS, 4 * clients)
        self.ports = make_ports(clients, PORTS, events)
        self.references = np.zeros(events, np.int64)  # how many frames there are with each event
        self.known: tuple[dict[int, PortEntry], ...] = tuple({} for _ in range(PORTS))  # by port and id
        self._keepers: list[tuple[int, int] | None] = [None] * events  # port and id of the event at a place
        self._next_place = 0
        self.media: dict[str, _RunningMedium] = {}
        self.heard: tuple[list[Heard], ...] = tuple([_nobody] * clients for _ in range(PORTS))
        self.datagram_receivers: list[Arrived] = [_ignore] * clients
        self.datagram_losses: Losses = Counter()
        self.news = RouteNews(clock, clients)
        self.devices = [RadioDevice(self, number) for number in range(clients)]

    def medium(self, radio: str) -> _RunningMedium:
        """The medium of a radio; made when it is first asked for.

        Raises NoSuchRadio, and as `radio_models` does.
        """
        if radio not in self.media:
            models = radio_models(self._radios, self._transports.values())
            if radio not in models:
                raise NoSuchRadio(f"radio {radio!r}: expected one of {', '.join(models)}")
            model = models[radio]
            medium = Medium(
                model,
                self._positions,
                self._clients,
                self._seed,
                self.ports,
                self.references,
                self._walls,
            )
            for station in range(self._clients):
                medium.switch(station, False)
            self.media[radio] = _RunningMedium(medium, self)
            self.clock.attach(self.media[radio])
        return self.media[radio]

    def flush(self) -> None:
        """Bring the ports' tables up to date with everything that was sent so far."""
        for running in self.media.values():
            running.medium.flush()

    def counter(self, column: S) -> NDArray[np.int64]:
        """One of the counters of stations, over all radios, by client."""
        total = np.zeros(self._clients, np.int64)
        for running in self.media.values():
            total += running.medium.air.stations[:, column]
        return total

    def place_of(self, port: int, publication: Publish) -> int:
        """The place of an event in the ports' tables; NOBODY if it is not known."""
        known = self.known[port].get(publication.id)
        return NOBODY if known is None else known[0]

    def make_known(self, port: int, publication: Publish, placed: bool) -> PortEntry:
        """Give an event that is new to the ports a place in their tables."""
        self.flush()
        place = self._next_place
        if self.references[place]:  # a frame with the old event is still on its way
            place = self._free_place()
        before = self._keepers[place]
        if before is not None:
            del self.known[before[0]][before[1]]
            forget_event(place, self.ports)
        self._keepers[place] = (port, publication.id)
        self._next_place = (place + 1) % len(self._keepers)
        known = (place, placed, frame_size((publication,), placed, self.codec))
        self.known[port][publication.id] = known
        return known

    def _free_place(self) -> int:
        """The next place whose event no frame has; a new one if all events are on their way."""
        free = np.flatnonzero(self.references == 0)
        if len(free):
            return int(free[np.searchsorted(free, self._next_place) % len(free)])
        place = len(self.references)
        self.references = grown(self.references, 2 * place)
        self.ports = self.ports._replace(
            copies=grown(self.ports.copies, 2 * place), near=grown(self.ports.near, 2 * place)
        )
        self._keepers += [None] * place
        for running in self.media.values():
            running.medium.use_events(self.ports, self.references)
        return place


class _RunningMedium:
    """One medium with its frames as objects; it hands what is found in them to the ports that listen."""

    def __init__(self, medium: Medium, network: LocalNetwork) -> None:
        self.medium = medium
        self.next_us = medium.next_us
        self._network = network
        self._clock = network.clock
        self._header = medium.model.header
        self._frames: dict[int, Frame | SentDatagram] = {}  # by their numbers
        self._most_frames = 1024  # then those are forgotten that have been sent
        self.datagrams = MediumDatagrams(
            self,
            network.clock,
            network.datagram_receivers,
            network.datagram_losses,
            network.codec,
            network.monitor,
            network.news,
        )

    def post(self, station: int, frame: Frame, target: int | None, delay: float, unless: Unless) -> None:
        """Hand over a frame, to be sent in `delay` seconds."""
        port, publications, placed = frame.port, frame.publications, frame.place is not None
        events: tuple[int, ...] = ()
        if len(publications) == 1:
            (publication,) = publications
            known = self._network.known[port].get(publication.id)
            if known is None:
                known = self._network.make_known(port, publication, placed)
            kind, events, size = EVENTS, known[:1], known[2]
            if known[1] is not placed:
                size = frame_size(publications, placed, self._network.codec)
        elif publications:
            kind, events = EVENTS, self._places(port, publications, placed)
            size = frame_size(publications, placed, self._network.codec)
        elif frame.ids is not None:
            kind, size = DIGEST, digest_size(len(frame.ids), placed)
        else:
            kind, size = HELLO, HELLO_SIZES[placed]
        at = self._clock.now_us
        if delay:
            at += round(delay * MICROSECONDS)
        number = self.medium.post(
            at,
            station,
            size + self._header,
            NOBODY if target is None else target - 1,
            kind,
            port,
            events,
            *unless,
        )
        self._keep(number, frame, at)

    def launch(self, sent: SentDatagram, size: int, kind: int) -> None:
        at = self._clock.now_us
        size += self._header
        number = self.medium.post(at, sent.station, size, sent.target, kind, 0, (), traffic=sent.traffic)
        self._keep(number, sent, at)

    def datagrams_of(self, station: int) -> list[SentDatagram]:
        frames = [self._frames[number] for number in self.medium.waiting(station)]
        return [frame for frame in frames if isinstance(frame, SentDatagram)]

    def _keep(self, number: int, frame: Frame | SentDatagram, at: int) -> None:
        self._frames[number] = frame
        if at < self.next_us:
            self.next_us = at
        if len(self._frames) > self._most_frames:
            self._forget_sent()

    def _forget_sent(self) -> None:
        numbers = self.medium.numbers().tolist()
        self._frames = {number: self._frames[number] for number in numbers if number in self._frames}
        self._most_frames = max(self._most_frames, 4 * len(numbers))

    def _places(self, port: int, publications: tuple[Publish, ...], placed: bool) -> tuple[int, ...]:
        network = self._network
        known = [
            network.known[port].get(each.id) or network.make_known(port, each, placed)
            for each in publications
        ]
        return tuple([each[0] for each in known])

    def switch(self, station: int, on: bool) -> None:
        if not on:
            self.datagrams.switching_off(station)
        self.medium.now_us = self._clock.now_us
        self.medium.switch(station, on)
        if not on:
            forget_station(station, self._network.ports)

    def advance(self, until_us: int) -> None:
        medium = self.medium
        some = medium.step(until_us)
        self.next_us = medium.next_us
        if not some:
            return
        self._clock.now_us = medium.now_us
        row = medium.frame()
        frame = self._frames[medium.number(row)]
        if type(frame) is SentDatagram:
            self.datagrams.found(frame, *medium.found_alike())
            return
        assert isinstance(frame, Frame)
        heard, publications, sender = self._network.heard[frame.port], frame.publications, frame.client
        stations, whats, distances = medium.found()
        arrived = ArrivedFrame(frame, medium, row) if min(whats) < 0 else None
        far: Iterable[float] = repeat(0.0)
        if frame.place is not None:
            far = [distance / 1000.0 for distance in distances]
        for station, what, distance in zip(stations, whats, far):  # noqa: B905 - may have no end
            if what >= 0:
                heard[station](publications[what], sender, distance)
            elif arrived is not None:
                self._network.devices[station].ports[frame.port].found(arrived, what)


class RadioDevice:
    """One client's radios and ports."""

    __slots__ = ("_network", "_number", "address", "ports")

    def __init__(self, network: LocalNetwork, number: int) -> None:
        self.address = number + 1
        self.ports = [SimPort(network, number, port) for port in range(PORTS)]
        self._network = network
        self._number = number

    @property
    def radios(self) -> RadioDevice:
        return self

    def port(self, number: int) -> SimPort:
        return self.ports[number]

    def switch(self, radio: str, on: bool) -> None:
        self._network.medium(radio).switch(self._number, on)

    def transmit(self, radio: str, frame: Frame, target: int | None, delay: float, unless: Unless) -> None:
        medium = self._network.media.get(radio) or self._network.medium(radio)
        medium.post(self._number, frame, target, delay, unless)

    def transmit_datagram(
        self, radio: str, datagram: Datagram, neighbour: int | None, failed: Failed
    ) -> bool:
        medium = self._network.media.get(radio) or self._network.medium(radio)
        medium.datagrams.transmit(self._number, datagram, neighbour, failed)
        return True

    def hear_datagrams(self, receiver: DatagramReceiver) -> KnownWays:
        self._network.datagram_receivers[self._number] = receiver.arrived
        return self._network.news.of(self._number)
