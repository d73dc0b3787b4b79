"""The exchange between areas: edges tell each other of subscriptions, and send items ahead for them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable

from bypass.mechanisms.storage.infra.edge.caches import EdgeCaches
from bypass.mechanisms.storage.infra.edge.needs import NeedsTable
from bypass.mechanisms.storage.infra.edge.provisioning import Provisioning, provisions
from bypass.mechanisms.storage.infra.edge.service.area_contact import AreaContact
from bypass.mechanisms.storage.infra.edge.service.losses import EdgeLoss, LossCounts
from bypass.mechanisms.storage.infra.edge.service.settings import EdgeSettings
from bypass.mechanisms.storage.infra.edge.service.worlds import EdgeWorlds
from bypass.ports.edge import EdgeLink, ProvisioningSlots
from bypass.ports.host import Lease, Timer
from bypass.protocol.edge import EdgeNotification, Item, ItemConsumed, ItemKey, SubscriptionNeeds
from bypass.support.units import MICROSECONDS
from bypass.transitions.recent import Recent

NO_NEEDS = SubscriptionNeeds(0, 0, ())
MOST_EDGES = 256


class _Notified(Recent[ItemKey, None]):
    """Items of which cells were told."""

    LIMIT = 65_536


class AreaExchange:
    """Tells other edges of the subscriptions here every `needs_period_s`; sends them items, by theirs, in the
    slots of this edge; and tells cells of the items that come from others.

    Members of the slots are this edge and those that are connected. Each item is told to its cells once, as
    long as it is remembered among others.
    """

    def __init__(
        self,
        host: Lease,
        link: EdgeLink,
        area: AreaContact,
        worlds: EdgeWorlds,
        caches: EdgeCaches,
        needs: NeedsTable,
        provisioning: Provisioning,
        slots: ProvisioningSlots,
        settings: EdgeSettings,
        losses: LossCounts,
        provided: Callable[[ItemKey, int], None],
    ) -> None:
        self.sent_items = self.sent_notices = 0
        self._host = host
        self._link = link
        self._area = area
        self._worlds = worlds
        self._caches = caches
        self._needs = needs
        self._provisioning = provisioning
        self._slots = slots
        self._settings = settings
        self._losses = losses
        self._provided = provided
        self._notified = _Notified()
        self._slot_timer: Timer | None = None
        self._told_needs = False

    def start(self) -> None:
        """Begin to tell of needs, and to send in slots."""
        self._host.after(self._settings.needs_period_s, self._tell_needs)
        self.arm_slot()

    # -- other edges --------------------------------------------------------------------------------------

    def connected(self, edge: int) -> bool:
        """Count an edge among the members. Whether there is room for it."""
        if edge not in self._provisioning.peers and len(self._provisioning.peers) >= MOST_EDGES:
            self._losses[EdgeLoss.MANY_EDGES] += 1
            return False
        self._provisioning.add_peer(edge)
        self._provisioning.set_distance(edge, self._settings.distances.get(edge, 0.0))
        self.arm_slot()
        message = self._message()
        if message is not None:
            self._link.to_edge(edge, message)
        return True

    def disconnected(self, edge: int) -> None:
        """Count an edge among the members no more; what it needs is told when it comes back."""
        self._provisioning.remove_peer(edge)
        self.arm_slot()

    def take_needs(self, edge: int, needs: SubscriptionNeeds) -> None:
        """Keep the needs of another edge."""
        self._provisioning.take_needs(edge, needs)

    def consumed(self, edge: int, item: ItemKey) -> None:
        """Leave out an item that was used there."""
        self._provisioning.consumed(edge, item)

    def promoted(self, item: ItemKey, edge: int) -> None:
        """Tell the edge that has sent an item ahead that it was used here."""
        if not self._settings.consumption_notices:
            return
        if self._link.to_edge(edge, ItemConsumed(item)):
            self.sent_notices += 1
        else:
            self._losses[EdgeLoss.NO_EDGE] += 1

    def take_provision(self, edge: int, items: Iterable[Item]) -> None:
        """Keep what another edge has sent ahead, and tell the cells of what is new."""
        admitted = self._caches.take_provision([each for each in items if self._is_sound(each)])
        for each in admitted:
            self._provided(each.key, edge)
        self.notify([each for each in admitted if each.key not in self._notified])

    def send(self, edge: int, items: Iterable[Item]) -> None:
        """Send items ahead."""
        for message in provisions(items):
            if self._link.to_edge(edge, message):
                self.sent_items += len(message.items)
            else:
                self._losses[EdgeLoss.NO_EDGE] += 1

    def _is_sound(self, item: Item) -> bool:
        """Whether an item is of a world that is known, and its data are those that its metadata describe."""
        if item.key.world not in self._worlds:
            self._losses[EdgeLoss.NO_WORLD] += 1
        elif item.data is not None and not item.metadata.describes(item.data):
            self._losses[EdgeLoss.DAMAGED] += 1
        else:
            return True
        return False

    # -- own cells ----------------------------------------------------------------------------------------

    def notify(self, items: Iterable[Item]) -> None:
        """Tell the cells where items are indexed of their metadata."""
        by_cell: defaultdict[tuple[str, int], list[Item]] = defaultdict(list)
        for each in items:
            self._notified.pop(each.key, None)
            self._notified[each.key] = None
            for cell in self._worlds.cells_of_object(each.metadata):
                by_cell[each.key.world, cell].append(each._replace(data=None))
        for (world, cell), told in sorted(by_cell.items(), key=lambda each: each[0]):
            for message in provisions(told):
                self._area.cells.to_cell(world, cell, EdgeNotification(message.items))

    # -- needs and slots ----------------------------------------------------------------------------------

    def arm_slot(self) -> None:
        """Wait for the next slot of this edge: members or lengths may be others now."""
        if self._slot_timer is not None:
            self._slot_timer.cancel()
        now = self._host.now()
        start = self._slots.next_start(now, self._host.id, self._provisioning.peers)
        self._slot_timer = self._host.after(start - now, self._provide)

    def _message(self) -> SubscriptionNeeds | None:
        capacity = self._caches.prefetch.data.capacity
        now_us = round(self._host.now() * MICROSECONDS)
        message = self._needs.message(capacity, now_us, self._settings.envelope)
        if message is not None:
            self._told_needs = True
        return message

    def _tell_needs(self) -> None:
        self._host.after(self._settings.needs_period_s, self._tell_needs)
        message = self._message()
        if message is None and self._told_needs:
            message, self._told_needs = NO_NEEDS, False  # others must not go by those that are over
        if message is not None:
            for edge in self._link.edges():
                self._link.to_edge(edge, message)

    def _provide(self) -> None:
        self.arm_slot()
        if not self._slots.is_open(self._host.now(), self._host.id, self._provisioning.peers):
            return  # the clock was changed, or the timer is late
        for edge in self._provisioning.peers:
            self.send(edge, self._provisioning.provide(edge))
