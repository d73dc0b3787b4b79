"""The interface of a judge: it decides, for some filter schemes, whom the events of a trace reach."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from bypass.mechanisms.filters.base.scheme import FilterScheme
from bypass.mechanisms.filters.kernels.client_tree import ClientTree
from bypass.mechanisms.filters.kernels.ground_truth import GroundTruth
from bypass.mechanisms.filters.kernels.window import Leg, Window
from bypass.support.arrays import Floats, Ints

MESSAGES_UP, BYTES_UP, MESSAGES_DOWN, BYTES_DOWN = range(4)
"""The columns of traffic: context messages to the broker and from it, and their bytes with headers."""


class Circles(NamedTuple):
    """The places that attract people (m)."""

    x: Floats
    y: Floats
    r: Floats


Bounds = tuple[float, float, float, float]


class MessageSizes(NamedTuple):
    """The bytes that messages have, with what lower layers add: an assignment `request` alone and `riding` on
    an event, a `report` of a place and one `with_vector`, and the `assignment` of channels, the first of
    which is published to, with a cell and a cover or without."""

    request: int
    riding: int
    report: int
    with_vector: int
    assignment: Callable[[str, tuple[str, ...], Bounds | None, Bounds | None], int]


class Conditions(NamedTuple):
    """The conditions of an evaluation: everybody's radius, the world (x0, y0, x1, y1), its circles (m), how
    many bytes lower layers add to a message, and how many messages have."""

    radius: float
    area: Bounds
    circles: Circles
    header: int
    sizes: MessageSizes


class SchemeSetting(NamedTuple):
    """A filter scheme with the values of its parameters, as its broker's part has them."""

    scheme: type[FilterScheme]
    values: Mapping[str, Any]


class Counts(NamedTuple):  # compiled into kernels
    """A row for each event of a window, a column for each scheme: how many clients it `notified`, and how
    many of them were `correct`, because the event concerned them. The publisher is never among them."""

    notified: Ints
    correct: Ints


class Judge(ABC):
    """Decides for some schemes whom they notify of events. It sees windows that follow each other.

    It starts where everybody is when a leg begins, as if they subscribed there. Messages take no time: what a
    client says holds for everything after that microsecond. Windows before the part that is to be judged are
    passed, the others are counted.
    """

    @abstractmethod
    def pass_window(self, window: Window) -> None:
        """Let a window pass; what matters is what clients and broker know of each other afterwards."""

    @abstractmethod
    def begin(self, carried: Ints | None) -> None:
        """Count from now on; messages so far do not count. `carried` is what `carried` gave for the same
        moment, where somebody has followed the schemes from the start of the trace."""

    @abstractmethod
    def count(self, window: Window, crowd: ClientTree, concerned: GroundTruth) -> Counts:
        """Let a window pass and count its events. `crowd` is everybody in groups that stand together, which
        those can use who look for clients near events; `concerned` says who should get each event."""

    @abstractmethod
    def traffic(self) -> Ints:
        """Context messages and bytes since the begin: a row for each scheme, columns as above."""

    def carried(self) -> Ints:
        """All that clients know whose age has no bound; the last axis is clients.

        Kernels of schemes with a `memory` of None have to give it.
        """
        raise NotImplementedError(f"{type(self).__name__}: expected what is carried, its scheme has no bound")


class Kernels(Protocol):
    """The class that a scheme's `kernels` names: a Judge for all schemes that name it."""

    def __call__(self, conditions: Conditions, schemes: Sequence[SchemeSetting], leg: Leg) -> Judge: ...
