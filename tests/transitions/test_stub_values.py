"""When nothing is active, calls do nothing and return something empty that fits."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Optional, Protocol

import numpy as np
import pytest
from numpy.typing import NDArray

from bypass.transitions import Engine, Nothing, make_stub


class Index(Protocol):
    def nothing(self) -> None: ...
    def unannotated(self): ...  # type: ignore[no-untyped-def]
    def number(self) -> int: ...
    def flag(self) -> bool: ...
    def text(self) -> str: ...
    def raw(self) -> bytes: ...
    def a_list(self) -> list[int]: ...
    def a_dict(self) -> dict[str, int]: ...
    def a_set(self) -> set[int]: ...
    def a_tuple(self) -> tuple[int, ...]: ...
    def a_deque(self) -> deque[int]: ...
    def mapping(self) -> Mapping[str, int]: ...
    def sequence(self) -> Sequence[int]: ...
    def collection(self) -> Collection[int]: ...
    def abstract_set(self) -> AbstractSet[int]: ...
    def iterable(self) -> Iterable[int]: ...
    def iterator(self) -> Iterator[int]: ...
    def maybe(self) -> list[int] | None: ...
    def maybe_old(self) -> Optional[list[int]]: ...  # noqa: UP045 - both spellings must be understood
    def either(self) -> list[int] | str: ...
    def application(self) -> Index: ...
    def anything(self) -> Any: ...
    def array(self) -> np.ndarray[Any, Any]: ...
    def numbers(self) -> NDArray[np.int64]: ...
    def add(self, key: str, value: int = 3, *more: int, flag: bool = False) -> list[str]: ...
    async def query(self, key: str) -> list[str]: ...

    @property
    def size(self) -> int: ...

    @property
    def names(self) -> list[str]: ...


@pytest.fixture
def index() -> Index:
    return Engine().create_proxy("index", Index, Nothing)


@pytest.mark.parametrize(
    ("method", "value"),
    [
        ("nothing", None),
        ("unannotated", None),
        ("number", None),
        ("flag", False),
        ("text", ""),
        ("raw", b""),
        ("a_list", []),
        ("a_dict", {}),
        ("a_set", set()),
        ("a_tuple", ()),
        ("a_deque", deque()),
        ("mapping", {}),
        ("sequence", ()),
        ("collection", ()),
        ("abstract_set", frozenset()),
        ("iterable", ()),
        ("maybe", None),
        ("maybe_old", None),
        ("either", []),
        ("application", None),
        ("anything", None),
    ],
)
def test_return_values(index: Index, method: str, value: object) -> None:
    result = getattr(index, method)()
    assert result == value
    assert type(result) is type(value)


def test_iterators_and_arrays_are_empty(index: Index) -> None:
    assert list(index.iterator()) == []
    assert index.array().shape == (0,)
    assert index.numbers().dtype == np.int64
    assert np.arange(3)[index.numbers()].shape == (0,)


def test_any_arguments_are_taken(index: Index) -> None:
    assert index.add("a", 1, 2, 3, flag=True) == []
    assert asyncio.run(index.query("a")) == []


def test_properties(index: Index) -> None:
    assert index.names == []
    assert not index.size


def test_each_call_returns_a_new_container(index: Index) -> None:
    index.a_list().append(1)
    assert index.a_list() == []


def test_a_stub_is_nothing() -> None:
    stub = make_stub(Index)
    assert issubclass(stub, Nothing)
    assert (stub.name, stub.parameters(), stub.states()) == ("nothing", {}, {})
    assert make_stub(Index) is stub


class PartlyKnown(Protocol):
    def find(self, what: NoSuchType) -> list[int]: ...  # type: ignore[name-defined]  # noqa: F821


def test_only_the_return_annotation_must_be_known_at_run_time() -> None:
    assert Engine().create_proxy("index", PartlyKnown, Nothing).find("x") == []


class Broken(Protocol):
    def find(self) -> list[NoSuchType]: ...  # type: ignore[name-defined]  # noqa: F821


def test_a_return_annotation_that_is_not_known_is_refused() -> None:
    with pytest.raises(
        TypeError, match=r"return annotation of Broken\.find: name 'NoSuchType' is not defined"
    ):
        make_stub(Broken)
