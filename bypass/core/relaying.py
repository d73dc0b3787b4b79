"""Events that reach clients by gateways: clients that pass them on to others nearby."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Protocol

import numpy as np

from bypass.core.downlink import Gateways, Handles
from bypass.mechanisms.filters import FilterBroker
from bypass.mechanisms.gateways import GatewayChoice
from bypass.ports.monitor import Monitor
from bypass.ports.proxies import GatewaySelection
from bypass.protocol.messages import Publish
from bypass.support.arrays import Ints


class GatewayAnalyzer(Protocol):
    """Is told whom the broker makes a gateway."""

    def assigned(self, publication: Publish, gateways: Mapping[int, frozenset[int]]) -> None:
        """An event goes to these gateways, each of which passes it on to some clients."""


class GatewayRelay:
    """Assigns clients to gateways by `selection`, of those that devices nearby reach at `addresses`."""

    def __init__(self, selection: GatewaySelection, addresses: Mapping[int, int], monitor: Monitor) -> None:
        self._selection = selection
        self._addresses = addresses
        self._analyzer = monitor.get(GatewayAnalyzer)

    def assign(
        self,
        choice: GatewayChoice,
        schemes: Iterable[FilterBroker],
        publication: Publish,
        clients: Ints,
        handles: Handles,
    ) -> tuple[Gateways | None, Ints, Handles]:
        """Have gateways serve whom they can; gives these, and those who are left with their handles.

        `choice` is the mechanism behind the selection, `schemes` are the filter schemes that run.
        """
        recipients = dict(zip(clients.tolist(), handles, strict=True))
        addresses = self._addresses
        eligible = recipients.keys() & addresses.keys()
        if choice.serves == "channels":
            channels = [scheme.clients for scheme in schemes if scheme.channels_by_place]
            eligible = set[int]().union(*(eligible & members for members in channels))
        assigned = self._selection.assign(eligible)
        if not assigned:
            return None, clients, handles
        self._analyzer.assigned(publication, assigned)
        gateways = {gateway: others for gateway, others in assigned.items() if others}
        targets = [
            tuple([addresses[client] for client in sorted(others)]) if choice.contacts else ()
            for others in gateways.values()
        ]
        relaying = Gateways(list(gateways), [recipients[gateway] for gateway in gateways], targets)
        served = gateways.keys() | set().union(*gateways.values())
        left = [client for client in recipients if client not in served]
        return relaying, np.array(left, np.int64), [recipients[client] for client in left]
