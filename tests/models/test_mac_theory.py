"""Stations that all hear each other and always have something to send, against theory.

Bianchi (2000) lets every station try in every slot with the same probability. Here, as in 802.11, slots that
others make busy are not counted, so the first slot after them is only for who has just sent (Tinnirello,
Bianchi and Xiao 2010). `frozen_broadcast` and `frozen_unicast` are Bianchi's model with that. Sixty seconds
gave, in frames a second and as the share of attempts that collide:

                        frames/s  Bianchi  frozen   collide  Bianchi  frozen
    broadcast    2          2381     2406    2380     0.117    0.118   0.118
    broadcast    8          1705     1706    1706     0.573    0.584   0.572
    broadcast   20           861      662 *   861     0.871    0.907   0.871
    basic        2          4105     4235    4136     0.110    0.105 * 0.100
    basic        8          4039     4155    4033     0.332    0.351 * 0.335
    basic       20          3795     3877    3766     0.462    0.487 * 0.470
    RTS/CTS      2          2713     2766    2722
    RTS/CTS      8          2737     2797    2736
    RTS/CTS     20          2669     2724    2659

Where Bianchi's figure is more than 5 % off (*), the other model is the one to compare with; for two stations
it is `two_stations`, which supposes no independence (0.110 for basic access). RTS/CTS collides as basic
access does, attempt for attempt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import product
from math import comb, sqrt
from typing import NamedTuple

import numpy as np
import pytest
from scipy.optimize import brentq

from bypass.models.radio.medium import Medium
from bypass.models.radio.radio import WIFI, Ending, FrameKind, RadioModel
from tests.models.slow_medium import SlowMedium

pytestmark = pytest.mark.slow

SIZE = 224
SECONDS = {1: 5, 2: 30, 8: 10, 20: 10}  # by stations; shares of attempts are good to 1 % then
STEP_US = 10_000


class Access(NamedTuple):
    """How frames are sent: to everybody, or to one station that only listens."""

    model: RadioModel
    unicast: bool

    @property
    def windows(self) -> list[int]:
        """How many slots there are to choose from at the first try, the second one, ..."""
        sizes = [self.model.cw_min + 1]
        for _ in range(self.model.retries if self.unicast else 0):
            sizes.append(min(2 * sizes[-1], self.model.cw_max + 1))
        return sizes

    @property
    def success_us(self) -> int:
        """From the beginning of what is received until slots are counted again."""
        it, (rts, cts, ack) = (
            self.model,
            map(self.model.control_us, (FrameKind.RTS, FrameKind.CTS, FrameKind.ACK)),
        )
        if not self.unicast:
            return self.collision_us
        asking = rts + cts + 2 * it.sifs_us if it.rts else 0
        return asking + it.duration_us(SIZE, it.unicast_rate) + it.sifs_us + ack + it.difs_us

    @property
    def collision_us(self) -> int:
        """From the beginning of what collides until stations that did not take part count slots again."""
        it = self.model
        if self.unicast and it.rts:
            return it.control_us(FrameKind.RTS) + it.difs_us
        return it.duration_us(SIZE, it.unicast_rate if self.unicast else it.broadcast_rate) + it.difs_us

    @property
    def penalty_us(self) -> int:
        """How much later stations that took part count again: they wait for an answer first."""
        it = self.model
        return it.sifs_us + it.control_us(FrameKind.ACK) + it.slot_us - it.difs_us if self.unicast else 0


ACCESS = {
    "broadcast": Access(WIFI, unicast=False),
    "basic": Access(RadioModel(rts=False), unicast=True),
    "rts": Access(WIFI, unicast=True),
}


class Figures(NamedTuple):
    """Frames received a second, and the share of attempts that collide."""

    rate: float
    collided: float


# -- theory -----------------------------------------------------------------------------------------------


def attempts_a_slot(windows: Sequence[int], p: float, delays: Sequence[float]) -> float:
    """How often a station tries in a slot if tries fail with probability p and follow such mean delays."""
    reached = [p**i for i in range(len(windows))]
    return sum(reached) / sum(share * (1 + delay) for share, delay in zip(reached, delays, strict=True))


def fixed_point(stations: int, tau: Callable[[float], float]) -> tuple[float, float]:
    """The tau and p that imply each other: a try fails if one of the others tries in the same slot."""
    if stations == 1:
        return tau(0.0), 0.0
    p = brentq(lambda p: 1 - (1 - tau(p)) ** (stations - 1) - p, 0, 1)
    return tau(p), p


def bianchi(stations: int, access: Access) -> Figures:
    """Bianchi's model, with the number of tries that there are."""
    windows = access.windows
    delays = [(window - 1) / 2 for window in windows]
    tau, p = fixed_point(stations, lambda p: attempts_a_slot(windows, p, delays))
    idle, alone = (1 - tau) ** stations, stations * tau * (1 - tau) ** (stations - 1)
    length = (
        idle * access.model.slot_us + alone * access.success_us + (1 - idle - alone) * access.collision_us
    )
    return Figures(alone / length * 1e6, p)


