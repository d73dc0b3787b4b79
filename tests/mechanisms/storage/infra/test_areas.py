"""Two areas with real clients, radios and services: an item goes from one to the other, is used and deleted
there, and notifications follow a client that moves."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bypass.mechanisms.storage.infra.edge.service import EdgeSettings, InfraService, InfraServiceMaker
from bypass.objects.metadata import Metadata, ObjectKey
from bypass.protocol.edge import DownloadKind
from bypass.sim.edges import EdgeModel
from bypass.testing.worlds.storage import StorageWorld

EACH, FAR = 5, 50_000.0
SETTINGS = EdgeSettings(
    cell_data_period_s=5.0, retrieval_period_s=5.0, retrieval_slack_s=0.5, needs_period_s=5.0, slot_s=5.0
)


class TwoAreas(StorageWorld):
    """Clients 0 to 4 at edge 10, clients 5 to 9 at edge 11, out of reach of each other."""

    def __init__(self) -> None:
        places = [(50.0 + 3 * n % 15 + FAR * (n // EACH), 50.0 + 2 * n % 10) for n in range(2 * EACH)]
        super().__init__(
            places,
            ("infra", {"cell_data_s": 5.0, "hello_s": 2.0, "warm_up_s": 4.0}),
            ("access-point", {}),
            edges=[(60.0, 60.0), (60.0 + FAR, 60.0)],
            edge_model=EdgeModel(service=InfraServiceMaker(SETTINGS)),
        )
        self.here, self.there = (self.service(number) for number in (2 * EACH, 2 * EACH + 1))
        self.run(15.0)

    def service(self, number: int) -> InfraService:
        found = self.system.edges[number].service
        assert isinstance(found, InfraService)
        return found

    def until(self, condition: Callable[[], bool], seconds: int = 90) -> None:
        for _ in range(seconds):
            if condition():
                return
            self.run(1.0)
        assert condition()

    def subscribe(self, node: int, formula: str) -> dict[ObjectKey, Metadata]:
        """Query, and give what is told."""
        told: dict[ObjectKey, Metadata] = {}
        self.client(node).objects.query(formula, lambda metadata, _: told.__setitem__(metadata.key, metadata))
        return told

    def popular(self, metadata: Metadata) -> bool:
        return any(each.metadata.key == metadata.key for each in self.here.caches.local)


@pytest.fixture
def areas() -> TwoAreas:
    return TwoAreas()


def test_an_item_is_known_used_and_deleted_in_both_areas(areas: TwoAreas) -> None:
    far = areas.subscribe(EACH + 1, "beach")
    inserted = areas.insert(0, "beach", size=300)
    areas.run(2.0)
    assert inserted.acknowledged
    assert inserted.metadata.source == 2 * EACH
    near = areas.subscribe(3, "beach")
    areas.run(2.0)
    key = inserted.metadata.key
    (result,) = _ended(areas, 3, near[key])
    assert result
    areas.until(lambda: areas.popular(inserted.metadata))
    areas.until(lambda: key in far)
    assert areas.here.exchange.sent_items >= 1
    (result,) = _ended(areas, EACH + 1, far[key])
    assert result
    assert areas.there.downloads.served[DownloadKind.REGULAR] == 1
    assert [each.metadata.key for each in areas.there.caches.global_.data] == [key]
    assert areas.found_by(4, "beach") == areas.found_by(EACH + 2, "beach") == {key}
    areas.delete(key)
    areas.run(3.0)
    assert areas.found_by(4, "beach") == areas.found_by(EACH + 2, "beach") == set()
    assert not any(len(cache) for service in (areas.here, areas.there) for cache in service.caches.all())


def test_an_unpopular_item_is_fetched_from_the_other_area(areas: TwoAreas) -> None:
    inserted = areas.insert(0, "beach", size=300)
    areas.run(2.0)
    (result,) = _ended(areas, EACH, inserted.metadata)
    assert result
    assert areas.there.downloads.served[DownloadKind.FORCED] == 1
    assert areas.here.downloads.served == {}


def test_notifications_follow_a_client_that_moves(areas: TwoAreas) -> None:
    near = areas.subscribe(1, "beach")
    areas.run(2.0)
    areas.places[1] = areas.places[EACH]
    areas.run(0.2)  # nobody has noticed
    inserted = areas.insert(0, "beach")
    areas.until(lambda: inserted.metadata.key in near)
    assert areas.here.pending.handed_over == 1
    node = areas.client(1).node
    coverage = node.routing.coverage()
    assert coverage is not None
    assert coverage.edge == 2 * EACH + 1


def _ended(areas: TwoAreas, node: int, metadata: Metadata) -> list[bool]:
    """Fetch an object; gives whether that succeeded, once it has ended."""
    results = areas.retrieve(node, metadata)
    areas.until(lambda: bool(results))
    return [each.ok for each in results]
