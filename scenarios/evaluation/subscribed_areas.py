"""Areas that the clients of a trace subscribe to instead of a circle around them, from a file of GeoJSON."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bypass.errors import InvalidArea
from bypass.models.traces import Trace
from bypass.places.area_of_interest import MOST_AREAS, AreaOfInterest
from bypass.places.areas import Area
from bypass.scenarios.evaluation.schemes import InvalidEvaluation

CLIENT = "client"
"""The property of a feature that says whose area it is."""


@dataclass(frozen=True)
class SubscribedAreas:
    """The areas, in metres of the trace, that each client has: those of `everybody`, and its `own` ones. A
    client without any subscribes to nothing."""

    everybody: tuple[Area, ...]
    own: Mapping[int, tuple[Area, ...]]

    @classmethod
    def read(cls, path: Path, trace: Trace) -> SubscribedAreas:
        """The areas of a file: features that have a property `client` are that client's, others everybody's.

        Coordinates are degrees if the trace says where on earth it is, else metres of the trace. Raises
        InvalidEvaluation, which names the feature, and OSError.
        """
        features = _features(path)
        everybody: list[Area] = []
        own: dict[int, list[Area]] = {}
        for number, feature in enumerate(features):
            what = f"{path}: feature {number}"
            properties = feature.get("properties") or {}
            client = properties.get(CLIENT)
            try:
                area = Area.from_geojson(feature, degrees=trace.georeference is not None)
                if trace.georeference is not None:
                    area = area.projected(trace.georeference.plane)
            except InvalidArea as error:
                raise InvalidEvaluation(f"{what}: {error}") from None
            if client is None:
                everybody.append(area)
            elif isinstance(client, int) and 0 <= client < trace.clients:
                own.setdefault(client, []).append(area)
            else:
                raise InvalidEvaluation(
                    f"{what}: {CLIENT} {client!r}: expected a whole number from 0 to {trace.clients - 1}"
                )
        found = cls(tuple(everybody), {client: tuple(areas) for client, areas in own.items()})
        most = max(len(everybody) + len(areas) for areas in ((), *found.own.values()))
        if most > MOST_AREAS:
            raise InvalidEvaluation(f"{path}: {most} areas of one client: expected at most {MOST_AREAS}")
        return found

    @property
    def count(self) -> int:
        """How many areas there are."""
        return len(self.everybody) + sum(map(len, self.own.values()))

    def interest(self, client: int) -> AreaOfInterest | None:
        """The areas that a client subscribes to, None if it subscribes to nothing."""
        areas = self.everybody + self.own.get(client, ())
        return AreaOfInterest(areas) if areas else None


def _features(path: Path) -> list[Mapping[str, Any]]:
    try:
        content = json.loads(path.read_text("utf-8"))
        found = content["features"] if content["type"] == "FeatureCollection" else [content]
        features = [
            each if each["type"] == "Feature" else {"type": "Feature", "geometry": each} for each in found
        ]
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise InvalidEvaluation(f"{path}: {error}: expected GeoJSON") from None
    if not features:
        raise InvalidEvaluation(f"{path}: no features: expected at least one")
    return features
