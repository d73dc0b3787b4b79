"""PLAN-B: receivers farther from the sender pass an event on sooner, and with a higher probability."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from heapq import heappop, heappush
from itertools import count
from typing import Annotated, ClassVar

from pydantic import Field

from bypass.mechanisms.dissemination.disseminator import Disseminator
from bypass.protocol.messages import MOST_TOGETHER, Publish
from bypass.transitions import MechanismState


class PlanB(Disseminator):
    """Frames say where their sender is; `reach` (m) is how far the radio reaches.

    Who hears an event at the distance d waits for `hesitation` × (1 - d / reach) seconds, and up to `jitter`
    more. Then it passes the event on with a probability that grows with d from `p_min` to 1, unless `copies`
    copies came from senders within half the reach. What else is due within `window` seconds, up to `together`
    events, goes into the same frame.
    """

    name: ClassVar[str] = "plan-b"
    flag: ClassVar[int] = 6
    places: ClassVar[bool] = True

    hesitation: Annotated[float, MechanismState("hesitation"), Field(ge=0, le=1)] = 0.01
    jitter: Annotated[float, MechanismState("jitter"), Field(ge=0, le=1)] = 0.001
    reach: Annotated[float, MechanismState("reach"), Field(gt=0)] = 88.0
    p_min: Annotated[float, MechanismState("p_min"), Field(ge=0, le=1)] = 0.5
    copies: Annotated[int, MechanismState("copies"), Field(ge=1, le=255)] = 2
    window: Annotated[float, MechanismState("window"), Field(ge=0, le=1)] = 0.005
    together: Annotated[int, MechanismState("together"), Field(ge=1, le=MOST_TOGETHER)] = 6

    def start(self) -> None:
        self._draw: Callable[[], float] = self.host.random("hesitation").random
        self._chance: Callable[[], float] = self.host.random("forward").random
        self._number = count()
        self._pending: list[tuple[float, int, float, Publish]] = []
        self._alarm = math.inf  # when `_send_due` is called next

    @property
    def near_m(self) -> float:  # type: ignore[override] # follows a parameter here
        """Half the reach."""
        return self.reach / 2.0

    def disseminate_locally(self, publication: Publish, targets: Collection[int] | None = None) -> None:  # noqa: ARG002
        self.host.link.broadcast(publication)

    def heard(self, publication: Publish, sender: int, distance: float) -> None:  # noqa: ARG002
        self.tell(publication)
        if not self.admits(publication):
            return
        share = min(distance / self.reach, 1.0)
        due = self.host.now() + self.hesitation * (1.0 - share) + self.jitter * self._draw()
        heappush(self._pending, (due, next(self._number), share, publication))
        self._wake_at(due)

    def _wake_at(self, due: float) -> None:
        if due < self._alarm:
            self._alarm = due
            self.host.after(due - self.host.now(), self._send_due, due)

    def _send_due(self, alarm: float) -> None:
        if alarm != self._alarm:
            return  # an earlier one has taken its place
        self._alarm = math.inf
        link, pending = self.host.link, self._pending
        chosen: list[Publish] = []
        while pending and pending[0][0] <= alarm + self.window and len(chosen) < self.together:
            _, _, share, publication = heappop(pending)
            likely = self._chance() < self.p_min + (1.0 - self.p_min) * share
            if likely and link.near_copies(publication) < self.copies:
                chosen.append(publication)
        if len(chosen) == 1:
            link.broadcast(chosen[0])
        elif chosen:
            link.broadcast_together(chosen)
        if pending:
            self._wake_at(max(pending[0][0], self.host.now()))
