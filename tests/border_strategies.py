"""Watches and what watched clients are told, as hypothesis draws them."""

from __future__ import annotations

from hypothesis import strategies as st

from bypass.places.areas import Area
from bypass.places.borders import KINDS, BorderEvent, BorderOptions, PathPoint
from bypass.places.borders.border_event import REASONS
from bypass.protocol.borders import BorderTask, BorderWatch, WatchedAreas

seconds = st.integers(0, 10**6).map(lambda each: each / 8)
coordinates = st.integers(-(10**6), 10**6).map(lambda each: each / 1000)
names = st.text(st.characters(categories=("L", "N")), min_size=1, max_size=20)
areas = st.one_of(
    st.builds(lambda x, y, r: Area.circle((x, y), r + 1), coordinates, coordinates, seconds),
    st.builds(Area.of_place, names),
)
options = st.builds(
    lambda on, dwell, *rest: BorderOptions(frozenset(on) | ({"dwell"} if dwell else set()), dwell or None,
    *rest), st.sets(st.sampled_from(["enter", "exit", "cross"]), min_size=1), st.none() | seconds.map(lambda
    s: s + 1), seconds, seconds, st.booleans(), seconds.map(lambda s: s + 0.5),
)  # fmt: skip
fences = st.dictionaries(names, areas, min_size=1, max_size=4).map(lambda each: tuple(each.items()))
watches = st.builds(
    BorderWatch, options, fences, st.booleans(), st.none() | st.lists(names, max_size=3).map(tuple),
    st.none() | seconds,
)  # fmt: skip
places = st.builds(PathPoint, coordinates, coordinates, seconds, seconds)
states = st.dictionaries(
    names, st.tuples(st.booleans(), seconds, st.booleans(), st.booleans(), st.none(), st.none()).map(list)
)
events = st.builds(
    BorderEvent, st.sampled_from(KINDS), names, coordinates, coordinates, seconds, seconds,
    st.sampled_from(REASONS)
)  # fmt: skip


def tasks(**stamp: st.SearchStrategy[int]) -> st.SearchStrategy[BorderTask]:
    """Tasks of watched clients, with this stamp."""
    watched = st.builds(WatchedAreas, st.integers(1, 2**31), options, fences, st.none() | states)
    some = st.lists(watched, max_size=2).map(tuple)
    return st.builds(
        BorderTask, st.integers(1, 2**60), st.booleans(), seconds, some, st.none() | places, **stamp
    )
