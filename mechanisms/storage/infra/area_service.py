"""The work of a client for its cell in the area of an edge."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from bypass.mechanisms.storage.cells.service import CellService
from bypass.objects.metadata import Metadata, ObjectKey
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.edge import Describe, Item, item_key
from bypass.protocol.storage import AddReplica, FoundObjects

if TYPE_CHECKING:
    from bypass.mechanisms.storage.infra.mechanism import Infra


class AreaService(CellService):
    """Leaves matches to the edge that the edge is believed to have, and describes those that it turns out not
    to have. What comes from other areas is matched with queries, and not kept."""

    def __init__(self, node: Infra) -> None:
        super().__init__(node)
        self._area = node

    def divided(self, items: Sequence[Metadata]) -> tuple[tuple[Metadata, ...], tuple[ObjectKey, ...]]:
        """The matches of a page that are told, and the keys of those that the edge is believed to tell."""
        holdings = self._area.holdings
        told = tuple(each for each in items if item_key(each) not in holdings)
        return told, tuple(each.key for each in items if item_key(each) in holdings)

    def describe(self, body: Describe, origin: NodeAddress) -> None:
        """Tell a subscriber of objects that were named to it; of none, unless all of them are here or were
        deleted: then it asks the cell again."""
        found: list[Metadata] = []
        for key in body.keys:
            known = self._known(key)
            if known is not None:
                found.append(known)
            elif self.tombstone_of(key) is None:
                return
        answer = FoundObjects(body.op, body.query, tuple(found), conjunction=body.conjunction)
        self._area.host.link.send(answer, (origin,))

    def match(self, items: Iterable[Item], cell: int) -> None:
        """Notify of items of other areas those whose queries this cell keeps."""
        state = self.state(cell)
        for metadata, _ in items:
            if not self._area.store.tombstones.hides(metadata):
                for record in state.concerned(metadata):
                    self.notify(record, (metadata,))

    def note_replica(self, body: AddReplica) -> None:
        """Register a new copy, and count the download that it comes from."""
        super().note_replica(body)
        known = self._known(body.key)
        if known is not None:
            self._area.reports.downloaded(known, body.replica)

    def _known(self, key: ObjectKey) -> Metadata | None:
        found = (state.catalogue.get(key) for state in self.states.values())
        return next((each for each in found if each is not None), None)
