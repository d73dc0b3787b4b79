"""Selections of measurements: first devices by what the registry says of them, then telemetry by
predicates."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from bypass.ingest.devices.registry import DeviceRegistry
from bypass.root_error import BypassError


class InvalidSelection(BypassError):
    """A selection that nothing can match, or that is not understood."""


_OPERATORS = {
    "<": pc.less,
    "<=": pc.less_equal,
    ">": pc.greater,
    ">=": pc.greater_equal,
    "==": pc.equal,
    "!=": pc.not_equal,
}


@dataclass(frozen=True, slots=True)
class ValueTest:
    """A comparison of a measurement's value with a number or a text."""

    operator: str
    value: float | str

    def __post_init__(self) -> None:
        if self.operator not in _OPERATORS:
            known = " ".join(_OPERATORS)
            raise InvalidSelection(f"operator {self.operator!r}: expected one of {known}")

    @classmethod
    def parse(cls, text: str) -> ValueTest:
        """The test that a text such as `>= 20.5` or `== Active` describes. Raises InvalidSelection."""
        operator, _, value = text.strip().partition(" ")
        if not value:
            raise InvalidSelection(f"test {text!r}: expected an operator and a value, such as '>= 20.5'")
        try:
            return cls(operator, float(value))
        except ValueError:
            return cls(operator, value)

    def mask(self, rows: pa.Table) -> pa.ChunkedArray:
        """Which rows of the standard model pass."""
        compare = _OPERATORS[self.operator]
        if isinstance(self.value, str):
            return pc.fill_null(compare(rows["label"], self.value), False)
        number = pc.coalesce(rows["double"], pc.cast(rows["long"], pa.float64(), safe=False))
        return pc.fill_null(compare(number, self.value), False)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which measurements are meant. `tenant` is always given: nobody sees another tenant's devices.

    `devices`, `application` and `metadata` choose devices; `metrics`, `since` and `until` (ms, the end
    excluded) and `tests`, all of which must hold, choose among their measurements. Empty ones choose
    everything.
    """

    tenant: str
    devices: frozenset[str] = frozenset()
    application: str | None = None
    metadata: Mapping[str, str] = field(default_factory=dict)
    metrics: frozenset[str] = frozenset()
    since: int | None = None
    until: int | None = None
    tests: tuple[ValueTest, ...] = ()

    def chosen(self, registry: DeviceRegistry) -> frozenset[str]:
        """The ids of the devices that are meant, as of now."""
        known = registry.devices(tenant=self.tenant, application=self.application, metadata=self.metadata)
        ids = frozenset(device.id for device in known)
        return ids & self.devices if self.devices else ids

    def filter(self, rows: pa.Table, devices: frozenset[str]) -> pa.Table:
        """The rows of the standard model that are meant, of these devices."""
        mask = pc.and_(
            pc.equal(rows["tenant"], self.tenant),
            pc.is_in(rows["device"], pa.array(sorted(devices), pa.string())),
        )
        if self.metrics:
            mask = pc.and_(mask, pc.is_in(rows["metric"], pa.array(sorted(self.metrics), pa.string())))
        if self.since is not None:
            mask = pc.and_(mask, pc.greater_equal(rows["time"], self.since))
        if self.until is not None:
            mask = pc.and_(mask, pc.less(rows["time"], self.until))
        for test in self.tests:
            mask = pc.and_(mask, test.mask(rows))
        return rows.filter(mask)


_AGE = re.compile(r"-(\d+(?:\.\d+)?)([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}


def parse_time(text: str, now: float | None = None) -> int:
    """A time in milliseconds: `-1h` is an hour ago, other forms are ISO 8601, in UTC unless they say
    otherwise.

    Raises InvalidSelection.
    """
    if age := _AGE.fullmatch(text.strip()):
        ago = float(age[1]) * _SECONDS[age[2]]
        return int(((time.time() if now is None else now) - ago) * 1000)
    try:
        at = datetime.fromisoformat(text.strip())
    except ValueError:
        raise InvalidSelection(f"time {text!r}: expected -1h, -30m, or 2026-11-18T10:00:00") from None
    return int((at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp() * 1000)
