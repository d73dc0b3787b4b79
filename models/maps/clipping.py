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
    border. Streets no longer share nodes: `tidy` puts these together again."""
    import shapely  # slow to import, and most maps are read from files

    parts = shapely.clip_by_rect(shapely.linestrings(nodes[edges]), 0, 0, width, height)
    ends: Floats = shapely.get_coordinates(parts[shapely.length(parts) >= SHORTEST])
    return ends, np.arange(len(ends)).reshape(-1, 2)


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
