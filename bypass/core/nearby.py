"""A client's dealings with devices nearby: its transport, its dissemination, and how they stay in step with
others'.

Two ports, each with a mechanism of its own: `direct` for the client's own events, `gateway` for those that it
relays for the broker. Every frame says by which mechanism it was sent and which decision its sender follows;
who hears of a newer decision follows it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from bypass.mechanisms import Registry
from bypass.mechanisms.dissemination import Disseminator
from bypass.mechanisms.families import DISSEMINATION, PORT_OF
from bypass.ports.host import Host
from bypass.ports.interest import Interest
from bypass.ports.local_access import LocalAccess, Tuning
from bypass.ports.proxies import Dissemination, GatewayLogic, LocalTransport
from bypass.ports.subscriptions import Subscriptions
from bypass.protocol.messages import Frame, Publish
from bypass.transitions import Action, Engine, Healing, Plan, Record, Stamp

Notified = Callable[[Publish, tuple[int, ...]], None]


class Nearby:
    """The part of a client that hears and is heard by devices nearby.

    `notified(publication, handles)` is called for every event heard, with the client's handles that it
    concerns.
    """

    __slots__ = ("_access", "_engine", "_id", "_kinds", "_learned", "_notified", "direct", "gateway",
                 "gateway_logic", "healing", "interest", "transport")  # fmt: skip

    def __init__(
        self,
        registry: Registry,
        engine: Engine,
        host: Host,
        access: LocalAccess,
        subscriptions: Subscriptions,
        notified: Notified,
    ) -> None:
        self.interest = Interest(subscriptions, host.location)
        self._id = host.id
        self._engine = engine
        self._access = access
        self._notified = notified
        self.transport: LocalTransport = registry.create(engine, "client", "transport")
        self.direct: Dissemination = registry.create(engine, "client", "direct", state=self._state())
        self.gateway: Dissemination = registry.create(engine, "client", "gateway", state=self._state())
        self.gateway_logic: GatewayLogic = registry.create(engine, "client", "gateway-logic")
        self._kinds = registry.kinds(DISSEMINATION)
        self._learned = 0
        self.healing = {proxy: Healing(engine, proxy, {}, partial(self._tune, proxy)) for proxy in PORT_OF}
        self.learn()
        engine.add_listener(self)
        for proxy, receiver in (("direct", self.direct), ("gateway", self.gateway)):
            access.port(PORT_OF[proxy]).bind(
                receiver, self.transport, partial(self._strange, proxy), host.location.place
            )

    def learn(self) -> None:
        """Frames may name all mechanisms that there are, also those that were found meanwhile."""
        if len(self._kinds) > self._learned:
            self._learned = len(self._kinds)
            for healing in self.healing.values():
                healing.learn({kind.flag: kind for kind in self._kinds.values()})

    def _state(self) -> dict[str, Any]:
        return {"listeners": [self], "interest": self.interest}

    # -- what is heard ------------------------------------------------------------------------------------

    def event_arrived(self, publication: Publish) -> None:
        """A dissemination mechanism has heard an event; the client's own do not count."""
        if publication.client != self._id:
            self._notified(publication, self.interest.handles(publication))

    def _strange(self, proxy: str, frame: Frame) -> bool:
        """A frame of another decision about the same area: follow it if it is newer."""
        self.learn()
        stamp = Stamp(frame.scheme, frame.epoch, frame.scope)
        return self.healing[proxy].meet(stamp, f"client {frame.client}")

    # -- transitions --------------------------------------------------------------------------------------

    def admits(self, plan: Plan, action: Action) -> bool:
        """Say whether a plan's action should be executed: unless a newer decision has overtaken it."""
        return (
            action.to is None
            or action.proxy not in self.healing
            or self.healing[action.proxy].admits(plan.scope, plan.decision)
        )

    def adopt(self, plan: Plan, action: Action) -> None:
        """A plan's action was executed: frames say from now on that its decision is followed."""
        if action.proxy in self.healing and action.to is not None and self.admits(plan, action):
            self.healing[action.proxy].adopt(plan.scope, plan.decision)

    def transition_finished(self, record: Record) -> None:
        """Another mechanism may listen now, or want to know other things."""
        if record.proxy in self.healing:
            self._tune(record.proxy, self.healing[record.proxy].stamp)

    def _tune(self, proxy: str, stamp: Stamp) -> None:
        active = self._engine.active(proxy)
        tuning = Tuning()
        if isinstance(active, Disseminator):
            tuning = Tuning(*stamp, active.places, active.near_m, active.new_after_s)
        self._access.port(PORT_OF[proxy]).tune(tuning)
