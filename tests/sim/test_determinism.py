"""Same seed, same run, to the last bit, whoever looks on."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

import numpy as np

from bypass.protocol.messages import Publish
from bypass.sim.ledger import Ledger

if TYPE_CHECKING:
    from tests.conftest import World


class Onlooker:
    """Counts; and is a bad guest that draws random numbers and breaks now and then."""

    def __init__(self) -> None:
        self.seen = 0

    def notified(self, client: int, publication: Publish) -> None:
        self.seen += 1
        random.random()
        if self.seen % 7 == 0:
            raise RuntimeError("an onlooker's own problem")


def story(new_world: type[World], seed: int, *onlookers: object) -> tuple[World, object]:
    """Two minutes with transitions of all kinds; gives all that can be observed, times included."""
    world = new_world([(30.0 * i, 25.0 * (i % 7)) for i in range(20)], seed=seed)
    for onlooker in onlookers:
        world.system.monitor.register(onlooker)
    script = random.Random(5)
    for client in range(20):
        world.put(client, world.place(client), (script.uniform(-2, 2), script.uniform(0, 3)))
        world.subscribe(client, 150)
    for step, scheme in enumerate(["ste", "grid", "egrid", "attract", "multi", "radial"]):
        for _ in range(40):
            publisher = script.randrange(20)
            if script.random() < 0.5:
                world.publish_local(publisher)
            else:
                world.publish(publisher, (script.uniform(0, 600), script.uniform(0, 300)))
            world.run(0.25)
        if step % 2:
            world.execute(to=scheme, members=range(0, 20, 2))
        else:
            world.execute(to=scheme)
        world.run(10.0)
    cellular = world.system.cellular
    outcome = (
        world.deliveries,
        cellular.up.tolist(),
        cellular.down.tolist(),
        [(m.client, m.scheme, m.epoch, type(m)) for m in world.up],
        [(record.at, record.source, record.target) for record in world.broker.engine.records],
    )
    return world, outcome


def test_the_seed_decides_everything(new_world: type[World]) -> None:
    (world, first), (_, again), (_, other) = (story(new_world, seed) for seed in (3, 3, 4))
    assert len(world.deliveries) > 500
    assert first == again
    assert first != other


def test_onlookers_change_nothing(new_world: type[World]) -> None:
    world, alone = story(new_world, 3)
    onlooker = Onlooker()
    watched, seen = story(new_world, 3, onlooker, Ledger(20, world.system.clock))
    assert seen == alone
    assert onlooker.seen == len({(client, event) for _, client, _, event in world.deliveries})
    assert watched.system.monitor.failures["Onlooker.notified"] == onlooker.seen // 7


def test_global_random_numbers_play_no_part(new_world: type[World]) -> None:
    random.seed(1)
    np.random.seed(1)
    _, first = story(new_world, 3)
    random.seed(2)
    np.random.seed(2)
    _, second = story(new_world, 3)
    assert first == second


class Listener:
    """Notes when client 1 said where it is."""

    def __init__(self, world: World, arrived: list[tuple[float, float]]) -> None:
        self._world = world
        self._arrived = arrived

    def client_located(self, client: int, x: float, y: float) -> None:
        if client == 1:
            self._arrived.append((self._world.now, x))

    def client_left(self, client: int) -> None:
        raise AssertionError(f"client {client} has left: expected nobody to")


def test_another_client_does_not_change_the_luck_of_the_others(new_world: type[World]) -> None:
    """Sensors and uplinks draw from streams of their own."""

    def reports(clients: int) -> list[tuple[float, float]]:
        world = new_world([(0.0, 0.0)] * clients)
        arrived: list[tuple[float, float]] = []
        world.broker.listeners.append(Listener(world, arrived))
        for client in range(clients):
            world.put(client, (0.0, 0.0), (1.0, 0.0))
            world.subscribe(client)
        world.run(20.0)
        return arrived

    assert reports(2) == reports(5)
    assert len(reports(2)) > 15
