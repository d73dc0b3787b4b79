"""Local transports (proxy `transport`): each sends frames and datagrams to devices nearby by one radio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from bypass.ports.datagrams import Failed
from bypass.ports.local_access import Unless
from bypass.protocol.messages import Frame
from bypass.transitions import Mechanism

if TYPE_CHECKING:
    from bypass.protocol.datagrams import Datagram


class RadioTransport(Mechanism):
    """Sends by the radio of its name, which is on as long as this mechanism is the active one.

    A simulation knows the radios `wifi` and `bluetooth`, and those that a scenario defines. A transport that
    names another one has a `model` of it, a `RadioModel`.
    """

    radio: ClassVar[str]
    model: ClassVar[Any] = None

    def start(self) -> None:
        self.host.after(0.0, self._turn_on)  # a radio cannot be touched before the switch

    def stop(self) -> None:
        self.host.link.switch(self.radio, False)

    def send(self, frame: Frame, target: int | None, delay: float, unless: Unless) -> None:
        """Send a frame to the device with an address, or to all in reach, in `delay` seconds."""
        self.host.link.transmit(self.radio, frame, target, delay, unless)

    def send_datagram(self, datagram: Datagram, neighbour: int | None, failed: Failed) -> bool:
        """Send a datagram to the device with a number, or to all in reach; false if no radio takes it."""
        return bool(self.host.link.transmit_datagram(self.radio, datagram, neighbour, failed))

    def _turn_on(self) -> None:
        self.host.link.switch(self.radio, True)


class Wifi(RadioTransport):
    """802.11 in ad hoc mode."""

    radio: ClassVar[str] = "wifi"


class Bluetooth(RadioTransport):
    """Bluetooth low energy: not as far, not as fast."""

    radio: ClassVar[str] = "bluetooth"
