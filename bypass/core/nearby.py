"""A client's dealings with devices nearby: its transport, its dissemination, and how they stay in step with
others'.

Two ports, each with a mechanism of its own: `direct` for the client's own events, `gateway` for those that it
relays for the broker. Every frame says by which mechanism it was sent and which decision its sender follows;
who hears of a newer decision follows it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bypass.core.plan_shares import PORT_OF
from bypass.mechanisms import CLIENT_MECHANISMS
from bypass.mechanisms.dissemination import Disseminator
from bypass.ports.host import Host
from bypass.ports.interest import Interest
from bypass.ports.local_access import LocalAccess, Tuning
from bypass.ports.proxies import Dissemination, GatewayLogic, LocalTransport
from bypass.ports.subscriptions import Subscriptions
from bypass.protocol.messages import Frame, Publish
from bypass.transitions import Action, Engine, Healing, Nothing, Plan, Record, Stamp

Notified = Callable[[Publish, tuple[int, ...]], None]


class Nearby:
    """The part of a client that hears and is heard by devices nearby.

    `notified(publication, handles)` is called for every event heard, with the client's handles that it
    concerns.
    """

    __slots__ = ("_access", "_engine", "_id", "_notified", "direct", "gateway", "gateway_logic", "healing",
                 "interest", "transport")  # fmt: skip

    def __init__(
        self,
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
        self.transport = engine.create_proxy(
            "transport", LocalTransport, Nothing, mechanisms=CLIENT_MECHANISMS["transport"].values()
        )
        self.direct = self._dissemination("direct")
        self.gateway = self._dissemination("gateway")
        self.gateway_logic = engine.create_proxy(
            "gateway-logic", GatewayLogic, Nothing, mechanisms=CLIENT_MECHANISMS["gateway-logic"].values()
        )
        flags = {
            kind.flag: kind for kind in CLIENT_MECHANISMS["direct"].values() if issubclass(kind, Disseminator)
        }
        self.healing = {proxy: Healing(engine, proxy, flags, partial(self._tune, proxy)) for proxy in PORT_OF}
        engine.add_listener(self)
        for proxy, receiver in (("direct", self.direct), ("gateway", self.gateway)):
            access.port(PORT_OF[proxy]).bind(
                receiver, self.transport, partial(self._strange, proxy), host.location.place
            )

    # -- what is heard ------------------------------------------------------------------------------------

    def event_arrived(self, publication: Publish) -> None:
        """A dissemination mechanism has heard an event; the client's own do not count."""
        if publication.client != self._id:
            self._notified(publication, self.interest.handles(publication))

    def _strange(self, proxy: str, frame: Frame) -> bool:
        """A frame of another decision about the same area: follow it if it is newer."""
        stamp = Stamp(frame.scheme, frame.epoch, frame.scope)
        return self.healing[proxy].meet(stamp, f"client {frame.client}")

    # -- transitions --------------------------------------------------------------------------------------

    def admits(self, plan: Plan, action: Action) -> bool:
        """Whether a plan's action should be executed: unless a newer decision has overtaken it."""
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

    def _dissemination(self, proxy: str) -> Dissemination:
        return self._engine.create_proxy(
            proxy,
            Dissemination,
            Nothing,
            mechanisms=CLIENT_MECHANISMS[proxy].values(),
            state={"listeners": [self], "interest": self.interest},
        )
