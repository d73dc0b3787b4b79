"""The node of an edge in every runtime: its access point, its service, and its wire to other edges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from bypass.core.edge.relay import AccessPointRelay, RelaySettings
from bypass.ports.datagrams import DatagramOutlet, Failed
from bypass.ports.edge import Backhaul, BackhaulReceiver, EdgeService, ServiceMaker
from bypass.ports.host import Host, Lease
from bypass.ports.local_access import LocalAccess, Radios

if TYPE_CHECKING:
    from bypass.objects.node_store import NodeStore
    from bypass.protocol.datagrams import Datagram
    from bypass.protocol.storage import StorageMessage

RADIO = "wifi"
"""The radio of an access point, unless it is said otherwise."""


class _NoBackhaul:
    """The `Backhaul` of an edge without others."""

    def open(self, receiver: BackhaulReceiver) -> None:
        """Do nothing: there is nobody to connect to."""

    def close(self) -> None:
        """Do nothing."""

    def send(self, edge: int, body: StorageMessage) -> bool:  # noqa: ARG002
        return False

    def edges(self) -> Sequence[int]:
        return ()


ALONE: Backhaul = _NoBackhaul()
"""For an edge without others."""


class AreaLink:
    """The `EdgeLink` of a service: its ways are those of the relay and of the backhaul."""

    def __init__(self, relay: AccessPointRelay, backhaul: Backhaul) -> None:
        self.send = relay.send
        self.tell = relay.tell
        self.members = relay.members
        self.maps_changed = relay.maps_changed
        self.to_edge = backhaul.send
        self.edges = backhaul.edges


class _EdgeRadio:
    """The `DatagramSender` of an edge: it has one radio."""

    def __init__(self, radios: Radios, radio: str) -> None:
        self._radios, self._radio = radios, radio

    def send_datagram(self, datagram: Datagram, neighbour: int | None, failed: Failed) -> bool:
        return self._radios.transmit_datagram(self._radio, datagram, neighbour, failed)


class EdgeNode:
    """An edge, from its start until it is stopped; it is not started again. Its number is that of the host.

    `make_service` makes its service, for which `store` keeps what outlives the process. Whoever runs the node
    turns its `radio` on.
    """

    def __init__(
        self,
        host: Host,
        local: LocalAccess,
        backhaul: Backhaul,
        make_service: ServiceMaker,
        store: NodeStore,
        settings: RelaySettings | None = None,
        radio: str = RADIO,
    ) -> None:
        sender = _EdgeRadio(local.radios, radio)
        self._lease = Lease(host, f"edge {host.id}", None)
        self._backhaul = backhaul
        self._local = local
        self.outlet = DatagramOutlet(sender, lambda action: host.after(0.0, action))
        self.relay = AccessPointRelay(self._lease, self.outlet, settings)
        self.link = AreaLink(self.relay, backhaul)
        self.service: EdgeService = make_service(self._lease, self.link, store)

    def start(self) -> None:
        """Take up work: clients and other edges are heard from now on."""
        self._local.hear_datagrams(self.relay)
        self.relay.start(self.service)
        self.service.start()
        self._backhaul.open(self.service)

    def stop(self) -> None:
        """Give up work without a word, as if the process had ended."""
        self._backhaul.close()
        self.relay.stop()
        self.service.stop()
        self._lease.close()
