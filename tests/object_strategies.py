"""Formulas, windows, objects and queries, as hypothesis draws them: few tags and times, so many match."""

from __future__ import annotations

from hypothesis import strategies as st

from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.objects.formula_text import All, AnyPart, FormulaPart, Not, Tag, written
from bypass.objects.metadata import Metadata, ObjectKey, Replica, content_hash
from bypass.objects.query import ObjectQuery
from bypass.objects.tags import TagFormula
from bypass.objects.window import TimeWindow

TAGS = ("a", "b", "c", "a b", 'say "x"', "ß")
SECRET = b"secret"

tags = st.sampled_from(TAGS)
tag_sets = st.frozensets(tags, min_size=1, max_size=4)
times = st.integers(-3, 12)


def _inner(parts: st.SearchStrategy[FormulaPart]) -> st.SearchStrategy[FormulaPart]:
    several = st.lists(parts, min_size=2, max_size=3).map(tuple)
    return st.builds(Not, parts) | st.builds(All, several) | st.builds(AnyPart, several)


formula_parts: st.SearchStrategy[FormulaPart] = st.recursive(st.builds(Tag, tags), _inner, max_leaves=7)
"""Trees that may be grouped as no parser groups them."""

formulas = formula_parts.map(written).map(TagFormula.parse)


@st.composite
def windows(draw: st.DrawFn) -> TimeWindow:
    start, length = draw(st.none() | times), draw(st.none() | st.integers(1, 9))
    end = None if length is None else (start or 0) + length
    return TimeWindow(start, end)


places = st.none() | st.tuples(st.integers(0, 4).map(float), st.integers(0, 4).map(float))
attributes = st.none() | st.builds(lambda level: Event(level=level), st.integers(0, 3)) | st.just(Event())
replicas = st.lists(
    st.builds(Replica, st.none() | st.integers(0, 9), st.none() | st.integers(0, 300)), max_size=3
)


def make_metadata(
    owner: int = 1,
    name: str = "object",
    tagged: frozenset[str] = frozenset({"a"}),
    published_us: int = 0,
    place: tuple[float, float] | None = None,
    described: Event | None = None,
    copies: tuple[Replica, ...] = (),
    namespace: str = "",
    summary: bytes = b"",
    data: bytes = b"data",
    source: int | None = None,
) -> Metadata:
    """An object that its owner can delete with SECRET."""
    return Metadata(
        ObjectKey(owner, name), tagged, published_us, len(data), content_hash(data), content_hash(SECRET),
        summary, place, described, copies, namespace, source,
    )  # fmt: skip


objects = st.builds(
    make_metadata,
    st.integers(1, 3),
    st.sampled_from(("x", "y", "z", "ä ö")),
    tag_sets,
    times,
    places,
    attributes,
    replicas.map(tuple),
    st.sampled_from(("", "", "other")),
    st.binary(max_size=5),
)
near = st.none() | st.tuples(
    st.integers(0, 4).map(float),
    st.integers(0, 4).map(float),
    st.integers(1, 6).map(lambda halves: halves / 2),
)
where = st.none() | st.sampled_from(
    (
        Subscription([attr("level") >= 2]),
        Subscription.of(~(attr("level") == 1)),
        (attr("level") == 0) | (attr("level") == 3),
    )
)


def _query(
    number: int,
    subscriber: int,
    formula: TagFormula,
    window: TimeWindow,
    circle: tuple[float, float, float] | None,
    filters: Subscription | None,
    namespace: str,
) -> ObjectQuery:
    return ObjectQuery(subscriber << 32 | number, subscriber, formula, window, circle, filters, namespace)


queries = st.builds(
    _query,
    st.integers(0, 3),
    st.integers(1, 3),
    formulas,
    windows(),
    near,
    where,
    st.sampled_from(("", "", "other")),
)
