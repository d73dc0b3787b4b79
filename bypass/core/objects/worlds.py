"""The worlds of objects: which there are, new ones, and the one that a client is in."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bypass.core.objects.operations import OperationResult, Operations
from bypass.errors import InvalidObject, OperationFailed, shown
from bypass.mechanisms.families import ROUTING_PROXY
from bypass.objects.metadata import check_namespace
from bypass.ports.host import Host
from bypass.ports.routing import Routing
from bypass.ports.storage import EDGE
from bypass.protocol.datagrams import NodeAddress, WorldMap
from bypass.protocol.domains import domain_of
from bypass.protocol.edge import CreateWorld, WorldList
from bypass.protocol.storage import OperationStatus
from bypass.transitions import Action, Engine, Plan
from bypass.transitions.recent import Recent

LONGEST_NAME = 32
"""Characters of a new world's name: its id, which is a namespace, is longer."""

HEARD_S = 60.0
"""The world of a peer that was heard so lately is one that can be entered."""

Created = Callable[[OperationResult, WorldMap | None], None]
"""Learns how the creation of a world has ended, and the world."""


class _HeardWorlds(Recent[str, float]):
    """The namespaces of others that were heard, each with the time (s)."""

    LIMIT = 64


class Worlds:
    """The worlds that a client knows. It is in one at a time: a world is a namespace of routing, and of what
    the client stores and asks for unless it says otherwise. That without a name is always there.

    `carry_out` carries out a plan of this client for itself, and raises TransitionError; `without_edge` says
    whether the client goes on without an edge.
    """

    def __init__(
        self,
        host: Host,
        engine: Engine,
        routing: Routing,
        operations: Operations,
        carry_out: Callable[[Plan], None],
        without_edge: Callable[[], bool],
    ) -> None:
        self._host = host
        self._engine = engine
        self._routing = routing
        self._operations = operations
        self._carry_out = carry_out
        self._without_edge = without_edge
        self._entered: str | None = None
        self._told: tuple[WorldMap, ...] = ()  # by the edge that answered last
        self._created: Recent[int, WorldMap] = Recent()
        self._heard = _HeardWorlds()

    @property
    def current(self) -> str:
        """The world that this client is in."""
        if self._entered is not None:
            return self._entered
        return getattr(self._engine.active(ROUTING_PROXY), "namespace", "") if self._knows_edges() else ""

    def known(self) -> Sequence[WorldMap]:
        """The worlds that the edge has told which answered last; none if no edge ever has."""
        self._told = getattr(self._engine.active(ROUTING_PROXY), "worlds", ()) or self._told
        return self._told

    def nearby(self) -> list[str]:
        """The worlds of peers that were heard lately, other than the own one, sorted."""
        since = self._host.now() - HEARD_S
        found = set()
        for namespace, at in self._heard.items():
            domain = domain_of(namespace)
            if at >= since:
                found.add(namespace if domain is None else domain.world)
        return sorted(found - {self.current})

    def create(self, name: str, created: Created) -> int:
        """Have the edge make a world that is called `name`, and tell all other edges. Gives the number of the
        operation. It ends with REFUSED if the edge makes no more worlds, with TIMEOUT if there is no edge.

        Raises InvalidObject for a name that is empty or too long, QuotaExceeded, and OperationFailed where
        routing knows no edges.
        """
        check_namespace(name)
        if not 0 < len(name) <= LONGEST_NAME or not name.isprintable():
            raise InvalidObject(f"world {shown(name)}: expected 1 to {LONGEST_NAME} printable characters")

        if not self._knows_edges():
            active = self._engine.active(ROUTING_PROXY).name
            raise OperationFailed(f"routing {active!r} of {self._host.id}: expected one that knows edges")

        def attempt(op: int) -> None:
            coverage = self._routing.coverage()
            if coverage is not None:
                self._routing.send(CreateWorld(op, name), (NodeAddress(coverage.edge),))

        def ended(result: OperationResult) -> None:
            created(result, self._created.pop(result.op, None))

        return self._operations.begin(attempt, ended)

    def enter(self, world: str) -> None:
        """Leave the world that this client is in for another one, "" for the one without a name.

        Objects and queries stay as they are: those of a world are found there alone. Raises InvalidObject,
        and TransitionError if the world's name cannot be that of a namespace of routing.
        """
        check_namespace(world)
        if world != self.current:
            action = Action(proxy=ROUTING_PROXY, set={"namespace": world})
            self._carry_out(Plan(plan="enter-world", why=f"world {shown(world)}", actions=(action,)))
            self._entered = world

    def _knows_edges(self) -> bool:
        return EDGE in getattr(self._engine.active(ROUTING_PROXY), "offers", ()) or self._without_edge()

    # -- what others say ----------------------------------------------------------------------------------

    def heard(self, namespace: str) -> None:
        """A node in another namespace was heard."""
        self._heard[namespace] = self._host.now()

    def received(self, answer: WorldList) -> None:
        """The edge has made a world, or not."""
        for world in answer.worlds[:1]:
            self._created[answer.op] = world
            self._operations.done(answer.op, OperationStatus.OK)
            return
        self._operations.done(answer.op, OperationStatus.REFUSED, "the edge makes no more worlds")
