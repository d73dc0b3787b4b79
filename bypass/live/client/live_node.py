"""A node without a broker: its number, the mechanisms that it begins with, its radio, and its own store."""

from __future__ import annotations

import asyncio
import math
import secrets
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bypass.core.client import NODE_PROXIES, Client
from bypass.errors import shown
from bypass.live.adhoc.neighbourhood import Neighbourhood
from bypass.live.adhoc.neighbours import Neighbours
from bypass.live.client.arguments import check_truth
from bypass.live.client.errors import InvalidArgument
from bypass.mechanisms import Registry
from bypass.mechanisms.families import COMMON_SCHEME, ROUTING_PROXY, STORAGE_PROXY
from bypass.ports.storage import BROKER, CELL, EDGE
from bypass.protocol.session import CAPABILITIES, Welcome
from bypass.transitions import Action, UnknownMechanism

if TYPE_CHECKING:
    from bypass.core.objects.fallback import FallbackSettings
    from bypass.core.objects.kept_objects import KeptObjects

STORAGE = "local"
"""The storage of a node that names none."""

SERVER = "server"
"""The storage in which one node keeps everything, and its parameter: the number of that node, which has to be
given. No node has its default, 0."""

ROUTINGS = ((EDGE, "access-point"), (CELL, "cells"))
"""The routing of a node that names none, by what its storage needs; `ROUTING` if it needs neither."""

ROUTING = "one-hop"

MOST_EARLIER = 1 << 31
"""Numbers of events, operations and queries of a process begin at random below this, so that others do not
take them for those of an earlier process of the same node."""


