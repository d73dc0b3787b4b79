"""The schema of a device's messages: how its short names are translated, and the limits of a message."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from bypass.ports.measurements import ValueType


class Translation(BaseModel):
    """The meaning of a short name: the metric, and what messages need not say of it then."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    metric: str = Field(min_length=1)
    type: ValueType | None = None
    uom: str | None = None


class ParserSchema(BaseModel):
    """Tells a parser about a device's messages.

    `names` translates short names; with `only_names` there may be no others. `columns` are those of CSV,
    `options` are for parsers of others. Labels are metrics and units.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    names: dict[str, Translation] = {}
    only_names: bool = False
    columns: tuple[Annotated[str, Field(min_length=1)], ...] = ("timestamp", "metric", "value", "type", "uom")
    longest_label: Annotated[int, Field(gt=0, le=4096)] = 256
    most_measurements: Annotated[int, Field(gt=0, le=1_000_000)] = 10_000
    options: dict[str, Any] = {}
