"""The clients that an event is for: filter schemes find the subscriptions, attribute filters accept it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from bypass.core.areas.broker_areas import BrokerAreas
from bypass.core.downlink import Delivery, Handles, Recipients
from bypass.core.relaying import GatewayRelay
from bypass.mechanisms.filters import FilterBroker
from bypass.mechanisms.filters.base.grace import Grace
from bypass.mechanisms.filters.indexes.index import common
from bypass.mechanisms.filters.indexes.table import NO_ROWS, SubscriptionTable
from bypass.mechanisms.gateways import GatewayChoice
from bypass.ports.proxies import Matching
from bypass.protocol.messages import Kind, Message, Publish
from bypass.support.arrays import Ints
from bypass.support.kernel import kernel

MANY = 64
"""Rows that are found by place: fewer are not worth a choice."""
SHORTEST, LONGEST = 32, 4096
"""Events between two that are matched the other way round."""
RECENT = 0.1  # the weight of the last event in averages
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


def recipients(
    table: SubscriptionTable, matching: Matching, publication: Publish, rows: Ints
) -> tuple[Ints, Handles]:
    """Select the owners of those rows whose attribute filters accept an event, each once, with the handles of
    these rows. The publisher is never among them."""
    return owners(table, publication, matching.accepted(publication.event, rows, table.group))


def owners(table: SubscriptionTable, publication: Publish, rows: Ints) -> tuple[Ints, Handles]:
    """Find the owners of rows, but for the publisher, each once, with the handles of their rows."""
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


class Selectivity:
    """Decides whether events are matched by place first or by attributes first: by what finds fewer rows.

    Both are averages over the events that came lately. Now and then one is matched the other way round, to
    know what that would find; the longer it would find more, the more rarely. The result is the same.
    """

    __slots__ = ("_by_attributes", "_by_place", "_fewer", "_interval", "_left")

    def __init__(self) -> None:
        self._by_place = self._by_attributes = 0.0
        self._fewer = False  # by attributes
        self._interval = self._left = SHORTEST

    def attributes_first(self) -> bool:
        """Decide for the next event, or the next turn of events."""
        if self._by_place < MANY:
            return False
        fewer = self._by_attributes + MANY < self._by_place
        self._left -= 1
        if fewer is not self._fewer:
            self._fewer, self._interval, self._left = fewer, SHORTEST, SHORTEST
        elif self._left <= 0:
            self._interval = self._left = min(2 * self._interval, LONGEST)
            return not fewer
        return fewer

    def placed(self, rows: int) -> None:
        """Note how many rows were found by the place of an event."""
        self._by_place += RECENT * (rows - self._by_place)

    def accepted(self, rows: int) -> None:
        """Note how many rows were found by the attributes of an event."""
        self._by_attributes += RECENT * (rows - self._by_attributes)


class EventSelection:
    """Selects the clients that events are for.

    `choice` is the mechanism that chooses gateways, None without gateways. `broker_areas` are areas that
    filter schemes know nothing of; `matching` finds the subscriptions whose filters accept an event.
    """

    def __init__(self, relay: GatewayRelay, broker_areas: BrokerAreas, matching: Matching) -> None:
        self.choice: GatewayChoice | None = None
        self._matching = matching
        self._selectivity = Selectivity()
        self._relay = relay
        self._broker_areas = broker_areas
        self._presence = broker_areas.presence
        self._schemes: Mapping[FilterBroker, int]
        self._table = SubscriptionTable()
        self._grace: Grace

    def use(self, schemes: Mapping[FilterBroker, int]) -> None:
        """Select by these filter schemes, at least one, from now on; messages name them by these numbers.

        They share a table and a grace.
        """
        first = next(iter(schemes))
        if self._table is not first.table:
            self._matching.watch(first.table.groups)
        self._schemes, self._table, self._grace = schemes, first.table, first.grace

    def may_follow(self, publication: Publish) -> bool:
        """Say whether an event may be matched before those that came before it are delivered: it moves
        nobody, and no gateways are chosen by what was sent to them."""
        return publication.piggyback is None and self.choice is None

    def select(self, publication: Publish) -> Delivery | None:
        """Find the clients that an event is for; None if there are none."""
        if publication.kind is PLAIN:
            return self._everywhere(publication)
        if self._selectivity.attributes_first():
            return self._by_attributes(publication)
        found = [scheme.match(self._known(flag, publication)) for scheme, flag in self._schemes.items()]
        if self._table.interests:
            found += map(next, self._areas_of([publication]))
        return self._among(publication, found)

    def select_many(self, publications: Sequence[Publish], done: list[Message]) -> Iterator[Delivery]:
        """Find the clients that events in a row are for, in their order, when they are asked for; what is
        dealt with is added to `done`."""
        if self._selectivity.attributes_first():
            for publication in publications:
                everywhere = publication.kind is PLAIN
                delivery = self._everywhere(publication) if everywhere else self._by_attributes(publication)
                if delivery is not None:
                    yield delivery
                done.append(publication)
            return
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
        first = recipients(self._table, self._matching, publication, rows)
        return self._delivery(publication, first, unknown, late, direct)

    def _delivery(
        self,
        publication: Publish,
        first: tuple[Ints, Handles],
        unknown: Iterable[Ints] = (),
        late: bool = False,
        direct: Ints = NO_ROWS,
    ) -> Delivery | None:
        """Have gateways serve whom they can of the clients that come `first`, and deliver to the others; the
        rest is as in `deliver`."""
        gateways, groups = None, []
        clients, handles = first if publication.area is None else self._present(publication, *first)
        if self.choice is not None and len(clients):
            gateways, clients, handles = self._relay.assign(
                self.choice, self._schemes, publication, clients, handles
            )
        if len(clients):
            groups.append(Recipients(clients, handles, False))
        for rows in (direct, *unknown):
            if len(rows):
                clients, handles = self._present(
                    publication, *recipients(self._table, self._matching, publication, rows)
                )
                if len(clients):
                    groups.append(Recipients(clients, handles, rows is not direct))
        return Delivery(publication, gateways, groups, late) if gateways or groups else None

    def _present(self, publication: Publish, clients: Ints, handles: Handles) -> tuple[Ints, Handles]:
        """Leave out clients who cannot be in the area that an event is for."""
        area = publication.area
        if area is None or not len(clients):
            return clients, handles
        there = self._presence.among(area, clients.tolist(), self._table.place)
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
        rows = self._table.rows_of_groups(self._matching.accepting(publication.event))
        return self._delivery(publication, owners(self._table, publication, rows))

    def _by_attributes(self, publication: Publish) -> Delivery | None:
        """Find those whom an event concerns among the rows whose attribute filters accept it."""
        table = self._table
        rows = table.rows_of_groups(self._matching.accepting(publication.event))
        self._selectivity.accepted(len(rows))
        found = [
            scheme.match_among(self._known(flag, publication), rows) for scheme, flag in self._schemes.items()
        ]
        if table.interests:
            found += map(next, self._areas_of([publication]))
        concerned, direct = self._with_others(publication, found, table.plain_among(rows))
        first = owners(table, publication, common(concerned, rows))
        return self._delivery(publication, first, self._unknown(), direct=direct)

    def _among(self, publication: Publish, found: list[Ints]) -> Delivery | None:
        """Add to the rows that schemes have `found` those that an event concerns anyway."""
        rows, direct = self._with_others(publication, found, self._table.plain())
        self._selectivity.placed(len(rows))
        return self.deliver(publication, rows, self._unknown(), direct=direct)

    def _with_others(self, publication: Publish, found: list[Ints], plain: Ints) -> tuple[Ints, Ints]:
        """Join the rows that schemes have `found`, those that linger or lie in areas, and those without a
        place, ascending; and those that no gateway serves."""
        if self._grace.overlapping:
            found += self._grace.match(publication)
        direct = NO_ROWS
        if self._table.interests and len(known := self._broker_areas.match(publication)):
            if self.choice is None:
                found.append(known)
            else:  # devices nearby could not test these, as gateways have them do
                direct = known
        if len(plain):
            found.append(plain)
        return (found[0] if len(found) == 1 else np.unique(np.concatenate(found))), direct

    def _unknown(self) -> list[Ints]:
        """The rows of each scheme whose owners test the place themselves."""
        return [scheme.unfiltered() for scheme in self._schemes]
