"""Housekeeping of a live broker: what is done again and again, however much or little arrives."""

from __future__ import annotations

import time

from bypass.core.broker import Broker
from bypass.live.broker.delivery.deliveries import Deliveries
from bypass.live.broker.loop.connections import Connections
from bypass.live.broker.loop.loop import Loop
from bypass.live.broker.reception.intake import Intake
from bypass.live.broker.reception.presence import ClientPresence
from bypass.live.broker.reception.reception import Reception
from bypass.live.broker.sessions.sessions import Sessions
from bypass.live.broker.settings import Settings

CURSORS_S = 0.5
CURSOR_PARTS = 10
"""So often cursors are noted, a part of them at a time: an event that comes meanwhile has to wait."""

LONGEST_S = 1.0
"""Sessions and connections are looked after so often at least."""


class Housekeeping:
    """Notes for the store how far clients have got, and looks after sessions and connections.

    A client that is silent for three times `heartbeat` seconds is found out before the fourth is over.
    """

    def __init__(
        self,
        loop: Loop,
        heartbeat: float,
        broker: Broker,
        settings: Settings,
        sessions: Sessions,
        connections: Connections,
        deliveries: Deliveries,
        presence: ClientPresence,
        reception: Reception,
        intake: Intake,
    ) -> None:
        self._loop = loop
        self._heartbeat = heartbeat
        self._broker = broker
        self._settings = settings
        self._sessions = sessions
        self._connections = connections
        self._deliveries = deliveries
        self._presence = presence
        self._reception = reception
        self._intake = intake
        loop.after(CURSORS_S / CURSOR_PARTS, self._note_part, 0)
        self._look_after_later()

    def note_all(self) -> None:
        """Have the present turn, which is the last, store all that is only stored now and then."""
        self._note(0, 1)
        for session in self._sessions.by_route.values():
            if session.durable:
                self._deliveries.kept.lanes.note(session, closing=True)
        self._settings.note_served(self._deliveries.turn)

    def _note_part(self, part: int) -> None:
        self._note(part, CURSOR_PARTS)
        self._loop.after(CURSORS_S / CURSOR_PARTS, self._note_part, (part + 1) % CURSOR_PARTS)

    def _note(self, part: int, parts: int) -> None:
        self._deliveries.kept.note_cursors(part, parts)
        self._reception.note_places()
        turn, rollout = self._deliveries.turn, self._broker.rollout
        self._settings.pending_plans.note(turn, rollout, self._sessions, part, parts)

    def _look_after_later(self) -> None:
        period = min(LONGEST_S, self._heartbeat)
        self._loop.after(period, self._look_after, time.monotonic() + period)

    def _look_after(self, due: float) -> None:
        self._look_after_later()
        if time.monotonic() - due > self._heartbeat:  # this process was stopped, or got no time
            self._presence.listens_again()
            self._connections.listens_again()
            return
        if not self._intake.paused:  # else it is us who do not listen
            self._presence.look_after()
        self._connections.look_after(self._sessions.by_route)
