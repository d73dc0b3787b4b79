"""Random streams: one for each host and purpose, and none disturbs another."""

from __future__ import annotations

from itertools import product

from bypass.places.sensor import NoSensor
from bypass.ports.monitor import Monitor
from bypass.sim.clock import VirtualClock
from bypass.sim.host import SimHost, stream


def test_a_function_of_seed_host_and_purpose_alone() -> None:
    assert [stream(7, 3, "gossip").random() for _ in range(2)] == [0.8071230179554141] * 2


def test_no_two_are_alike() -> None:
    every = product((1, 2, 12), (-1, 0, 1, 2, 21), ("up", "down", "up/1"))
    first = [stream(seed, host, purpose).random() for seed, host, purpose in every]
    assert len(set(first)) == len(first)


def test_drawing_from_one_leaves_the_others_alone() -> None:
    def draws(others: int) -> list[float]:
        host = SimHost(5, VirtualClock(), NoSensor(), Monitor(), seed=9)
        drawn = []
        for _ in range(10):
            for _ in range(others):
                host.random("jitter").random()
            drawn.append(host.random("loss").random())
        return drawn

    assert draws(0) == draws(1) == draws(17)


def test_a_host_keeps_its_stream() -> None:
    host = SimHost(5, VirtualClock(), NoSensor(), Monitor(), seed=9)
    assert host.random("loss") is host.random("loss")
    assert host.random("loss").random() == stream(9, 5, "loss").random()
