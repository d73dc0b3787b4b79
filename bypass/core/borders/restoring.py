"""Watched clients as a broker before this one knew them."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any

from bypass.core.borders.kept_watches import KeptWatches
from bypass.core.borders.watch_scope import WatchScope
from bypass.core.borders.watched_client import Computes, WatchedClient
from bypass.places.borders import PathPoint

log = logging.getLogger(__name__)


def restore_clients(
    watched: dict[int, WatchedClient],
    dumped: Mapping[int, Mapping[str, Any]],
    watches: KeptWatches,
    scope: WatchScope,
) -> None:
    """Have those among the `watched` clients that were, with their states. What cannot be read is logged."""
    for number, each in dumped.items():
        client = watched.get(number) or WatchedClient(number, scope.name(number))
        try:
            own = [kept for kept in watches if kept.name in each["states"]]
            client.watches = (*client.watches, *(kept for kept in own if kept not in client.watches))
            client.load(each)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            log.warning("client %d: its borders cannot be read and begin anew: %s", number, error)
            continue
        scope.granted.update((kept, number) for kept in own)
        watched[number] = client


def restore_place(client: WatchedClient, x: float, y: float, at: float) -> None:
    """A client was at a place (m) when the broker before this one last heard of it (s)."""
    if client.last is None or at > client.heard:
        later = at if client.last is None else client.last.at + at - client.heard
        client.last, client.heard = PathPoint(x, y, later), at
    if client.computes is Computes.BROKER:
        client.begun.update(each.number for each in client.watches)
