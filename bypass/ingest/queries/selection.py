"""Selections of measurements: first devices by what the registry says of them, then telemetry by a
predicate and a window of time."""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from datetime import UTC, datetime

from bypass.errors import shown
from bypass.events.filters import Filter, Subscription
from bypass.ingest.devices.registry import DeviceRegistry
from bypass.ingest.folder import IngestFolder
from bypass.ingest.queries.conditions import MeasurementCondition, check_devices, matches_device
from bypass.ingest.queries.invalid import InvalidSelection
from bypass.ingest.queries.predicate import parse_predicate

Predicate = Subscription | Filter | str | None
"""Filters of `bypass.attr`, the same as text, or None for everything."""


class Selection:
    """The measurements that are meant. `tenant` is always given: nobody sees another tenant's devices.

    `devices` is a predicate over `id`, `application`, `region`, `policy` and the metadata of devices;
    `where` one over `device`, `metric`, `type`, `uom`, `time`, `received` and `value` of their measurements;
    `since` and `until` are times (ms), the end excluded.
    """

    __slots__ = ("condition", "devices", "since", "tenant", "until")

    def __init__(
        self,
        tenant: str,
        devices: Predicate = None,
        where: Predicate = None,
        since: int | None = None,
        until: int | None = None,
    ) -> None:
        """Raises InvalidSelection for a predicate that is none, or that nothing can pass."""
        self.tenant = tenant
        self.devices = _predicate(devices)
        if self.devices is not None:
            check_devices(self.devices)
        wanted = _predicate(where)
        self.condition = None if wanted is None else MeasurementCondition(wanted)
        for name, at in (("since", since), ("until", until)):
            if at is not None and not -(1 << 62) < at < 1 << 62:
                raise InvalidSelection(f"{name} {shown(at)}: expected milliseconds since 1970")
        self.since, self.until = since, until


@dataclass(slots=True)
class DeviceGroup:
    """The devices that a selection means. They are chosen anew when the registry has changed."""

    folder: IngestFolder
    selection: Selection
    _version: int = -1
    _ids: frozenset[str] = frozenset()

    def ids(self) -> frozenset[str]:
        """The ids, as of now."""
        with DeviceRegistry(self.folder.registry) as registry:
            version = registry.version
            if version != self._version:
                wanted = self.selection.devices
                records = registry.records(self.selection.tenant)
                self._ids = frozenset(
                    record.id for record in records if wanted is None or matches_device(record, wanted)
                )
                self._version = version
        return self._ids


def _predicate(given: Predicate) -> Subscription | None:
    if isinstance(given, str):
        return parse_predicate(given) if given.strip() else None
    return None if given is None else Subscription.of(given)


_AGE = re.compile(r"-(\d{1,12}(?:\.\d{1,6})?)([smhd])")
SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def parse_time(text: str, now: float | None = None) -> int:
    """A time in milliseconds: `-1h` is an hour ago, other forms are ISO 8601, in UTC unless they say
    otherwise, or milliseconds since 1970.

    Raises InvalidSelection.
    """
    text = text.strip()
    if age := _AGE.fullmatch(text):
        ago = float(age[1]) * SECONDS[age[2]]
        return int(((time.time() if now is None else now) - ago) * 1000)
    if re.fullmatch(r"\d{11,18}", text):  # shorter ones are dates
        return int(text)
    try:
        at = datetime.fromisoformat(text)
        return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
    except (ValueError, OverflowError):
        raise InvalidSelection(f"time {shown(text)}: expected -1h, -30m, or 2026-11-18T10:00:00") from None
