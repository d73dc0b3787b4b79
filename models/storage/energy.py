"""The energy that a device spends on a store: measured constants of a tablet, and what they add up to.

The published figures of one minute in a closed loop include standby; per operation they are differences to a
minute in which the application ran and did nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, field

STANDBY_W = 61 / 60
"""61 J in a minute."""
RUNNING_W = 6 / 60
"""What the application adds by beacons: 67 J in a minute."""
INSERT_J = 2.0
PROCESS_J = 1.5
"""For the request of somebody else."""
OTHER_J = INSERT_J * (90 - 67) / (103 - 67)
"""A deletion, subscription or withdrawal: a minute of them takes 90 J, one of insertions 103 J. Ours, if a
loop turns equally fast in both."""
JOULES_PER_PERCENT = 960.0
"""Of the battery of that tablet, 6700 mAh."""


@dataclass(frozen=True, slots=True)
class EnergyBudget:
    """The energy of a stretch of `minutes`, by purpose (J): issuing operations, processing those of others,
    and maintaining the cell. `issue` includes standby, as measured."""

    minutes: float
    issue: float
    process: float
    maintain: float
    joules_per_percent: float = field(default=JOULES_PER_PERCENT)

    @property
    def total(self) -> float:
        """All energy (J)."""
        return self.issue + self.process + self.maintain

    @property
    def percent(self) -> float:
        """The share of the battery."""
        return self.total / self.joules_per_percent

    def minutes_of(self, percent: float) -> float:
        """How long so much of the battery lasts (min)."""
        return percent / self.percent * self.minutes


WORST_CASE = EnergyBudget(minutes=10, issue=950, process=830, maintain=800)
"""Ten minutes in which everything is done without a pause, as published."""


def budget(
    seconds: float, inserts: float, others: float, processed: float, maintenance: float
) -> EnergyBudget:
    """The energy of a node that issues so many insertions and `others`, and processes so many requests and
    messages of `maintenance`, which cost as much as a request."""
    issue = (STANDBY_W + RUNNING_W) * seconds + INSERT_J * inserts + OTHER_J * others
    return EnergyBudget(seconds / 60, issue, PROCESS_J * processed, PROCESS_J * maintenance)
