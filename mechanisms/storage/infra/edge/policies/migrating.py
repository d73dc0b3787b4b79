"""Items for another edge by the clients that move there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from pydantic import Field

from bypass.mechanisms.storage.infra.edge.policies.peer_provisioning import ProvisioningMechanism, by_needs
from bypass.ports.caches import PeerRequest
from bypass.protocol.edge import Item
from bypass.transitions import MechanismState


class Migrating(ProvisioningMechanism):
    """Of the room of a peer as large a share is for what is popular here as the share of the clients here
    that move there, at most `most`: they go on to ask for it. The rest is for the subscriptions there, as in
    `needs`."""

    most: Annotated[float, MechanismState(), Field(ge=0, le=1)] = 0.5

    def choose(self, request: PeerRequest) -> Sequence[Item]:
        popular = request.popular() if request.migration else ()
        kept = min(int(request.capacity * min(self.most, request.migration)), len(popular))
        chosen = by_needs(request, request.capacity - kept)
        others = [item for item in popular if item.key not in chosen]
        return [*chosen.values(), *others[:kept]]
