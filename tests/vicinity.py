"""A small world whose clients have radios: who stands where, what each of them runs, and who sends."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import JsonValue

from bypass.events.event import Event
from bypass.models.radio.kernels.state import S
from bypass.ports.local_access import DIRECT_PORT
from bypass.protocol.messages import Publish
from bypass.transitions import Action, Plan, Record, Stamp
from tests.conftest import Point, World

REACH = 88.0
BLUETOOTH_REACH = 20.0
MECHANISMS = ("unicast", "broadcast", "flooding", "gossip", "hyperg", "plan-b")
MULTI_HOP = MECHANISMS[2:]
NOTHING = Event(kind="nothing")

Choice = str | tuple[str, Mapping[str, JsonValue]]
"""A mechanism, or one with parameters."""


def row(clients: int, step: float = 60.0, y: float = 500.0) -> list[Point]:
    """Places side by side, each in reach of the next ones alone."""
    return [(50.0 + step * n, y) for n in range(clients)]


def begin(**mechanisms: Choice) -> tuple[Action, ...]:
    """The actions that all clients begin with, by proxy; `_` stands for `-`."""
    chosen = [(proxy, (each, {}) if isinstance(each, str) else each) for proxy, each in mechanisms.items()]
    return tuple(
        Action(proxy=proxy.replace("_", "-"), to=to, set=dict(values)) for proxy, (to, values) in chosen
    )


class Vicinity(World):
    """A world of clients that begin with Wi-Fi, in AD HOC mode, unless `mechanisms` say otherwise."""

    def __init__(
        self, places: Sequence[Point], mechanisms: Mapping[str, Choice] | None = None, **options: Any
    ) -> None:
        chosen: dict[str, Choice] = {"transport": "wifi", "mode": "ad-hoc", **(mechanisms or {})}
        options.setdefault("attractions", ())
        super().__init__(places, begin=begin(**chosen), **options)

    # -- what happens -------------------------------------------------------------------------------------

    def subscribe_all(self, radius: int | None = 1000) -> None:
        for number in range(len(self.clients)):
            self.subscribe(number, radius)

    def change(self, client: int, proxy: str, to: str, **values: JsonValue) -> Record:
        """One transition at one client, by itself."""
        return self.clients[client].engine.transition(proxy, to, set=values)

    def plan(
        self,
        proxy: str,
        to: str,
        *members: int,
        scope: int = 0,
        decision: int = 0,
        **values: JsonValue,
    ) -> Plan:
        """A plan for `members`, or for everybody."""
        action = Action(proxy=proxy, to=to, set=values, members=members or None)
        return Plan(plan="test", scope=scope, decision=decision, actions=(action,))

    def carry_out(self, client: int, plan: Plan) -> None:
        """A client executes a plan as if the broker had sent it, which may not know of the client."""
        self.clients[client].carry_out(plan)

    # -- what happened ------------------------------------------------------------------------------------

    def active(self, proxy: str) -> list[str]:
        """The mechanism that each client runs."""
        return [client.engine.active(proxy).name for client in self.clients]

    def stamps(self, proxy: str = "direct") -> list[Stamp]:
        return [client.nearby.healing[proxy].stamp for client in self.clients]

    def frames(self) -> list[int]:
        """How many frames each client has sent."""
        return [int(number) for number in self.system.local.counter(S.SENT)]

    def copies(self, number: int, port: int = DIRECT_PORT) -> list[int]:
        """How many copies of an event, by its number in the system, each client has, its own included."""
        publication = Publish(number, NOTHING)
        return [device.port(port).copies(publication) for device in self.system.local.devices]

    def receivers(self, event: int) -> list[int]:
        """The clients that were told of an event, as often as they were."""
        return [client for client, _ in self.heard(event)]
