"""The record that a transition leaves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic_core import to_jsonable_python

from bypass.transitions.errors import short

TransitionKind = Literal["total", "partial", "self"]
TransitionResult = Literal["done", "failed", "skipped", "repeated", "deferred", "planned", "obsolete"]


@dataclass(slots=True)
class Record:
    """One action of a plan on one host: what was asked, what was done, and how it ended.

    `phases` are names with seconds by the engine's clock. `skipped` are parameters that the mechanism does
    not have. `members` counts who moved, in groups. `custom` names the custom transfer that was used; what
    it moved is its own affair, so `moved` and `dropped` are empty then. `error` says why something failed
    or was skipped; with outcome "done" it says what went wrong after the switch, in `failed_phase`. What is
    "obsolete" was not done because something newer had been done already.
    """

    id: str
    plan: str
    who: str
    why: str
    host: str
    at: float
    proxy: str
    kind: TransitionKind = "total"
    source: str = ""
    target: str = ""
    phases: list[tuple[str, float]] = field(default_factory=list)
    moved: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()
    custom: str = ""
    set: dict[str, Any] = field(default_factory=dict)
    skipped: tuple[str, ...] = ()
    members: int | None = None
    outcome: TransitionResult = "planned"
    error: str = ""
    failed_phase: str = ""

    def __repr__(self) -> str:
        done = (
            f"{self.source} -> {self.target}"
            if self.target != self.source
            else f"{self.target} {short(self.set)}"
        )
        error = f": {short(self.error)}" if self.error else ""
        return f"Record({self.id} at {self.host or 'here'}: {self.proxy} {done}, {self.outcome}{error})"

    def to_dict(self) -> dict[str, Any]:
        """The record as data for JSON; values that JSON does not know are written as text."""
        data: dict[str, Any] = to_jsonable_python(self, fallback=repr, inf_nan_mode="strings")
        return data
