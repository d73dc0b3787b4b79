"""Devices nearby in virtual time: the radios of all clients, and the ports behind them.

The kernels of the medium sort what arrives; only what a mechanism must hear of comes up here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from bypass.errors import UnusableMechanism, shown
from bypass.mechanisms.transports import RadioTransport
from bypass.models.radio.kernels.arrivals import (
    count_neighbours,
    forget_event,
    forget_station,
    make_ports,
    take,
)
from bypass.models.radio.kernels.state import NOBODY, FrameUse, L, PortVerdict, S
from bypass.models.radio.medium import Medium, Positions, grown
from bypass.models.radio.radio import BLUETOOTH, WIFI, RadioModel
from bypass.ports.frames import SendingPort
from bypass.ports.local_access import PORTS, FrameSender, LocalReceiver, NoSuchRadio, Tuning, Unless
from bypass.protocol.messages import Frame, Publish
from bypass.protocol.wire import CODEC, Codec, digest_size, frame_size
from bypass.sim.clock import VirtualClock
from bypass.support.units import MICROSECONDS

RADIOS: Mapping[str, RadioModel] = {"wifi": WIFI, "bluetooth": BLUETOOTH}
EVENTS, HELLO, DIGEST = int(FrameUse.EVENTS), int(FrameUse.HELLO), int(FrameUse.DIGEST)
HELLO_SIZES = (frame_size((), False), frame_size((), True))
LEAST_EVENTS = 2048  # that ports remember at a time, or 4 for each client if that is more

Heard = Callable[[Publish, int, float], None]
PortEntry = tuple[int, bool, int]
"""An event's place in the ports' tables, whether its first sender said where it was, and its frame's size."""


def _nobody(publication: Publish, sender: int, distance: float) -> None:
    """Ignores frames at a port that is bound to nobody."""


def radio_models(
    radios: Mapping[str, RadioModel], transports: Iterable[type[RadioTransport]]
) -> dict[str, RadioModel]:
    """Add the models that transports have of their own radios to those of `radios`, by the radios' names.

    Raises UnusableMechanism for a transport whose radio has no model, or more than one.
    """
    models = dict(radios)
    for each in transports:
        called = f"transport {each.name!r}: radio {each.radio!r}"
        if each.model is None:
            continue
        if not isinstance(each.model, RadioModel):
            raise UnusableMechanism(f"{called}: model {shown(each.model)}: expected a RadioModel")
        if each.radio not in radios and models.setdefault(each.radio, each.model) != each.model:
            raise UnusableMechanism(f"{called}: another transport has another model of it: expected one")
        if each.radio in RADIOS:
            raise UnusableMechanism(f"{called}: it has a model already: expected a radio of another name")
    for each in transports:
        if each.radio not in models:
            raise UnusableMechanism(
                f"transport {each.name!r}: radio {each.radio!r}:"
                f" expected one of {', '.join(models)}, or one of which the transport has a model"
            )
    return models


