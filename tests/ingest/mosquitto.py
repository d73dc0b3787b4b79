"""A real mosquitto on a port of its own, and devices that publish there."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

from bypass.ingest.categories import topic_of
from bypass.testing.worlds.broker import PATIENCE, until

PROGRAM = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
needs_mosquitto = pytest.mark.skipif(PROGRAM is None, reason="mosquitto is not installed")


class Mosquitto:
    """A broker that keeps its sessions on disk; it can be stopped and started again."""

    def __init__(self, folder: Path, more: str = "allow_anonymous true\n") -> None:
        """`more` is further configuration."""
        folder.mkdir(exist_ok=True)
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self.address = f"127.0.0.1:{self.port}"
        self._config = folder / "mosquitto.conf"
        self._config.write_text(
            f"listener {self.port} 127.0.0.1\nuser root\n{more}"
            f"persistence true\npersistence_location {folder}/\n"
            "max_queued_messages 0\nmax_inflight_messages 1000\nset_tcp_nodelay true\n"
        )
        self.start()

    def start(self) -> None:
        assert PROGRAM is not None
        self._process = subprocess.Popen(
            [PROGRAM, "-c", str(self._config)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        until(self._listens)

    def stop(self) -> None:
        self._process.terminate()
        self._process.wait(PATIENCE)

    def _listens(self) -> bool:
        assert self._process.poll() is None, "mosquitto has ended"
        try:
            socket.create_connection(("127.0.0.1", self.port), 1).close()
        except OSError:
            return False
        return True


@contextmanager
def mosquitto(folder: Path, more: str = "allow_anonymous true\n") -> Iterator[Mosquitto]:
    broker = Mosquitto(folder, more)
    try:
        yield broker
    finally:
        broker.stop()


class Publisher:
    """Devices behind one connection."""

    def __init__(
        self,
        broker: Mosquitto,
        application: str = "App",
        categories: int = 256,
        credentials: tuple[str, str] | None = None,
        authority: Path | None = None,
    ) -> None:
        self._application, self._categories = application, categories
        self._client = Client(CallbackAPIVersion.VERSION2)
        self._sent: dict[int, tuple[str, bytes]] = {}  # as many as there are numbers, at most
        self._answered: list[int] = []
        self._client.max_queued_messages_set(0)
        self._client.on_publish = self._published
        if credentials is not None:
            self._client.username_pw_set(*credentials)
        if authority is not None:
            self._client.tls_set(str(authority))
        self._client.connect("127.0.0.1", broker.port)
        self._client.loop_start()

    def send(self, device: str, payload: bytes, *, qos: int = 1, topic: str | None = None) -> None:
        place = topic or topic_of(self._application, device, self._categories)
        self._sent[self._client.publish(place, payload, qos).mid] = device, payload

    def acknowledged(self) -> list[tuple[str, bytes]]:
        """The messages that the broker has acknowledged, all that were sent: waits for that."""
        until(lambda: len(self._answered) == len(self._sent))
        return list(self._sent.values())

    def close(self) -> None:
        self._client.disconnect()
        self._client.loop_stop()

    def _published(self, _client: Client, _data: Any, mid: int, _reason: Any, _properties: Any) -> None:
        self._answered.append(mid)
