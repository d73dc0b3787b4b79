"""How likely a client is to stay in its cell and to go on working, as one number."""

from __future__ import annotations

from bypass.protocol.edge import MOST_STABLE

SETTLED_S = 300.0
"""The time in a cell after which a longer one does not count any more."""

BATTERY, STILLNESS, TIME = 50, 30, 20
"""The weights; together MOST_STABLE."""


def stability(battery: float, charging: bool, stillness: float, in_cell_s: float) -> int:
    """Weigh the battery's share of charge (full while `charging`), the share of time in which a client stood
    still lately, and the time that it has been in its cell (s): 0 to MOST_STABLE, a whole number, so that a
    client compares itself by what it tells the others. The source names inputs but no formula; this is ours.
    """
    charge = 1.0 if charging else _share(battery)
    settled = _share(in_cell_s / SETTLED_S)
    found = BATTERY * charge + STILLNESS * _share(stillness) + TIME * settled
    return min(MOST_STABLE, int(found + 0.5))


def _share(number: float) -> float:
    return min(1.0, max(0.0, number))
