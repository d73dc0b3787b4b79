"""The energy of a phone in a store, by itself and aided by infrastructure (Vieira 2018, 5.4.2).

Its Table 5.3 has how many operations take 1 % of the battery, with objects of 64 bytes. Two numbers are not
in the source: the power of a phone that does nothing, and the energy of a byte. Both are fitted to what it
measured at a cell that is used too much, 884 J at a node without infrastructure and 499 J with it, so its
saving of 44 % goes in here, and is no result. The table alone cannot give it: a node of the cell receives the
same subscriptions either way, and one costs it more with infrastructure.
"""

from __future__ import annotations

from collections.abc import Mapping

from bypass.models.storage.energy import DeviceEnergy, EnergyUse
from bypass.models.storage.over_used_cell import OverUsedCell

JOULES_PER_PERCENT = 440.0
"""Of a Nexus 6, 3220 mAh at 3.8 V."""

CELL_NODES, SUMMARY_BYTES, OFFLOADED, REPORT_S = 3, 100_000, 5, 10.0
"""Of the measurement: the nodes of the cell, and the bytes of what it returns of an item; how many further
items an edge has every 10 s. Cell data every 10 s are ours: the source does not say it."""
MEASURED_J, MEASURED_AIDED_J = 884.0, 499.0
"""The mean energy of these nodes in five minutes, without and with infrastructure."""


def _joules(publish: int, subscribe: int, delete: int, unsubscribe: int, download: int) -> dict[str, float]:
    """Energies of operations, of which so many take 1 % of the battery. A page is asked for as by a
    subscription."""
    numbers = {
        "insert": publish,
        "subscribe": subscribe,
        "page": subscribe,
        "delete": delete,
        "unsubscribe": unsubscribe,
        "retrieve": download,
    }
    return {name: JOULES_PER_PERCENT / number for name, number in numbers.items()}


SENDER, SENDER_AIDED = _joules(761, 815, 832, 819, 782), _joules(761, 493, 528, 819, 782)
ROUTER = _joules(481, 497, 506, 499, 493)
RECIPIENT, RECIPIENT_AIDED = _joules(833, 875, 878, 875, 851), _joules(833, 812, 878, 829, 851)
FROM_EDGE_J = JOULES_PER_PERCENT / 873
LOOK_J, REPORT_J = 0.068, 0.516
"""A cycle of cell data at a node that does not report them, and at the one that does."""
OPERATION_NAMES = ("insert", "subscribe", "delete", "unsubscribe", "retrieve")


def mean(energies: Mapping[str, float]) -> float:
    """The mean of the five operations (J)."""
    return sum(energies[name] for name in OPERATION_NAMES) / len(OPERATION_NAMES)


def phone(*, aided: bool, idle_w: float, byte_j: float) -> DeviceEnergy:
    """A phone with this power when it does nothing, and this energy of a byte.

    A message of maintenance costs as much as an operation of somebody else, on average; the source has none.
    """
    process = RECIPIENT_AIDED if aided else RECIPIENT
    return DeviceEnergy(
        idle_w=idle_w,
        joules_per_percent=JOULES_PER_PERCENT,
        issue=SENDER_AIDED if aided else SENDER,
        process=process,
        maintain_j=mean(process),
        from_edge_j=FROM_EDGE_J,
        look_j=LOOK_J,
        report_j=REPORT_J,
        forward_j=mean(ROUTER),
        byte_j=byte_j,
    )


def over_used(*, aided: bool) -> list[EnergyUse]:
    """The work of each node of the cell that was measured: all receive every subscription, each answers an
    equal share of them, and the first one reports cell data, if somebody is there to have them."""
    cell = OverUsedCell()
    seconds = cell.subscriptions * cell.interval
    items = sum(cell.returned(OFFLOADED if aided else 0))
    cycles = int(seconds / REPORT_S) if aided else 0
    return [
        EnergyUse(
            seconds,
            processed={"subscribe": cell.subscriptions},
            looks=cycles if node else 0,
            reports=0 if node else cycles,
            sent_bytes=items * SUMMARY_BYTES // CELL_NODES,
        )
        for node in range(CELL_NODES)
    ]


def _fitted() -> tuple[float, float]:
    """The power without any operation (W), and the energy of a byte (J), by which both measured energies come
    out."""
    known, sent = [], []
    for aided in (False, True):
        uses = over_used(aided=aided)
        bare = phone(aided=aided, idle_w=0.0, byte_j=0.0)
        known.append(sum(bare.budget(use).total for use in uses) / CELL_NODES)
        sent.append(sum(use.sent_bytes for use in uses) / CELL_NODES)
    byte_j = (MEASURED_J - known[0] - (MEASURED_AIDED_J - known[1])) / (sent[0] - sent[1])
    return (MEASURED_J - known[0] - byte_j * sent[0]) / over_used(aided=False)[0].seconds, byte_j


IDLE_W, BYTE_J = _fitted()
"""0.38 W, and 0.62 J for a million bytes."""

PHONE = phone(aided=False, idle_w=IDLE_W, byte_j=BYTE_J)
PHONE_AIDED = phone(aided=True, idle_w=IDLE_W, byte_j=BYTE_J)
