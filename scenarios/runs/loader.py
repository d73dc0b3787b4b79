"""Loads scenarios from files: changes keys as asked, checks everything, and names the first error in one
line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bypass.scenarios.experiments.files import InvalidScenario, builtin_names, read
from bypass.scenarios.experiments.infrastructure import FAILURES
from bypass.scenarios.experiments.schema import Scenario
from bypass.scenarios.experiments.variants import changed, validated, variants
from bypass.scenarios.runs.paths import mark_missing

__all__ = ["InvalidScenario", "builtin_names", "load"]


def load(
    scenario: str | Path,
    *,
    changes: Mapping[str, Any] | None = None,
    duration: float | None = None,
    clients: int | None = None,
) -> Scenario:
    """A built-in scenario or a YAML file, with changes: dotted keys to values.

    Another `duration` stretches or shrinks the timeline with it, the time in which objects are stored, and
    failures of infrastructure; runs of a duration, or a number of `clients`, of their own become no longer,
    or larger, than asked for. A check whose figure is not there any more says so. Raises InvalidScenario,
    also if the file makes no sense before the changes.
    """
    source, data = str(scenario), read(scenario)
    written = validated(source, data)
    if duration is not None:
        for step, before in zip(data.get("timeline", ()), written.timeline, strict=True):
            step["at"] = before.at * duration / written.duration
        for own in data.get("runs", {}).values():
            if "duration" in own:
                own["duration"] = min(own["duration"], duration)
        _stretch_failures(data, written, duration / written.duration)
        if written.infrastructure is not None:
            data["infrastructure"] = written.infrastructure.stretched(duration / written.duration)
        if written.objects is not None:
            data["objects"] = written.objects.stretched(duration / written.duration)
        data["duration"] = duration
    if clients is not None:
        for own in data.get("runs", {}).values():
            if "clients" in own:
                own["clients"] = min(own["clients"], clients)
        data["clients"] = clients
    loaded = validated(source, changed(source, data, changes or {}))
    variants(loaded)
    return loaded if loaded == written else mark_missing(loaded)


def _stretch_failures(data: dict[str, Any], written: Scenario, factor: float) -> None:
    """Have the failures that runs give themselves so many times as late and as long."""
    named = [(name, key) for name, own in written.runs.items() for key in FAILURES if key in own]
    before = variants(written) if named else {}
    for name, key in named:
        infrastructure = before[name].infrastructure
        assert infrastructure is not None
        part: Any = infrastructure.stretched(factor)
        for step in key.split(".")[1:]:
            part = part[step]
        data["runs"][name][key] = part
