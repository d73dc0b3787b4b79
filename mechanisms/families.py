"""The families of mechanisms: what each is made of, where it runs, and which mechanisms of it are built in.

Everything else asks here. Base classes and mechanisms are named by import path, so that a client does not
import what runs at brokers alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from bypass.mechanisms.filters.base.broker import FilterBroker
from bypass.mechanisms.filters.base.client import FilterClient
from bypass.ports.local_access import DIRECT_PORT, GATEWAY_PORT
from bypass.ports.proxies import Dissemination, GatewayLogic, GatewaySelection, LocalTransport, Mode
from bypass.transitions import Nothing

Side = Literal["client", "broker", "edge", "device"]
"""Who runs a mechanism: a client of a broker, the broker, a node of the infrastructure, or a device alone."""


@dataclass(frozen=True, slots=True)
class FamilyProxy:
    """A proxy behind which mechanisms of a family run, on one side of the system.

    `interface` is what callers see of it. `part` is the attribute of a family's class that runs there, if it
    is not the class itself. `first` is the mechanism to begin with; if it is empty, whoever makes the proxy
    says. A `group` runs several mechanisms side by side. `link` is what a mechanism has as `host.link`,
    `port` the number of its port where that is one.
    """

    name: str
    side: Side
    interface: type
    part: str = ""
    first: str = Nothing.name
    group: bool = False
    link: Literal["network", "radios", "port", "gateway"] = "network"
    port: int | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """Mechanisms that can take each other's place: subclasses of `base`, of which `builtin` come with us.

    Mechanisms of a `numbered` family have a `flag` of their own, by which messages name them.
    """

    name: str
    base: str
    proxies: tuple[FamilyProxy, ...]
    builtin: tuple[str, ...]
    numbered: bool = False

    def holds(self, kind: type) -> bool:
        """Whether a class is of this family; its base is not imported for that."""
        return any(f"{each.__module__}:{each.__qualname__}" == self.base for each in kind.__mro__)


TRANSPORT = Family(
    "transport",
    "bypass.mechanisms.transports:RadioTransport",
    (FamilyProxy("transport", "client", LocalTransport, link="radios"),),
    ("bypass.mechanisms.transports:Wifi", "bypass.mechanisms.transports:Bluetooth"),
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
    numbered=True,
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

FAMILIES = (TRANSPORT, DISSEMINATION, GATEWAY_LOGIC, MODE, FILTER, GATEWAY_SELECTION)


def proxies(side: Side) -> dict[str, FamilyProxy]:
    """The proxies on one side of the system, by name."""
    return {proxy.name: proxy for family in FAMILIES for proxy in family.proxies if proxy.side == side}


CLIENT_PROXIES = proxies("client")
BROKER_PROXIES = proxies("broker")

PORT_OF = {proxy.name: proxy.port for proxy in CLIENT_PROXIES.values() if proxy.port is not None}
"""Proxies whose mechanisms talk to devices nearby and keep in step by themselves, and their ports."""
