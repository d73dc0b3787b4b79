"""The interfaces of the exchangeable parts, except for filter schemes.

Together with the filter scheme these are the mechanism proxies of a client (`transport`, `direct`,
`gateway-logic`, `gateway`, `mode`, `filter`) and of a broker (`filter`, `matching`, `gateway-selection`).
Where no mechanism runs, the proxy's stub does nothing. A client that stores objects also has `stability`,
beside `routing` and `storage`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from bypass.ports.datagrams import Failed
from bypass.ports.local_access import LocalReceiver, Unless
from bypass.protocol.messages import Frame, Publish

if TYPE_CHECKING:
    from bypass.events.event import Event
    from bypass.mechanisms.filters.indexes.groups import SubscriptionGroups
    from bypass.protocol.datagrams import Datagram
    from bypass.support.arrays import Ints
else:
    Ints = Any  # what mechanisms give is of this class, which clients do without


class EventListener(Protocol):
    """Wants to hear of events that came from nearby."""

    def event_arrived(self, publication: Publish) -> None:
        """An event was received."""


class LocalTransport(Protocol):
    """Carries frames and datagrams to devices nearby (`transport`)."""

    def send(self, frame: Frame, target: int | None, delay: float, unless: Unless) -> None:
        """Send to the device with an address, or to all in reach, in `delay` seconds."""

    def send_datagram(self, datagram: Datagram, neighbour: int | None, failed: Failed) -> bool:
        """Send to the device with a number, or to all in reach; false if there is no radio that takes it.

        `failed` is called once if a unicast that was taken is given up.
        """


class Dissemination(LocalReceiver, Protocol):
    """Spreads events nearby (`direct` for a client's own events, `gateway` for relayed ones)."""

    def disseminate_locally(self, publication: Publish, targets: Collection[int] | None = None) -> None:
        """Send an event to clients nearby; `targets` are addresses, where a mechanism needs them."""


class GatewayLogic(Protocol):
    """Relays what the broker sends to a client that serves as gateway (`gateway-logic`)."""

    def relay(self, publication: Publish, targets: Collection[int]) -> None:
        """Pass an event on to clients nearby, whose addresses are given where they are needed."""


class Mode(Protocol):
    """Decides which ways an event takes (`mode`)."""

    def nearby(self, publication: Publish) -> bool:
        """Whether an event is disseminated to clients nearby."""

    def to_broker(self, publication: Publish) -> bool:
        """Whether an event is sent to the broker."""

    def connected(self) -> bool:
        """Whether the broker serves this client at all."""


class GatewaySelection(Protocol):
    """Chooses which clients relay events to which others (`gateway-selection`)."""

    def get_gateways(self, out_of: Collection[int], k: int) -> Mapping[int, frozenset[int]]:
        """About `k` gateways out of these clients, each with the clients it serves.

        Gateways are among `out_of`, and the sets together are all others of them, each in one set. Nobody
        out of nobody; everybody serves nobody but itself if `k` is at least their number.
        """

    def assign(self, out_of: Collection[int]) -> Mapping[int, frozenset[int]]:
        """Choose gateways, as many as the mechanism thinks right. An empty result means: serve the clients
        directly."""


class Matching(Protocol):
    """Finds the distinct subscriptions that accept the attributes of an event (`matching`)."""

    def accepting(self, event: Event) -> Ints:
        """Find the numbers of all distinct subscriptions that accept an event, each once, in any order."""

    def accepted(self, event: Event, rows: Ints, group_of: Ints) -> Ints:
        """Give those of some rows whose subscription accepts an event, in their order.

        `group_of` is the column with the numbers of the subscriptions.
        """

    def watch(self, groups: SubscriptionGroups) -> None:
        """Match these subscriptions from now on, instead of those before."""


class StabilityReading(NamedTuple):
    """The state of a client: the share of charge of its battery, whether that is being charged, the
    share of time in which it stood still lately, the time since it came into its cell (s), its speed (m/s),
    and the other clients of the cell that were heard lately."""

    battery: float
    charging: bool
    stillness: float
    in_cell_s: float
    speed: float = 0.0
    neighbours: int = 0


class Stability(Protocol):
    """Says how likely a client is to stay in its cell and to go on working (`stability`)."""

    def index(self, reading: StabilityReading) -> int:
        """The stability of this client, 0 to 100; of the clients of a cell the most stable one reports."""
