"""Taking reports: the events that a watched client has found, and the states that it has for each watch."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from bypass.core.borders.announcer import Announcer
from bypass.core.borders.kept_watches import KeptWatches
from bypass.core.borders.report import BorderReport
from bypass.core.borders.watched_client import Computes, WatchedClient


def announce_report(
    report: BorderReport,
    client: WatchedClient,
    watches: KeptWatches,
    announcer: Announcer,
    undelivered: Counter[str],
) -> None:
    """Tell watchers what a client has found; what they must not know any more is counted."""
    for number, event in report.events:
        kept = watches.numbered(number)
        if kept is None:
            undelivered["withdrawn"] += 1
        elif kept not in client.watches:
            undelivered["forbidden"] += 1
        elif event.area not in kept.areas:
            undelivered["removed"] += 1
        else:
            named = replace(event, client=client.number, name=client.name)
            announcer.announce(kept.watcher, kept.handle, named, is_reported=True)


def follow_report(report: BorderReport, client: WatchedClient, watches: KeptWatches, now: float) -> None:
    """Note where a client is and what it is in, unless that is known better."""
    if (report.turn, report.number) < client.reported or client.computes is Computes.BROKER:
        return  # it was refused when it came first, and later ones were not
    client.reported = (report.turn, report.number)
    for number, states in report.states.items():
        kept = watches.numbered(number)
        if kept is not None and kept in client.watches:
            own = {key: state for key, state in states.items() if key in kept.areas}
            kept.tracker(client.number, client.name).load(own)
            client.begun.add(number)
    client.last, client.heard = report.last or client.last, now
