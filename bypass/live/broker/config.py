"""The configuration of a live broker: all keys, their types, defaults and limits."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
    field_validator,
    model_validator,
)

from bypass.core.rule_sources import are_offered
from bypass.errors import BypassError, UnusableMechanism, shown
from bypass.live.addresses import can_listen, can_serve
from bypass.live.config_files import check_mechanisms
from bypass.mechanisms import Registry
from bypass.mechanisms.families import FILTER, FILTER_PROXY
from bypass.objects.metadata import LARGEST_OBJECT
from bypass.places.areas import Area
from bypass.places.geo import GeoLocation, Projection
from bypass.places.region import Place, Region
from bypass.protocol.wire import CODEC, MAX_MESSAGE_BYTES, MAX_PACKET_BYTES, Codec
from bypass.support.extensions import load
from bypass.support.validation import Misfit, first_misfit

DASHBOARD = "127.0.0.1:7780"
"""Where the dashboard is if nobody says where."""


def is_rule_file(rules: str) -> bool:
    """Whether rules are in a file, and neither Python's nor an installed package's."""
    return ":" not in rules and not are_offered(rules)


class ConfigGroup(BaseModel):
    """A group of keys; no other keys are allowed."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class PlaceConfig(ConfigGroup):
    """An attraction point: a circle in metres, or an `area` as well-known text in metres or as GeoJSON, which
    is in degrees if the region has an origin."""

    name: str = Field(min_length=1)
    x: float | None = None
    y: float | None = None
    radius: float | None = Field(default=None, gt=0)
    area: str | dict[str, JsonValue] | None = None

    @model_validator(mode="after")
    def _one_shape(self) -> Self:
        circle = (self.x, self.y, self.radius)
        if circle != (None, None, None) if self.area is not None else None in circle:
            raise ValueError("expected x, y and radius, or an area")
        return self

    def place(self, projection: Projection | None) -> Place:
        """The place in the region's plane. Raises InvalidArea, and MissingExtra without pyproj."""
        if self.area is None:
            assert self.x is not None
            assert self.y is not None
            assert self.radius is not None
            return Place(self.name, self.x, self.y, self.radius)
        if isinstance(self.area, str):
            return Place.of_area(self.name, Area.from_wkt(self.area))
        area = Area.from_geojson(self.area, degrees=projection is not None)
        return Place.of_area(self.name, area if projection is None else area.projected(projection))


class RegionConfig(ConfigGroup):
    """The rectangle that the broker serves, in metres; `origin` is the latitude and longitude of (0, 0)."""

    area: tuple[float, float, float, float] = (0.0, 0.0, 1000.0, 1000.0)
    origin: tuple[Annotated[float, Field(ge=-90, le=90)], Annotated[float, Field(ge=-180, le=180)]] | None = (
        None
    )
    places: tuple[PlaceConfig, ...] = ()

    @field_validator("area")
    @classmethod
    def _ascending(cls, area: tuple[float, float, float, float]) -> tuple[float, float, float, float]:
        x0, y0, x1, y1 = area
        if not (x0 < x1 and y0 < y1):
            raise ValueError("expected [x0, y0, x1, y1] with x0 < x1 and y0 < y1")
        return area

    @model_validator(mode="after")
    def _places(self) -> Self:
        for number, place in enumerate(self.places):
            try:
                place.place(self.projection)
            except BypassError as error:
                raise Misfit(("places", number), f"{place.name}: {error}") from error
        return self

    @property
    def projection(self) -> Projection | None:
        """The plane of the region, if it has an origin."""
        return None if self.origin is None else Projection.around(GeoLocation(*self.origin))

    def region(self) -> Region:
        """The region as a broker takes it."""
        return Region(self.area, tuple(each.place(self.projection) for each in self.places))


class Limits(ConfigGroup):
    """Limits of one client's requests, and of what is kept, and how long (s), for clients that are away.

    `client_rate` and `client_byte_rate` are what one key may send in a second, in messages and in bytes, with
    bursts of twice as much; 0: no limit. `stored_bytes_per_key` are those of a key's events that somebody
    waits for, `subscription_bytes` those of one subscription as it travels, `session_bytes` those of all
    subscriptions that a session has, `subscription_bytes_per_key` those of all that a key has, in however
    many sessions; `filters_per_key` are the filters in all of these.
    """

    message_bytes: int = Field(default=131_072, gt=0, le=MAX_MESSAGE_BYTES)
    packet_bytes: int = Field(default=262_144, gt=0, le=MAX_PACKET_BYTES)
    client_rate: float = Field(default=500.0, ge=0)
    client_byte_rate: float = Field(default=4_194_304.0, ge=0)
    clients: int = Field(default=20_000, gt=0)
    sessions_per_key: int = Field(default=200, gt=0)
    stored_bytes_per_key: int = Field(default=268_435_456, gt=0)
    filters_per_key: int = Field(default=10_000, gt=0)
    subscription_bytes_per_key: int = Field(default=8_388_608, gt=0)
    subscriptions_per_client: int = Field(default=100, gt=0)
    filters_per_subscription: int = Field(default=64, gt=0)
    subscription_bytes: int = Field(default=16_384, gt=0)
    session_bytes: int = Field(default=262_144, gt=0)
    pending_events: int = Field(default=10_000, gt=0)
    pending_age: float = Field(default=86_400.0, gt=0)
    session_age: float = Field(default=604_800.0, gt=0)
    unclaimed_age: float = Field(default=3600.0, gt=0)

    @model_validator(mode="after")
    def _fitting(self) -> Self:
        if self.message_bytes > self.packet_bytes:
            raise Misfit(
                ("message_bytes",),
                f"is {self.message_bytes}: expected at most packet_bytes, which is {self.packet_bytes}",
            )
        return self


