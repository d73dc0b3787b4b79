"""The end of a turn of a live broker: it is written, and sent when it is durable; or undone."""

from __future__ import annotations

import logging
import time
from collections import Counter

from bypass.core.broker import Broker
from bypass.live.broker.borders import LiveBorders
from bypass.live.broker.delivery.deliveries import Deliveries
from bypass.live.broker.delivery.turn import Turn
from bypass.live.broker.loop.batching import Batching, usable_processors
from bypass.live.broker.loop.loop import Loop
from bypass.live.broker.reception.intake import Intake
from bypass.live.broker.reception.presence import ClientPresence
from bypass.live.broker.reception.reception import Reception
from bypass.live.broker.sessions.sessions import Sessions
from bypass.live.broker.settings import Settings
from bypass.live.broker.store.store import Store, StoreFailed
from bypass.live.broker.store.writer import Writer

log = logging.getLogger(__name__)

MOST_COLLECTED = 20_000
MOST_BYTES_COLLECTED = 1 << 24
"""Events, and bytes of anything, that are collected while others are written: what arrives then has to wait
until these are."""

FAILED_S = 0.05
"""How long a store that has failed is left alone."""

FINISHED_S = 0.01
"""How often it is found out whether everything is written, at the end."""


class Turns:
    """Ends the turns of a loop: one is written while the next ones are collected.

    While the store takes its time, `intake` is paused when too much has been collected. A turn that cannot be
    stored is undone: nothing of it has happened, and its clients are told why.
    """

    def __init__(
        self,
        loop: Loop,
        store: Store,
        broker: Broker,
        settings: Settings,
        sessions: Sessions,
        deliveries: Deliveries,
        presence: ClientPresence,
        reception: Reception,
        intake: Intake,
        counters: Counter[str],
        borders: LiveBorders,
    ) -> None:
        self.failing: str | None = None
        """Says why the store does not work at the moment."""
        self._loop = loop
        self._broker = broker
        self._settings = settings
        self._sessions = sessions
        self._deliveries = deliveries
        self._presence = presence
        self._reception = reception
        self._intake = intake
        self._counters = counters
        self._borders = borders
        self._writer = Writer(store, lambda error: loop.soon(self._written, error))
        self._in_flight: Turn | None = None
        self._gathering = Batching(time.monotonic(), usable_processors())
        self._tries_again = 0.0  # a store that has failed
        self._bytes_taken = 0  # of what came in, by turns that have ended
        self._finishing = False
        loop.end_of_turn = self._end

    @property
    def writing(self) -> bool:
        """Whether a turn is being written."""
        return self._writer.busy

    @property
    def commits(self) -> tuple[int, float]:
        """The number of turns that were written, and the seconds that it took."""
        return self._writer.commits, self._writer.seconds

    def finish(self) -> None:
        """Stop the loop when all that has been collected is written and sent, or cannot be written."""
        self._finishing = True
        self._loop.after(0.0, self._stop_when_finished)

    def close(self) -> None:
        """Return when what was begun is written."""
        self._writer.close()

    def _stop_when_finished(self) -> None:
        turn = self._deliveries.turn
        if self._writer.busy or turn.writes or turn.sends:
            self._loop.after(FINISHED_S, self._stop_when_finished)
        else:
            self._loop.stop()

    def _end(self) -> None:
        """End the present turn, unless more is to be collected first."""
        turn = self._deliveries.turn
        if self._writer.busy:
            collected = self._counters["bytes_in"] - self._bytes_taken
            much = len(turn.logged) > MOST_COLLECTED or collected > MOST_BYTES_COLLECTED
            if much and not self._finishing:
                self._intake.paused = True
            return
        now = time.monotonic()
        if now < self._tries_again and not self._finishing:
            self._loop.gather_until = self._tries_again
            return
        self._loop.gather_until = self._gathering.until(now, self._loop.idle)
        if self._loop.gather_until > now and turn.notifications.count and not self._finishing:
            return
        self._gathering.begin(now)
        self._borders.note(turn)
        self._settings.note(turn, self._broker, self._sessions)
        self._deliveries.kept.note_missed()
        self._presence.note(turn)
        turn = self._deliveries.take_turn()
        self._bytes_taken = self._counters["bytes_in"]
        if turn.is_pressing or (self._finishing and turn.writes):
            self._in_flight = turn
            turn.write(self._writer)
        else:
            self._deliveries.turn.postpone(turn)
            self._send(turn)

    def _written(self, error: StoreFailed | None) -> None:
        turn, self._in_flight = self._in_flight, None
        assert turn is not None
        self._writer.busy = False
        try:
            if error is None:
                if self.failing is not None:
                    log.warning("the store works again")
                self.failing = None
                self._send(turn)
            else:
                self._failed(turn, str(error))
        finally:  # whatever was wrong with this turn, later ones are served
            if self._intake.paused:
                self._intake.resume()
                self._presence.listens_again()
        if self._finishing and error is not None:  # it would fail again, and again
            self._loop.stop()

    def _send(self, turn: Turn) -> None:
        """Send a turn that is durable, then go on with those who had to wait for that."""
        self._presence.lost_on(self._deliveries.send_turn(turn))
        self._deliveries.feeding.feed_hungry()

    def _failed(self, turn: Turn, reason: str) -> None:
        """Undo what a turn has changed here, of which nothing was stored; a later one may do better."""
        if self.failing is None:
            log.error("%s; events and subscriptions are refused until it works again", reason)
        self.failing = reason
        self._tries_again = time.monotonic() + FAILED_S
        self._counters["refused"] += len(turn.logged)
        self._settings.lost()
        self._borders.lost(turn)
        self._reception.undo(turn)
        self._presence.lost_on(self._deliveries.refuse_turn(turn, reason))
        self._presence.not_stored()
        self._sessions.awaited.all_moved()
