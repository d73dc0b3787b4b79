"""Clients near an attraction point are served by its channel, others by their place: partial transitions at
the borders, decided at the broker from what clients report."""

from __future__ import annotations

from bypass.broker import Broker
from bypass.region import Place
from bypass.transitions import Action, Plan


class BorderRule:
    """Moves a client to ATTRACT when it reports a place inside a circle, to RADIAL when outside all."""

    def __init__(self, broker: Broker, places: tuple[Place, ...]) -> None:
        self._broker = broker
        self._places = places
        broker.location_listeners.append(self._reported)

    def _reported(self, client: int, x: float, y: float) -> None:
        inside = next((p for p in self._places if (x - p.x) ** 2 + (y - p.y) ** 2 <= p.radius**2), None)
        scheme = self._broker.scheme_of(client).name
        if inside is not None and scheme == "radial":
            self._move(client, "attract", f"client {client} entered {inside.name}")
        elif inside is None and scheme == "attract":
            self._move(client, "radial", f"client {client} is outside all attraction points")

    def _move(self, client: int, scheme: str, why: str) -> None:
        action = Action(proxy="filter", to=scheme, members=(client,))
        self._broker.execute(Plan(plan=f"to-{scheme}", why=why, who="border rule", actions=(action,)))
