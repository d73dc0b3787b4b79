"""A transition requested from inside a call must not pull the mechanism from under its own feet."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Protocol

import pytest

from bypass.transitions import (
    Engine,
    Mechanism,
    NestedTransition,
    Nothing,
    Plan,
    Record,
    ReentrantTransition,
    UnknownProxy,
)


class Cache(Protocol):
    def load(self, loader: Callable[[], object]) -> str: ...

    async def load_later(self, loader: Callable[[], object]) -> str: ...

    @property
    def loaded(self) -> str: ...


class Base(Mechanism):
    def load(self, loader: Callable[[], object]) -> str:
        loader()
        return self.name

    async def load_later(self, loader: Callable[[], object]) -> str:
        await asyncio.sleep(0)
        loader()
        return self.name

    @property
    def loaded(self) -> str:
        return self.name


class Lru(Base):
    pass


class Lfu(Base):
    pass


class Setup:
    def __init__(self, deferring: bool) -> None:
        self.later: list[Callable[[], None]] = []
        self.finished: list[Record] = []
        self.engine = Engine("h", defer=self.later.append if deferring else None)
        self.engine.add_listener(self)
        self.cache = self.engine.create_proxy("cache", Cache, Lru, mechanisms=[Lfu])
        self.other = self.engine.create_proxy("other", Cache, Lru, mechanisms=[Lfu])
        self.returned: list[Record] = []

    def transition_finished(self, record: Record) -> None:
        self.finished.append(record)

    def switch(self) -> None:
        self.returned = self.engine.execute(
            Plan.from_data(
                {"plan": "p", "id": "x", "actions": [{"proxy": p, "to": "lfu"} for p in ("other", "cache")]}
            )
        )

    def run_later(self) -> None:
        todo, self.later = self.later, []
        for call in todo:
            call()

    def names(self) -> tuple[str, str]:
        return self.engine.active("other").name, self.engine.active("cache").name


def test_the_whole_plan_is_deferred_in_order() -> None:
    setup = Setup(deferring=True)
    assert setup.cache.load(setup.switch) == "lru"
    assert [record.outcome for record in setup.returned] == ["deferred", "deferred"]
    assert setup.names() == ("lru", "lru")
    assert setup.finished == setup.engine.records == []
    setup.run_later()
    assert setup.names() == ("lfu", "lfu")
    assert [(record.id, record.outcome) for record in setup.finished] == [("x/0", "done"), ("x/1", "done")]


def test_a_deferred_plan_is_done_once() -> None:
    setup = Setup(deferring=True)
    setup.cache.load(setup.switch)
    setup.switch()
    assert [record.outcome for record in setup.returned] == ["repeated", "repeated"]
    setup.run_later()
    assert len(setup.finished) == 2


def test_a_running_coroutine_is_a_call_too() -> None:
    setup = Setup(deferring=True)
    assert asyncio.run(setup.cache.load_later(setup.switch)) == "lru"
    assert len(setup.later) == 1


def test_a_suspended_coroutine_is_not_disturbed() -> None:
    setup = Setup(deferring=False)

    async def scenario() -> str:
        call = asyncio.ensure_future(setup.cache.load_later(lambda: None))
        await asyncio.sleep(0)
        setup.switch()
        return await call

    assert asyncio.run(scenario()) == "lru"
    assert setup.names() == ("lfu", "lfu")


def test_without_deferral_the_request_is_refused_and_may_be_made_again() -> None:
    setup = Setup(deferring=False)
    with pytest.raises(ReentrantTransition, match="a call through proxy 'cache' is under way"):
        setup.cache.load(setup.switch)
    assert setup.names() == ("lru", "lru")
    setup.switch()
    assert setup.names() == ("lfu", "lfu")


def test_calls_through_other_proxies_do_not_matter() -> None:
    setup = Setup(deferring=False)
    assert setup.other.load(lambda: setup.cache.load(lambda: None)) == "lru"
    setup.other.load(lambda: setup.engine.transition("cache", Lfu))
    assert setup.names() == ("lru", "lfu")


def test_a_call_through_two_proxies_is_found_deep_in_the_stack() -> None:
    setup = Setup(deferring=False)
    with pytest.raises(ReentrantTransition):
        setup.cache.load(lambda: setup.other.load(lambda: setup.engine.transition("cache", Lfu)) and None)


def test_changing_parameters_and_dropping_count_as_well() -> None:
    setup = Setup(deferring=False)
    requests: list[Callable[[], Any]] = [
        lambda: setup.engine.alter("cache", lambda cache: None),
        lambda: setup.engine.transition("cache", Nothing),
        lambda: setup.engine.drop_proxy("cache"),
    ]
    for request in requests:
        with pytest.raises(ReentrantTransition):
            setup.cache.load(request)


def test_a_deferred_request_of_the_program_says_so() -> None:
    setup = Setup(deferring=True)
    records: list[Record] = []
    setup.cache.load(lambda: records.append(setup.engine.transition("cache", Lfu)))
    assert [record.outcome for record in records] == ["deferred"]
    setup.run_later()
    assert setup.engine.active("cache").name == "lfu"


def test_deferral_that_is_none_is_refused() -> None:
    engine = Engine(defer=lambda call: call())
    cache = engine.create_proxy("cache", Cache, Lru, mechanisms=[Lfu])
    with pytest.raises(ReentrantTransition):
        cache.load(lambda: engine.transition("cache", Lfu))
    assert engine.active("cache").name == "lru"


def test_what_is_deferred_fails_if_the_proxy_is_gone_by_then() -> None:
    setup = Setup(deferring=True)
    setup.cache.load(setup.switch)
    setup.engine.drop_proxy("cache")
    setup.run_later()
    assert [record.outcome for record in setup.finished] == ["done", "failed"]
    with pytest.raises(UnknownProxy):
        setup.engine.active("cache")


class Nosy:
    """A listener that oversteps."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.refused = 0

    def transition_finished(self, record: Record) -> None:
        try:
            self.engine.transition("cache", Lru)
        except NestedTransition:
            self.refused += 1


def test_listeners_cannot_request_transitions() -> None:
    engine = Engine("h", defer=lambda call: None)
    engine.create_proxy("cache", Cache, Lru, mechanisms=[Lfu])
    nosy = Nosy(engine)
    engine.add_listener(nosy)
    engine.transition("cache", Lfu)
    assert (nosy.refused, engine.active("cache").name) == (1, "lfu")
