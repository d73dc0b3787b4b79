"""All schemes of an evaluation, judged on the same windows: by their kernels, or by running them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from bypass.events.event import Event
from bypass.mechanisms.filters.kernels.client_tree import ClientTree
from bypass.mechanisms.filters.kernels.ground_truth import find_concerned
from bypass.mechanisms.filters.kernels.judge import Bounds, Circles, Conditions, Judge, Kernels, MessageSizes
from bypass.mechanisms.filters.kernels.window import Events, Leg, Window
from bypass.places.region import Region
from bypass.protocol.messages import Assignment, AssignmentRequest, ContextUpdate, Kind, Publish
from bypass.protocol.wire import encoded_size, piggyback_size
from bypass.scenarios.evaluation.judging.area_truth import AreaTruth
from bypass.scenarios.evaluation.judging.replay import Replay
from bypass.scenarios.evaluation.schemes import Scheme
from bypass.scenarios.evaluation.subscribed_areas import SubscribedAreas
from bypass.sim.cellular import CellularModel
from bypass.support.arrays import Ints

CELL = 1.5  # radii: a crowd in such cells is looked through the fastest


def conditions_in(region: Region, radius: float) -> Conditions:
    """The conditions of an evaluation in which everybody subscribes within `radius` (m) in a region."""
    columns = ([getattr(place, name) for place in region.places] for name in ("x", "y", "radius"))
    circles = Circles(*(np.array(column, np.float64) for column in columns))
    header = CellularModel().header
    return Conditions(float(radius), region.area, circles, header, _message_sizes(header))


def _message_sizes(header: int) -> MessageSizes:
    place, event = (0.1, 0.1), Event(kind="event", payload=b"")
    request = AssignmentRequest(place)

    def assignment(publish: str, channels: tuple[str, ...], cell: Bounds | None, cover: Bounds | None) -> int:
        return header + encoded_size(Assignment(1, publish, channels, cell, cover))

    return MessageSizes(
        request=header + encoded_size(request),
        riding=piggyback_size(Publish(1, event, Kind.LOCAL, 1, place, piggyback=request)),
        report=header + encoded_size(ContextUpdate(place)),
        with_vector=header + encoded_size(ContextUpdate(place, (0.1, 0.1))),
        assignment=assignment,
    )


@dataclass(frozen=True, eq=False)
class Counted:
    """The events of a window, and how many clients each concerned. `notified` and `correct` have a column for
    each scheme, in the order in which they were asked for."""

    events: Events
    subscribers: Ints
    notified: Ints
    correct: Ints


class JudgedScheme(NamedTuple):
    """A judge, the places of its schemes in the list, and the first of them that is carried, if one is."""

    judge: Judge
    columns: list[int]
    carries: str | None


class Judges:
    """Judges for all schemes; those that name the same kernels share one.

    It begins where everybody is when `leg` begins; clients have their first fixes at `phase_us`, and others
    each `interval_us`. With `areas`, clients subscribe to these and every scheme is run: kernels know circles
    around clients alone. `work` counts what it took to find out whom events concern.
    """

    def __init__(
        self,
        schemes: Sequence[Scheme],
        region: Region,
        radius: float,
        leg: Leg,
        phase_us: Ints,
        interval_us: int,
        seed: int,
        areas: SubscribedAreas | None = None,
    ) -> None:
        conditions = conditions_in(region, radius)
        self._truth = None if areas is None else AreaTruth(areas, len(phase_us))
        shared: dict[Kernels, list[int]] = {}
        self._seats: list[JudgedScheme] = []
        for number, scheme in enumerate(schemes):
            if areas is None and (kernels := scheme.kernels) is not None:
                shared.setdefault(kernels, []).append(number)
            else:
                replay = Replay(scheme, region, conditions, leg, phase_us, interval_us, seed, areas)
                self._seats.append(JudgedScheme(replay, [number], None))
        for kernels, columns in shared.items():
            judge = kernels(conditions, [schemes[column].setting for column in columns], leg)
            unbound = (str(schemes[column]) for column in columns if schemes[column].is_carried)
            self._seats.append(JudgedScheme(judge, columns, next(unbound, None)))
        self._radius, self._schemes = conditions.radius, len(schemes)
        self.work = np.zeros(3, np.int64)

    def pass_window(self, window: Window) -> None:
        """Let a window pass whose events do not count."""
        for seat in self._seats:
            seat.judge.pass_window(window)

    def carried(self) -> dict[str, Ints]:
        """The carried state of all schemes that need it, by the first scheme of each judge."""
        return {seat.carries: seat.judge.carried() for seat in self._seats if seat.carries is not None}

    def begin(self, carried: Mapping[str, Ints]) -> None:
        """Count from now on; `carried` is what a jury that came from the start has carried to here."""
        for seat in self._seats:
            seat.judge.begin(None if seat.carries is None else carried.get(seat.carries))

    def count(self, window: Window) -> Counted:
        """Let a window pass and count its events."""
        crowd = ClientTree.of(window.leg, CELL * self._radius)
        if self._truth is None:
            concerned = find_concerned(window, crowd, self._radius, self.work)
        else:
            concerned = self._truth.find(window, crowd)
        notified, correct = np.empty((2, len(concerned.subscribers), self._schemes), np.int64)
        for judge, columns, _ in self._seats:
            notified[:, columns], correct[:, columns] = judge.count(window, crowd, concerned)
        return Counted(window.events, concerned.subscribers, notified, correct)

    def traffic(self) -> Ints:
        """Context messages and bytes since the begin, a row for each scheme."""
        traffic = np.empty((self._schemes, 4), np.int64)
        for judge, columns, _ in self._seats:
            traffic[columns] = judge.traffic()
        return traffic
