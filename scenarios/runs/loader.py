"""Loads scenarios from files: changes keys as asked, checks everything, and names the first error in one
line."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from bypass.scenarios.experiments.files import InvalidScenario, builtin_names, read
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

    Another `duration` stretches or shrinks the timeline with it; runs of a duration of their own become no
    longer than that. A check whose figure is not there any more says so. Raises InvalidScenario, also if the
    file makes no sense before the changes.
    """
    source, data = str(scenario), read(scenario)
    written = validated(source, data)
    if duration is not None:
        for step, before in zip(data.get("timeline", ()), written.timeline, strict=True):
            step["at"] = before.at * duration / written.duration
        for own in data.get("runs", {}).values():
            if "duration" in own:
                own["duration"] = min(own["duration"], duration)
        data["duration"] = duration
    if clients is not None:
        data["clients"] = clients
    loaded = validated(source, changed(source, data, changes or {}))
    variants(loaded)
    return loaded if loaded == written else mark_missing(loaded)
