"""State information: what a host knows about hosts, whichever mechanism found it out.

Mechanisms provide readings under typed keys, and others get them without knowing who provides. Where a
reading comes from may change while consumers run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, TypeAlias, TypeVar

T = TypeVar("T")

Vector: TypeAlias = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Key(Generic[T]):
    """Names one kind of information, whose values are of type T."""

    name: str


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """A value, and when it was true (seconds)."""

    value: T
    at: float


LOCATION: Key[Vector] = Key("location")
"""Planar position in metres."""

VELOCITY: Key[Vector] = Key("velocity")
"""Metres per second along x and y."""


class Battery(NamedTuple):
    """A battery's share of charge, 0 to 1, and whether it is being charged."""

    charge: float
    charging: bool = False


BATTERY: Key[Battery] = Key("battery")
"""The battery of a device; whoever has none of its own is as good as charged."""

VISITING: Key[bool] = Key("visiting")
"""Whether a node is soon gone, and is to be given nothing to keep; nodes of which nobody says so stay."""

EXPECTED_DELAY: Key[float] = Key("expected-delay")
"""Seconds that an event for a client waits at the broker on average, also because the client is away."""

Provider: TypeAlias = Callable[[int], Reading[T] | None]
"""Says what it knows about a client, given the client's number."""

BulkProvider: TypeAlias = Callable[[Sequence[int]], list[T | None]]
"""Gives the values that a provider has for clients, in their order; None for those it knows nothing about."""


class StateInformation:
    """The state information of one host. `clock` gives the time in seconds."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._providers: dict[Key[Any], list[tuple[Provider[Any], BulkProvider[Any] | None]]] = {}

    def provide(self, key: Key[T], provider: Provider[T], bulk: BulkProvider[T] | None = None) -> None:
        """Ask `provider` too from now on. Providing it again changes nothing.

        `bulk` must give the values that `provider` gives; it may be asked instead where there are many.
        """
        providers = self._providers.setdefault(key, [])
        if all(known != provider for known, _ in providers):
            providers.append((provider, bulk))

    def get(self, key: Key[T], entity: int, *, max_age: float | None = None) -> Reading[T] | None:
        """The freshest reading on this host, unless it is older than `max_age` seconds.

        Of equally fresh ones, that of the provider who came first.
        """
        best: Reading[T] | None = None
        for provider, _ in self._providers.get(key, ()):
            reading = provider(entity)
            if reading is not None and (best is None or reading.at > best.at):
                best = reading
        if best is not None and max_age is not None and self._clock() - best.at > max_age:
            return None
        return best

    def get_many(self, key: Key[T], entities: Sequence[int]) -> list[T | None]:
        """The values that `get` finds for these, in their order, however old; None where it finds none."""
        providers = self._providers.get(key, ())
        if len(providers) == 1 and (bulk := providers[0][1]) is not None:
            return bulk(entities)
        readings = [self.get(key, entity) for entity in entities]
        return [None if reading is None else reading.value for reading in readings]


class VelocityFromLocations:
    """Provider of VELOCITY for hosts that only tell where they are: from their last two reports."""

    def __init__(self) -> None:
        self._last: dict[int, Reading[Vector]] = {}
        self._velocities: dict[int, Reading[Vector]] = {}

    def report(self, entity: int, location: Reading[Vector]) -> None:
        """Take note of a location. One that is no newer than the last is ignored."""
        before = self._last.get(entity)
        if before is None:
            self._last[entity] = location
        elif location.at > before.at:
            self._last[entity] = location
            (x0, y0), (x1, y1), elapsed = before.value, location.value, location.at - before.at
            self._velocities[entity] = Reading(((x1 - x0) / elapsed, (y1 - y0) / elapsed), location.at)

    def forget(self, entity: int) -> None:
        """Drop what was reported about `entity`."""
        self._last.pop(entity, None)
        self._velocities.pop(entity, None)

    def __call__(self, entity: int) -> Reading[Vector] | None:
        return self._velocities.get(entity)

    def many(self, entities: Sequence[int]) -> list[Vector | None]:
        """The values for these, as a bulk provider gives them."""
        readings = map(self._velocities.get, entities)
        return [None if reading is None else reading.value for reading in readings]
