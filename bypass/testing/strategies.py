"""Strategies of hypothesis for events, subscriptions, places, walks, plans and scenarios."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from hypothesis import strategies as st

from bypass.events.attributes import ANYTHING, BOOLEAN, FLOAT, INTEGER, SET, STRING, Attribute
from bypass.events.event import Event
from bypass.events.filters import Filter, Subscription
from bypass.mechanisms import Registry
from bypass.mechanisms.families import FILTER, FILTER_PROXY
from bypass.mechanisms.registry import SIDES
from bypass.places.area_of_interest import AreaOfInterest
from bypass.places.areas import Area
from bypass.places.region import Region
from bypass.support.extensions import absolute
from bypass.testing.rules import Point
from bypass.testing.worlds.world import REGION
from bypass.transitions import Action, Mechanism, Plan

_texts = st.text(st.characters(codec="utf-8"), max_size=8)
_names = st.text(st.characters(codec="utf-8"), min_size=1, max_size=8)
_integers = st.integers(-(2**63), 2**63 - 1)
_numbers = st.floats(allow_nan=False)
_scalars = _integers | _numbers | _texts
_sets = st.frozensets(_scalars, max_size=4)
_order = st.sampled_from(["=", "!=", "<", "<=", ">", ">="])


def events() -> st.SearchStrategy[Event]:
    """Events with attributes of every type, at most four, and a payload."""
    pairs = st.lists(st.tuples(_names, _scalars | _sets | st.booleans()), max_size=4)
    return st.builds(lambda pairs, payload: Event(pairs, payload=payload), pairs, st.binary(max_size=64))


def filters() -> st.SearchStrategy[Filter]:
    """Filters on attributes of every type, with every operator of theirs."""

    def on(kinds: Sequence[Any], values: st.SearchStrategy[Any], op: Any) -> st.SearchStrategy[Filter]:
        return st.builds(Filter, st.builds(Attribute, _names, st.sampled_from(kinds)), values, op)

    return st.one_of(
        on([INTEGER, FLOAT], _integers | _numbers, _order),
        on([INTEGER], st.sets(_integers, min_size=1), st.just("in")),
        on([STRING], _texts, _order | st.just("prefix")),
        on([SET], _sets, st.sampled_from(["=", "intersects"])),
        on([SET], _scalars, st.just("contains")),
        on([BOOLEAN], st.booleans(), st.just("=")),
        on([ANYTHING], st.none(), st.just("exists")),
    )


def subscriptions() -> st.SearchStrategy[Subscription]:
    """Subscriptions: filters, joined by and, or and not."""
    return st.recursive(
        st.builds(Subscription, st.lists(filters(), min_size=1, max_size=3)),
        lambda inner: st.one_of(
            st.builds(operator.and_, inner, inner),
            st.builds(operator.or_, inner, inner),
            st.builds(operator.invert, inner),
        ),
        max_leaves=5,
    )


def radii() -> st.SearchStrategy[int | None]:
    """Radii of subscriptions (m): small and large ones, and none."""
    return st.none() | st.sampled_from([30, 100, 250]) | st.integers(1, 500)


def places(region: Region = REGION) -> st.SearchStrategy[Point]:
    """Points of a region, in whole metres: anywhere, in its corners, and in and near the places it has."""
    x0, y0, x1, y1 = region.area
    x, y = st.integers(round(x0), round(x1)), st.integers(round(y0), round(y1))
    anywhere = st.tuples(x, y) | st.tuples(st.sampled_from([x0, x1]), st.sampled_from([y0, y1]))
    if region.places:

        def by(place: Any, away: int, axis: int) -> Point:
            at = [place.x, place.y]
            at[axis] += away * place.radius / 10
            return min(max(round(at[0]), x0), x1), min(max(round(at[1]), y0), y1)

        marked = st.sampled_from(region.places)
        anywhere |= st.builds(by, marked, st.integers(-12, 12), st.integers(0, 1))
    return anywhere.map(lambda at: (float(at[0]), float(at[1])))


def areas(region: Region = REGION) -> st.SearchStrategy[Area]:
    """Areas of every shape in and around a region, small and large."""
    where = places(region)
    sizes = st.sampled_from([20.5, 90.5, 240.5])

    def box(at: Point, width: float, height: float) -> Area:
        return Area.box(at, (at[0] + width, at[1] + height))

    def ring(at: Point, size: float) -> Area:
        x, y = at
        outer = [(x, y - size), (x + size, y), (x, y + size), (x - size, y)]
        hole = [(x + (px - x) / 2, y + (py - y) / 2) for px, py in outer]
        return Area.polygon(outer, [hole])

    def corridor(at: Point, far: float, wide: float) -> Area:
        return Area.corridor([at, (at[0] + far, at[1]), (at[0] + far, at[1] + far)], wide / 5)

    bearings, openings = st.integers(0, 359), st.integers(20, 180)
    return st.one_of(
        st.builds(Area.circle, where, sizes),
        st.builds(box, where, sizes, sizes),
        st.builds(ring, where, sizes),
        st.builds(corridor, where, sizes, sizes),
        st.builds(Area.sector, where, sizes, bearings, openings),
    )


def interests(region: Region = REGION) -> st.SearchStrategy[AreaOfInterest]:
    """Areas that a subscription may have: one or two fixed ones, those of places, and circles that move with
    the subscriber."""
    fixed = areas(region)
    if region.places:
        fixed |= st.sampled_from([Area.of_place(place.name) for place in region.places])
    circles = st.builds(lambda radius: Area.circle((0.0, 0.0), radius), st.sampled_from([20.5, 90.5, 240.5]))
    several = st.lists(fixed, min_size=1, max_size=2).map(lambda each: AreaOfInterest(tuple(each)))
    return several | st.builds(lambda circle: AreaOfInterest((circle,), True), circles)


class Waypoint(NamedTuple):
    """Where somebody is at a time (s, m)."""

    at: float
    x: float
    y: float


def walks(
    region: Region = REGION, duration: float = 60.0, most: int = 6
) -> st.SearchStrategy[tuple[Waypoint, ...]]:
    """Ways of one client through a region, from time 0 to the duration, straight from point to point."""

    def along(times: list[float], points: list[Point]) -> tuple[Waypoint, ...]:
        moments = [0.0, *sorted(times), duration]
        return tuple(Waypoint(at, *points[i % len(points)]) for i, at in enumerate(moments))

    times = st.lists(st.integers(1, 999).map(lambda n: duration * n / 1000), max_size=most, unique=True)
    return st.builds(along, times, st.lists(places(region), min_size=1, max_size=most + 2))


def plans(
    registry: Registry | None = None, clients: int = 0, proxies: Sequence[str] = ()
) -> st.SearchStrategy[Plan]:
    """Plans that a registry allows, about some `proxies` or all; with `clients`, filter schemes of some of
    them may be exchanged apart."""
    known = registry or Registry()
    catalogues = [known.catalogue(side) for side in SIDES]
    names = {name: None for catalogue in catalogues for name in catalogue if not proxies or name in proxies}

    @st.composite
    def actions(draw: st.DrawFn) -> Action:
        proxy = draw(st.sampled_from([*names]))
        kinds = [kind for each in catalogues if proxy in each for kind in each[proxy].items()]
        to = draw(st.sampled_from(sorted({name for name, _ in kinds})))
        values = draw(_settings([kind for name, kind in kinds if name == to]))
        members = None
        if proxy == FILTER_PROXY and clients and draw(st.booleans()):
            numbers = st.integers(0, clients - 1)
            members = tuple(draw(st.lists(numbers, min_size=1, max_size=clients, unique=True)))
        return Action(proxy=proxy, to=to, set=values, members=members)

    return st.builds(
        lambda parts: Plan(plan="drawn", actions=tuple(parts)), st.lists(actions(), min_size=1, max_size=3)
    )


@st.composite
def _settings(draw: st.DrawFn, kinds: list[type[Mechanism]]) -> dict[str, Any]:
    """Some parameters of a mechanism's parts, with values that all of them allow."""
    declared: dict[str, list[Any]] = {}
    for kind in kinds:
        for name, parameter in kind.parameters().items():
            declared.setdefault(name, []).append(parameter)
    chosen = draw(
        st.lists(st.sampled_from(sorted(declared)), unique=True, max_size=2) if declared else st.just([])
    )
    values: dict[str, Any] = {}
    for name in chosen:
        default = declared[name][0].default
        options = [default, not default] if isinstance(default, bool) else [default]
        if isinstance(default, int | float) and not isinstance(default, bool):
            options += [type(default)(default * share) for share in (0.5, 2)]
        usable = [each for each in options if isinstance(each, bool | int | float | str)]
        usable = [each for each in usable if all(_allows(parameter, each) for parameter in declared[name])]
        if usable:
            values[name] = draw(st.sampled_from(usable))
    return values


