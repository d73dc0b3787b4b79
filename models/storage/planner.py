"""A planner for the design of a store: it compares the costs of all designs for the workload that is
measured, and proposes another one where that pays.

It does not flap: another design has to be cheaper by a margin, in several windows in a row, and to earn what
the switch costs; and after a switch it waits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from bypass.models.storage.costs import (
    USUAL_PERIODS,
    Demand,
    Design,
    Extent,
    UpkeepPeriods,
    cost,
    switch_cost,
    upkeep,
)
from bypass.models.storage.meter import StorageMeter
from bypass.protocol.storage import NodeCounts


@dataclass(frozen=True, slots=True)
class PlannerSettings:
    """The caution of a planner.

    Another design has to need fewer transmissions by more than the share `margin` in `patience` windows in a
    row, and to earn those of the switch within `horizon` windows. For `hold` windows after a switch nothing
    is proposed, and never on fewer than `least` operations. `designs` are those that may be proposed.
    `periods` say what routing and repair cost besides operations; `confirmed` is as in `cost`.
    """

    margin: float = 0.1
    patience: int = 2
    hold: int = 3
    horizon: float = 20.0
    least: int = 20
    designs: Collection[Design] = tuple(Design)
    periods: UpkeepPeriods = USUAL_PERIODS
    confirmed: bool = True

    def __post_init__(self) -> None:
        if not (0 <= self.margin < 1 and self.patience >= 1 and self.hold >= 0 and self.horizon > 0):
            raise ValueError(
                f"margin {self.margin}, patience {self.patience}, hold {self.hold}, horizon {self.horizon}: "
                "expected a share below 1, at least 1, at least 0, and more than 0"
            )


@dataclass(frozen=True, slots=True)
class StorageAssessment:
    """The transmissions of a window in each design, upkeep included, for a measured demand; `present` is the
    design that there is, `extents` are the ways in each."""

    present: Design
    demand: Demand
    extents: Mapping[Design, Extent]
    transmissions: Mapping[Design, float]

    @property
    def cheapest(self) -> Design:
        """The design with the fewest transmissions; the present one among equal ones."""
        least = min(self.transmissions.values())
        if self.transmissions.get(self.present) == least:
            return self.present
        return min(self.transmissions, key=lambda design: self.transmissions[design])

    @property
    def saving(self) -> float:
        """The share of the present design's transmissions that the cheapest one does not need."""
        now = self.transmissions[self.present]
        return (now - self.transmissions[self.cheapest]) / now if now > 0 else 0.0

    def __str__(self) -> str:
        shown = ", ".join(f"{design.value} {count:.0f}" for design, count in self.transmissions.items())
        if self.cheapest is self.present:
            return f"{self.present.value} is cheapest; transmissions in a window: {shown}"
        saved = f"{self.cheapest.value} saves {self.saving:.0%} of {self.present.value}"
        return f"{saved}; transmissions in a window: {shown}"


class StoragePlanner:
    """Looks at a meter whenever a window has ended, and says which design a store should have."""

    def __init__(self, meter: StorageMeter, settings: PlannerSettings | None = None) -> None:
        self.meter = meter
        self.settings = settings or PlannerSettings()
        self._favourite: Design | None = None
        self._streak = 0
        self._hold = 0

    def assess(self) -> StorageAssessment:
        """Compare the designs for the windows that have ended."""
        demand = self.meter.demand()
        designs = dict.fromkeys((self.meter.design, *self.settings.designs))
        extents = {each: self.meter.extent(each) for each in designs}
        counts = {
            each: self._operations(each, demand, extents[each]) + self._upkeep(each, demand)
            for each in designs
        }
        return StorageAssessment(self.meter.design, demand, extents, counts)

    def window_ended(self, answers: Mapping[int, NodeCounts]) -> StorageAssessment | None:
        """End the meter's window with the answers of nodes. The assessment, if the store should have the
        design that is cheapest in it; None if it should stay as it is."""
        self.meter.close_window(answers)
        assessment = self.assess()
        pays = assessment.saving > self.settings.margin and self._earned(assessment)
        if not pays or self.meter.operations < self.settings.least:
            self._favourite, self._streak = None, 0
        elif assessment.cheapest is self._favourite:
            self._streak += 1
        else:
            self._favourite, self._streak = assessment.cheapest, 1
        if self._hold > 0:
            self._hold -= 1
            return None
        return assessment if self._streak >= self.settings.patience else None

    def switched(self, design: Design) -> None:
        """Note that the store has another design now."""
        self.meter.switched(design)
        self._favourite, self._streak, self._hold = None, 0, self.settings.hold

    def _upkeep(self, design: Design, demand: Demand) -> float:
        window_s = self.meter.window_s
        deletes = demand.deletes / window_s
        return window_s * upkeep(design, self.meter.nodes, self.settings.periods, deletes)

    def _operations(self, design: Design, demand: Demand, extent: Extent) -> float:
        return cost(design, demand, extent, confirmed=self.settings.confirmed).transmissions()

    def _earned(self, assessment: StorageAssessment) -> bool:
        """Whether the switch pays within the horizon."""
        present = Demand(
            inserts=self.meter.objects,
            subscriptions=self.meter.queries,
            tags=assessment.demand.tags,
            keys=assessment.demand.keys,
        )
        copies = assessment.extents[Design.CELLS].population - 1 if self.meter.design is Design.CELLS else 0.0
        extent = assessment.extents[assessment.cheapest]
        price = switch_cost(assessment.cheapest, present, extent, copies=copies).transmissions()
        saved = assessment.transmissions[self.meter.design] - assessment.transmissions[assessment.cheapest]
        return saved * self.settings.horizon >= price
