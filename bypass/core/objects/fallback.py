"""The way on without an edge: a client that has lost all of them goes over to other mechanisms by itself, and
comes back when there is one again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import partial

from pydantic import JsonValue

from bypass.mechanisms.families import ROUTING_PROXY, STORAGE_PROXY
from bypass.ports.host import Host, Timer
from bypass.ports.routing import Routing
from bypass.ports.storage import EDGE
from bypass.protocol.datagrams import Datagram, EdgeAnswer, EdgeBeacon
from bypass.support.units import MICROSECONDS
from bypass.transitions import Action, Engine, Nothing, Plan, TransitionError

LONGEST_NONCE = 64  # bits

MOST_PATIENCE = 10.0
"""A client that hears beacons of an edge which does not answer it waits so many times as long."""

RETURN_AFTER_S = 0.2
"""An edge answers a client again after this time at the earliest: routing asks it once more."""

ASK_AGAIN_S, ASK_WITHIN_S = 1.0, 0.5
"""A beacon that is heard lets a client ask, but not more often than this, and at a random time: all hear it
at once."""


class Preference(Enum):
    """How a client reaches others."""

    AUTO = "auto"
    """By an edge while there is one, else by its peers."""
    EDGES = "edges"
    """By an edge alone: without one it waits."""
    PEERS = "peers"
    """By its peers alone: it does not look for edges, which saves its battery."""


def cells_plan(**routing: JsonValue) -> Plan:
    """The usual plan of a client without an edge: cells, by routing with these parameters."""
    actions = (
        Action(proxy=ROUTING_PROXY, to="cells", set=routing),
        Action(proxy=STORAGE_PROXY, to="cells"),
    )
    return Plan(plan="without-edge", why="no edge is in reach", actions=actions)


@dataclass(frozen=True, slots=True)
class FallbackSettings:
    """After `patience_s` without an edge, or a sign of one, a client carries out the `plan`, which names
    routing and storage; it then asks for edges every `probe_s`. At first, and once an edge has answered, it
    waits for so long until its routing has found one."""

    patience_s: float = 1.0
    probe_s: float = 5.0
    plan: Plan = field(default_factory=cells_plan)
    preference: Preference = Preference.AUTO


class Fallback:
    """Exchanges routing and storage of one client when it has no edge, and back when there is one.

    Only routing that offers EDGE is left. The client goes back to what it had before, if the edge that
    answers has its world; from there it follows the decision of that area. Whoever changes asks for all that
    was published where it goes to since it was there last: others may have gone before it. `carry_out`
    raises TransitionError if a plan cannot be carried out: it is tried again.
    """

    def __init__(
        self,
        host: Host,
        engine: Engine,
        routing: Routing,
        settings: FallbackSettings,
        present: Callable[[], Plan],
        carry_out: Callable[[Plan], None],
        recover_since: Callable[[int], None],
        probe: Callable[[int], None],
    ) -> None:
        self.settings = settings
        self.fallen = self.returned = self.failed = 0
        self._host = host
        self._engine = engine
        self._routing = routing
        self._present = present
        self._carry_out = carry_out
        self._recover_since = recover_since
        self._probe = probe
        self._draw = host.random("fallback")
        self._former: Plan | None = None  # what to return to
        self._alone_since: float | None = None
        self._expects = False  # routing has not had time yet to find an edge
        self._heard_at = float("-inf")  # a beacon, while routing was to find an edge
        self._left_us: dict[bool, int] = {}  # when the client was last with edges (True) and without
        self._nonce = -1
        self._asked_at = float("-inf")
        self._timer: Timer | None = None
        self._closed = False

    @property
    def active(self) -> bool:
        """Whether the client goes on without edges."""
        return self._former is not None

    def end(self) -> None:
        """The client is gone."""
        self._closed = True

    def prefer(self, preference: Preference) -> None:
        """Reach others in another way from now on."""
        self.settings = replace(self.settings, preference=preference)
        if self.active:
            self._wait(0.0, self._return if preference is Preference.EDGES else self._ask)
        else:
            self.review()

    def review(self) -> None:
        """Notice whether there is an edge: called whenever that may have changed."""
        if self.active:
            return
        if isinstance(self._engine.active(STORAGE_PROXY), Nothing):
            self._alone_since, self._expects = None, True  # routing hears of edges from then on
            return
        preference = self.settings.preference
        has_edge = self._routing.coverage() is not None and preference is not Preference.PEERS
        if has_edge or not self._uses_edges():
            self._alone_since, self._expects = None, False
            return
        if self._alone_since is None:
            self._alone_since = self._host.now()
        if preference is not Preference.EDGES:
            patience = self.settings.probe_s if self._expects else self.settings.patience_s
            if preference is Preference.PEERS:
                patience = 0.0
            self._wait(max(self._alone_since + patience - self._host.now(), 0.0), self._fall_back)

    def heard(self, datagram: Datagram, world: str) -> None:
        """Take what an edge says: that one works here, or that this client may come back. `world` is the one
        that it is in."""
        body = datagram.body
        if not self.active or self.settings.preference is Preference.PEERS:
            if isinstance(body, EdgeBeacon) and body.world.world == world:
                self._heard_at = self._host.now()
            return
        if isinstance(body, EdgeBeacon):
            if body.world.world == world and self._host.now() - self._asked_at >= ASK_AGAIN_S:
                self._wait(ASK_WITHIN_S * self._draw.random(), self._ask)
        elif (
            isinstance(body, EdgeAnswer)
            and body.nonce == self._nonce
            and body.edge == datagram.client
            and any(each.world == world for each in body.worlds)
        ):
            self._nonce = -1
            self._wait(RETURN_AFTER_S, self._return)

    # -- going over ---------------------------------------------------------------------------------------

    def _fall_back(self) -> None:
        alone_since = self._alone_since
        preference = self.settings.preference
        if self.active or alone_since is None or preference is Preference.EDGES:
            return
        now = self._host.now()
        patience = 0.0 if preference is Preference.PEERS else self.settings.patience_s
        lately = self._heard_at + patience - now
        if lately > 0 and now - alone_since < MOST_PATIENCE * patience:
            self._wait(lately, self._fall_back)  # the air is full: routing may find it yet
            return
        former = self._present()
        if not self._goes_over(self.settings.plan, self._fall_back):
            return
        self.fallen += 1
        self._former, self._alone_since = former, None
        self._changed(True, alone_since)
        self._wait(0.0, self._ask)

    def _return(self) -> None:
        former = self._former
        if former is None:
            return
        since = self._host.now()
        self._former, self._expects = None, True
        if not self._goes_over(former, partial(self._wait, 0.0, self._ask)):
            self._former, self._alone_since = former, None
            return
        self.returned += 1
        self._changed(False, since)
        self.review()

    def _goes_over(self, plan: Plan, again: Callable[[], None]) -> bool:
        try:
            self._carry_out(plan)
        except TransitionError:
            self.failed += 1
            self._wait(self.settings.probe_s, again)
            return False
        return True

    def _changed(self, with_edges: bool, since: float) -> None:
        """The client leaves what it was in since before a time: ask for what it has missed elsewhere."""
        self._left_us[with_edges] = round(since * MICROSECONDS)
        self._recover_since(self._left_us.get(not with_edges, 0))

    # -- asking for edges ---------------------------------------------------------------------------------

    def _ask(self) -> None:
        if not self.active or self.settings.preference is Preference.PEERS:
            return
        self._asked_at = self._host.now()
        self._nonce = self._draw.getrandbits(LONGEST_NONCE)
        self._probe(self._nonce)
        self._wait(self.settings.probe_s * (0.9 + 0.2 * self._draw.random()), self._ask)

    def _uses_edges(self) -> bool:
        return EDGE in getattr(self._engine.active(ROUTING_PROXY), "offers", ())

    def _wait(self, delay: float, action: Callable[[], None]) -> None:
        """Do nothing else of its own accord until then."""
        if self._timer is not None:
            self._timer.cancel()
        self._timer = self._host.after(delay, self._due, action)

    def _due(self, action: Callable[[], None]) -> None:
        self._timer = None
        if not self._closed:
            action()
