"""What a live broker collects before it is written and sent."""

from __future__ import annotations

from bypass.live.broker.sessions.notifications import Notifications
from bypass.live.broker.sessions.sessions import Session
from bypass.live.broker.store.batch import Batch, Logged
from bypass.protocol.messages import Subscribe


class Turn:
    """What is to be written, and what is to be sent once it is: about so many notifications."""

    def __init__(self, room: int = 0) -> None:
        self.batch = Batch()
        self.packets: dict[bytes, list[bytes]] = {}
        self.notifications = Notifications(room)
        self.acknowledged: dict[bytes, tuple[list[int], list[int]]] = {}
        self.taken: set[int] = set()
        """Events that came in this turn; others are acknowledged in it once more."""
        self.logged: list[Logged] = []
        self.released: list[int] = []
        self.changes: list[tuple[Session, int, Subscribe | None, bool]] = []
        """Handles that were subscribed (None) or withdrawn, what was behind these, and whether they were the
        present life's."""
        self.fleeting: list[tuple[Session, int]] = []
        """Events for clients whose sessions are not durable."""
        self.missed: list[tuple[Session, str, int]] = []
        """Events that were counted as missed, and why."""

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to write and nothing to send."""
        return not (self.batch or self.packets or self.acknowledged or self.notifications.count)
