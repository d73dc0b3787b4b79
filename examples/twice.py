"""A gateway logic of your own: what a gateway passes on, it says twice."""

from collections.abc import Collection

from bypass import Publish
from bypass.mechanisms.gateways import RelayLogic


class Twice(RelayLogic):
    def relay(self, publication: Publish, targets: Collection[int]) -> None:
        for _ in range(2):
            self.host.link.disseminate_locally(publication, targets or None)
