"""Queries: a formula over tags, a window of time, a circle, filters; and pages of the past."""

from __future__ import annotations

from dataclasses import dataclass
from math import isfinite
from typing import NamedTuple

from bypass.errors import InvalidObject, InvalidQuery, shown
from bypass.events.event import Event
from bypass.events.filters import Subscription
from bypass.events.matching import matches as satisfies
from bypass.objects.metadata import MOST_NODES, Metadata, ObjectKey, check_namespace
from bypass.objects.tags import TagFormula
from bypass.objects.window import ALWAYS, TimeWindow

MOST_FILTERS = 32
MOST_ON_A_PAGE = 64
USUAL_PAGE = 20
PAGE_BYTES = 128 << 10
"""A page ends before its metadata has more bytes than this, or after one object."""

_NOTHING = Event()


class PageCursor(NamedTuple):
    """A position in the order of pages. The order is descending: latest first, of equal times the larger
    key. An item comes after a position if its own is smaller."""

    published_us: int
    key: ObjectKey


def position(metadata: Metadata) -> PageCursor:
    """The position of an object in the order of pages."""
    return PageCursor(metadata.published_us, metadata.key)


def _is_circle(near: object) -> bool:
    return (
        isinstance(near, tuple | list)
        and len(near) == 3
        and all(isinstance(each, int | float) and isfinite(each) for each in near)
        and near[2] > 0
    )


class Page(NamedTuple):
    """Some matches in the order of pages. The next page begins after `next`, the position of the last item,
    or that after which this page was to begin; `more` says whether there are matches on it now."""

    items: tuple[Metadata, ...]
    next: PageCursor | None
    more: bool


@dataclass(frozen=True, slots=True)
class ObjectQuery:
    """A wish to know of objects. `id` is unique in the system, its upper 32 bits are `subscriber`.

    `near` is a circle: the objects in it have a place, at most radius from (x, y), metres. `where` are
    filters on attributes. Raises InvalidQuery beyond the limits.
    """

    id: int
    subscriber: int
    formula: TagFormula
    window: TimeWindow = ALWAYS
    near: tuple[float, float, float] | None = None
    where: Subscription | None = None
    namespace: str = ""

    def __post_init__(self) -> None:
        if not (isinstance(self.subscriber, int) and 0 <= self.subscriber < MOST_NODES):
            raise InvalidQuery(f"subscriber {shown(self.subscriber)}: expected a number of 32 bits")
        if not isinstance(self.id, int) or self.id >> 32 != self.subscriber:
            raise InvalidQuery(f"query {shown(self.id)}: expected one of subscriber {self.subscriber}")
        if self.near is not None and not _is_circle(self.near):
            raise InvalidQuery(f"near {shown(self.near)}: expected x, y and a radius above 0")
        if self.where is not None and self.where.size > MOST_FILTERS:
            raise InvalidQuery(f"query with {self.where.size} filters: expected at most {MOST_FILTERS}")
        try:
            check_namespace(self.namespace)
        except InvalidObject as error:
            raise InvalidQuery(f"query's {error}") from None

    def matches(self, metadata: Metadata) -> bool:
        """Whether an object is what the query asks for. That it was deleted, metadata cannot know."""
        return (
            self.window.holds(metadata.published_us)
            and metadata.namespace == self.namespace
            and self.formula.matches(metadata.tags)
            and self._is_near(metadata)
            and (self.where is None or satisfies(metadata.attributes or _NOTHING, self.where))
        )

    def _is_near(self, metadata: Metadata) -> bool:
        if self.near is None:
            return True
        if metadata.place is None:
            return False
        x, y, radius = self.near
        dx, dy = metadata.place[0] - x, metadata.place[1] - y
        return dx * dx + dy * dy <= radius * radius


def check_page(limit: int, least: int) -> None:
    """Raise InvalidQuery unless a page can have so many objects, at least `least` of them."""
    if type(limit) is not int or not least <= limit <= MOST_ON_A_PAGE:
        raise InvalidQuery(f"page of {shown(limit)} objects: expected {least} to {MOST_ON_A_PAGE}")
