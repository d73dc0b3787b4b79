"""Changes of clients' states within a window. A state is a number that stands for the channels a client
listens to.

Changes are rows, chained for each client in the order of time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from bypass.mechanisms.filters.kernels.client_tree import AFTER, BEGIN, END, ClientTree
from bypass.support.arrays import Bools, Ints
from bypass.support.kernel import kernel

TIME, CLIENT, STATE, NEXT = range(4)
"""Columns of changes: when, whose, what the state is from then on, the client's next change."""
NONE = -1


class StateChanges(NamedTuple):
    """The changes of a window, and in which row the chain of each client begins; NONE if it has none."""

    rows: Ints
    first: Ints


@kernel
def note(rows: Ints, used: int, chains: Ints, at_us: int, client: int, state: int) -> None:
    """Enter a change as row number `used`. `chains` has the first and the last change of each client."""
    rows[used, TIME], rows[used, CLIENT], rows[used, STATE], rows[used, NEXT] = at_us, client, state, NONE
    if chains[client, 0] == NONE:
        chains[client, 0] = used
    else:
        rows[chains[client, 1], NEXT] = used
    chains[client, 1] = used


@kernel
def state_at(state: int, rows: Ints, first: int, at_us: int) -> int:
    """The state of a client at `at_us`: it was `state` when the window began, and its chain of changes begins
    at `first`."""
    k = first
    while k != NONE and rows[k, TIME] < at_us:
        state = rows[k, STATE]
        k = rows[k, NEXT]
    return state


class Known(NamedTuple):
    """The states of all members of a crowd when the window begins, the changes, in which row each member's
    begin, and of which nodes all members have the same state, which does not change."""

    states: Ints
    changes: Ints
    first: Ints
    settled: Bools


def known_of(crowd: ClientTree, states: Ints, changes: StateChanges) -> Known:
    """The states of clients in the order of a crowd's members."""
    ordered, first = states[crowd.order], changes.first[crowd.order]
    return Known(ordered, changes.rows, first, settled_nodes(crowd.nodes, ordered, first, changes.rows))


@kernel
def settled_nodes(nodes: Ints, states: Ints, first: Ints, changes: Ints) -> Bools:
    """Of which nodes all members have the same state, and none another one later."""
    settled = np.ones(len(nodes), np.bool_)
    for k in range(len(nodes) - 1, -1, -1):
        begin = nodes[k, BEGIN]
        if nodes[k, AFTER] == k + 1:
            for m in range(begin, nodes[k, END]):
                if states[m] != states[begin]:
                    settled[k] = False
                change = first[m]
                while change != NONE:
                    if changes[change, STATE] != states[m]:
                        settled[k] = False
                    change = changes[change, NEXT]
        else:
            part = k + 1
            while part < nodes[k, AFTER] and settled[k]:
                settled[k] = settled[part] and states[nodes[part, BEGIN]] == states[begin]
                part = nodes[part, AFTER]
    return settled
