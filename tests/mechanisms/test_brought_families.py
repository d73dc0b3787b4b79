"""A family of one's own: on a side that nothing else has, and at clients and the broker of a system."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path
from typing import Annotated, Any, Protocol

import pytest

from bypass.errors import UnusableMechanism
from bypass.mechanisms import Registry
from bypass.mechanisms.families import FILTER, MODE, Family, FamilyProxy
from bypass.mechanisms.modes import Cloud
from bypass.scenarios.runs.experiment import Experiment
from bypass.scenarios.runs.loader import load
from bypass.transitions import (
    Action,
    AtomicTransition,
    Engine,
    Mechanism,
    MechanismState,
    Plan,
    TransferState,
    UnknownMechanism,
    UnknownProxy,
)
from tests.vicinity import Vicinity, row


class Summing(Protocol):
    """Callers of the toy family see this."""

    def add(self, number: int) -> int: ...


class Adder(Mechanism):
    """The base of a toy family: it keeps a sum."""

    total: Annotated[int, TransferState(optional=True)] = 0

    @abstractmethod
    def add(self, number: int) -> int: ...


class Once(Adder):
    def add(self, number: int) -> int:
        self.total += number
        return self.total


class Times(Adder):
    factor: Annotated[int, MechanismState()] = 2

    def add(self, number: int) -> int:
        self.total += self.factor * number
        return self.total


class Halves(Once):
    """Is brought to the family."""

    def add(self, number: int) -> int:
        self.total += number // 2
        return self.total


class Reset(AtomicTransition[Halves, Once]):
    def transfer_state(self, a: Halves, b: Once) -> None:
        b.total = -a.total


def _admit(registry: Registry, kind: type[Any]) -> None:
    if kind.__name__.startswith("No"):
        raise UnusableMechanism(f"class {kind.__name__}: expected another beginning")


class NoAdder(Once):
    """Is refused by its family."""


def family(side: str, name: str = "adding", proxy: str = "adder") -> Family:
    return Family(
        name,
        f"{__name__}:Adder",
        (FamilyProxy(proxy, side, Summing, first="once"),),
        (f"{__name__}:Once", f"{__name__}:Times"),
        _admit,
    )


@pytest.mark.parametrize("side", ["edge", "device", "pipeline", "balcony"])
def test_a_family_runs_on_a_side_of_its_own(side: str) -> None:
    registry = Registry([Halves, Reset], families=[family(side)])
    engine = Engine("toy")
    adder: Summing = registry.create(engine, side, "adder")
    assert adder.add(3) == 3
    plan = Plan(plan="more", actions=(Action(proxy="adder", to="times", set={"factor": 10}),))
    registry.check(plan, (side,))
    with pytest.raises(UnknownProxy, match="there is no proxy 'adder'"):
        registry.check(plan)
    engine.execute(plan)
    assert adder.add(3) == 33
    engine.transition("adder", "halves")
    assert adder.add(4) == 35
    assert engine.transition("adder", "once").custom == "Reset"
    assert adder.add(0) == -35
    assert [*registry.catalogue(side)][-1] == "adder"
    assert "adder" not in Registry().catalogue(side)
    with pytest.raises(UnknownMechanism, match="it has: once, times, halves"):
        registry.find(side, "adder", "thrice")


def test_clients_and_the_broker_have_it_and_a_plan_reaches_both() -> None:
    here, there = family("broker", "summing", "sum"), family("client")
    world = Vicinity(row(2), {"mode": "cloud"}, registry=Registry(families=[there, here]))
    world.subscribe_all(None)
    world.run()
    world.broker.execute(world.plan("adder", "times", 1))
    world.broker.execute(world.plan("sum", "times"))
    world.run()
    assert [client.brought_proxies["adder"].add(1) for client in world.clients] == [1, 2]
    assert world.broker.brought_proxies["sum"].add(5) == 10
    world.clients[0].close()


def test_a_family_comes_from_a_file_beside_a_scenario(tmp_path: Path) -> None:
    (tmp_path / "toy.py").write_text(
        "from bypass.mechanisms.families import Family, FamilyProxy\n"
        "from bypass.transitions import Mechanism\n"
        "class Toy(Mechanism): ...\n"
        "class Doll(Toy): ...\n"
        "class Ball(Toy): ...\n"
        "TOYS = Family('toys', f'{__name__}:Toy', (FamilyProxy('toy', 'client', Toy, first='ball'),),\n"
        "              (f'{__name__}:Ball',))\n"
    )
    (tmp_path / "mine.yaml").write_text(
        "about: x\nclients: 2\nduration: 4\nmechanisms: ['toy.py:TOYS', 'toy.py:Doll']\n"
        "timeline: [{at: 2, plan: {plan: p, actions: [{proxy: toy, to: doll}]}}]\n"
    )
    experiment = Experiment(load(tmp_path / "mine.yaml"), seed=1)
    experiment.run()
    assert [client.engine.active("toy").name for client in experiment.system.clients] == ["doll"] * 2


@pytest.mark.parametrize(
    ("families", "mechanisms", "problem"),
    [
        ([family("edge"), family("device")], [], "family 'adding': family 'adding': expected one of another"),
        ([family("edge"), family("edge", "more")], [], "proxy 'adder' of side 'edge': expected another name"),
        ([family("client", proxy="mode")], [], "proxy 'mode' of side 'client': expected another name"),
        ([family("edge")], [NoAdder], "test_brought_families:NoAdder: class NoAdder: expected another beg"),
        ([], [Halves], "Halves: expected a subclass of RadioTransport, "),
    ],
)
def test_what_does_not_fit_is_refused(families: list[Family], mechanisms: list[type], problem: str) -> None:
    with pytest.raises(UnusableMechanism, match=problem) as refused:
        Registry(mechanisms, families=families)
    assert "\n" not in str(refused.value)


def test_families_that_are_there_already_change_nothing() -> None:
    toy = family("edge")
    assert Registry([Cloud], families=[MODE, FILTER, toy, toy]).families == (*Registry().families, toy)
