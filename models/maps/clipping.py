"""Prepares streets for a map: cuts them at the borders, removes duplicates, and keeps the largest connected
part.

`nodes` has a row (x, y) for each node, `edges` a row (node, node) for each street, in arguments and results;
nodes without a street are left out.
"""

from __future__ import annotations

import numpy as np

from bypass.support.arrays import Floats, Ints

StreetNetwork = tuple[Floats, Ints]

SHORTEST = 1e-3
"""Streets shorter than this (m) are none."""


def cut(nodes: Floats, edges: Ints, width: float, height: float) -> StreetNetwork:
    """Keep the parts of streets in [0, width] × [0, height] m. A street that leaves ends at a new node on the
    border."""
    a = nodes[edges[:, 0]]
    along = nodes[edges[:, 1]] - a
    # Shares of the way along each street at which it is inside of both pairs of borders.
    enter, leave = np.zeros(len(edges)), np.ones(len(edges))
    for axis, size in enumerate((width, height)):
        start, step = a[:, axis], along[:, axis]
        inside = (start >= 0) & (start <= size)
        with np.errstate(divide="ignore", invalid="ignore"):
            low, high = -start / step, (size - start) / step
        still = step == 0
        enter = np.maximum(enter, np.where(still, np.where(inside, 0, 1), np.minimum(low, high)))
        leave = np.minimum(leave, np.where(still, np.where(inside, 1, 0), np.maximum(low, high)))
    kept = (leave - enter) * np.hypot(*along.T) >= SHORTEST
    a, along, enter, leave, edges = a[kept], along[kept], enter[kept], leave[kept], edges[kept].copy()
    entering, leaving = np.flatnonzero(enter > 0), np.flatnonzero(leave < 1)
    border = np.concatenate(
        [
            a[entering] + enter[entering, None] * along[entering],
            a[leaving] + leave[leaving, None] * along[leaving],
        ]
    )
    numbers = len(nodes) + np.arange(len(border))
    edges[entering, 0], edges[leaving, 1] = numbers[: len(entering)], numbers[len(entering) :]
    return _compact(np.concatenate([nodes, np.clip(border, 0, (width, height))]), edges)


def tidy(nodes: Floats, edges: Ints) -> StreetNetwork:
    """One node for each place, one street between two nodes, and none from a node to itself."""
    places, at = np.unique(nodes, axis=0, return_inverse=True)
    edges = np.sort(at.reshape(-1)[edges], axis=1)
    lengths = np.hypot(*(places[edges[:, 1]] - places[edges[:, 0]]).T)
    return _compact(places, np.unique(edges[lengths >= SHORTEST], axis=0))


def largest_part(nodes: Floats, edges: Ints) -> StreetNetwork:
    """The largest set of nodes that can all reach each other; the first of equal ones."""
    from scipy.sparse import csr_array  # scipy takes long to import
    from scipy.sparse.csgraph import connected_components

    shape = (len(nodes), len(nodes))
    _, part = connected_components(csr_array((np.ones(len(edges)), edges.T), shape=shape), directed=False)
    return _compact(nodes, edges[part[edges[:, 0]] == np.bincount(part).argmax()])


def _compact(nodes: Floats, edges: Ints) -> StreetNetwork:
    used, at = np.unique(edges, return_inverse=True)
    return nodes[used], at.reshape(-1, 2).astype(np.int64)
