"""The configuration of a live edge: all keys, their types, defaults and limits."""

from __future__ import annotations

from ipaddress import AddressValueError, IPv4Address
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from bypass.core.edge.relay import RelaySettings
from bypass.errors import shown
from bypass.live.adhoc.neighbourhood import PORT
from bypass.live.adhoc.neighbours import DISCOVERY
from bypass.live.config_files import check_mechanisms
from bypass.mechanisms.storage.infra.edge.service.settings import EdgeSettings
from bypass.protocol.datagrams import MOST_MEMBERS
from bypass.support.validation import Misfit

MOST_OTHERS = 255
MOST_INTERFACES = 64

Port = Annotated[int, Field(ge=1, le=65_535)]
HostName = Annotated[str, Field(min_length=1, max_length=253)]


class OtherEdge(BaseModel):
    """Another edge: where it listens to edges, and the file with its public keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    host: HostName
    port: Port
    key: Path | None = None


class EdgeConfig(EdgeSettings):
    """The settings of an edge's service and of its access point, and where it listens: to clients at
    `client_port`, in networks that `interfaces` name, to other edges at `edge_port`, and to probes of clients
    at the multicast group. With `simulated`, all nodes are on one machine.

    `keys` is the edge's own key file, `group` that of the group to which its clients belong, and `store` the
    folder with its tombstones and worlds.
    """

    keys: Path = Path("keys/edge.key")
    group: Path = Path("keys/group.key")
    store: Path = Path("edge-store")
    log: Literal["debug", "info", "warning", "error"] = "info"
    mechanisms: tuple[str, ...] = ()
    """References to mechanisms of one's own."""

    host: HostName = "127.0.0.1"
    interfaces: Annotated[tuple[str, ...], Field(max_length=MOST_INTERFACES)] = ()
    """Its addresses in the networks of its clients, with prefixes. None: `host`, in a network of 254."""
    client_port: Port = PORT
    edge_port: Port = 9501
    discovery_group: str = DISCOVERY.partition(":")[0]
    discovery_port: Port = int(DISCOVERY.partition(":")[2])
    edges: Annotated[tuple[OtherEdge, ...], Field(max_length=MOST_OTHERS)] = ()
    heartbeat_s: Annotated[float, Field(ge=0.05, le=60)] = 1.0
    """Between edges; one that is silent for four counts as disconnected."""
    simulated: bool = False

    beacon_s: Annotated[float, Field(ge=0.01, le=3600)] = 1.0
    forget_s: Annotated[float, Field(gt=0, le=86_400)] = 70.0
    """A client that is silent for so long is gone."""
    most_members: Annotated[int, Field(ge=1, le=MOST_MEMBERS)] = MOST_MEMBERS
    most_answers: Annotated[int, Field(ge=1, le=1_000_000)] = 200
    """Answers to probes in a second."""

    @property
    def relay(self) -> RelaySettings:
        """The settings of the access point."""
        return RelaySettings(
            beacon_s=self.beacon_s,
            forget_s=self.forget_s,
            most_members=self.most_members,
            most_answers=self.most_answers,
        )

    @property
    def networks(self) -> tuple[str, ...]:
        """The addresses of the edge in the networks of its clients."""
        prefix = 8 if self.host.startswith("127.") else 24
        return self.interfaces or (f"{self.host}/{prefix}",)

    @field_validator("mechanisms", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("mechanisms")
    @classmethod
    def _usable(cls, references: tuple[str, ...]) -> tuple[str, ...]:
        return check_mechanisms(references)

    @field_validator("discovery_group")
    @classmethod
    def _is_multicast(cls, group: str) -> str:
        try:
            if IPv4Address(group).is_multicast:
                return group
        except AddressValueError:
            pass
        raise ValueError("expected a multicast address, 224.0.0.0 to 239.255.255.255")

    @model_validator(mode="after")
    def _apart(self) -> Self:
        for i, each in enumerate(self.edges):
            if each in self.edges[:i] or (each.host, each.port) == (self.host, self.edge_port):
                raise Misfit(
                    ("edges", i),
                    f"is {shown(f'{each.host}:{each.port}')}: expected another edge, and each once",
                )
        return self
