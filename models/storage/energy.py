"""The energy that a device spends on a store: measured constants of a tablet, and what they add up to.

The published figures of one minute in a closed loop include standby; per operation they are differences to a
minute in which the application ran and did nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

OPERATIONS = ("insert", "subscribe", "retrieve", "delete", "unsubscribe", "page")
"""The operations that energies and numbers are given for."""


@dataclass(frozen=True, slots=True)
class EnergyBudget:
    """The energy of a stretch of `minutes`, by purpose (J): issuing operations, processing those of others,
    maintaining the cell, passing on for others, and sending bytes. `issue` includes standby, as measured."""

    minutes: float
    issue: float
    process: float
    maintain: float
    joules_per_percent: float
    forward: float = 0.0
    send: float = 0.0

    @property
    def total(self) -> float:
        """All energy (J)."""
        return self.issue + self.process + self.maintain + self.forward + self.send

    @property
    def percent(self) -> float:
        """The share of the battery."""
        return self.total / self.joules_per_percent

    def minutes_of(self, percent: float) -> float:
        """How long so much of the battery lasts (min)."""
        return percent / self.percent * self.minutes


class EnergyUse(NamedTuple):
    """The work of a node in so many seconds: operations that it `issued`, retrievals `from_edge` out of them,
    and requests that it `processed`, by operation; messages of maintenance, cycles in which it had a look at
    its cell's data (`looks`) or reported them, messages and bytes that it passed on or sent."""

    seconds: float
    issued: Mapping[str, int] = {}
    processed: Mapping[str, int] = {}
    maintenance: int = 0
    from_edge: int = 0
    looks: int = 0
    reports: int = 0
    forwarded: int = 0
    sent_bytes: int = 0


@dataclass(frozen=True, slots=True)
class DeviceEnergy:
    """The energy that a kind of device spends: all the time (W), on each operation of its own (`issue`) and
    of others (`process`), on a message of maintenance, a retrieval from an edge, a look at cell data and a
    report of them, a message that it passes on (J), and on a byte that it sends (J)."""

    idle_w: float
    joules_per_percent: float
    issue: Mapping[str, float]
    process: Mapping[str, float]
    maintain_j: float
    from_edge_j: float = 0.0
    look_j: float = 0.0
    report_j: float = 0.0
    forward_j: float = 0.0
    byte_j: float = 0.0

    def budget(self, use: EnergyUse) -> EnergyBudget:
        """The energy of a node that has done this. Raises KeyError for an operation that has no energy."""
        own = sum(self.issue[name] * number for name, number in use.issued.items())
        own += (self.from_edge_j - self.issue["retrieve"]) * use.from_edge
        return EnergyBudget(
            use.seconds / 60,
            self.idle_w * use.seconds + own,
            sum(self.process[name] * number for name, number in use.processed.items()),
            self.maintain_j * use.maintenance + self.look_j * use.looks + self.report_j * use.reports,
            self.joules_per_percent,
            self.forward_j * use.forwarded,
            self.byte_j * use.sent_bytes,
        )


STANDBY_W = 61 / 60
"""61 J in a minute."""
RUNNING_W = 6 / 60
"""The share of the application, by its beacons: 67 J in a minute with standby."""
INSERT_J = 2.0
PROCESS_J = 1.5
"""For the request of somebody else, or a message of maintenance."""
OTHER_J = INSERT_J * (90 - 67) / (103 - 67)
"""A deletion, subscription or withdrawal: a minute of them takes 90 J, one of insertions 103 J. Ours, if a
loop turns equally fast in both. A retrieval, of which none is known, counts as one of them."""

TABLET = DeviceEnergy(
    idle_w=STANDBY_W + RUNNING_W,
    joules_per_percent=960.0,  # of its battery, 6700 mAh
    issue={name: INSERT_J if name == "insert" else OTHER_J for name in OPERATIONS},
    process=dict.fromkeys(OPERATIONS, PROCESS_J),
    maintain_j=PROCESS_J,
    from_edge_j=OTHER_J,
)
"""A tablet of Silva et al.; nothing is known of bytes and of messages that are passed on."""

WORST_CASE = EnergyBudget(10, issue=950, process=830, maintain=800, joules_per_percent=960.0)
"""Ten minutes in which everything is done without a pause, as published."""
