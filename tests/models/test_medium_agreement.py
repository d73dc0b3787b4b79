"""The fast medium and the slow one give the same endings and counts, whatever is sent by whom and when."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.models.radio.kernels.state import S
from bypass.models.radio.medium import Medium
from bypass.models.radio.radio import BLUETOOTH, WIFI, Ending, RadioModel
from bypass.models.radio.walls import NO_WALLS, Walls
from bypass.support.arrays import Floats
from tests.models.slow_medium import SlowMedium

pytestmark = pytest.mark.slow

Positions = Callable[[float], tuple[Floats, Floats]]


class Walk(NamedTuple):
    """Where a station is at first, in thirds of the interference range and metres, and how fast (m/s)."""

    x: int
    y: int
    aside: int
    vx: int
    vy: int

    def at(self, t: float, third: float) -> tuple[float, float]:
        return self.x * third + self.aside + self.vx * t, self.y * third + self.vy * t


class Frames(NamedTuple):
    """Frames of a station, one each `every_us`; `target` counts from the station on, 0 is everybody."""

    wait_us: int
    station: int
    target: int
    size: int
    number: int
    every_us: int


class Switch(NamedTuple):
    wait_us: int
    station: int
    on: bool


Deed = Frames | Switch

waits = st.one_of(st.just(0), st.integers(0, 100), st.integers(0, 3000))
walks = st.builds(
    Walk,
    st.integers(0, 7),  # up to three hops: some do not hear each other but a third one
    st.integers(0, 1),
    st.integers(0, 3),
    st.sampled_from([0, 0, 10, -2000, 2000]),
    st.sampled_from([0, 0, -10, 2000]),
)
deeds = st.lists(
    st.one_of(
        st.builds(
            Frames,
            waits,
            st.integers(0, 99),
            st.integers(0, 99),
            st.integers(1, 300),
            st.integers(1, 8),
            st.sampled_from([0, 1, 9, 120, 700]),
        ),
        st.builds(Switch, waits, st.integers(0, 99), st.booleans()),
    ),
    min_size=1,
    max_size=25,
)


@st.composite
def odd_models(draw: st.DrawFn) -> RadioModel:
    """Radios of all kinds; frames of 300 bytes last less than positions do."""
    reach = draw(st.sampled_from([20.0, 88.0]))
    cw_min = draw(st.sampled_from([0, 1, 3, 15]))
    return RadioModel(
        reach=reach,
        interference=reach * draw(st.sampled_from([1.0, 1.5, 205 / 88])),
        exponent=draw(st.sampled_from([2.0, 3.0, 3.8])),
        sinr_db=draw(st.sampled_from([0.0, 3.0, 10.0])),
        carrier_sense=draw(st.booleans()),
        broadcast_rate=draw(st.sampled_from([1.0, 6.0, 5.5])),
        unicast_rate=draw(st.sampled_from([1.0, 24.0, 54.0])),
        rts=draw(st.booleans()),
        retries=draw(st.integers(0, 4)),
        slot_us=draw(st.sampled_from([1, 9, 20, 625])),
        sifs_us=draw(st.sampled_from([1, 10, 16, 150])),
        cw_min=cw_min,
        cw_max=draw(st.sampled_from([cw_min, 4 * cw_min + 3])),
        sense_us=draw(st.sampled_from([0, 1, 4, 15])),
        preamble_us=draw(st.sampled_from([0, 20])),
        symbol_us=draw(st.sampled_from([1, 4])),
        service_bits=draw(st.sampled_from([0, 22])),
        queue=draw(st.sampled_from([1, 2, 3, 100])),
        refresh_ms=draw(st.sampled_from([3, 5, 100])),
    )


def way(walks: list[Walk], model: RadioModel) -> Positions:
    def positions(t: float) -> tuple[Floats, Floats]:
        x, y = np.array([walk.at(t, model.interference / 3) for walk in walks]).T
        return x, y

    return positions


def compare(
    model: RadioModel,
    positions: Positions,
    stations: int,
    deeds: list[Deed],
    seed: int,
    walls: Walls = NO_WALLS,
) -> int:
    """Do the same in both media; gives how many frames ended."""
    fast = Medium(model, positions, stations, seed, walls=walls)
    slow = SlowMedium(model, positions, stations, seed, walls.ends)
    ended = 0

    def pass_time(wait_us: int) -> None:
        nonlocal ended
        until_us = slow.now_us + wait_us
        endings = slow.run_until(until_us)
        ended += len(endings)
        assert fast.run_until(until_us) == endings
        assert fast.now_us == slow.now_us == until_us
        for counts in ("sent", "dropped", "failed"):
            assert getattr(fast, counts).tolist() == getattr(slow, counts).tolist(), counts
        assert fast.air.stations[:, S.RETRIED].tolist() == slow.retried.tolist()
        assert fast.air.stations[:, S.HANDSHAKE_BYTES].tolist() == slow.handshake.tolist()

    for deed in deeds:
        pass_time(deed.wait_us)
        station = deed.station % stations
        if isinstance(deed, Switch):
            fast.switch(station, deed.on)
            slow.switch(station, deed.on)
            continue
        ahead = deed.target % stations
        target = (station + ahead) % stations if ahead else None
        for k in range(deed.number):
            at_us = slow.now_us + k * deed.every_us
            numbers = [medium.send(at_us, station, deed.size, target) for medium in (fast, slow)]
            assert numbers[0] == numbers[1]
    for _ in range(3):
        pass_time(20_000)
    return ended


@settings(deadline=None, max_examples=60)
@given(
    model=st.sampled_from([WIFI, WIFI.model_copy(update={"rts": False, "sense_us": 0}), BLUETOOTH]),
    walks=st.lists(walks, min_size=1, max_size=7),
    deeds=deeds,
    seed=st.integers(0, 2**64 - 1),
)
def test_both_agree_on_radios_as_they_are(
    model: RadioModel, walks: list[Walk], deeds: list[Deed], seed: int
) -> None:
    compare(model, way(walks, model), len(walks), deeds, seed)


@settings(deadline=None, max_examples=150)
@given(
    model=odd_models(),
    walks=st.lists(walks, min_size=2, max_size=7),
    deeds=deeds,
    seed=st.integers(0, 2**64 - 1),
)
def test_both_agree_on_odd_radios(model: RadioModel, walks: list[Walk], deeds: list[Deed], seed: int) -> None:
    compare(model, way(walks, model), len(walks), deeds, seed)


@settings(deadline=None, max_examples=60)
@given(
    model=st.sampled_from([WIFI, BLUETOOTH]),
    wall_db=st.sampled_from([0.0, 3.0, 9.0, 100.0]),
    walks=st.lists(walks, min_size=2, max_size=7),
    corners=st.lists(
        st.lists(st.tuples(st.integers(0, 7), st.integers(0, 1), st.integers(-2, 2)), min_size=2, max_size=5),
        max_size=5,
    ),
    deeds=deeds,
    seed=st.integers(0, 2**64 - 1),
)
def test_both_agree_among_buildings(
    model: RadioModel,
    wall_db: float,
    walks: list[Walk],
    corners: list[list[tuple[int, int, int]]],
    deeds: list[Deed],
    seed: int,
) -> None:
    third = model.interference / 3  # walls begin and end where stations are, or near them
    rings = [np.array([(x * third + aside, y * third) for x, y, aside in ring]) for ring in corners]
    model = model.model_copy(update={"wall_db": wall_db})
    compare(model, way(walks, model), len(walks), deeds, seed, Walls.around(rings))


@pytest.mark.parametrize("medium", [Medium, SlowMedium])
@pytest.mark.parametrize("changes", [{}, {"interference": 205.0}, {"exponent": 2.0}, {"sinr_db": 30.0}])
@pytest.mark.parametrize("reach", [20.0, 88.0, 112.0, 130.0, 150.0, 205.0])
def test_a_lone_sender_is_received_as_far_as_its_reach(
    medium: type[Medium | SlowMedium], changes: dict[str, float], reach: float
) -> None:
    model = WIFI.model_copy(update={"reach": reach, **changes})
    x = np.array([0.0, *(reach * share for share in (0.5, 0.8, 0.999, 1.001, 1.2))])
    it = medium(model, lambda t: (x, np.zeros_like(x)), len(x), seed=1)
    it.send(1000, 0, 224)
    [ending] = it.run_until(100_000)
    assert ending.receivers == (1, 2, 3)


def test_both_tell_endings_of_one_microsecond_by_sender() -> None:
    """Station 0 gives up at 1121 µs, when a frame of station 1, which it does not hear, is over."""
    model = WIFI.model_copy(update={"retries": 0})
    apart = np.array([0.0, 300.0])
    for kind in (Medium, SlowMedium):
        medium = kind(model, lambda t: (apart, apart), 2, seed=1)
        medium.send(797, 1, 224)
        medium.send(1000, 0, 224, target=1)
        assert medium.run_until(2000) == [Ending(1121, 1, 0, ()), Ending(1121, 0, 1, ())]


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("model", [WIFI, WIFI.model_copy(update={"rts": False}), BLUETOOTH])
def test_both_agree_on_a_crowd_that_sends_all_the_time(model: RadioModel, seed: int) -> None:
    """24 stations on the move across three reaches, with far more to send than fits on the air."""
    rng = np.random.default_rng(seed)
    place = rng.uniform(0, 3 * model.reach, (24, 2))
    speed = rng.uniform(-20 * model.reach, 20 * model.reach, (24, 2))

    def positions(t: float) -> tuple[Floats, Floats]:
        x, y = (place + t * speed).T
        return x, y

    load = [
        Frames(*(int(v) for v in rng.integers((0, 0, 0, 20, 1, 0), (400, 24, 24, 400, 6, 900))))
        for _ in range(150)
    ]
    deeds: list[Deed] = []
    for deed in load:
        if rng.random() < 0.6:  # to everybody
            deed = deed._replace(target=0)
        deeds.append(deed)
        if rng.random() < 0.1:
            deeds.append(Switch(0, deed.station, bool(rng.random() < 0.6)))
    assert compare(model, positions, 24, deeds, seed) > 50
