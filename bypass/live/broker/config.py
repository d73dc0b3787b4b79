"""What a live broker is told before it starts: a YAML file, and environment variables that count for more."""

from __future__ import annotations

from collections.abc import Mapping
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
from bypass.mechanisms import Registry
from bypass.mechanisms.families import FILTER, FILTER_PROXY
from bypass.places.region import Place, Region
from bypass.protocol.wire import MAX_MESSAGE_BYTES, MAX_PACKET_BYTES
from bypass.support.extensions import absolute
from bypass.support.validation import Misfit, expectation
from bypass.transitions.validation import KeyPath, first_problem
from bypass.transitions.yaml_text import NotYaml, parse_yaml

DASHBOARD = "127.0.0.1:7780"
"""Where the dashboard is if nobody says where."""

PREFIX = "BYPASS_BROKER_"
"""How variables begin that change a key; `__` leads into a group, as in BYPASS_BROKER_LIMITS__CLIENTS."""

_PATHS = ("keys", "clients", "store")


class InvalidConfig(BypassError):
    """A configuration that a broker cannot run with."""


class _Group(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class PlaceConfig(_Group):
    """An attraction point: a circle in metres."""

    name: str = Field(min_length=1)
    x: float
    y: float
    radius: float = Field(gt=0)


class RegionConfig(_Group):
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

    def region(self) -> Region:
        """The region as a broker takes it."""
        return Region(self.area, tuple(Place(each.name, each.x, each.y, each.radius) for each in self.places))


class Limits(_Group):
    """What one client may ask for, and how much the broker keeps for how long (s) for those who are away.

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
                f"{self.message_bytes}: expected at most packet_bytes, which is {self.packet_bytes}",
            )
        return self


class LogConfig(_Group):
    """What is logged, and how a line looks."""

    level: Literal["debug", "info", "warning", "error"] = "info"
    format: Literal["text", "json"] = "text"


class BrokerConfig(_Group):
    """All that can be set. An `open` broker encrypts nothing and admits everybody.

    `set` are parameters of filter schemes, as in `Broker`; `mechanisms` are references to mechanisms of one's
    own, `module:Class` or `file.py:Class`, beside what installed packages offer; `rules` are files of
    rule books, references to rules and names of those that packages offer, one or several.
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
    heartbeat: float = Field(default=5.0, gt=0)
    limits: Limits = Limits()
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
        return Path(rules) if isinstance(rules, str) and _is_file(rules) else rules

    @property
    def rule_sources(self) -> tuple[Path | str, ...]:
        """Where rules are: files, and references."""
        return self.rules if isinstance(self.rules, tuple) else (self.rules,) if self.rules else ()

    @field_validator("listen")
    @classmethod
    def _addresses(cls, addresses: tuple[str, ...]) -> tuple[str, ...]:
        for i, address in enumerate(addresses):
            if not can_listen(address):
                raise Misfit((i,), f"{shown(address)}: expected tcp://HOST:PORT or ipc://PATH")
        return addresses

    @field_validator("mechanisms")
    @classmethod
    def _usable(cls, references: tuple[str, ...]) -> tuple[str, ...]:
        for i, reference in enumerate(references):
            try:
                Registry(references[: i + 1])
            except UnusableMechanism as error:
                expected = str(error).removeprefix(f"{reference}: ")
                raise Misfit((i,), f"{shown(reference)}: {expected}") from None
        return references

    @model_validator(mode="after")
    def _known(self) -> Self:
        registry = self.registry
        schemes = registry.kinds(FILTER)
        if self.scheme not in schemes:
            raise Misfit(("scheme",), f"{shown(self.scheme)}: expected one of {', '.join(schemes)}")
        catalogues = registry.catalogue("broker"), registry.catalogue("client")
        known = [part.parameters() for each in catalogues for part in each[FILTER_PROXY].values()]
        for name, value in self.set.items():
            found = [parameters[name] for parameters in known if name in parameters]
            if not found:
                names = sorted({each for parameters in known for each in parameters})
                raise Misfit(("set", name), f"{shown(value)}: unknown: expected one of {', '.join(names)}")
            for parameter in found:
                try:
                    parameter.adapter.validate_python(value)
                except ValidationError as error:
                    expected = expectation(first_problem(error).message)
                    raise Misfit(("set", name), f"{shown(value)}: {expected}") from None
        return self

    @cached_property
    def registry(self) -> Registry:
        """What mechanisms the broker has: those that are listed, and all that installed packages offer."""
        registry = Registry(self.mechanisms)
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


def load_config(path: str | Path | None, environ: Mapping[str, str]) -> BrokerConfig:
    """What a file (if any) and the environment say; the environment counts for more, its values are YAML.

    With a file, relative paths are relative to its folder, defaults included; those of the environment are
    relative to the working directory. Raises InvalidConfig.
    """
    data = {} if path is None else _read(Path(path))
    variables = _override(data, environ)
    if path is not None:
        for name in _PATHS:
            value = data.get(name, BrokerConfig.model_fields[name].default)
            if (name,) not in variables and isinstance(value, str | Path):
                data[name] = Path(path).parent / value
        for name in {"mechanisms", "rules"} & data.keys():
            if (name,) not in variables:
                data[name] = _beside(Path(path).parent, data[name], files=name == "rules")
    try:
        return BrokerConfig.model_validate(data)
    except ValidationError as error:
        keys, complaint = _first_misfit(error)
        where = "environment" if path is None else str(path)
        for length in range(len(keys), 0, -1):
            if keys[:length] in variables:
                where, keys = variables[keys[:length]], keys[length:]
                break
        key = f"{'.'.join(map(str, keys))}: " if keys else ""
        raise InvalidConfig(f"{where}: {key}{complaint}") from None


def _beside(folder: Path, named: Any, files: bool) -> Any:
    """References, or what else are `files`, as a file in `folder` has them."""
    if isinstance(named, list):
        return [_beside(folder, each, files) for each in named]
    if not isinstance(named, str):
        return named
    return str(folder / named) if files and _is_file(named) else absolute(named, folder)


def _is_file(rules: str) -> bool:
    """Whether rules are in a file, and neither Python's nor an installed package's."""
    return ":" not in rules and not are_offered(rules)


def _read(path: Path) -> dict[str, Any]:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InvalidConfig(f"{path}: {error.strerror}: expected a YAML file") from None
    except UnicodeDecodeError as error:
        raise InvalidConfig(f"{path}: byte {error.start}: expected text in UTF-8") from None
    data = _parsed(str(path), text)
    if data is None:
        return {}
    if not isinstance(data, dict):
        raise InvalidConfig(f"{path}: {shown(data)}: expected keys and values")
    return data


def _override(data: dict[str, Any], environ: Mapping[str, str]) -> dict[KeyPath, str]:
    """Change what variables change; gives the variable for each key that has one."""
    variables: dict[KeyPath, str] = {}
    for name in sorted(name for name in environ if name.startswith(PREFIX)):  # a group before what is in it
        keys = tuple(name.removeprefix(PREFIX).lower().split("__"))
        group = data
        for key in keys[:-1]:
            group = group.setdefault(key, {})
            if not isinstance(group, dict):
                raise InvalidConfig(f"{name}: {key}: {shown(group)}: expected a group of keys")
        group[keys[-1]] = _parsed(name, environ[name])
        variables[keys] = name
    return variables


def _parsed(where: str, text: str) -> Any:
    try:
        return parse_yaml(text)
    except NotYaml as error:
        raise InvalidConfig(f"{where}: {error}: expected YAML") from None


def _first_misfit(error: ValidationError) -> tuple[KeyPath, str]:
    """The first thing that pydantic complains about: where it is, what it is and what was expected."""
    problem = first_problem(error)
    keys = problem.path
    if isinstance(problem.raised, Misfit):
        return keys + problem.raised.path, problem.raised.args[0]
    if problem.kind == "missing":
        return keys, "missing: expected a value"
    if problem.kind == "extra_forbidden":
        known = ", ".join(_group(keys[:-1]).model_fields)
        return keys, f"{shown(problem.value)}: unknown: expected one of {known}"
    return keys, f"{shown(problem.value)}: {expectation(problem.message)}"


def _group(keys: KeyPath) -> type[_Group]:
    groups: dict[int | str, type[_Group]] = {
        "region": RegionConfig,
        "places": PlaceConfig,
        "limits": Limits,
        "log": LogConfig,
    }
    return next((groups[key] for key in reversed(keys) if key in groups), BrokerConfig)