class LiveNode:
    """The parts of a node that its client is made of. A node of a group is known by its `name`: from that and
    the group's key follows its number, which is the same in its next life.

    `set` are parameters of storage and routing mechanisms, for those that it begins with and for later
    ones that have them. `store` is the file in which it keeps its objects, None: memory. A `visiting` node
    works for no cell. Raises InvalidArgument.
    """

    def __init__(
        self,
        neighbours: Neighbours,
        name: str,
        registry: Registry,
        *,
        storage: str = "",
        routing: str = "",
        set: Mapping[str, Any] | None = None,  # noqa: A002 - the word that plans use
        store: str | Path | None = None,
        visiting: bool = False,
    ) -> None:
        for what, given in (("storage", storage), ("routing", routing)):
            if not isinstance(given, str):
                raise InvalidArgument(f"{what} {shown(given)}: expected the name of a mechanism")
        if set is not None and not isinstance(set, Mapping):
            raise InvalidArgument(f"set {shown(set)}: expected names and values")
        check_truth("visiting", visiting)
        self.name = name
        self.visiting = visiting
        self.number = neighbours.number_of(name)
        self._neighbours = neighbours
        self._registry = registry
        self._store = _path(store)
        self._storage = storage or STORAGE
        needs = self._services(STORAGE_PROXY, self._storage, "needs")
        if BROKER in needs:
            raise InvalidArgument(f"storage {shown(self._storage)}: expected one that needs no broker")
        usual = next((routing for service, routing in ROUTINGS if service in needs), ROUTING)
        self._routing = routing or usual
        missing = sorted(needs - self._services(ROUTING_PROXY, self._routing, "offers"))
        if missing:
            raise InvalidArgument(
                f"routing {shown(self._routing)}: expected one that offers {', '.join(missing)}, for storage"
                f" {shown(self._storage)}"
            )
        self._values = self._checked({} if set is None else set)
        if self._storage == SERVER and SERVER not in self._values:  # nobody would ever answer
            raise InvalidArgument(
                f"storage {shown(SERVER)}: expected set={{{SERVER!r}: NUMBER}}, the number of the node that"
                " serves, which neighbours.number_of(NAME) gives"
            )
        self._local: Neighbourhood | None = None
        self._kept: KeptObjects | None = None

    # -- its life -----------------------------------------------------------------------------------------

    async def open(self) -> None:
        """Listen to neighbours, and open the store. Raises InvalidInterface, and DatabaseUnavailable if the
        store cannot be used, or another process has it for ten seconds."""
        self._kept = self._open_store()
        self._local = self._neighbours.of(asyncio.get_running_loop(), self.number, self._registry.codec)
        try:
            await self._local.open()
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Listen to nobody, and let go of the store."""
        if self._local is not None:
            self._local.close()
        if self._kept is not None:
            self._kept.store.close()
        self._local = self._kept = None

    # -- for the client -----------------------------------------------------------------------------------

    @property
    def local(self) -> Neighbourhood:
        """The neighbours, once the node is open."""
        assert self._local is not None
        return self._local

    @property
    def kept(self) -> KeptObjects:
        """The objects of earlier lives, once the node is open."""
        assert self._kept is not None
        return self._kept

    @property
    def begin(self) -> tuple[Action, ...]:
        """The mechanisms to begin with; events go to those in reach alone, and are passed on by them."""
        named = {ROUTING_PROXY: self._routing, STORAGE_PROXY: self._storage}
        return (
            Action(proxy="transport", to="wifi"),
            Action(proxy="direct", to="flooding"),
            Action(proxy="mode", to="ad-hoc"),
            *(Action(proxy=proxy, to=to, set=self._of(proxy, to)) for proxy, to in named.items()),
        )

    @property
    def fallback(self) -> FallbackSettings | None:
        """The way on without an edge, with `cells` once the node has looked for one for a second; None if it
        knows no edges: then it waits."""
        from bypass.core.objects.fallback import FallbackSettings

        return FallbackSettings() if self._neighbours.edges else None

    def prepare(self, client: Client) -> None:
        """Have mechanisms that come later begin with the same values."""
        for proxy in NODE_PROXIES:
            client.engine.set_defaults(proxy, self._values)

    def welcome(self) -> Welcome:
        """The answer that a broker would give to this client."""
        everywhere = (-math.inf, -math.inf, math.inf, math.inf)
        answer = Welcome(secrets.randbelow(MOST_EARLIER), math.inf, everywhere, capabilities=CAPABILITIES)
        answer.client, answer.scheme = self.number, self._registry.flags.of(COMMON_SCHEME)
        return answer

    # -- parts --------------------------------------------------------------------------------------------

    def _open_store(self) -> KeptObjects:
        from bypass.core.objects.kept_objects import KeptObjects
        from bypass.objects.node_store import NodeStore
        from bypass.objects.persistence import MemoryPersistence, Persistence
        from bypass.objects.sqlite_persistence import SqlitePersistence
        from bypass.protocol.wire.object_fields import metadata_from_bytes, metadata_to_bytes

        kept: Persistence = MemoryPersistence()
        if self._store is not None:
            types = self._registry.codec.values
            kept = SqlitePersistence(
                self._store,
                partial(metadata_to_bytes, values=types),
                partial(metadata_from_bytes, values=types),
            )
        earlier = (secrets.randbelow(MOST_EARLIER), secrets.randbelow(MOST_EARLIER))
        return KeptObjects(NodeStore(self.number, kept), [], *earlier)

    def _services(self, proxy: str, name: str, which: str) -> frozenset[str]:
        try:
            kind = self._registry.find("client", proxy, name)
        except UnknownMechanism as error:
            raise InvalidArgument(f"{proxy} {shown(name)}: {error}") from None
        services: frozenset[str] = getattr(kind, which, frozenset())
        return services

    def _of(self, proxy: str, name: str) -> dict[str, Any]:
        own = self._registry.find("client", proxy, name).parameters()
        return {key: value for key, value in self._values.items() if key in own}

    def _checked(self, values: Mapping[str, Any]) -> dict[str, Any]:
        catalogue = self._registry.catalogue("client")
        kinds = [kind for proxy in NODE_PROXIES for kind in catalogue[proxy].values()]
        known = {name for kind in kinds for name in kind.parameters()}
        for name in values:
            if name not in known:
                raise InvalidArgument(f"set {shown(name)}: expected one of {', '.join(sorted(known))}")
        return dict(values)


def _path(store: Any) -> Path | None:
    if store is not None and not isinstance(store, str | Path):
        raise InvalidArgument(f"store {shown(store)}: expected a path or None")
    return None if store is None else Path(store)
