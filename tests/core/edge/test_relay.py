"""The access point of an edge: what it keeps is bounded, whatever clients send."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from bypass.core.edge.bare_service import BareService
from bypass.core.edge.members import AreaMembers
from bypass.core.edge.node import ALONE, AreaLink
from bypass.core.edge.relay import AccessPointRelay, RelaySettings
from bypass.mechanisms.routing.counters import DropReason
from bypass.places.logical_cells import cell_of_node
from bypass.places.sensor import NoSensor
from bypass.ports.datagrams import DatagramLoss, Failed
from bypass.ports.monitor import Monitor
from bypass.protocol.datagrams import (
    AreaHello,
    Datagram,
    DatagramScope,
    EdgeAnswer,
    EdgeBeacon,
    EdgeProbe,
    NodeAddress,
    RoutingMessage,
    Undeliverable,
)
from bypass.protocol.storage import Acknowledge, FoundObjects, StorageMessage
from bypass.sim.clock import VirtualClock
from bypass.sim.host import SimHost

EDGE = 7
SETTINGS = RelaySettings(beacon_s=1.0, forget_s=10.0, most_members=100, most_answers=50)


class Air:
    """The radio of the edge: what it sent. Clients in `deaf` do not acknowledge; for those in `full` there is
    no room."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.told: list[Datagram] = []
        self.sent: list[tuple[int, Datagram]] = []
        self.deaf: set[int] = set()
        self.full: set[int] = set()

    def broadcast(self, datagram: Datagram) -> None:
        self.told.append(datagram)

    def unicast(self, datagram: Datagram, neighbour: int, failed: Failed) -> None:
        self.sent.append((neighbour, datagram))
        if neighbour in self.deaf | self.full:
            loss = DatagramLoss.NO_ROOM if neighbour in self.full else DatagramLoss.UNACKNOWLEDGED
            self._clock.after(0.01, failed, loss)


class Service(BareService):
    """Notes what it is told."""

    def __init__(self, *args: object, **values: int) -> None:
        super().__init__(*args, **values)  # type: ignore[arg-type]
        self.events: list[tuple[str, str, int]] = []
        self.lost: list[tuple[StorageMessage, NodeAddress]] = []
        self.got: list[tuple[str, StorageMessage, NodeAddress]] = []

    def joined(self, world: str, client: int) -> None:
        self.events.append(("joined", world, client))

    def left(self, world: str, client: int) -> None:
        self.events.append(("left", world, client))

    def undeliverable(self, world: str, body: StorageMessage, target: NodeAddress) -> None:
        self.lost.append((body, target))

    def received(self, world: str, body: StorageMessage, origin: NodeAddress) -> None:
        self.got.append((world, body, origin))


class Place:
    """An edge, and clients that are only numbers."""

    def __init__(self, settings: RelaySettings = SETTINGS) -> None:
        self.clock = VirtualClock()
        self.air = Air(self.clock)
        host = SimHost(EDGE, self.clock, NoSensor(), Monitor(), 1)
        self.relay = AccessPointRelay(host, self.air, settings)
        self.service = Service(host, AreaLink(self.relay, ALONE))
        self.relay.start(self.service)
        self._number = 0

    def run(self, seconds: float) -> None:
        self.clock.run_until(self.clock.now_us + round(1e6 * seconds))

    def say(
        self,
        client: int,
        body: StorageMessage | RoutingMessage,
        *targets: NodeAddress,
        namespace: str = f"@{EDGE}",
        scope: DatagramScope = DatagramScope.ROUTED,
    ) -> Datagram:
        """Have a client send a datagram, which arrives at once."""
        self._number += 1
        datagram = Datagram(
            client << 32 | self._number, NodeAddress(client), targets, scope, body,
            namespace=namespace, client=client,
        )  # fmt: skip
        self.relay.arrived(datagram)
        return datagram

    def hello(self, *clients: int, world: str = "") -> None:
        for client in clients:
            self.say(client, AreaHello(world), namespace=f"{world}@{EDGE}", scope=DatagramScope.HOP)

    def sent_to(self, client: int) -> list[StorageMessage | RoutingMessage | object]:
        return [datagram.body for to, datagram in self.air.sent if to == client]

    def beacons(self) -> Sequence[EdgeBeacon]:
        return [each.body for each in self.air.told if isinstance(each.body, EdgeBeacon)]


