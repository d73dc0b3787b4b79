"""The service of an edge: it puts the parts of an edge together, and talks with clients and other edges."""

from bypass.mechanisms.storage.infra.edge.service.infra_service import InfraService
from bypass.mechanisms.storage.infra.edge.service.maker import InfraServiceMaker
from bypass.mechanisms.storage.infra.edge.service.settings import EdgeSettings

__all__ = ["EdgeSettings", "InfraService", "InfraServiceMaker"]
