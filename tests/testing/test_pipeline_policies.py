"""The suite for pre-computation: what is built in passes, and what is wrong is caught."""

from __future__ import annotations

from typing import Any

import pytest

from bypass.mechanisms.precompute.base import HeldMeasurement, Precompute
from bypass.ports.measurements import Measurement, MessageOrigin
from bypass.testing import PrecomputeSuite
from tests.testing.catching import failures

BUILTIN: dict[str, tuple[dict[str, Any], str]] = {
    "keep-everything": ({}, "everything"),
    "batch": ({"hold": 30.0}, "everything"),
    "every-nth": ({"n": 2}, "some"),
    "dead-band": ({"band": 1.0}, "some"),
    "by-metric": ({"metrics": ["a"]}, "some"),
    "by-type": ({"types": ["Long"]}, "some"),
    "mean-per-window": ({"window": 60.0}, "derived"),
}


@pytest.mark.parametrize("name", BUILTIN)
def test_a_mechanism_that_is_built_in_passes(name: str) -> None:
    parameters, keeps = BUILTIN[name]
    members = {"mechanism": name, "parameters": parameters, "capabilities": {"keeps": keeps}, "examples": 15}
    assert failures(type("Builtin", (PrecomputeSuite,), members)) == {}


class KeepsTwice(Precompute):
    """Hands on each measurement twice."""

    def take(self, origin: MessageOrigin, measurements: list[Measurement]) -> None:
        for _ in range(2):
            self.host.keep(origin, measurements)


class SharedCount(Precompute):
    """Counts the messages of all devices together, and keeps every second one."""

    count = 0

    def take(self, origin: MessageOrigin, measurements: list[Measurement]) -> None:
        self.count += 1
        if self.count % 2:
            self.host.keep(origin, measurements)

    def export(self) -> Any:
        return self.count

    def load(self, data: Any) -> None:
        self.count = data or 0


class Forgetful(Precompute):
    """Keeps the first message of each device, until a worker begins anew."""

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self.seen: set[str] = set()

    def take(self, origin: MessageOrigin, measurements: list[Measurement]) -> None:
        if origin.device not in self.seen:
            self.seen.add(origin.device)
            self.host.keep(origin, measurements)


class NeverLetsGo(Precompute):
    """Holds everything back for ever."""

    def take(self, origin: MessageOrigin, measurements: list[Measurement]) -> None:
        self.host.hold(origin)

    def resume(self, held: HeldMeasurement) -> None:
        """Forget it."""


@pytest.mark.parametrize(
    ("mechanism", "test", "problem"),
    [
        (KeepsTwice, "test_what_is_kept_was_sent", "or twice"),
        (SharedCount, "test_devices_have_nothing_to_do_with_each_other", "alone"),
        (Forgetful, "test_a_worker_that_begins_anew_changes_nothing", "after beginning anew"),
        (NeverLetsGo, "test_each_message_has_one_end", "are held back after ten days"),
    ],
)
def test_a_wrong_mechanism_is_caught(mechanism: type[Precompute], test: str, problem: str) -> None:
    found = failures(type("Wrong", (PrecomputeSuite,), {"mechanism": mechanism}), test)
    assert problem in found[test]
