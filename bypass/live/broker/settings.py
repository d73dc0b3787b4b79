"""Settings of a live broker as a whole in its store: mechanisms, epoch, numbers that were given, what clients
were told."""

from __future__ import annotations

import json
import secrets
import time
from collections.abc import Iterable, Iterator, Mapping
from itertools import count

from bypass.core.broker import Broker
from bypass.core.snapshot import BrokerState
from bypass.live.broker.delivery.turn import Turn
from bypass.live.broker.plans.named_clients import NamedClients
from bypass.live.broker.plans.pending_plan_store import PendingPlanStore
from bypass.live.broker.plans.place_changes import PlaceChanges
from bypass.live.broker.sessions.sessions import Sessions
from bypass.places.region import Place

FIRST_NUMBERS = 1 << 30
NUMBERS = 1000
"""Client numbers that are reserved at a time."""


SERVED_S, SERVED_IDLE_S = 1.0, 60.0
"""How often it is noted how long brokers have served: with something else, and alone."""


class Settings:
    """Begins with what is in the store. `note` puts into a turn what has changed since.

    `changed` says that mechanisms are others; that the broker's epoch is another is seen without. `flags` are
    the numbers that filter schemes which are not built in have been given: they keep them.
    """

    def __init__(self, stored: Mapping[str, str]) -> None:
        self.changed = False
        self.pending_plans = PendingPlanStore(stored)
        self.places = PlaceChanges(stored.get("places", "{}"))
        self._named = NamedClients(stored)
        # Numbers of a store that is lost must not be given again: clients remember events by them.
        self.first_number = int(stored.get("numbers") or 1 + secrets.randbelow(FIRST_NUMBERS))
        self.flags: dict[str, int] = json.loads(stored.get("flags", "{}"))
        self._state = stored.get("state")
        self._generation = int(stored.get("generation", "0"))
        self._reserved = self.first_number
        self._served = float(stored.get("served", "0"))
        self._began = time.monotonic()
        self._noted = self._served
        self._epoch = 0

    def served(self) -> float:
        """Seconds for which brokers have served the store: no clock that jumps and no time in which none ran
        makes anything older."""
        return self._served + time.monotonic() - self._began

    def generations(self) -> Iterator[int]:
        """Numbers of channel layouts that no broker on this store has used."""
        for number in count(self._generation + 1):
            self._generation = number
            self.changed = True
            yield number

    def change_places(self, put: Iterable[Place], removed: Iterable[str]) -> None:
        """Operators have changed the places of the region."""
        self.places.note(put, removed)
        self.changed = True

    def restore(self, broker: Broker, sessions: Sessions) -> bool:
        """Configure a broker as the store says; gives whether it says anything."""
        if self._state is None:
            return False
        BrokerState.model_validate_json(self._state).restore(broker)
        self._named.restore(broker.rollout.standing, sessions)
        self._epoch = broker.rollout.epoch
        return True

    def note(self, turn: Turn, broker: Broker, sessions: Sessions) -> None:
        """Have a turn store what the store does not know yet."""
        # Every plan has an epoch of its own, also if only clients execute it, or a single one.
        if broker.registry.flags.given != self.flags:
            self.flags = dict(broker.registry.flags.given)
            turn.setting("flags", json.dumps(self.flags))
        if self.changed or broker.rollout.epoch != self._epoch:
            turn.setting("state", BrokerState.of(broker).model_dump_json())
            turn.setting("generation", str(self._generation))
            turn.setting("places", self.places.text())
            self.changed = False
            self._epoch = broker.rollout.epoch
        self._named.note(turn, broker.rollout.standing, sessions)
        if sessions.last_number >= self._reserved:
            self._reserved = sessions.last_number + NUMBERS
            turn.setting("numbers", str(self._reserved))
        if self.served() - self._noted > (SERVED_S if turn.is_pressing else SERVED_IDLE_S):
            self.note_served(turn)

    def note_served(self, turn: Turn) -> None:
        """Have a turn store how long brokers have served."""
        self._noted = self.served()
        turn.setting("served", f"{self._noted:.3f}")

    def lost(self) -> None:
        """A batch was not stored: all that it may have had is noted again."""
        self.changed = True
        self.flags = {}
        self._reserved = 0
        self.pending_plans.lost()
        self._named.lost()
