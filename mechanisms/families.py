"""The families of mechanisms that are built in: what each is made of, where it runs, which mechanisms it has.

Base classes and mechanisms are named by import path, so that a client does not import what runs at brokers
alone. A `Registry` has these families, and those that are brought to it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from bypass.errors import UnusableMechanism, shown
from bypass.mechanisms.distribution import CategoryDistribution
from bypass.mechanisms.durability import Durability
from bypass.mechanisms.family import Family as Family
from bypass.mechanisms.family import FamilyProxy as FamilyProxy
from bypass.mechanisms.family import Side as Side
from bypass.mechanisms.filters.base.broker import FilterBroker
from bypass.mechanisms.filters.base.client import FilterClient
from bypass.mechanisms.precompute.base import Precompute
from bypass.mechanisms.row_models import RowModel
from bypass.ports.caches import Cache, Insertion, Partitioning, PeerProvisioning, Ranking
from bypass.ports.edge import Capacities, CellMapping, ProvisioningSlots
from bypass.ports.local_access import DIRECT_PORT, GATEWAY_PORT
from bypass.ports.proxies import (
    Dissemination,
    GatewayLogic,
    GatewaySelection,
    LocalTransport,
    Matching,
    Mode,
    Stability,
)
from bypass.ports.routing import Routing
from bypass.ports.storage import BROKER, SERVICES, Storage

if TYPE_CHECKING:
    from bypass.mechanisms.registry import Registry


def _admit_transport(_: Registry, kind: type[Any]) -> None:
    radio = getattr(kind, "radio", None)
    if not isinstance(radio, str) or not radio:
        raise UnusableMechanism(f"radio {shown(radio)}: expected the name of the radio that it turns on")


def _admit_disseminator(registry: Registry, kind: type[Any]) -> None:
    """Messages name disseminators by a `flag` that each declares."""
    _check_flag(registry, DISSEMINATION, kind)


def _admit_storage(registry: Registry, kind: type[Any]) -> None:
    """Datagrams name storage mechanisms by a `flag` that each declares, and each says what it needs."""
    _check_flag(registry, STORAGE, kind)
    _check_services("needs", kind, SERVICES)


def _admit_routing(_: Registry, kind: type[Any]) -> None:
    _check_services("offers", kind, SERVICES - {BROKER})


def _check_flag(registry: Registry, family: Family, kind: type[Any]) -> None:
    flag = getattr(kind, "flag", None)
    taken = {each.flag for each in registry.kinds(family).values()}
    if flag in taken or not isinstance(flag, int) or not 0 < flag < 128:
        raise UnusableMechanism(f"flag {shown(flag)}: expected a number from 1 to 127 of its own")


def _check_services(field: str, kind: type[Any], known: frozenset[str]) -> None:
    """Whether a class says which services it needs or offers."""
    services = getattr(kind, field, None)
    if not isinstance(services, frozenset) or not services <= known:
        raise UnusableMechanism(
            f"{field} {shown(services)}: expected a frozenset out of {', '.join(sorted(known))}"
        )


def _admit_scheme(registry: Registry, kind: type[Any]) -> None:
    """Messages name filter schemes by a number that the registry gives."""
    if kind.flag:
        raise UnusableMechanism(f"flag {kind.flag}: expected none, the broker gives it one")
    if kind.Context is not None:
        try:
            kind.Context.forms()
        except TypeError as error:
            raise UnusableMechanism(str(error)) from None
    registry.flags.give(kind.name)


TRANSPORT = Family(
    "transport",
    "bypass.mechanisms.transports:RadioTransport",
    (FamilyProxy("transport", "client", LocalTransport, link="radios"),),
    ("bypass.mechanisms.transports:Wifi", "bypass.mechanisms.transports:Bluetooth"),
    _admit_transport,
)
DISSEMINATION = Family(
    "dissemination",
    "bypass.mechanisms.dissemination.disseminator:Disseminator",
    (
        FamilyProxy("direct", "client", Dissemination, link="port", port=DIRECT_PORT),
        FamilyProxy("gateway", "client", Dissemination, link="port", port=GATEWAY_PORT),
    ),
    (
        "bypass.mechanisms.dissemination.unicast:Unicast",
        "bypass.mechanisms.dissemination.broadcast:Broadcast",
        "bypass.mechanisms.dissemination.flooding:Flooding",
        "bypass.mechanisms.dissemination.gossip:Gossip",
        "bypass.mechanisms.dissemination.hyperg:HyperGossip",
        "bypass.mechanisms.dissemination.planb:PlanB",
    ),
    _admit_disseminator,
)
GATEWAY_LOGIC = Family(
    "gateway logic",
    "bypass.mechanisms.gateways.logic:RelayLogic",
    (FamilyProxy("gateway-logic", "client", GatewayLogic, link="gateway"),),
    ("bypass.mechanisms.gateways.logic:Relay",),
)
MODE = Family(
    "mode",
    "bypass.mechanisms.modes:HybridMode",
    (FamilyProxy("mode", "client", Mode, first="cloud"),),
    (
        "bypass.mechanisms.modes:Cloud",
        "bypass.mechanisms.modes:AdHoc",
        "bypass.mechanisms.modes:Offload",
        "bypass.mechanisms.modes:Augment",
        "bypass.mechanisms.modes:Gateway",
    ),
)
FILTER_PROXY = "filter"
"""Clients and brokers have it both, and a client's part follows the broker's."""

COMMON_SCHEME = "radial"
"""The filter scheme that every client has and begins with unless it is told another one."""

FILTER = Family(
    "filter",
    "bypass.mechanisms.filters.base.scheme:FilterScheme",
    (
        FamilyProxy(FILTER_PROXY, "client", FilterClient, part="Client", first=""),
        FamilyProxy(FILTER_PROXY, "broker", FilterBroker, part="Broker", first="", group=True),
    ),
    (
        "bypass.mechanisms.filters.radial:Radial",
        "bypass.mechanisms.filters.ste:Ste",
        "bypass.mechanisms.filters.grid:Grid",
        "bypass.mechanisms.filters.egrid:Egrid",
        "bypass.mechanisms.filters.attract:Attract",
        "bypass.mechanisms.filters.multi:Multi",
    ),
    _admit_scheme,
)
GATEWAY_SELECTION = Family(
    "gateway selection",
    "bypass.mechanisms.gateways.selection:GatewayChoice",
    (FamilyProxy("gateway-selection", "broker", GatewaySelection),),
    (
        "bypass.mechanisms.gateways.leach:DkcLeach",
        "bypass.mechanisms.gateways.leach:SkcLeach",
        "bypass.mechanisms.gateways.wca:CsWca",
    ),
)

MATCHING_PROXY = "matching"

MATCHING = Family(
    "matching",
    "bypass.mechanisms.matching.base:AttributeMatching",
    (FamilyProxy(MATCHING_PROXY, "broker", Matching, first="counting"),),
    (
        "bypass.mechanisms.matching.counting:Counting",
        "bypass.mechanisms.matching.tree:Tree",
        "bypass.mechanisms.matching.linear:Linear",
    ),
)

ROUTING_PROXY = "routing"
STORAGE_PROXY = "storage"
"""Clients have them once they need them; what runs behind them must fit together."""
STABILITY_PROXY = "stability"
"""Clients have it with those two."""

ROUTING = Family(
    "routing",
    "bypass.mechanisms.routing.base:RoutingMechanism",
    (FamilyProxy(ROUTING_PROXY, "client", Routing, link="datagrams"),),
    (
        "bypass.mechanisms.routing.one_hop:OneHop",
        "bypass.mechanisms.routing.dsdv:Dsdv",
        "bypass.mechanisms.routing.cells:CellRouting",
        "bypass.mechanisms.routing.access_point:AccessPoint",
    ),
    _admit_routing,
)
STORAGE = Family(
    "storage",
    "bypass.mechanisms.storage.base:StorageMechanism",
    (FamilyProxy(STORAGE_PROXY, "client", Storage, link="storage"),),
    (
        "bypass.mechanisms.storage.local:Local",
        "bypass.mechanisms.storage.cells.mechanism:Cells",
        "bypass.mechanisms.storage.infra.mechanism:Infra",
        "bypass.mechanisms.storage.server:ExternalStorage",
        "bypass.mechanisms.storage.broker_storage:BrokerStorage",
        "bypass.mechanisms.storage.transient:Transient",
        "bypass.mechanisms.storage.ttl:Ttl",
        "bypass.mechanisms.storage.last_k:LastK",
        "bypass.mechanisms.storage.pull:Pull",
    ),
    _admit_storage,
)

PRECOMPUTE = Family(
    "precompute",
    "bypass.mechanisms.precompute.base:Precompute",
    (FamilyProxy("precompute", "pipeline", Precompute, first="keep-everything", group=True),),
    (
        "bypass.mechanisms.precompute.keep:KeepEverything",
        "bypass.mechanisms.precompute.batch:MinuteBatch",
        "bypass.mechanisms.precompute.filters:EveryNth",
        "bypass.mechanisms.precompute.filters:DeadBand",
        "bypass.mechanisms.precompute.filters:MeanPerWindow",
        "bypass.mechanisms.precompute.filters:ByMetric",
        "bypass.mechanisms.precompute.filters:ByType",
    ),
)
ROW_MODEL = Family(
    "row model",
    "bypass.mechanisms.row_models:RowModel",
    (FamilyProxy("row-model", "pipeline", RowModel, first="standard"),),
    ("bypass.mechanisms.row_models:Standard", "bypass.mechanisms.row_models:Batched"),
)
DISTRIBUTION = Family(
    "distribution",
    "bypass.mechanisms.distribution:CategoryDistribution",
    (FamilyProxy("distribution", "connector", CategoryDistribution, first="synchronised"),),
    ("bypass.mechanisms.distribution:Synchronised", "bypass.mechanisms.distribution:Shared"),
)
DURABILITY = Family(
    "durability",
    "bypass.mechanisms.durability:Durability",
    (FamilyProxy("durability", "connector", Durability, first="log-only"),),
    (
        "bypass.mechanisms.durability:NoDurability",
        "bypass.mechanisms.durability:LogOnly",
        "bypass.mechanisms.durability:FullSync",
    ),
)
CACHE = Family(
    "cache",
    "bypass.mechanisms.caches.base:CacheMechanism",
    (FamilyProxy("cache", "edge", Cache, first="w-tiny-lfu"),),
    (
        "bypass.mechanisms.caches.w_tiny_lfu:WTinyLfu",
        "bypass.mechanisms.caches.lru:Lru",
        "bypass.mechanisms.caches.lfu:Lfu",
        "bypass.mechanisms.caches.fifo:Fifo",
        "bypass.mechanisms.caches.s3_fifo:S3Fifo",
        "bypass.mechanisms.caches.random_2_lru:Random2Lru",
        "bypass.mechanisms.caches.edge_buffer:EdgeBuffer",
    ),
)
PARTITION = Family(
    "partition",
    "bypass.mechanisms.caches.partition:CachePartition",
    (FamilyProxy("partition", "edge", Partitioning, first="amc"),),
    (
        "bypass.mechanisms.caches.amc:Amc",
        "bypass.mechanisms.caches.amc:BoundedAmc",
        "bypass.mechanisms.caches.partition:Flat",
    ),
)
_POLICIES = "bypass.mechanisms.storage.infra.edge.policies"

INSERTION = Family(
    "insertion",
    f"{_POLICIES}.insertion:InsertionMechanism",
    (FamilyProxy("insertion", "edge", Insertion, first="batches"),),
    (f"{_POLICIES}.insertion:AtArrival", f"{_POLICIES}.insertion:BatchInsertion"),
)
RANKING = Family(
    "ranking",
    f"{_POLICIES}.ranking:RankingMechanism",
    (FamilyProxy("ranking", "edge", Ranking, first="popular"),),
    (
        f"{_POLICIES}.ranking:Popular",
        f"{_POLICIES}.ranking:Everything",
        f"{_POLICIES}.clustered:Clustered",
        f"{_POLICIES}.decayed:Decayed",
    ),
)
PROVISIONING = Family(
    "provisioning",
    f"{_POLICIES}.peer_provisioning:ProvisioningMechanism",
    (FamilyProxy("provisioning", "edge", PeerProvisioning, first="needs"),),
    (
        f"{_POLICIES}.peer_provisioning:ByNeeds",
        f"{_POLICIES}.migrating:Migrating",
        f"{_POLICIES}.overflow:Overflow",
    ),
)
SLOTS = Family(
    "slots",
    f"{_POLICIES}.slots:SlotMechanism",
    (FamilyProxy("slots", "edge", ProvisioningSlots, first="equal-slots"),),
    (f"{_POLICIES}.slots:EqualSlots",),
)
CELL_MAP = Family(
    "cell map",
    f"{_POLICIES}.cell_maps:CellMapMechanism",
    (FamilyProxy("cell-map", "edge", CellMapping, first="fixed-cells"),),
    (f"{_POLICIES}.cell_maps:FixedCells", f"{_POLICIES}.cell_maps:CellsByClients"),
)
CAPACITIES = Family(
    "capacities",
    f"{_POLICIES}.capacities:CapacityMechanism",
    (FamilyProxy("capacities", "edge", Capacities, first="fixed-capacities"),),
    (f"{_POLICIES}.capacities:FixedCapacities",),
)
STABILITY = Family(
    "stability",
    "bypass.mechanisms.storage.infra.stability:StabilityMechanism",
    (FamilyProxy(STABILITY_PROXY, "client", Stability, first="weighted"),),
    (
        "bypass.mechanisms.storage.infra.stability:Weighted",
        "bypass.mechanisms.storage.infra.stability:Hdum",
    ),
)

FAMILIES = (
    TRANSPORT,
    DISSEMINATION,
    GATEWAY_LOGIC,
    MODE,
    FILTER,
    GATEWAY_SELECTION,
    MATCHING,
    ROUTING,
    STORAGE,
    PRECOMPUTE,
    ROW_MODEL,
    DISTRIBUTION,
    DURABILITY,
    CACHE,
    PARTITION,
    INSERTION,
    RANKING,
    PROVISIONING,
    SLOTS,
    CELL_MAP,
    CAPACITIES,
    STABILITY,
)


def proxies(side: Side, families: Iterable[Family] = FAMILIES) -> dict[str, FamilyProxy]:
    """Collect the proxies of families that are on one side of the system, by name."""
    return {proxy.name: proxy for family in families for proxy in family.proxies if proxy.side == side}


CLIENT_PROXIES = proxies("client")
BROKER_PROXIES = proxies("broker")

PORT_OF = {proxy.name: proxy.port for proxy in CLIENT_PROXIES.values() if proxy.port is not None}
"""Proxies whose mechanisms talk to devices nearby and keep in step by themselves, and their ports."""
