"""Plans are checked against what hosts of all roles know, without the hosts."""

from __future__ import annotations

from typing import Annotated, Any, Protocol

import pytest
from pydantic import Field

from bypass.transitions import (
    Catalogue,
    Engine,
    InvalidParameter,
    Mechanism,
    MechanismState,
    Plan,
    TransitionError,
    UnknownMechanism,
    UnknownProxy,
    check_plan,
)


class Cache(Protocol):
    def get(self, key: str) -> bytes | None: ...


class Base(Mechanism):
    def get(self, key: str) -> bytes | None:
        return None


class ServerLru(Base):
    name = "lru"
    capacity: Annotated[int, MechanismState("capacity"), Field(ge=1, le=1000)] = 10
    shards: Annotated[int, MechanismState("shards")] = 1


class ServerLfu(Base):
    name = "lfu"
    decay: Annotated[float, MechanismState("decay"), Field(gt=0)] = 0.5
    capacity: Annotated[int, MechanismState("capacity"), Field(ge=1, le=1000)] = 10


class ClientLru(Base):
    name = "lru"
    capacity: Annotated[int, MechanismState("capacity"), Field(ge=1, le=100)] = 10
    offline: Annotated[bool, MechanismState("offline")] = False


SERVER: Catalogue = {"cache": {"lru": ServerLru, "lfu": ServerLfu}, "log": {"lru": ServerLru}}
CLIENT: Catalogue = {"cache": {"lru": ClientLru}}


def plan(**action: Any) -> Plan:
    return Plan.from_data({"plan": "p", "actions": [{"proxy": "cache", **action}]})


@pytest.mark.parametrize(
    "action",
    [
        {"to": "lfu"},
        {"to": "lru", "set": {"capacity": 50, "shards": 2, "offline": True}},
        {"set": {"capacity": 500}},
        {"of": "lru", "set": {"offline": True}},
        {"proxy": "log", "to": "lru", "set": {"capacity": 500}},
    ],
)
def test_a_plan_is_fine_if_somebody_knows_each_name(action: dict[str, Any]) -> None:
    check_plan(plan(**action), SERVER, CLIENT)


@pytest.mark.parametrize(
    ("action", "error", "message"),
    [
        ({"proxy": "cash", "to": "lru"}, UnknownProxy, "there is no proxy 'cash'; there are: cache, log"),
        ({"to": "fifo"}, UnknownMechanism, "'cache' has no mechanism 'fifo'; it has: lfu, lru"),
        ({"of": "fifo", "set": {"a": 1}}, UnknownMechanism, "'fifo'"),
        (
            {"to": "lru", "set": {"capcity": 3}},
            InvalidParameter,
            "'lru' has no parameter 'capcity' (to be set to 3); it has: capacity, offline, shards",
        ),
        ({"to": "lfu", "set": {"shards": 3}}, InvalidParameter, "'lfu' has no parameter 'shards'"),
        ({"set": {"speed": 3}}, InvalidParameter, "'cache' has no parameter 'speed'"),
        ({"to": "lru", "set": {"capacity": 500}}, InvalidParameter, "'capacity' of 'lru' cannot be 500"),
        ({"of": "lru", "set": {"capacity": 0}}, InvalidParameter, "'capacity' of 'lru' cannot be 0"),
        ({"set": {"capacity": 5000}}, InvalidParameter, "cannot be 5000"),
    ],
)
def test_what_nobody_knows_or_somebody_forbids_is_refused(
    action: dict[str, Any], error: type[TransitionError], message: str
) -> None:
    with pytest.raises(error) as caught:
        check_plan(plan(**action), SERVER, CLIENT)
    assert message in str(caught.value)


def test_an_engine_checks_against_its_own_catalogue_and_changes_nothing() -> None:
    engine = Engine()
    engine.create_proxy("cache", Cache, ServerLru, mechanisms=[ServerLfu])
    catalogue = engine.catalogue()
    assert list(catalogue["cache"]) == ["nothing", "lru", "lfu"]
    engine.check(plan(to="nothing"))
    engine.check(plan(to="lfu", set={"decay": 1}))
    with pytest.raises(InvalidParameter, match="'decay' of 'lfu' cannot be 0"):
        engine.check(plan(to="lfu", set={"decay": 0}))
    assert engine.active("cache").name == "lru"
    assert engine.records == []


def test_no_catalogue_knows_nothing() -> None:
    with pytest.raises(UnknownProxy, match="there are: none"):
        check_plan(plan(to="lru"))