# -- visitors ---------------------------------------------------------------------------------------------


def test_a_visitor_is_named_in_beacons_and_is_chosen_for_no_cell() -> None:
    place = Place()
    place.say(1, AreaHello("", visiting=True), scope=DatagramScope.HOP)
    place.hello(2)
    place.run(1.5)
    assert (place.beacons()[-1].members, place.beacons()[-1].visitors) == ((1, 2), (1,))
    for cell in range(9):
        place.say(2, Acknowledge(cell), NodeAddress(None, cell))
    assert [to for to, _ in place.air.sent] == [2] * 9
    place.say(2, Acknowledge(10), NodeAddress(1, 0))
    assert place.sent_to(1) == [Acknowledge(10)]
    place.say(2, AreaHello("", leaving=True), scope=DatagramScope.HOP)
    place.say(1, Acknowledge(11), NodeAddress(None, 0))
    assert isinstance(place.sent_to(1)[-1], Undeliverable)


@given(
    st.integers(1, 20),
    st.lists(
        st.tuples(st.sampled_from(("heard", "note", "forget", "use")), st.integers(0, 9), st.booleans())
    ),
)
def test_each_member_that_is_no_visitor_is_in_its_cell_alone(
    cells: int, steps: list[tuple[str, int, bool]]
) -> None:
    members, known, visiting = AreaMembers(cells), set[int](), set[int]()
    for step, node, flag in steps:
        if step == "heard":
            assert members.heard(node, 0.0) == (node not in known)
            known.add(node)
        elif step == "note" and node in known:
            members.note(node, flag)
            (visiting.add if flag else visiting.discard)(node)
        elif step == "forget":
            assert members.forget(node) == (node in known)
            known.discard(node)
            visiting.discard(node)
        elif step == "use":
            cells = node + 1
            members.use(cells)
        assert members.nodes == tuple(sorted(known))
        assert members.visitors == tuple(sorted(visiting))
        for each in known - visiting:
            assert each in members.serving(cell_of_node(each, cells))
        assert all({*members.serving(cell)} <= known - visiting for cell in range(cells))


# -- floods -----------------------------------------------------------------------------------------------


def test_a_hundred_thousand_nodes_that_greet_do_not_displace_those_that_are_there() -> None:
    place = Place()
    place.hello(*range(20))
    place.hello(*range(1000, 101_000))
    members = place.relay.members("")
    assert len(members) == 100
    assert set(range(20)) <= set(members)
    assert place.relay.dropped[DropReason.FULL] == 100_000 - 80
    assert len(place.service.events) == 100
    place.run(5.0)
    place.hello(*range(20))
    place.run(6.5)
    assert place.relay.members("") == tuple(range(20)), "those that were silent are gone"
    assert max(len(each.members) for each in place.beacons()) == 100


def test_probes_are_answered_up_to_a_number_in_a_second() -> None:
    place = Place()
    for client in range(100_000):
        place.say(client, EdgeProbe(client), namespace="@", scope=DatagramScope.HOP)
    assert place.relay.answers == 50
    assert place.relay.dropped[DropReason.FULL] == 99_950
    place.run(1.1)
    for _ in range(10):
        place.say(5, EdgeProbe(1), namespace="@", scope=DatagramScope.HOP)
    assert place.relay.answers == 51, "one client is not answered again so soon"
    assert len(place.relay.members("")) == 0


def test_a_full_edge_answers_no_probe() -> None:
    place = Place(SETTINGS.model_copy(update={"most_members": 2}))
    place.hello(1, 2)
    place.say(3, EdgeProbe(1), namespace="@", scope=DatagramScope.HOP)
    assert place.sent_to(3) == []
    place.say(1, EdgeProbe(2), namespace="@", scope=DatagramScope.HOP)
    assert isinstance(place.sent_to(1)[-1], EdgeAnswer), "who asks belongs to nobody, which makes room for it"


def test_unknown_worlds_and_namespaces_leave_nothing_behind() -> None:
    place = Place()
    for number in range(1000):
        place.hello(1, world=f"w{number}")
        place.say(1, Acknowledge(1), NodeAddress(2), namespace=f"n{number}")
        place.say(1, Acknowledge(1), NodeAddress(2), namespace=f"@{number + 100}")
        place.say(1, Acknowledge(1), NodeAddress(2), namespace="@-1")
    assert place.relay.dropped == {DropReason.NO_WORLD: 1000, DropReason.NAMESPACE: 3000}
    assert place.service.events == []


