"""Proxies look like their API in every respect and forward faithfully."""

from __future__ import annotations

import asyncio
import inspect
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator
from typing import Annotated, Any, Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.transitions import Engine, Mechanism, MechanismState, make_proxy_class

DEFAULT = object()


class Readable(Protocol):
    def get(self, key: str) -> object: ...


class Cache(Readable, Protocol):
    """A cache with every kind of signature."""

    def put(
        self, key: str, value: object = DEFAULT, /, *extra: int, ttl: float = 2.5, **tags: str
    ) -> tuple[Any, ...]:
        """Store a value."""
        ...

    def keyword_only(self, *, a: int, b: int = 3) -> tuple[Any, ...]: ...

    def clear(this) -> None: ...  # noqa: N805 - the first parameter may have any name

    async def fetch(self, key: str, tries: int = 2) -> tuple[Any, ...]: ...

    def keys(self) -> Iterator[str]: ...

    def stream(self) -> AsyncIterator[str]: ...

    @property
    def size(self) -> int: ...

    def _private(self) -> None: ...


class Memory(Mechanism):
    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self.size = 41

    def get(self, key: str) -> object:
        return ("get", key)

    def put(
        self, key: str, value: object = None, /, *extra: int, ttl: float = 0, **tags: str
    ) -> tuple[Any, ...]:
        return (key, value, extra, ttl, tags)

    def keyword_only(self, *, a: int, b: int = 0) -> tuple[Any, ...]:
        return (a, b)

    def clear(self) -> None:
        self.size = 0

    async def fetch(self, key: str, tries: int = 0) -> tuple[Any, ...]:
        await asyncio.sleep(0)
        return (key, tries)

    def keys(self) -> Iterator[str]:
        yield "a"

    async def stream(self) -> AsyncIterator[str]:
        yield "b"

    def _private(self) -> None: ...


class AbstractCache(ABC):
    @abstractmethod
    def get(self, key: str) -> object: ...

    def peek(self, key: str) -> object:
        return "of the class"


class PlainCache:
    def get(self, key: str) -> object:
        raise NotImplementedError


class CacheFamily(Mechanism):
    """A family base that is itself a mechanism."""

    limit: Annotated[int, MechanismState("limit")] = 10

    def get(self, key: str) -> object:
        raise NotImplementedError


class Concrete(CacheFamily):
    def get(self, key: str) -> object:
        return ("concrete", key)

    def peek(self, key: str) -> object:
        return ("peek", key)


def proxy() -> Cache:
    return Engine().create_proxy("cache", Cache, Memory)


@given(
    st.text(),
    st.lists(st.integers(), max_size=4),
    st.dictionaries(st.sampled_from(["ttl", "x", "y", "key"]), st.floats(allow_nan=False)),
)
def test_arguments_arrive_as_given(key: str, extra: list[int], named: dict[str, Any]) -> None:
    memory = Memory()
    assert proxy().put(key, 1, *extra, **named) == memory.put(key, 1, *extra, **{"ttl": 2.5, **named})


def test_the_defaults_of_the_api_are_used() -> None:
    assert proxy().put("k") == ("k", DEFAULT, (), 2.5, {})
    assert proxy().keyword_only(a=1) == (1, 3)
    assert asyncio.run(proxy().fetch("k")) == ("k", 2)


@pytest.mark.parametrize("name", ["get", "put", "keyword_only", "clear", "fetch", "keys", "stream"])
def test_signatures_and_documentation_are_those_of_the_api(name: str) -> None:
    forwarder = getattr(make_proxy_class(Cache), name)
    original = getattr(Cache, name)
    assert inspect.signature(forwarder, follow_wrapped=False) == inspect.signature(original)
    assert inspect.iscoroutinefunction(forwarder) == inspect.iscoroutinefunction(original)
    assert forwarder.__doc__ == original.__doc__


def test_wrong_arguments_are_refused_by_the_proxy_itself() -> None:
    with pytest.raises(TypeError, match="missing 1 required keyword-only argument: 'a'"):
        proxy().keyword_only()  # type: ignore[call-arg]


def test_properties_generators_and_streams() -> None:
    cache = proxy()
    assert cache.size == 41
    cache.clear()
    assert cache.size == 0
    assert list(cache.keys()) == ["a"]

    async def collect() -> list[str]:
        return [item async for item in cache.stream()]

    assert asyncio.run(collect()) == ["b"]


def test_only_the_public_api_is_forwarded() -> None:
    forwarded = {name for name in vars(make_proxy_class(Cache)) if not name.startswith("_")}
    assert forwarded == {"get", "put", "keyword_only", "clear", "fetch", "keys", "stream", "size"}


@pytest.mark.parametrize("api", [Readable, AbstractCache, PlainCache, CacheFamily])
def test_a_proxy_is_an_instance_of_its_api(api: type) -> None:
    made: Any = Engine().create_proxy("cache", api, Concrete)
    assert api in type(made).__mro__
    assert made.get("k") == ("concrete", "k")


def test_concrete_methods_of_the_api_are_forwarded_too() -> None:
    assert Engine().create_proxy("cache", AbstractCache, Concrete).peek("k") == ("peek", "k")


def test_a_family_of_mechanisms_as_api_answers_for_the_active_one() -> None:
    engine = Engine()
    made = engine.create_proxy("cache", CacheFamily, Concrete, set={"limit": 20})
    assert (made.limit, made.settings()) == (20, {"limit": 20})
    assert not hasattr(made, "host")
    with pytest.raises(AttributeError):
        made.limit = 3
    made.stop()
    assert made.get("k") == ("concrete", "k")


def test_one_class_per_api() -> None:
    assert make_proxy_class(Cache) is make_proxy_class(Cache)
    assert repr(proxy()).startswith("<CacheProxy to <")
