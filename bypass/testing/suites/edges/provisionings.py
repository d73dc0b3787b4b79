"""The suite of provisioning: promises that each mechanism keeps which chooses items for other edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, NamedTuple

from hypothesis import strategies as st

from bypass.mechanisms import Registry
from bypass.mechanisms.families import PROVISIONING, Family
from bypass.objects.metadata import Metadata, ObjectKey, content_hash
from bypass.ports.caches import PeerProvisioning, PeerRequest
from bypass.protocol.edge import Item
from bypass.testing.suites.suite import MechanismSuite
from bypass.transitions import Engine

HERE, PEERS, TAGS = 9, (2, 3), "abc"
_HASH = content_hash(b"")


class _Visit(NamedTuple):
    """A peer that is asked about, the items that are here, those that had to leave since the last time and
    those that were deleted, all by number; the peer's subscriptions by tag, its room, and migration."""

    peer: int
    here: frozenset[int]
    displaced: tuple[int, ...]
    deleted: frozenset[int]
    subscriptions: dict[str, int]
    capacity: int
    migration: float


class ProvisioningSuite(MechanismSuite):
    """Items that are chosen for a peer are there, fit into its room, and none is chosen twice; no deleted one
    is chosen. Who was given an item that had to leave is known whatever is exchanged."""

    family: ClassVar[Family] = PROVISIONING

    def test_chosen_items_are_there_and_fit(self) -> None:
        def fits(visits: list[_Visit]) -> None:
            edge = _ProvidingEdge(self)
            left: set[int] = set()
            for visit in visits:
                left = (left | {*visit.displaced}) - visit.deleted
                found = [int(item.metadata.key.name) for item in edge.visit(visit)]
                assert len(found) <= visit.capacity, f"{len(found)} items: expected {visit.capacity} at most"
                assert len({*found}) == len(found), f"{found}: expected each item once"
                strange = {*found} - visit.here - left
                assert not strange, f"{strange}: expected items that are here, or had to leave"

        self.for_all(fits, visits=_visits())

    def test_subscriptions_are_served_where_nothing_else_asks_for_room(self) -> None:
        edge = _ProvidingEdge(self)
        here = frozenset(range(0, 30, len(TAGS)))  # all of the first tag
        found = edge.visit(_Visit(2, here, (), frozenset(), {TAGS[0]: 4}, 5, 0.0))
        assert len(found) == 5, f"{len(found)} items of 10 for 4 of 4 subscriptions: expected all of the room"

    def test_the_same_requests_give_the_same_items(self) -> None:
        def same(visits: list[_Visit]) -> None:
            edges = _ProvidingEdge(self), _ProvidingEdge(self)
            one, two = ([edge.visit(each) for each in visits] for edge in edges)
            assert one == two, f"chosen {one}, then {two}"

        self.for_all(same, visits=_visits())

    def test_it_can_be_exchanged(self) -> None:
        """Each mechanism takes over from this one and hands over to it: holders are known as before."""

        def exchanged(visits: list[_Visit], other: str) -> None:
            edge = _ProvidingEdge(self)
            for number, visit in enumerate(visits):
                name, values = (other, {}) if number % 2 else (self.name, self.parameters)
                before = edge.holders()
                edge.engine.transition("provisioning", name, set=values)
                after = edge.holders()
                assert after == before, f"to {name}: holders {after}, expected {before}"
                found = edge.visit(visit)
                assert len(found) <= visit.capacity, f"to {name}: {len(found)} items"

        self.for_all(exchanged, visits=_visits(), other=st.sampled_from(self.others))


class _ProvidingEdge:
    """An edge with items that are called by numbers; the lower one is the more popular."""

    def __init__(self, suite: ProvisioningSuite) -> None:
        self.engine = Engine("edge")
        self.mechanism: PeerProvisioning = Registry(suite.brought).create(
            self.engine, "edge", "provisioning", suite.name, set=suite.parameters
        )

    def visit(self, visit: _Visit) -> Sequence[Item]:
        """Have items leave, delete some, then choose for a peer."""
        for number in visit.displaced:
            self.mechanism.displaced(_item(number))
        gone = {_item(number).key for number in visit.deleted}
        self.mechanism.discard(lambda item: item.key in gone)
        here = {_item(number).key for number in visit.here}
        popular = [_item(number) for number in sorted(visit.here)]
        return self.mechanism.choose(
            PeerRequest(
                visit.peer,
                visit.capacity,
                sum(visit.subscriptions.values()),
                {("w", tag): count for tag, count in visit.subscriptions.items()},
                {
                    ("w", tag): [item for item in popular if tag in item.metadata.tags]
                    for tag in visit.subscriptions
                },
                lambda: popular,
                visit.migration,
                here.__contains__,
            )
        )

    def holders(self) -> dict[int, int]:
        """The peers that were given items."""
        found = {number: self.mechanism.holder(_item(number).key) for number in range(30)}
        return {number: peer for number, peer in found.items() if peer is not None}


def _item(number: int) -> Item:
    tags = frozenset((TAGS[number % len(TAGS)],))
    key = ObjectKey(1, str(number))
    return Item(Metadata(key, tags, number, 0, _HASH, _HASH, namespace="w", source=HERE), b"")


def _visits() -> st.SearchStrategy[list[_Visit]]:
    numbers = st.integers(0, 29)
    return st.lists(
        st.builds(
            _Visit,
            st.sampled_from(PEERS),
            st.frozensets(numbers, max_size=10),
            st.lists(numbers, max_size=6).map(tuple),
            st.frozensets(numbers, max_size=3),
            st.dictionaries(st.sampled_from(TAGS), st.integers(0, 5)),
            st.integers(0, 12),
            st.floats(0.0, 1.0),
        ),
        max_size=8,
    )
