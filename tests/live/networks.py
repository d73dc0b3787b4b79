"""Networks that this machine makes up: namespaces with cables to bridges."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.live.devices import LIMIT


class Networks:
    """Namespaces with cables to bridges, which are in a namespace of their own; `remove` leaves nothing."""

    def __init__(self) -> None:
        self._name = f"bypass-{os.getpid()}"
        self._hub = f"{self._name}-hub"
        self._namespaces: list[str] = []
        self._cables = 0

    def create(self) -> None:
        """Raises CalledProcessError if this is not allowed here."""
        self._add(self._hub)

    def bridge(self, name: str) -> None:
        self._inside("link", "add", name, "type", "bridge")
        self._inside("link", "set", name, "up")

    def device(self, name: str, *places: tuple[str, str]) -> str:
        """A namespace with an interface in each of `places`: a bridge and an address with its prefix."""
        namespace = f"{self._name}-{name}"
        self._add(namespace)
        for number, (bridge, interface) in enumerate(places):
            self.join(name, number, bridge, interface)
        return namespace

    def join(self, name: str, number: int, bridge: str, interface: str) -> None:
        """Give a device its interface with this number."""
        namespace = f"{self._name}-{name}"
        cable, end = f"v{self._cables}", f"eth{number}"
        self._cables += 1
        self._inside("link", "add", cable, "type", "veth", "peer", "name", end, "netns", namespace)
        self._inside("link", "set", cable, "master", bridge, "up")
        _ip("-n", namespace, "addr", "add", interface, "brd", "+", "dev", end)
        _ip("-n", namespace, "link", "set", end, "up")

    def plug(self, cable: int, in_: bool) -> None:
        """Pull the cable with this number, or plug it in again."""
        self._inside("link", "set", f"v{cable}", "up" if in_ else "down")

    def lose(self, cable: int, percent: int) -> bool:
        """Have a cable lose packets for its device; false if this kernel cannot."""
        command = [
            "tc",
            "-n",
            self._hub,
            "qdisc",
            "add",
            "dev",
            f"v{cable}",
            "root",
            "netem",
            "loss",
            f"{percent}%",
        ]
        return subprocess.run(command, capture_output=True, check=False, timeout=LIMIT).returncode == 0

    def remove(self) -> None:
        for namespace in self._namespaces:
            _ip("netns", "del", namespace)

    def _add(self, namespace: str) -> None:
        _ip("netns", "add", namespace)
        self._namespaces.append(namespace)

    def _inside(self, *arguments: str) -> None:
        _ip("-n", self._hub, *arguments)


def _ip(*arguments: str) -> None:
    subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True, timeout=LIMIT)


@contextmanager
def made_networks() -> Iterator[Networks]:
    """Networks that are removed at the end; skips the test where they cannot be made."""
    if shutil.which("ip") is None:
        pytest.skip("network namespaces cannot be made: there is no command 'ip' (iproute2)")
    made = Networks()
    try:
        try:
            made.create()
            made.bridge("probe")
        except subprocess.CalledProcessError as error:
            pytest.skip(f"network namespaces cannot be made here: {error.stderr.strip()}")
        yield made
    finally:
        made.remove()
