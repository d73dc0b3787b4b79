"""Marks for the fields of a mechanism: what moves on a transition, and what a plan may set."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class TransferState:
    """Marks state that moves from one mechanism to the next: `Annotated[Table, TransferState()]`.

    Source and target agree on `name`, or on the name of the field if there is none. Required state must
    be offered by somebody; optional state keeps its default if nobody does.
    """

    name: str | None = None
    optional: bool = field(default=False, kw_only=True)


@dataclass(frozen=True, slots=True)
class MechanismState:
    """Marks a parameter that a plan may set: `Annotated[float, MechanismState("p"), Field(ge=0)] = 0.4`.

    A plan calls it `name`, or like the field if there is none.
    """

    name: str | None = None
