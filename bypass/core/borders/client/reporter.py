"""The reporter: a watched client does what a broker asks of it, finds its passages or says where it is."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

from bypass.core.borders.client.own_fixes import Found, OwnFixes, point_of
from bypass.core.borders.report import BorderReport
from bypass.events.event import Event
from bypass.places.sensor import Fix, LocationRequest
from bypass.ports.host import Host
from bypass.protocol.borders import BorderTask

MOST_RECENT = 256
"""Fixes that are kept for the moment at which the client has to go on where the broker has stopped."""


class BorderReporter:
    """Follows a broker's border tasks. `report` sends an event to the broker, which keeps it until the broker
    has it; `locate` has the filter scheme know the place every so many seconds, None: not for this."""

    def __init__(
        self, host: Host, report: Callable[[Event], None], locate: Callable[[float | None], None]
    ) -> None:
        self._host = host
        self._report = report
        self._locate = locate
        self._turn = 0
        self._computes = False
        self._own = OwnFixes(host, self._found)
        self._numbers: set[int] = set()
        self._recent: deque[Fix] = deque(maxlen=MOST_RECENT)
        self._interval = 0.0
        self._reports = 0

    def task(self, task: BorderTask) -> None:
        """Do as the broker says. One that was done already is said to a client that is connected again: the
        broker may not have got its latest place."""
        if task.turn <= self._turn:
            if self._interval:
                self._locate(self._interval)
            return
        self._turn = task.turn
        continues = self._computes
        self._computes = task.computes
        if not continues and task.watches:
            self._own.last = task.start
        self._listen(0.0 if task.computes else task.interval)
        for watch in task.watches:
            states = None if continues else watch.states
            self._own.put(watch.number, watch.options, dict(watch.areas), states, None)
        for number in self._numbers.difference([watch.number for watch in task.watches]):
            self._own.drop(number)
        self._numbers = {watch.number for watch in task.watches}
        if task.computes and not continues:
            start = task.start
            for fix in self._recent:  # the broker may not have got them
                if start is not None and fix.at > start.at:
                    self._own.moved(point_of(fix))
        if not task.computes:
            if task.watches:
                self._send([], is_final=True)
            self._own.forget()
            self._numbers = set()

    def close(self) -> None:
        """The client ends."""
        self._own.close()
        if self._interval:
            self._host.location.release(self._recent.append)

    def _listen(self, interval: float) -> None:
        if interval == self._interval:
            return
        if self._interval:
            self._host.location.release(self._recent.append)
        self._interval = interval
        if interval:
            self._host.location.request(LocationRequest(interval=interval), self._recent.append)
        self._locate(interval or None)

    def _found(self, found: Found) -> None:
        self._send(found)

    def _send(self, found: Found, is_final: bool = False) -> None:
        self._reports += 1
        states = dict(self._own.states())
        report = BorderReport(self._turn, found, states, self._own.last, is_final, self._reports)
        self._report(report.to_event())