class LocalNetwork:
    """The radios of `clients` clients. `positions(seconds)` gives x and y (m) of all of them.

    `radios` are the kinds of radio, beside those that `transports` have models of, which may become more.
    Raises as `radio_models` does.
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
    ) -> None:
        radio_models(radios, transports.values())
        self.clock = clock
        self._positions = positions
        self._clients = clients
        self._seed = seed
        self._radios = radios
        self._transports = transports
        self.codec = codec
        events = max(LEAST_EVENTS, 4 * clients)
        self.ports = make_ports(clients, PORTS, events)
        self.references = np.zeros(events, np.int64)  # how many frames there are with each event
        self.known: tuple[dict[int, PortEntry], ...] = tuple({} for _ in range(PORTS))  # by port and id
        self._keepers: list[tuple[int, int] | None] = [None] * events  # port and id of the event at a place
        self._next_place = 0
        self.media: dict[str, _RunningMedium] = {}
        self.heard: tuple[list[Heard], ...] = tuple([_nobody] * clients for _ in range(PORTS))
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
            medium = Medium(model, self._positions, self._clients, self._seed, self.ports, self.references)
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
        self._frames: dict[int, Frame] = {}  # by their numbers
        self._most_frames = 1024  # then those are forgotten that have been sent

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
        heard, publications, sender = self._network.heard[frame.port], frame.publications, frame.client
        stations, whats, distances = medium.found()
        arrived = _Arrived(frame, medium, row) if min(whats) < 0 else None
        far: Iterable[float] = repeat(0.0)
        if frame.place is not None:
            far = [distance / 1000.0 for distance in distances]
        for station, what, distance in zip(stations, whats, far):  # noqa: B905 - may have no end
            if what >= 0:
                heard[station](publications[what], sender, distance)
            elif arrived is not None:
                self._network.devices[station].ports[frame.port].found(arrived, what)


class _Arrived:
    """A frame with the medium's data about it, kept to be looked at once more.

    It is a copy, because the frame's row may be given to another frame as soon as somebody sends.
    """

    def __init__(self, frame: Frame, medium: Medium, row: int) -> None:
        self.frame = frame
        self.medium = medium
        self.columns = medium.air.frames[row].copy()
        self.keys = medium.air.keys[row : row + 1].copy()


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


class SimPort(SendingPort):
    """One port of one client."""

    __slots__ = ("_network",)

    def __init__(self, network: LocalNetwork, station: int, number: int) -> None:
        super().__init__(number, station)
        self._network = network

    # -- the client's side --------------------------------------------------------------------------------

    def bind(
        self,
        receiver: LocalReceiver,
        sender: FrameSender,
        strange: Callable[[Frame], bool],
        place: Callable[[], tuple[float, float] | None],
    ) -> None:
        super().bind(receiver, sender, strange, place)
        self._network.heard[self._number][self._client] = receiver.heard

    def tune(self, tuning: Tuning) -> None:
        self._network.flush()  # frames go by the tuning with which they were sent
        super().tune(tuning)
        own = self._network.ports.listening[self._client, self._number]
        own[L.FLAG], own[L.COUNTER], own[L.SCOPE] = tuning.flag, tuning.counter, tuning.scope
        own[L.NEAR_MM] = round(1000.0 * tuning.near_m)
        own[L.NEW_AFTER] = round(MICROSECONDS * tuning.new_after_s)

    # -- what mechanisms ask for --------------------------------------------------------------------------

    def copies(self, publication: Publish) -> int:
        self._network.flush()
        return self._count(self._network.ports.copies, publication)

    def near_copies(self, publication: Publish) -> int:
        return self._count(self._network.ports.near, publication)

    def neighbours(self, max_age: float) -> int:
        network = self._network
        since = network.clock.now_us - round(max_age * MICROSECONDS)
        ports = network.ports
        return count_neighbours(ports.heard_at, ports.counts, self._client, self._number, since)

    # -- what the medium found ----------------------------------------------------------------------------

    def found(self, arrived: _Arrived, what: int) -> None:
        """A frame has something for this port other than the first copy of an event."""
        frame = arrived.frame
        if what == PortVerdict.NEW_NEIGHBOUR:
            self._receiver.neighbour_appeared(frame.client)
        elif what == PortVerdict.DIGEST:
            self._receiver.digest_arrived(frame.ids or (), frame.client)
        elif what == PortVerdict.FOREIGN and self._strange(frame):
            self._take(arrived)

    def _take(self, arrived: _Arrived) -> None:
        """Do what was not done with a frame when it arrived, because its sender followed another decision."""
        self._network.flush()
        air, frame, now_us = arrived.medium.air, arrived.frame, self._network.clock.now_us
        count = take(
            now_us,
            0,
            self._client,
            arrived.columns,
            arrived.keys,
            air.x,
            air.y,
            self._network.ports,
            air.found,
            0,
        )
        for _, what, distance in air.found[:count].tolist():
            if what >= 0:
                far = 0.0 if frame.place is None else distance / 1000.0
                self._receiver.heard(frame.publications[what], frame.client, far)
            else:
                self.found(arrived, what)

    def _count(self, table: NDArray[np.uint8], publication: Publish) -> int:
        place = self._network.place_of(self._number, publication)
        return 0 if place == NOBODY else int(table[place, self._client])
