"""The stored objects of a session, loaded when it first has to do with some: most clients never do."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from bypass.core.client import Client
from bypass.live.client.session.uplink import Uplink
from bypass.protocol.messages import Message, StorageMessage

if TYPE_CHECKING:
    from bypass.live.client.objects.live_objects import LiveObjects


class SessionObjects:
    """Tells the objects of a session what happens to it, if it has any. Without a `secret` there is no
    broker: neighbours store them."""

    def __init__(self, usable: Callable[[], Client], uplink: Uplink, secret: bytes | None) -> None:
        self._usable = usable
        self._uplink = uplink
        self._secret = secret
        self._loaded: LiveObjects | None = None

    def load(self) -> LiveObjects:
        """The objects, always the same."""
        if self._loaded is None:
            self._loaded = self._make()
        return self._loaded

    def _make(self) -> LiveObjects:
        uplink = self._uplink
        if self._secret is None:
            from bypass.live.client.objects.node_objects import NodeObjects

            return NodeObjects(self._usable)
        from bypass.live.client.objects.broker_objects import BrokerObjects

        return BrokerObjects(self._usable, uplink.send, lambda: uplink.capabilities, self._secret)

    @property
    def waiting(self) -> int:
        """Operations that the broker has not answered yet."""
        return 0 if self._loaded is None else self._loaded.waiting

    def send(self, message: Message) -> None:
        """Send a message of the client's, about objects or not. Raises MalformedMessage."""
        if isinstance(message, StorageMessage):
            self.load().send(message)
        else:
            self._uplink.send(message)

    def connected(self, client: Client, renewed: bool) -> None:
        """There is another connection; `renewed`: to a broker that has forgotten the client."""
        if self._loaded is not None:
            self._loaded.connected(client, renewed)

    def end(self, why: Exception, ours: bool) -> None:
        """There will be no other connection; `ours`: as the application wished."""
        if self._loaded is not None:
            self._loaded.end(why, ours)
