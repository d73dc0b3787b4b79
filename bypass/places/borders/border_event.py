"""Border events: a watched client has entered an area, left it, stayed in it, or passed through it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

BorderKind = Literal["enter", "exit", "dwell", "cross"]
Why = Literal["moved", "initial", "changed", "removed", "expired", "left", "forbidden"]

KINDS: tuple[BorderKind, ...] = ("enter", "exit", "dwell", "cross")
"""The kinds of border events.

`enter`, `exit`: the client was outside, or inside, and no longer is. `dwell`: it has been inside for as long
as the watch says, once a stay. `cross`: it has entered and left between two fixes, and no fix was inside; the
`enter` and the `exit` are told as well.
"""

REASONS: tuple[Why, ...] = ("moved", "initial", "changed", "removed", "expired", "left", "forbidden")
"""The reasons: the client has moved; it was inside when the watch began; the area has moved or changed its
shape; the watch has no such area any more; the watch has expired; the client has left for good; it does not
allow to be watched any more."""


@dataclass(frozen=True, slots=True)
class BorderEvent:
    """A border event. `area` is the name of the area in the watch, `at` the time (s) on the way between two
    fixes, `x` and `y` the place then (m, NaN: unknown). `since` is when the client has entered: the same as
    `at` of an `enter`. `client` is the number of the watched client, `name` its name where a broker has told
    it.
    """

    kind: BorderKind
    area: str
    x: float
    y: float
    at: float
    since: float
    why: Why = "moved"
    client: int = 0
    name: str = ""
