"""The mechanisms of an edge by name, and the proxies behind which they run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from bypass.mechanisms.storage.infra.edge.item_cache import CacheWorkshop
from bypass.ports.caches import Insertion, PeerProvisioning, Ranking
from bypass.ports.edge import Capacities, CellMapping, ProvisioningSlots
from bypass.transitions import Engine


class EdgeMechanisms(NamedTuple):
    """The names of the mechanisms that an edge begins with. `eviction` and `partition` are those of its
    caches, of which the prefetch cache is never divided. With `arrivals`, items are sent ahead to edges at
    which clients are expected."""

    eviction: str = "w-tiny-lfu"
    partition: str = "amc"
    insertion: str = "batches"
    ranking: str = "popular"
    provisioning: str = "needs"
    slots: str = "equal-slots"
    cell_map: str = "fixed-cells"
    arrivals: bool = False


class EdgeProxies(NamedTuple):
    """The exchangeable parts of an edge but for its caches, which have engines of their own; plans for them
    are executed by the `engine`."""

    engine: Engine
    insertion: Insertion
    ranking: Ranking
    provisioning: PeerProvisioning
    slots: ProvisioningSlots
    cell_map: CellMapping
    capacities: Capacities


def create_proxies(
    workshop: CacheWorkshop,
    names: EdgeMechanisms = EdgeMechanisms(),  # noqa: B008 - it never changes
    values: Mapping[str, Mapping[str, Any]] = {},
) -> EdgeProxies:
    """Make the proxies of an edge, with values of parameters by proxy, as far as the mechanisms have them.
    Raises UnknownMechanism, InvalidParameter."""
    engine, registry = workshop.engine("edge"), workshop.registry

    def create(proxy: str, name: str) -> Any:
        known = registry.find("edge", proxy, name).parameters()
        given = {key: value for key, value in values.get(proxy, {}).items() if key in known}
        return registry.create(engine, "edge", proxy, name, set=given)

    return EdgeProxies(
        engine,
        create("insertion", names.insertion),
        create("ranking", names.ranking),
        create("provisioning", names.provisioning),
        create("slots", names.slots),
        create("cell-map", names.cell_map),
        create("capacities", "fixed-capacities"),
    )
