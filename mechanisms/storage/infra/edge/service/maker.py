"""Makes the services of edges."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bypass.mechanisms.registry import Registry
from bypass.mechanisms.storage.infra.edge.service.infra_service import InfraService
from bypass.mechanisms.storage.infra.edge.service.settings import EdgeSettings
from bypass.mechanisms.storage.infra.edge.service.worlds import MemoryWorldStore, WorldStore
from bypass.objects.node_store import NodeStore
from bypass.ports.edge import EdgeLink
from bypass.ports.host import Host


class InfraServiceMaker:
    """Makes services with the same settings, but for edges that have `own` ones, by number. The worlds that
    an edge knows outlive its service, as `world_store` keeps them: in memory, unless it is said otherwise."""

    def __init__(
        self,
        settings: EdgeSettings = EdgeSettings(),  # noqa: B008 - it never changes
        own: Mapping[int, EdgeSettings] = {},
        registry: Registry | None = None,
        world_store: Callable[[int], WorldStore] | None = None,
    ) -> None:
        self._settings = settings
        self._own = own
        self._registry = registry
        self._world_store = world_store or (lambda _: MemoryWorldStore())
        self._stores: dict[int, WorldStore] = {}

    def __call__(self, host: Host, link: EdgeLink, store: NodeStore) -> InfraService:
        """Make the service of an edge, whose number is that of the host. Raises UnknownMechanism."""
        if host.id not in self._stores:
            self._stores[host.id] = self._world_store(host.id)
        settings = self._own.get(host.id, self._settings)
        return InfraService(host, link, store, settings, self._registry, self._stores[host.id])
