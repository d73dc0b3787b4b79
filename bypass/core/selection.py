"""The clients that an event is for: the owners of the rows whose attribute filters accept it."""

from __future__ import annotations

import numpy as np

from bypass.core.downlink import Handles
from bypass.events.event import Event
from bypass.events.matching import matches
from bypass.mechanisms.filters.indexes.table import NO_ROWS, SubscriptionTable
from bypass.protocol.messages import Publish
from bypass.support.arrays import Ints
from bypass.support.kernel import kernel


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