# -- members ----------------------------------------------------------------------------------------------


def test_the_service_learns_who_comes_and_goes() -> None:
    place = Place()
    place.hello(1, 2, 3)
    place.say(2, AreaHello("", leaving=True), scope=DatagramScope.HOP)
    place.say(3, EdgeProbe(9), namespace="@", scope=DatagramScope.HOP)
    place.hello(3)
    place.air.deaf = {1}
    for _ in range(2):
        place.relay.send("", Acknowledge(1), NodeAddress(1))
        place.run(0.1)
    assert place.service.events == [
        *(("joined", "", each) for each in (1, 2, 3)),
        ("left", "", 2), ("left", "", 3), ("joined", "", 3), ("left", "", 1),
    ]  # fmt: skip
    assert place.relay.members("") == (3,)


def test_beacons_tell_who_is_there() -> None:
    place = Place()
    place.hello(3, 1, 2)
    place.run(0.1)
    place.service.add("x", "X", 4)
    place.hello(9, world="x")
    place.run(1.0)
    latest = {each.world.world: each for each in place.beacons()}
    assert latest[""].members == (1, 2, 3)
    assert (latest["x"].members, latest["x"].world.cells) == ((9,), 4)
    numbers = [each.sequence for each in place.beacons()]
    assert numbers == sorted(set(numbers))


def test_a_world_that_is_no_more_has_no_members() -> None:
    place = Place()
    place.service.add("x", "X")
    place.hello(9, world="x")
    place.service.remove("x")
    assert place.relay.members("x") == ()
    place.hello(9, world="x")
    assert place.relay.dropped[DropReason.NO_WORLD] == 1


# -- what the service sends -------------------------------------------------------------------------------


def test_a_body_of_the_service_is_sent_or_not() -> None:
    place = Place()
    place.hello(1, 2)
    place.air.deaf = {2}
    place.air.full = {1}
    ends: list[tuple[int, bool]] = []

    def send(client: int, world: str = "") -> None:
        place.relay.send(
            world, Acknowledge(client), NodeAddress(client), lambda arrived: ends.append((client, arrived))
        )

    for client in (1, 2, 3):
        send(client)
    send(0, "no world")
    assert ends == [], "nobody is told while it is sent"
    place.run(2.0)
    place.air.full = set()
    send(1)
    place.run(2.0)
    assert sorted(ends) == [(0, False), (1, False), (1, True), (2, False), (3, False)]
    assert place.service.lost == []


def test_without_asking_the_service_learns_of_what_failed() -> None:
    place = Place()
    place.relay.send("", Acknowledge(1), NodeAddress(5))
    place.run(0.1)
    assert place.service.lost == [(Acknowledge(1), NodeAddress(5))]


def test_a_notification_on_its_way_that_fails_is_the_services_business() -> None:
    """The subscriber may be in the area of another edge, and its old cell is told, too."""
    place = Place()
    place.hello(1)
    notice, answer = FoundObjects(0, 5, ()), FoundObjects(4, 5, ())
    for body in (notice, answer):
        place.say(1, body, NodeAddress(6, 2))
    place.run(0.1)
    assert place.service.lost == [(notice, NodeAddress(6, 2))]
    assert [type(each) for each in place.sent_to(1)] == [Undeliverable] * 2


def test_reports_wait_for_room() -> None:
    place = Place()
    place.hello(1)
    place.air.full = {1}
    datagram = place.say(1, Acknowledge(1), NodeAddress(6))
    place.run(0.5)
    place.air.full = set()
    place.run(2.0)
    assert place.sent_to(1)[-1] == Undeliverable(datagram.id, NodeAddress(6))
    assert len(place.sent_to(1)) == 2


def test_a_stopped_relay_hears_and_says_nothing() -> None:
    place = Place()
    place.hello(1)
    place.run(0.1)
    place.relay.stop()
    told, sent = len(place.air.told), len(place.air.sent)
    place.hello(2)
    place.say(3, EdgeProbe(1), namespace="@", scope=DatagramScope.HOP)
    place.run(5.0)
    assert (len(place.air.told), len(place.air.sent)) == (told, sent)