class ObjectLimits(ConfigGroup):
    """Limits of stored objects: how many there are, how many bytes they and their metadata have, of one key
    and of all; how large one may be (bytes); and how long they stay (`age`, s; None: until they are deleted).
    An upload that does not go on is given up after `upload_age` seconds. `queries_per_client` go on at a
    time."""

    object_bytes: int = Field(default=LARGEST_OBJECT, gt=0, le=LARGEST_OBJECT)
    objects_per_key: int = Field(default=1_000_000, gt=0)
    bytes_per_key: int = Field(default=1 << 30, gt=0)
    objects: int = Field(default=10_000_000, gt=0)
    bytes: int = Field(default=16 << 30, gt=0)
    age: float | None = Field(default=None, gt=0)
    upload_age: float = Field(default=3600.0, gt=0)
    queries_per_client: int = Field(default=100, gt=0)


class LogConfig(ConfigGroup):
    """The level from which on messages are logged, and the format of a line."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["text", "json"] = "text"


class BrokerConfig(ConfigGroup):
    """All that can be set. An `open` broker encrypts nothing and admits everybody.

    `set` are parameters of filter schemes, as in `Broker`; `mechanisms` are references to mechanisms of one's
    own, `module:Class` or `file.py:Class`, beside what installed packages offer; `codec` is a reference to
    the Codec whose types of values events and filters have; `rules` are files of rule books, references to
    rules and names of those that packages offer, one or several.
    """

    listen: tuple[str, ...] = Field(default=("tcp://127.0.0.1:7700",), min_length=1)
    keys: Path = Path("keys/broker.key")
    clients: Path = Path("keys/clients")
    open: bool = False
    store: Path = Path("bypass.db")
    sync: Literal["full", "normal"] = "full"
    region: RegionConfig = RegionConfig()
    scheme: str = "radial"
    set: dict[str, JsonValue] = {}
    grace: float = Field(default=1.5, ge=0)
    rules: Path | str | tuple[Path | str, ...] | None = None
    mechanisms: tuple[str, ...] = ()
    codec: str | None = None
    heartbeat: float = Field(default=5.0, gt=0)
    limits: Limits = Limits()
    objects: ObjectLimits = ObjectLimits()
    http: str | None = None
    dashboard: bool = False
    log: LogConfig = LogConfig()

    @field_validator("listen", "mechanisms", mode="before")
    @classmethod
    def _one_is_a_list(cls, value: Any) -> Any:
        return (value,) if isinstance(value, str) else value

    @field_validator("rules", mode="before")
    @classmethod
    def _files_and_references(cls, rules: Any) -> Any:
        if isinstance(rules, list | tuple):
            return tuple(map(cls._files_and_references, rules))
        return Path(rules) if isinstance(rules, str) and is_rule_file(rules) else rules

    @property
    def rule_sources(self) -> tuple[Path | str, ...]:
        """Where rules are: files, and references."""
        return self.rules if isinstance(self.rules, tuple) else (self.rules,) if self.rules else ()

    @field_validator("listen")
    @classmethod
    def _addresses(cls, addresses: tuple[str, ...]) -> tuple[str, ...]:
        for i, address in enumerate(addresses):
            if not can_listen(address):
                raise Misfit((i,), f"is {shown(address)}: expected tcp://HOST:PORT or ipc://PATH")
        return addresses

    @field_validator("mechanisms")
    @classmethod
    def _usable(cls, references: tuple[str, ...]) -> tuple[str, ...]:
        return check_mechanisms(references)

    @field_validator("codec")
    @classmethod
    def _is_codec(cls, reference: str | None) -> str | None:
        try:
            found = None if reference is None else load(reference)
        except UnusableMechanism as error:
            raise ValueError(str(error).removeprefix(f"{reference}: ")) from None
        if found is not None and not isinstance(found, Codec):
            raise ValueError(f"expected a Codec, not {shown(found)}")
        return reference

    @model_validator(mode="after")
    def _known(self) -> Self:
        registry = self.registry
        schemes = registry.kinds(FILTER)
        if self.scheme not in schemes:
            raise Misfit(("scheme",), f"is {shown(self.scheme)}: expected one of {', '.join(schemes)}")
        catalogues = registry.catalogue("broker"), registry.catalogue("client")
        known = [part.parameters() for each in catalogues for part in each[FILTER_PROXY].values()]
        for name, value in self.set.items():
            found = [parameters[name] for parameters in known if name in parameters]
            if not found:
                names = sorted({each for parameters in known for each in parameters})
                raise Misfit(("set", name), f"is unknown: expected one of {', '.join(names)}")
            for parameter in found:
                try:
                    parameter.adapter.validate_python(value)
                except ValidationError as error:
                    raise Misfit(("set", name), first_misfit(error, lambda _: ()).args[0]) from None
        return self

    @cached_property
    def registry(self) -> Registry:
        """The mechanisms of the broker: those that are listed, and all that installed packages offer."""
        codec = CODEC if self.codec is None else load(self.codec)
        registry = Registry(self.mechanisms, codec=codec)
        registry.bring_installed()
        return registry

    @field_validator("http")
    @classmethod
    def _address(cls, http: str | None) -> str | None:
        if http is not None and not can_serve(http):
            raise ValueError("expected HOST:PORT, as in 127.0.0.1:7780")
        return http

    @property
    def web_address(self) -> str | None:
        """Where to serve metrics and the dashboard; None: nowhere."""
        return self.http or (DASHBOARD if self.dashboard else None)
