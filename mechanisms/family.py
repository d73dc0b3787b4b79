"""A family of mechanisms as data: what it is made of, where it runs, which mechanisms it has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from bypass.transitions import Nothing

if TYPE_CHECKING:
    from bypass.mechanisms.registry import Registry

Side = str
"""The kind of host that runs a mechanism: "client" of a broker, "broker", "edge" for a node of the
infrastructure, "device" alone, "connector" for what takes messages of devices, "pipeline" for a worker that
prepares data; a family may name another."""

Admission = Callable[["Registry", type[Any]], None]
"""Decides whether a class may join its family in a registry: raises UnusableMechanism if it must not."""


@dataclass(frozen=True, slots=True)
class FamilyProxy:
    """A proxy behind which mechanisms of a family run, on one side of the system.

    Callers see its `interface`. `part` is the attribute of a family's class that runs there, if it
    is not the class itself. `first` is the mechanism to begin with; if it is empty, whoever makes the proxy
    says. A `group` runs several mechanisms side by side. A mechanism's `host.link` is what `link` names, and
    `port` is the number of its port where that is one.
    """

    name: str
    side: Side
    interface: type
    part: str = ""
    first: str = Nothing.name
    group: bool = False
    link: Literal["network", "radios", "port", "gateway", "datagrams", "storage"] = "network"
    port: int | None = None


@dataclass(frozen=True, slots=True)
class Family:
    """Mechanisms that can take each other's place: subclasses of `base`, of which `builtin` come with it.

    Both are import paths, `module:Class`. `admit` is asked about each class that is brought to the family;
    built-in ones are not asked about.
    """

    name: str
    base: str
    proxies: tuple[FamilyProxy, ...]
    builtin: tuple[str, ...]
    admit: Admission = lambda _registry, _kind: None

    def holds(self, kind: type) -> bool:
        """Whether a class is of this family; its base is not imported for that."""
        return any(f"{each.__module__}:{each.__qualname__}" == self.base for each in kind.__mro__)