def _allows(parameter: Any, value: Any) -> bool:
    try:
        parameter.adapter.validate_python(value)
    except ValueError:
        return False
    return True


@st.composite
def scenarios(draw: st.DrawFn, mechanisms: Sequence[str] = ()) -> dict[str, Any]:
    """Small experiments as their files say them: a dozen clients at most, half a minute at most; what
    `bypass run` accepts once it is written as YAML. `mechanisms` are references to mechanisms of one's own,
    which files name by an absolute path."""
    registry = Registry(mechanisms)
    clients, duration = draw(st.integers(1, 12)), draw(st.integers(5, 30))
    width, height = draw(st.integers(100, 1000)), draw(st.integers(100, 1000))
    steps = sorted(draw(st.lists(st.integers(1, duration - 1), max_size=3, unique=True)))
    drawn = plans(registry, clients, (FILTER_PROXY,))
    models = st.sampled_from(["rwp", "random-direction", "gauss-markov", "levy-walk"])
    scheme = draw(st.sampled_from([*registry.kinds(FILTER)]))
    return {
        "about": "drawn by hypothesis",
        "mechanisms": [absolute(each, Path.cwd()) for each in mechanisms],
        "clients": clients,
        "duration": duration,
        "world": {"width": width, "height": height},
        "mobility": {"model": draw(models), "width": width, "height": height},
        "workload": {
            "model": draw(st.sampled_from(["ar", "rnd"])),
            "rate": draw(st.sampled_from([0.2, 1.0])),
            "radius": draw(st.integers(10, 300)),
            "start": 1.0,
        },
        "location": {"interval": draw(st.sampled_from([0.5, 1.0, 5.0]))},
        "filter": {"scheme": scheme},
        "timeline": [
            {"at": at, "plan": draw(drawn).model_dump(mode="json", exclude_defaults=True)} for at in steps
        ],
    }
