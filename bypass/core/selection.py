"""The clients that an event is for: filter schemes find the subscriptions, attribute filters accept it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from bypass.core.areas.broker_areas import BrokerAreas
from bypass.core.downlink import Delivery, Handles, Recipients
from bypass.core.relaying import GatewayRelay
from bypass.events.event import Event
from bypass.events.matching import matches
from bypass.mechanisms.filters import FilterBroker
from bypass.mechanisms.filters.base.grace import Grace
from bypass.mechanisms.filters.indexes.table import NO_ROWS, SubscriptionTable
from bypass.mechanisms.gateways import GatewayChoice
from bypass.protocol.messages import Kind, Message, Publish
from bypass.support.arrays import Ints
from bypass.support.kernel import kernel

PLAIN = Kind.PLAIN  # looking a member up takes as long as a call


@kernel
def others(rows: Ints, client: Ints, publisher: int) -> Ints:
    """The rows that are not the publisher's own."""
    kept = np.empty(len(rows), np.int64)
    n = 0
    for row in rows:
        if client[row] != publisher:
            kept[n] = row
            n += 1
    return kept[:n]


def recipients(table: SubscriptionTable, publication: Publish, rows: Ints) -> tuple[Ints, Handles]:
    """Select the owners of those rows whose attribute filters accept an event, each once, with the handles of
    these rows. The publisher is never among them."""
    rows = _accepting(table, publication.event, rows)
    if table.subscribes(publication.client):
        rows = others(rows, table.client, publication.client)
    if not len(rows):
        return NO_ROWS, []
    clients = table.client[rows]
    handles = [*map(table.handles.__getitem__, rows.tolist())]
    if not table.shared:
        return clients, handles
    together: dict[int, tuple[int, ...]] = {}
    for client, handle in zip(clients.tolist(), handles, strict=True):
        together[client] = together.get(client, ()) + handle
    return np.array([*together]), [*together.values()]


def _accepting(table: SubscriptionTable, event: Event, rows: Ints) -> Ints:
    """Those rows whose subscription accepts the event's attributes; each distinct one is asked once."""
    if len(table.groups) == 1:
        return rows if matches(event, table.groups[0]) else NO_ROWS
    groups = table.group[rows]
    refused = [g for g in np.unique(groups).tolist() if not matches(event, table.groups[g])]
    if not refused:
        return rows
    return rows[~np.isin(groups, refused)]


class EventSelection:
    """Selects the clients that events are for.

    `choice` is the mechanism that chooses gateways, None without gateways. `broker_areas` are areas that
    filter schemes know nothing of.
    """

    def __init__(self, relay: GatewayRelay, broker_areas: BrokerAreas) -> None:
        self.choice: GatewayChoice | None = None
        self._relay = relay
        self._broker_areas = broker_areas
        self._presence = broker_areas.presence
        self._schemes: Mapping[FilterBroker, int]
        self._table: SubscriptionTable
        self._grace: Grace

    def use(self, schemes: Mapping[FilterBroker, int]) -> None:
        """Select by these filter schemes, at least one, from now on; messages name them by these numbers.

        They share a table and a grace.
        """
        first = next(iter(schemes))
        self._schemes, self._table, self._grace = schemes, first.table, first.grace

    def may_follow(self, publication: Publish) -> bool:
        """Say whether an event may be matched before those that came before it are delivered: it moves
        nobody, and no gateways are chosen by what was sent to them."""
        return publication.piggyback is None and self.choice is None

    def select(self, publication: Publish) -> Delivery | None:
        """Find the clients that an event is for; None if there are none."""
        if publication.kind is PLAIN:
            return self._everywhere(publication)
        found = [scheme.match(self._known(flag, publication)) for scheme, flag in self._schemes.items()]
        if self._table.interests:
            found += map(next, self._areas_of([publication]))
        return self._among(publication, found)

    def select_many(self, publications: Sequence[Publish], done: list[Message]) -> Iterator[Delivery]:
        """Find the clients that events in a row are for, in their order, when they are asked for; what is
        dealt with is added to `done`."""
        placed = [each for each in publications if each.kind is not PLAIN]
        matching = [
            scheme.match_many([self._known(flag, each) for each in placed])
            for scheme, flag in self._schemes.items()
        ]
        if self._table.interests:
            matching += self._areas_of(placed)
        for publication in publications:
            if publication.kind is PLAIN:
                delivery = self._everywhere(publication)
            else:
                delivery = self._among(publication, [*map(next, matching)])
            if delivery is not None:
                yield delivery
            done.append(publication)

    def deliver(
        self,
        publication: Publish,
        rows: Ints,
        unknown: Iterable[Ints] = (),
        late: bool = False,
        direct: Ints = NO_ROWS,
    ) -> Delivery | None:
        """Find the owners of those rows whose attribute filters accept an event; None if there are none.

        `unknown` are rows whose owners test the place themselves, `direct` those that no gateway serves. A
        `late` event may have expired meanwhile: it is for nobody then.
        """
        if late and publication.expired(self._presence.now()):
            return None
        table = self._table
        gateways, groups = None, []
        clients, handles = self._recipients(table, publication, rows)
        if self.choice is not None and len(clients):
            gateways, clients, handles = self._relay.assign(
                self.choice, self._schemes, publication, clients, handles
            )
        if len(clients):
            groups.append(Recipients(clients, handles, False))
        if len(direct):
            clients, handles = self._recipients(table, publication, direct)
            if len(clients):
                groups.append(Recipients(clients, handles, False))
        for each in unknown:
            if len(each):
                clients, handles = self._recipients(table, publication, each)
                if len(clients):
                    groups.append(Recipients(clients, handles, True))
        return Delivery(publication, gateways, groups, late) if gateways or groups else None

    def _recipients(self, table: SubscriptionTable, publication: Publish, rows: Ints) -> tuple[Ints, Handles]:
        """As `recipients`, less those who cannot be in the area that an event is for."""
        clients, handles = recipients(table, publication, rows)
        area = publication.area
        if area is None or not len(clients):
            return clients, handles
        there = self._presence.among(area, clients.tolist(), table.place)
        return clients[there], [handles[i] for i in there]

    def _known(self, flag: int, publication: Publish) -> Publish:
        """An event as the scheme with this number understands it. A channel is a word of its publisher's
        scheme: where several run, the place alone says something to the others."""
        if publication.scheme == flag or len(self._schemes) == 1:
            return publication
        return replace(publication, channel=None)

    def _areas_of(self, publications: Sequence[Publish]) -> list[Iterator[Ints]]:
        """The rows with areas that schemes find for one event after the other."""
        return [
            scheme.match_areas([self._known(flag, each) for each in publications])
            for scheme, flag in self._schemes.items()
            if scheme.areas is not None
        ]

    def _everywhere(self, publication: Publish) -> Delivery | None:
        return self.deliver(publication, self._table.rows())

    def _among(self, publication: Publish, found: list[Ints]) -> Delivery | None:
        """Add to the rows that schemes have `found` those that an event concerns anyway."""
        if self._grace.overlapping:
            found += self._grace.match(publication)
        direct = NO_ROWS
        if self._table.interests and len(known := self._broker_areas.match(publication)):
            if self.choice is None:
                found.append(known)
            else:  # devices nearby could not test these, as gateways have them do
                direct = known
        plain = self._table.plain()
        if len(plain):
            found.append(plain)
        rows = found[0] if len(found) == 1 else np.unique(np.concatenate(found))
        unknown = [scheme.unfiltered() for scheme in self._schemes]
        return self.deliver(publication, rows, unknown, direct=direct)
