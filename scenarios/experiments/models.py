"""The models that an experiment file chooses by name, with their parameters beside it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from bypass.core.areas.arguments import LARGEST_RADIUS
from bypass.errors import UnusableMechanism
from bypass.events.event import MAX_PAYLOAD
from bypass.models.catalogue import INSTALLED_MODELS, INSTALLED_WORKLOADS, find_model
from bypass.models.churn import CHURN, ChurnModel
from bypass.models.maps.degrees import LatLon, has_degrees, planar, world_over
from bypass.models.mobility import MOBILITY, MobilityModel
from bypass.models.storage import STORAGE_WORKLOADS, StorageWorkload
from bypass.models.workloads import WORKLOADS, Workload
from bypass.places.geo import GeoLocation, Projection
from bypass.support.extensions import absolute
from bypass.support.validation import Misfit, first_misfit

M = TypeVar("M", bound=BaseModel)


class _Choice(BaseModel, Generic[M]):
    """The name of a model, with the model's own parameters beside it."""

    model_config = ConfigDict(extra="allow", frozen=True)

    builtin: ClassVar[Mapping[str, type[BaseModel]]]
    base: ClassVar[type[BaseModel]]
    group: ClassVar[str]
    """Models by name, the class that all derive from, and where installed packages offer others."""

    model: str

    @field_validator("model")
    @classmethod
    def _from_here(cls, model: str) -> str:
        return absolute(model, Path.cwd())

    @model_validator(mode="after")
    def _valid(self) -> Self:
        self.build()
        return self

    def build(self) -> M:
        """The chosen model. Raises Misfit."""
        try:
            model = find_model(self.model, self.builtin, self.base, self.group)
        except UnusableMechanism as error:
            raise Misfit(("model",), f"is {error}") from None
        if model is None:
            raise Misfit(("model",), f"is {self.model!r}: expected one of {', '.join(self.builtin)}")
        try:
            built: M = model.model_validate(self.model_extra)  # type: ignore[assignment] # of the base
            return built
        except ValidationError as error:
            raise first_misfit(error, lambda _: (*type(self).model_fields, *model.model_fields)) from None


class Mobility(_Choice[MobilityModel]):
    """How clients move."""

    builtin, base, group = MOBILITY, MobilityModel, INSTALLED_MODELS

    model: str = "darmstadt"


class Publishing(_Choice[Workload]):
    """The events that clients publish; `start` (s) leaves the first subscriptions time to arrive.

    Subscriptions have a radius in whole metres, so `radius` has to be one.
    """

    builtin, base, group = WORKLOADS, Workload, INSTALLED_WORKLOADS

    model: str = "ar"
    start: float = Field(default=2.0, ge=0)

    def build(self) -> Workload:
        workload = super().build()
        if not (workload.radius.is_integer() and workload.radius <= LARGEST_RADIUS):
            raise Misfit(
                ("radius",), f"is {workload.radius}: expected whole metres, at most {LARGEST_RADIUS}"
            )
        if workload.payload > MAX_PAYLOAD:
            raise Misfit(("payload",), f"is {workload.payload}: expected at most {MAX_PAYLOAD} bytes")
        return workload


class Storing(_Choice[StorageWorkload]):
    """A workload of a store: clients publish, ask for and delete objects by a model."""

    builtin, base, group = STORAGE_WORKLOADS, StorageWorkload, INSTALLED_WORKLOADS


class Churn(_Choice[ChurnModel]):
    """Clients come and go by a model; who is away and will return has a `durable` session, or none."""

    builtin, base, group = CHURN, ChurnModel, INSTALLED_MODELS

    model: str = "none"
    durable: bool = False

    def build(self) -> ChurnModel:
        churn = super().build()
        if self.durable and churn.mean_away is None:
            raise Misfit(
                ("durable",), f"is true with model {self.model!r}: expected on-off, who goes returns"
            )
        return churn


LOCATED = ("script", "infrastructure")
"""The keys whose places may be in degrees."""


class WorldSize(BaseModel):
    """Width and height of a world, in metres, and where on earth its corner (0, 0) is: latitude and
    longitude, None if it is nowhere or where the map is that clients walk on.

    In files, `bbox` (least longitude and latitude, then greatest) may stand for all three.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    width: float = Field(default=1300.0, gt=0)
    height: float = Field(default=1300.0, gt=0)
    origin: LatLon | None = None

    @model_validator(mode="before")
    @classmethod
    def _over_box(cls, given: Any) -> Any:
        if not isinstance(given, dict) or "bbox" not in given:
            return given
        if len(given) > 1:
            raise Misfit(("bbox",), "is given beside other keys: expected it alone")
        return dict(zip(("origin", "width", "height"), world_over(given["bbox"]), strict=True))


def plane_of(world: WorldSize, mobility: Mobility) -> Projection | None:
    """The plane of a world: where it says itself or, if it does not, where the map is that clients walk on;
    None for a world that is nowhere on earth."""
    if world.origin is not None:
        return Projection.around(GeoLocation(*world.origin))
    corner = mobility.build().georeference
    return None if corner is None else corner.plane


def in_metres(given: dict[str, Any]) -> dict[str, Any]:
    """The data of a scenario with its places in metres, also those that are in degrees. Raises Misfit.

    They stay as they are if the data of the world or of mobility, which say where they are, are wrong.
    """
    if not any(has_degrees(given.get(key)) for key in LOCATED):
        return given
    try:
        world = WorldSize.model_validate(given.get("world", {}))
        plane = plane_of(world, Mobility.model_validate(given.get("mobility", {})))
    except ValidationError:
        return given
    if plane is None:
        raise Misfit(("world", "origin"), "is missing: places in degrees need it")
    return {**given, **{key: planar(plane, given[key], (key,)) for key in LOCATED if key in given}}
