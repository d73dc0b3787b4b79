"""The one radio that a device has in a local network: `wifi`."""

from __future__ import annotations

from bypass.mechanisms.transports import RadioTransport, Wifi
from bypass.ports.local_access import NoSuchRadio
from bypass.transitions import AtomicTransition, Nothing, auto_transfer


class CheckRadio(AtomicTransition[Nothing, RadioTransport]):
    """Registered for a client's `transport`, it makes transitions fail to radios that are not there.

    They fail before anything is changed: the transport that is active goes on. Without it, a radio would be
    found missing only when its predecessor has been turned off.
    """

    def transfer_state(self, a: Nothing, b: RadioTransport) -> None:
        check_radio(b.radio)
        auto_transfer(a, b)


def check_radio(radio: str) -> None:
    """Raise NoSuchRadio for any radio but `wifi`."""
    if radio != Wifi.radio:
        raise NoSuchRadio(f"radio {radio!r}: expected {Wifi.radio!r}, a local network has no other")
