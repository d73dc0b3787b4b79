"""Plans about areas: who is there when the plan is executed is their member."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bypass.errors import InvalidArea, shown
from bypass.places.areas import Area
from bypass.places.geo import Projection
from bypass.places.region import Place
from bypass.transitions import Action, InvalidPlan, Plan

if TYPE_CHECKING:
    from bypass.core.broker import Broker

SHAPES = ("POLYGON", "MULTIPOLYGON")
MOST_RECENT = 50


class PlanAreas:
    """Finds the clients that plans about areas concern.

    An area is the name of a place of the region, four numbers x0, y0, x1, y1, a POLYGON or MULTIPOLYGON of
    well-known text in metres, or a geometry of GeoJSON: in degrees, which takes a `projection`, unless it has
    `degrees: false`.
    """

    def __init__(self, broker: Broker, projection: Projection | None) -> None:
        self._broker = broker
        self._projection = projection
        self._recent: deque[tuple[float, Area]] = deque(maxlen=MOST_RECENT)

    def since(self, at: float) -> list[Area]:
        """Give the areas of the plans executed from a time (s) on, each once, but no more than the latest
        `MOST_RECENT`."""
        return list(dict.fromkeys(area for then, area in self._recent if then >= at))

    def resolved(self, plan: Plan, dry: bool = False) -> Plan:
        """Give a plan that names its members instead of areas: the clients that are there now. Actions about
        areas in which nobody is are left out, and maybe none is left. A `dry` run is not remembered. Raises
        InvalidPlan for what is no area."""
        if all(action.area is None for action in plan.actions):
            return plan
        actions: list[Action] = []
        for action in plan.actions:
            if action.area is None:
                actions.append(action)
            elif there := self.members(action.area, dry):
                actions.append(action.model_copy(update={"area": None, "members": tuple(there)}))
        return plan.model_copy(update={"actions": tuple(actions)})

    def members(self, data: Any, dry: bool = False) -> list[int]:
        """Give the clients that are in an area now, ascending; `dry` as in `resolved`. Raises InvalidPlan."""
        try:
            area = area_of(data, self._broker.places.all, self._projection)
        except InvalidArea as error:
            raise InvalidPlan(f"area {shown(data)}: {error}") from None
        if not dry:
            self._recent.append((self._broker.host.now(), area))
        table = self._broker.table
        clients = (client for scheme in self._broker.filter_schemes for client in scheme.clients)
        located = ((client, table.place(client)) for client in clients)
        return sorted(client for client, place in located if place and area.contains(place[0], place[1]))


def names_place(data: Any) -> bool:
    """Whether `data` of a plan is the name of a place."""
    return isinstance(data, str) and not data.lstrip().upper().startswith(SHAPES)


def area_of(data: Any, places: Sequence[Place], projection: Projection | None) -> Area:
    """Make the area in metres that `data` of a plan describes. Raises InvalidArea."""
    if isinstance(data, str):
        for place in places:
            if place.name == data:
                return place.area or Area.circle((place.x, place.y), place.radius)
        if names_place(data):
            known = ", ".join(place.name for place in places) or "there are none"
            raise InvalidArea(f"expected well-known text, or the name of a place: {known}")
        return Area.from_wkt(data)
    if isinstance(data, list | tuple):
        if len(data) != 4:
            raise InvalidArea(f"{len(data)} numbers: expected x0, y0, x1, y1")
        return Area.box((data[0], data[1]), (data[2], data[3]))
    if isinstance(data, dict):
        geometry = {key: value for key, value in data.items() if key != "degrees"}
        area = Area.from_geojson(geometry, degrees=data.get("degrees", True) is not False)
        if not area.degrees:
            return area
        if projection is None:
            raise InvalidArea("in degrees: expected metres, as the region has no origin")
        return area.projected(projection)
    raise InvalidArea("expected a place's name, well-known text, four numbers or GeoJSON")
