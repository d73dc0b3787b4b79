"""Which state goes where when one cache takes over from another, without custom code."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, Optional, Protocol, TypeVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.transitions import (
    Engine,
    InvalidParameter,
    Mechanism,
    MissingState,
    Nothing,
    TransferState,
    TransitionFailed,
)
from bypass.transitions.state.annotations import compatible, is_application_class

T = TypeVar("T")


class Store:
    """Where a cache keeps what it holds."""


class FastStore(Store):
    pass


class Statistics:
    pass


class Cache(Protocol):
    def get(self, key: str) -> bytes | None: ...


class Base(Mechanism):
    def get(self, key: str) -> bytes | None:
        return None


class Lru(Base):
    store: Annotated[Store, TransferState()]
    order: Annotated[list[str], TransferState(optional=True)]
    hits: Annotated[int, TransferState("count", optional=True)] = 0
    sizes: Annotated[np.ndarray[Any, Any], TransferState(optional=True)]
    recent: Annotated[deque[str], TransferState(optional=True)]


class Lfu(Base):
    """Reacts to what it is given."""

    store: Annotated[Store, TransferState()]
    order: Annotated[Sequence[str], TransferState(optional=True)]
    frequency: Annotated[int, TransferState("count", optional=True)] = 0
    recent: Annotated[deque[str], TransferState(optional=True)]

    def set_count(self, count: int) -> None:
        self.frequency = count * 100


class ByType(Base):
    backend: Annotated[Store, TransferState()]


class ByTypeNamed(Base):
    backend: Annotated[Store, TransferState("backend")]


class ByTypeTwice(Base):
    first: Annotated[Store, TransferState()]
    second: Annotated[Store, TransferState(optional=True)] = Store()


class WrongType(Base):
    store: Annotated[Statistics, TransferState()]


class FastOnly(Base):
    store: Annotated[FastStore, TransferState()]


class AnyStore(Base):
    store: Annotated[Any, TransferState()]


class Forgetful(Base):
    pass


class Spoiler(Base):
    """Changes what it was handed, then cannot start."""

    order: Annotated[list[str], TransferState()]
    sizes: Annotated[np.ndarray[Any, Any], TransferState()]
    recent: Annotated[deque[str], TransferState()]

    def start(self) -> None:
        self.order.clear()
        self.sizes[:] = 0
        self.recent.clear()
        raise OSError("disk full")


class HidesState(Base):
    store: Annotated[Store, TransferState()]

    def set_store(self, store: Store) -> None:
        pass


def engine_with(default: type[Mechanism], **state: object) -> Engine:
    engine = Engine()
    engine.create_proxy("cache", Cache, default, state=state)
    return engine


def test_objects_move_by_reference_and_containers_as_copies() -> None:
    store, order = Store(), ["a", "b"]
    engine = engine_with(Lru, store=store, order=order, count=3)
    old = engine.active("cache")
    record = engine.transition("cache", Lfu)
    new = engine.active("cache")
    assert isinstance(old, Lru)
    assert isinstance(new, Lfu)
    assert new.store is store
    assert new.order == order
    assert new.order is not old.order
    assert (record.moved, record.dropped) == (("store", "order", "count", "recent"), ("sizes",))


def test_setters_are_called_instead_of_setting_the_field() -> None:
    engine = engine_with(Lru, store=Store(), count=3)
    engine.transition("cache", Lfu)
    assert vars(engine.active("cache"))["frequency"] == 300


def test_a_target_that_fails_cannot_have_changed_the_containers_of_the_source() -> None:
    engine = engine_with(Lru, store=Store(), order=["a"], sizes=np.array([4, 5]), recent=deque("a"))
    with pytest.raises(TransitionFailed, match="disk full"):
        engine.transition("cache", Spoiler)
    active = engine.active("cache")
    assert isinstance(active, Lru)
    assert active.order == ["a"]
    assert active.sizes.tolist() == [4, 5]
    assert active.recent == deque("a")


def test_state_without_chosen_names_is_matched_by_a_unique_type() -> None:
    store = Store()
    engine = engine_with(Lru, store=store)
    record = engine.transition("cache", ByType)
    assert vars(engine.active("cache"))["backend"] is store
    assert record.moved == ("backend",)
    assert "store" not in record.dropped


@pytest.mark.parametrize("target", [ByTypeNamed, ByTypeTwice])
def test_type_does_not_decide_if_a_name_was_chosen_or_it_is_not_unique(target: type[Mechanism]) -> None:
    engine = engine_with(Lru, store=Store())
    with pytest.raises(TransitionFailed) as caught:
        engine.transition("cache", target)
    assert caught.value.phase == "transfer"
    assert isinstance(caught.value.cause, MissingState)


def test_type_does_not_decide_between_two_offers() -> None:
    engine = engine_with(ByTypeTwice, first=Store())
    with pytest.raises(TransitionFailed, match="'by-type' requires state 'backend'"):
        engine.transition("cache", ByType)


def test_missing_state_is_named_with_what_is_offered() -> None:
    engine = engine_with(Lru, store=Store())
    with pytest.raises(TransitionFailed) as caught:
        engine.transition("cache", WrongType)
    assert str(caught.value) == (
        "proxy 'cache': 'wrong-type' failed in phase 'transfer':"
        " 'wrong-type' requires state 'store' (Statistics);"
        " offered is: 'store' (Store), 'order' (list[str]), 'count' (int), 'sizes' (numpy.ndarray[typing.Any,"
        " typing.Any]), 'recent' (collections.deque[str])"
    )
    assert isinstance(engine.active("cache"), Lru)


def test_a_base_class_does_not_fit_where_a_subclass_is_wanted() -> None:
    engine = engine_with(Lru, store=FastStore())
    with pytest.raises(TransitionFailed, match="requires state 'store' \\(FastStore\\)"):
        engine.transition("cache", FastOnly)


def test_any_matches_everything() -> None:
    store = Store()
    engine = engine_with(Lru, store=store)
    engine.transition("cache", AnyStore)
    assert vars(engine.active("cache"))["store"] is store


def test_nothing_keeps_state_in_trust() -> None:
    store, order = Store(), ["a"]
    engine = engine_with(Lru, store=store, order=order, count=2)
    down = engine.transition("cache", Nothing)
    up = engine.transition("cache", Lfu)
    new = engine.active("cache")
    assert isinstance(new, Lfu)
    assert (new.store, new.order, new.frequency) == (store, order, 200)
    assert (down.target, down.moved, down.dropped) == (
        "nothing",
        ("store", "order", "count", "sizes", "recent"),
        (),
    )
    assert (up.source, up.moved, up.dropped) == ("nothing", ("store", "order", "count", "recent"), ("sizes",))


def test_state_that_the_successor_drops_is_gone() -> None:
    engine = engine_with(Lru, store=Store())
    assert engine.transition("cache", Forgetful).dropped == ("store", "order", "count", "sizes", "recent")
    with pytest.raises(TransitionFailed, match=r"requires state 'store' \(Store\); offered is: nothing"):
        engine.transition("cache", Lru)


def test_a_proxy_may_start_with_nothing_that_holds_state() -> None:
    store = Store()
    engine = engine_with(Nothing, store=store)
    engine.transition("cache", Lru)
    assert vars(engine.active("cache"))["store"] is store


def test_first_state_must_be_complete_and_known() -> None:
    with pytest.raises(TransitionFailed, match="requires state 'store'") as caught:
        engine_with(Lru, order=[])
    assert caught.value.phase == "transfer"
    with pytest.raises(TransitionFailed, match="'lru' has no state 'shop'; it has: store") as caught:
        engine_with(Lru, store=Store(), shop=1)
    assert isinstance(caught.value.cause, InvalidParameter)


def test_a_setter_must_leave_the_field_readable() -> None:
    with pytest.raises(TransitionFailed, match="'hides-state' requires state 'store'"):
        engine_with(HidesState, store=Store())


@pytest.mark.parametrize(
    ("offered", "wanted", "fits"),
    [
        (int, int, True),
        (int, str, False),
        (FastStore, Store, True),
        (Store, FastStore, False),
        (dict[str, int], dict[str, int], True),
        (dict[str, int], dict[str, str], False),
        (dict[str, int], dict, True),
        (dict, dict[str, int], True),
        (dict[str, int], Mapping[str, int], True),
        (Mapping[str, int], dict[str, int], False),
        (dict[str, list[int]], dict[str, list[Any]], True),
        (list[FastStore], list[Store], False),
        (list[T], list[int], True),  # type: ignore[valid-type]
        (Any, list[int], True),
        (int, int | None, True),
        (Optional[int], int, False),  # noqa: UP045 - both spellings must be understood
        (int | None, Optional[int], True),  # noqa: UP045
        (Annotated[int, "m"], int, True),
        (Callable[[int], str], Callable[[int], str], True),
        (Callable[[int], str], Callable[[str], str], False),
        (tuple[int, int], tuple[int, ...], False),
        (tuple[int, int], tuple[int, int, int], False),
        (Store, Cache, False),
        (Cache, Cache, True),
    ],
)
def test_compatibility_of_annotations(offered: Any, wanted: Any, fits: bool) -> None:
    assert compatible(offered, wanted) is fits


@given(
    st.recursive(
        st.sampled_from([int, str, Store, FastStore, Any]),
        lambda inner: st.one_of(
            inner.map(lambda t: list[t]),  # type: ignore[valid-type]
            st.tuples(inner, inner).map(lambda t: dict[t[0], t[1]]),  # type: ignore[valid-type]
            inner.map(lambda t: t | None if t is not Any else Any),
        ),
    )
)
def test_every_annotation_fits_itself_and_any(annotation: Any) -> None:
    assert compatible(annotation, annotation)
    assert compatible(annotation, Any)
    assert compatible(Any, annotation)


def test_only_classes_of_the_application_say_what_a_value_is_for() -> None:
    assert is_application_class(Store)
    assert not any(map(is_application_class, (int, dict[str, int], deque, np.ndarray, Any, int | None, T)))