def frozen_broadcast(stations: int, access: Access) -> Figures:
    """A slot is followed by a burst: who has sent and draws 0 sends again before others count on."""
    (window,) = access.windows
    tau = 2 / window  # who does not draw 0 has window - 1 slots to choose from

    @cache
    def burst(senders: int) -> tuple[float, float, float]:
        """Periods on the air, frames that are received and frames that collide, from so many senders on."""
        again = [comb(senders, k) * (1 - 1 / window) ** (senders - k) / window**k for k in range(senders + 1)]
        own = (1.0, 1.0, 0.0) if senders == 1 else (1.0, 0.0, float(senders))
        later = [[again[k] * figure for figure in burst(k)] for k in range(1, senders)]
        periods, alone, collided = (sum(figures) for figures in zip(own, *later, strict=True))
        rest = 1 - again[senders]
        return periods / rest, alone / rest, collided / rest

    shares = [comb(stations, k) * tau**k * (1 - tau) ** (stations - k) for k in range(stations + 1)]
    bursts = np.array([burst(k) for k in range(1, stations + 1)])
    periods, alone, collided = np.array(shares[1:]) @ bursts
    length = access.model.slot_us + periods * access.collision_us
    return Figures(alone / length * 1e6, collided / (alone + collided))


def frozen_unicast(stations: int, access: Access) -> Figures:
    """The figures if a station that has succeeded and draws 0 sends again, while one that has failed counts
    later, so that others may begin meanwhile."""
    windows = access.windows
    late = -(-access.penalty_us // access.model.slot_us)

    def tau(p: float) -> float:
        others_idle = (1 - p) ** ((stations - 2) / (stations - 1)) if stations > 1 else 1.0
        lag = sum(others_idle**slot for slot in range(late))  # slots that others count, on average
        after_failure = [(window - 1) / 2 - 1 + lag for window in windows]
        given_up = p ** len(windows)
        first = (1 - given_up) * (windows[0] - 2) / 2 + given_up * after_failure[0]
        return attempts_a_slot(windows, p, [first, *after_failure[1:]])

    chance, p = fixed_point(stations, tau)
    again = windows[0] / (windows[0] - 1)  # frames in a row
    idle, alone = (1 - chance) ** stations, stations * chance * (1 - chance) ** (stations - 1)
    slot_us = access.model.slot_us
    length = (
        idle * slot_us
        + alone * (again * access.success_us + slot_us)
        + (1 - idle - alone) * (access.collision_us + slot_us)
    )
    return Figures(alone * again / length * 1e6, p / (p + (1 - p) * again))


def two_stations(access: Access) -> Figures:
    """Exact: the chain of what is left to a station, and of its stage, whenever the other one has sent.

    A state is (slots left or -1, stage, the other's stage); -1: both have collided and draw.
    """
    windows, slot_us = access.windows, access.model.slot_us

    def steps(left: int, stage: int, other: int) -> Iterator[tuple[tuple[int, int, int], int, bool]]:
        """The next state, slots until then and whether it is a collision, all equally likely."""
        after = (stage + 1) % len(windows), (other + 1) % len(windows)
        lefts = [left] if left >= 0 else range(windows[stage])
        for mine, its in product(lefts, range(windows[other])):
            if mine == its:
                yield (-1, *after), mine, True
            elif mine > its:
                yield (mine - its, stage, 0), its, False
            else:
                yield (its - mine, other, 0), mine, False

    states, number = [(-1, 0, 0)], {(-1, 0, 0): 0}
    found = []
    for state in states:
        found.append(list(steps(*state)))
        for following, _, _ in found[-1]:
            if following not in number:
                number[following] = len(states)
                states.append(following)
    chain, slots, collides = (
        np.zeros((len(states), len(states))),
        np.zeros(len(states)),
        np.zeros(len(states)),
    )
    for i, ways in enumerate(found):
        for following, waited, collision in ways:
            chain[number[following], i] += 1 / len(ways)
            slots[i] += waited / len(ways)
            collides[i] += collision / len(ways)
    balance = np.vstack([chain - np.eye(len(states)), np.ones(len(states))])
    share = np.linalg.lstsq(balance, np.eye(len(states) + 1)[-1], rcond=None)[0]
    c = float(collides @ share)
    lost_us = access.collision_us + access.penalty_us
    length = float(slots @ share) * slot_us + (1 - c) * access.success_us + c * lost_us
    return Figures((1 - c) / length * 1e6, 2 * c / (1 + c))


# -- what happens -----------------------------------------------------------------------------------------


def saturate(
    kind: type[Medium] | type[SlowMedium], access: Access, senders: int, seconds: float
) -> tuple[list[Ending], int]:
    """The endings of frames, and how many were sent; all stations are at one place, the last one listens."""
    nowhere = np.zeros(senders + 1)
    medium = kind(access.model, lambda t: (nowhere, nowhere), senders + 1, seed=1)
    target = senders if access.unicast else None
    for station, _ in product(range(senders), range(access.model.queue)):
        medium.send(0, station, SIZE, target)
    endings = []
    for at_us in range(STEP_US, round(seconds * 1e6) + 1, STEP_US):
        new = medium.run_until(at_us)
        for ending in new:
            medium.send(at_us, ending.sender, SIZE, target)
        endings += new
    return endings, int(medium.sent.sum())


def received(endings: list[Ending], senders: int) -> int:
    return sum(senders in ending.receivers for ending in endings)


@cache
def measured(access: Access, senders: int) -> Figures:
    """Figures of the fast medium. With RTS/CTS collisions are not seen: only frames count as sent."""
    endings, sent = saturate(Medium, access, senders, SECONDS[senders])
    frames = received(endings, senders)
    return Figures(frames / SECONDS[senders], 1 - frames / (sent if access.unicast else len(endings)))


@pytest.mark.parametrize(
    ("name", "stations"),
    [case for case in product(ACCESS, SECONDS) if case != ("broadcast", 20)],
)
def test_frames_a_second_are_those_of_bianchi(name: str, stations: int) -> None:
    access = ACCESS[name]
    assert measured(access, stations).rate == pytest.approx(bianchi(stations, access).rate, rel=0.05)


@pytest.mark.parametrize("stations", SECONDS)
def test_broadcasts_collide_as_often_as_bianchi_says(stations: int) -> None:
    access = ACCESS["broadcast"]
    assert bianchi(stations, access).collided == pytest.approx(1 - (1 - 2 / 17) ** (stations - 1))
    assert measured(access, stations).collided == pytest.approx(bianchi(stations, access).collided, rel=0.05)


@pytest.mark.parametrize("stations", SECONDS)
def test_broadcasts_are_those_of_the_model_with_frozen_slots(stations: int) -> None:
    access = ACCESS["broadcast"]
    theory = frozen_broadcast(stations, access)
    assert tuple(measured(access, stations)) == pytest.approx(tuple(theory), rel=0.02)


@pytest.mark.parametrize("stations", [8, 20])
def test_unicasts_are_those_of_the_model_with_frozen_slots(stations: int) -> None:
    basic, rts = (frozen_unicast(stations, ACCESS[name]) for name in ("basic", "rts"))
    assert tuple(measured(ACCESS["basic"], stations)) == pytest.approx(tuple(basic), rel=0.05)
    assert measured(ACCESS["rts"], stations).rate == pytest.approx(rts.rate, rel=0.05)


@pytest.mark.parametrize("name", ACCESS)
def test_two_stations_are_as_their_chain_says(name: str) -> None:
    access = ACCESS[name]
    if access.unicast:  # nobody tries again to reach everybody
        access = access._replace(model=access.model.model_copy(update={"retries": 2}))
    theory = two_stations(access)
    assert measured(access, 2).rate == pytest.approx(theory.rate, rel=0.01)
    if name != "rts":
        assert measured(access, 2).collided == pytest.approx(theory.collided, rel=0.02)


@pytest.mark.parametrize("stations", SECONDS)
def test_an_rts_changes_when_frames_end_but_not_which(stations: int) -> None:
    runs = [saturate(Medium, ACCESS[name], stations, 2)[0] for name in ("basic", "rts")]
    basic, rts = ([(ending.sender, ending.receivers) for ending in run] for run in runs)
    assert len(rts) > 4000
    assert basic[: len(rts)] == rts


@pytest.mark.parametrize("name", ACCESS)
def test_the_slow_medium_is_as_the_chain_says(name: str) -> None:
    """Within four standard errors: a period on the air is a frame or a collision, after up to 15 slots."""
    access = ACCESS[name]._replace(model=ACCESS[name].model.model_copy(update={"retries": 2}))
    seconds, theory = 1, two_stations(access)
    endings, sent = saturate(SlowMedium, access, 2, seconds)
    frames = received(endings, 2)
    alone = (1 - theory.collided) / (1 - theory.collided / 2)  # of all periods
    periods = seconds * theory.rate / alone
    uneven = 15 * access.model.slot_us / sqrt(12) / (1e6 * seconds / periods)
    error = sqrt(((1 - alone) / alone + uneven**2) / periods)
    assert error < 0.015
    assert frames / seconds == pytest.approx(theory.rate, rel=4 * error)
    if name != "rts":
        collisions = (sent - frames) / 2
        assert collisions / periods == pytest.approx(1 - alone, abs=4 * sqrt(alone * (1 - alone) / periods))
