"""Watches of borders at a live broker: what is inside what is in the store, in the turn that tells of it."""

from __future__ import annotations

import json
import logging
import secrets
from collections.abc import Mapping

from bypass.core.broker import Broker
from bypass.live.broker.delivery.turn import Turn
from bypass.live.broker.sessions.sessions import Session, Sessions
from bypass.live.broker.store.store import Loaded
from bypass.live.keys import RIGHTS
from bypass.protocol.messages import Publish
from bypass.protocol.session import BORDERS
from bypass.protocol.wire import Codec

log = logging.getLogger(__name__)

NUMBERS = 10_000
"""Numbers of border events that are reserved at a time."""
FIRST_NUMBERS = 1 << 30
KEY = "border_events"


class LiveBorders:
    """Has turns store what a broker knows of watched clients, and goes on with it after a restart.

    A border event is told in the turn in which the state of its client is stored: never twice, never without.
    """

    def __init__(self, broker: Broker, sessions: Sessions, codec: Codec, settings: Mapping[str, str]) -> None:
        self._broker = broker
        self._sessions = sessions
        self._codec = codec
        borders = broker.borders
        permissions = borders.scope.permissions
        permissions.is_operator = self._is_operator
        permissions.understands = self._understands
        # Numbers of a store that is lost must not be given again: clients remember events by them.
        self._reserved = int(settings.get(KEY) or 1 + secrets.randbelow(FIRST_NUMBERS))
        borders.announcer.next = self._reserved
        borders.announcer.body_of = self._body_of

    def restore(self, loaded: Loaded) -> None:
        """Go on with what a broker before this one knew, once its watches are known again."""
        dumped = {}
        for number, data in loaded.borders.items():
            try:
                dumped[number] = json.loads(data)
            except ValueError as error:
                log.warning("client %d: its borders cannot be read and begin anew: %s", number, error)
        places = {
            stored.number: (stored.place[0], stored.place[1], stored.place[4])
            for stored in loaded.clients
            if stored.place is not None
        }
        self._broker.borders.restore(dumped, places)

    def note(self, turn: Turn) -> None:
        """Have a turn tell and store what has happened at borders."""
        borders = self._broker.borders
        borders.flush()
        for number in borders.changed:
            dumped = borders.dump(number)
            turn.at_borders(number, None if dumped is None else json.dumps(dumped))
            session = self._sessions.by_number.get(number)
            place = self._broker.table.whereabouts(number)
            if session is not None and session.durable and place is not None:
                turn.located(session, place)
        turn.borders_changed = borders.changed
        borders.changed = set()
        turn.border_events, borders.announcer.told = borders.announcer.told, []
        if borders.announcer.next >= self._reserved:
            self._reserved = borders.announcer.next + NUMBERS
            turn.setting(KEY, str(self._reserved))

    def lost(self, turn: Turn) -> None:
        """A turn could not be stored, and nobody was told: a later one tells all that was found here. What
        clients have reported, they report again."""
        borders = self._broker.borders
        borders.changed |= turn.borders_changed
        self._reserved = 0
        for told in turn.border_events:
            if not told.is_reported:
                borders.announcer.announce(told.watcher, told.handle, told.event)

    def _body_of(self, publication: Publish) -> bytes:
        _, body = self._codec.decode_raw(self._codec.encode(publication))
        return body

    def _session(self, client: int) -> Session | None:
        return self._sessions.by_number.get(client)

    def _is_operator(self, client: int) -> bool:
        session = self._session(client)
        # A watch that was granted goes on while its watcher is away, whose rights are known when it comes.
        return session is not None and (session.restored or RIGHTS[0] in session.rights)

    def _understands(self, client: int) -> bool:
        session = self._session(client)
        return session is None or session.route is None or BORDERS in session.capabilities
