"""The interfaces by which a dissemination mechanism reaches devices nearby and hears from them.

Each mechanism has a port of its own at every client. What almost every mechanism needs is done by the port,
for all of them: telling first copies of an event from further ones, counting copies, knowing the neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from bypass.errors import BypassError
from bypass.ports.datagrams import DatagramReceiver, Failed, KnownWays, NoKnownWays
from bypass.protocol.messages import Frame, Publish

if TYPE_CHECKING:
    from bypass.protocol.datagrams import Datagram

DIRECT_PORT = 0  # of mechanisms behind `direct`: a client's own events
GATEWAY_PORT = 1  # of mechanisms behind `gateway`: what gateways relay
PORTS = 2


class NoSuchRadio(BypassError):
    """A radio that this device does not have."""


class Unless(NamedTuple):
    """Call a delayed frame off if, when it is due, so many copies of its event have been heard meanwhile.

    `copies` counts all copies, the first included; `near` those from senders nearby. 0: never.
    """

    copies: int = 0
    near: int = 0


SEND = Unless()
"""Send in any case."""


class LocalPort(Protocol):
    """The `host.link` of a dissemination mechanism."""

    def broadcast(self, publication: Publish, delay: float = 0.0, unless: Unless = SEND) -> None:
        """Send an event to all in reach, `delay` seconds from now.

        The frame is the port's from now on: it is sent even if the mechanism is stopped before that.
        """

    def broadcast_together(self, publications: Sequence[Publish]) -> None:
        """Send several events, at most `MOST_TOGETHER`, in one frame to all in reach."""

    def unicast(self, publication: Publish, address: int) -> None:
        """Send an event to one device, by its address."""

    def hello(self) -> None:
        """Tell all in reach that this device is here, and nothing else."""

    def digest(self, ids: Sequence[int]) -> None:
        """Tell all in reach which events this device has heard of."""

    def copies(self, publication: Publish) -> int:
        """How many copies of an event have been heard lately; its own, if it was sent from here, counts."""

    def near_copies(self, publication: Publish) -> int:
        """How many of them came from senders nearby."""

    def neighbours(self, max_age: float) -> int:
        """How many devices said hello in the last `max_age` seconds."""


@dataclass(frozen=True, slots=True)
class Tuning:
    """The settings of a port: the mechanism that listens there, and the decision that put it there.

    `flag` names the mechanism (0: nothing listens), `counter` and `scope` the decision. With `places`, frames
    say where their sender is. Copies from senders within `near_m` metres count as near; a device that has not
    said hello for `new_after_s` seconds is a new neighbour if it does.
    """

    flag: int = 0
    counter: int = 0
    scope: int = 0
    places: bool = False
    near_m: float = 0.0
    new_after_s: float = 0.0


class LocalReceiver(Protocol):
    """The calls that a port makes to the mechanism that listens at it."""

    def heard(self, publication: Publish, sender: int, distance: float) -> None:
        """The first copy of an event arrived, from a device `distance` metres away (0 if it did not say)."""

    def neighbour_appeared(self, neighbour: int) -> None:
        """A new neighbour said hello."""

    def digest_arrived(self, ids: Sequence[int], sender: int) -> None:
        """A device nearby told which events it has heard of."""


class FrameSender(Protocol):
    """The client's local transport, through which ports send."""

    def send(self, frame: Frame, target: int | None, delay: float, unless: Unless) -> None: ...


class TunedPort(LocalPort, Protocol):
    """A port as the client sees it, which binds and tunes it."""

    def bind(
        self,
        receiver: LocalReceiver,
        sender: FrameSender,
        strange: Callable[[Frame], bool],
        place: Callable[[], tuple[float, float] | None],
    ) -> None:
        """Set once who receives, who sends, and where the device is.

        `strange` is asked what to do with a frame whose sender follows another decision about the same area,
        and may tune the port meanwhile; if it gives true, the frame is taken as any other.
        """

    def tune(self, tuning: Tuning) -> None:
        """Apply the settings of another mechanism or another decision."""


class Radios(Protocol):
    """The `host.link` of a local transport: the device's radios, by name."""

    def switch(self, radio: str, on: bool) -> None:
        """Turn a radio on or off; what waits in the queue of a radio that is turned off is lost.

        Raises NoSuchRadio.
        """

    def transmit(self, radio: str, frame: Frame, target: int | None, delay: float, unless: Unless) -> None:
        """Send a frame by a radio, to all in reach or to the device with an address. Raises NoSuchRadio."""

    def transmit_datagram(
        self, radio: str, datagram: Datagram, neighbour: int | None, failed: Failed
    ) -> bool:
        """Send a datagram by a radio, to all in reach or to the device with a number.

        True if the radio has taken it: from then on `failed` is called once if it is given up, but not before
        this method has returned. Raises NoSuchRadio.
        """


class LocalAccess(Protocol):
    """A device's way to devices nearby, as the runtime provides it."""

    @property
    def address(self) -> int:
        """Where others reach this device, at least 1."""

    @property
    def radios(self) -> Radios:
        """The device's radios."""

    def port(self, number: int) -> TunedPort:
        """One of the device's ports, always the same object."""

    def hear_datagrams(self, receiver: DatagramReceiver) -> KnownWays:
        """From now on `receiver` is called for each datagram that arrives, and nobody else.

        Not for those that the link keeps from it, as it may if it is told of the receiver's ways.
        """


class _Silence:
    """The ports and radios of a device that has none: nothing is sent, nothing heard."""

    address = 0

    @property
    def radios(self) -> Radios:
        return self

    def port(self, number: int) -> TunedPort:  # noqa: ARG002
        return self

    def bind(
        self,
        receiver: LocalReceiver,
        sender: FrameSender,
        strange: Callable[[Frame], bool],
        place: Callable[[], tuple[float, float] | None],
    ) -> None:
        """Nobody will be called."""

    def tune(self, tuning: Tuning) -> None:
        """There is nothing to listen to."""

    def switch(self, radio: str, on: bool) -> None:
        """There is no such radio."""

    def transmit(self, radio: str, frame: Frame, target: int | None, delay: float, unless: Unless) -> None:
        """Nobody hears it."""

    def transmit_datagram(self, *_datagram: object) -> bool:
        return False

    def hear_datagrams(self, receiver: DatagramReceiver) -> KnownWays:  # noqa: ARG002
        """Nobody will be called."""
        return NoKnownWays()

    def broadcast(self, publication: Publish, delay: float = 0.0, unless: Unless = SEND) -> None:
        """Nobody hears it."""

    def broadcast_together(self, publications: Sequence[Publish]) -> None:
        """Nobody hears them."""

    def unicast(self, publication: Publish, address: int) -> None:
        """Nobody hears it."""

    def hello(self) -> None:
        """Nobody hears it."""

    def digest(self, ids: Sequence[int]) -> None:
        """Nobody hears it."""

    def copies(self, publication: Publish) -> int:  # noqa: ARG002
        return 0

    def near_copies(self, publication: Publish) -> int:  # noqa: ARG002
        return 0

    def neighbours(self, max_age: float) -> int:  # noqa: ARG002
        return 0


NO_LOCAL_ACCESS: LocalAccess = _Silence()
"""For clients without a radio."""
