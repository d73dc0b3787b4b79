"""The slow medium against timelines that were computed by hand.

With 802.11 as it is here, DIFS is 34 µs and a slot 9 µs; 224 bytes last 324 µs to everybody and 96 µs to one
device; an RTS lasts 52 µs, CTS and ACK 44 µs each, with 16 µs in between.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from bypass.models.radio.radio import BLUETOOTH, WIFI, Ending, RadioModel
from bypass.support.arrays import Floats
from bypass.support.counter_rng import Purpose, uniform_pair
from tests.models.slow_medium import SlowMedium

SIZE = 224
AT_ONCE: dict[str, Any] = {"cw_min": 0, "cw_max": 0}  # back-off is never more than 0 slots
CHAIN = (0.0, 110.0, 220.0)  # neighbours receive each other, the ends do not hear each other
NARROW: dict[str, Any] = {"reach": 120.0, "interference": 200.0, "sinr_db": 3.0}


def medium(*xs: float, seed: int = 1, model: RadioModel = WIFI, **changes: Any) -> SlowMedium:
    """Stations that stand on a line."""
    x = np.array(xs)
    model = RadioModel(**(model.model_dump() | changes))
    return SlowMedium(model, lambda t: (x, np.zeros_like(x)), len(xs), seed)


def slots(station: int, number: int = 0, cw: int = 15, seed: int = 1) -> int:
    """The slots that a station waits by its first draw, second draw, ..."""
    return int(uniform_pair(np.uint64(seed), Purpose.RADIO, station, number)[0] * (cw + 1))


def seed_with(wanted: Callable[[int], bool]) -> int:
    return next(seed for seed in range(1000) if wanted(seed))


# -- everybody is told ------------------------------------------------------------------------------------


def test_a_frame_starts_at_once_if_the_medium_is_idle() -> None:
    it = medium(0, 88, 88.1, 206)
    assert it.send(1000, 0, SIZE) == 0
    assert it.run_until(1324) == []  # it is over at 1324, and that is not yet done
    assert it.now_us == 1324
    assert it.run_until(1325) == [Ending(1324, 0, 0, (1,))]
    assert it.sent.tolist() == [1, 0, 0, 0]


def test_the_next_frame_waits_for_difs_and_slots() -> None:
    it = medium(0, 50)
    it.send(1000, 0, SIZE)
    it.send(1000, 0, SIZE)
    start = 1324 + 34 + 9 * slots(0)
    assert it.run_until(10_000) == [Ending(1324, 0, 0, (1,)), Ending(start + 324, 1, 0, (1,))]


def test_slots_are_counted_after_a_frame_even_if_there_is_no_other_yet() -> None:
    seed = seed_with(lambda seed: slots(0, seed=seed) == 10)
    for released, start in ((1330, 1448), (1440, 1448), (1448, 1448), (1500, 1500)):
        it = medium(0, 50, seed=seed)
        it.send(1000, 0, SIZE)
        it.send(released, 0, SIZE)
        assert it.run_until(10_000)[1].at_us == start + 324


def test_who_finds_the_medium_busy_draws_and_what_is_left_of_it_is_kept() -> None:
    seed = seed_with(lambda seed: 0 < slots(1, seed=seed) < slots(2, seed=seed))
    it = medium(0, 10, 20, seed=seed)
    it.send(1000, 0, SIZE)
    it.send(1100, 1, SIZE)
    it.send(1323, 2, SIZE)
    first, second = slots(1, seed=seed), slots(2, seed=seed)
    one = 1324 + 34 + 9 * first + 324
    two = one + 34 + 9 * (second - first) + 324
    assert it.run_until(10_000) == [
        Ending(1324, 0, 0, (1, 2)),
        Ending(one, 1, 1, (0, 2)),
        Ending(two, 2, 2, (0, 1)),
    ]


def test_a_frame_that_comes_within_difs_needs_no_slots() -> None:
    it = medium(0, 10)
    it.send(1000, 0, SIZE)
    it.send(1324, 1, SIZE)
    assert it.run_until(10_000)[1] == Ending(1358 + 324, 1, 1, (0,))


def test_who_counts_to_the_same_slot_collides() -> None:
    it = medium(0, 10, -10, **AT_ONCE)
    for station, at_us in ((0, 1000), (2, 1100), (1, 1200)):
        it.send(at_us, station, SIZE)
    assert it.run_until(10_000) == [
        Ending(1324, 0, 0, (1, 2)),
        Ending(1682, 2, 1, ()),
        Ending(1682, 1, 2, ()),
    ]


@pytest.mark.parametrize(("early_us", "collides"), [(4, True), (5, False)])
def test_what_begins_so_recently_is_not_noticed_yet(early_us: int, collides: bool) -> None:
    seed = seed_with(lambda seed: slots(0, seed=seed) == 3)
    it = medium(0, 10, seed=seed)
    it.send(1000, 0, SIZE)
    it.send(1000, 0, SIZE)
    start = 1324 + 34 + 27
    it.send(start - early_us, 1, SIZE)
    _, *endings = it.run_until(10_000)
    if collides:
        assert endings == [Ending(start - 4 + 324, 2, 1, ()), Ending(start + 324, 1, 0, ())]
    else:  # two slots are counted and one is left
        other = start - 5 + 324
        assert endings == [Ending(other, 2, 1, (0,)), Ending(other + 34 + 9 + 324, 1, 0, (1,))]


def test_hidden_terminals_collide_at_who_hears_both() -> None:
    it = medium(*CHAIN, **NARROW)
    it.send(1000, 0, SIZE)
    it.send(1200, 2, SIZE)
    assert it.run_until(10_000) == [Ending(1324, 0, 0, ()), Ending(1524, 1, 2, ())]


def test_frames_one_after_the_other_do_not_collide() -> None:
    it = medium(*CHAIN, **NARROW)
    it.send(1000, 0, SIZE)
    it.send(1324, 2, SIZE)
    assert it.run_until(10_000) == [Ending(1324, 0, 0, (1,)), Ending(1648, 1, 2, (1,))]


@pytest.mark.parametrize("late", [False, True])
@pytest.mark.parametrize(("distance", "captured"), [(60.0, True), (76.0, True), (77.0, False), (88.0, False)])
def test_a_frame_is_received_if_it_stands_out(distance: float, captured: bool, late: bool) -> None:
    """The other sender is hidden, 150 m from the receiver, and begins later or earlier.

    Noise and the other one are 4.28 units together; up to 76.3 m away a sender is heard 10 dB above that.
    """
    it = medium(0, distance, distance + 150)
    it.send(1010 if late else 1000, 0, SIZE)
    it.send(1005, 2, SIZE)
    (mine,) = [ending for ending in it.run_until(10_000) if ending.sender == 0]
    assert mine.receivers == ((1,) if captured else ())


def test_interference_adds_up() -> None:
    """One hidden sender leaves the frame standing, two do not."""
    xs, ys = np.array([0.0, 85.0, 285.0, 85.0]), np.array([0.0, 0.0, 0.0, 200.0])
    for interferers, receivers in (((), (1,)), ((2,), (1,)), ((3,), (1,)), ((2, 3), ())):
        it = SlowMedium(WIFI, lambda t: (xs, ys), 4, 1)
        it.send(1000, 0, SIZE)
        for station in interferers:
            it.send(1050, station, 10)
        assert it.run_until(10_000)[-1] == Ending(1324, 0, 0, receivers)


def test_who_sends_does_not_receive() -> None:
    """Neither what began before nor what goes on longer; without listening nobody waits for the other."""
    it = medium(0, 10, **AT_ONCE, carrier_sense=False)
    it.send(1000, 0, SIZE)
    it.send(1300, 1, 10)
    assert it.run_until(10_000) == [Ending(1324, 0, 0, ()), Ending(1340, 1, 1, ())]


def test_places_are_those_of_the_last_look_before_the_start() -> None:
    def positions(t: float) -> tuple[Floats, Floats]:
        return np.array([0.0, 50.0 if t < 0.1 else 100.0]), np.zeros(2)

    it = SlowMedium(WIFI, positions, 2, 1)
    it.send(99_999, 0, SIZE)
    it.send(150_000, 0, SIZE)
    assert [ending.receivers for ending in it.run_until(200_000)] == [(1,), ()]


# -- one device is told -----------------------------------------------------------------------------------


def test_an_exchange_with_rts() -> None:
    """RTS 1000-1052, CTS 1068-1112, DATA 1128-1224, ACK 1240-1284."""
    it = medium(0, 10, 20)
    it.send(1000, 0, SIZE, 1)
    it.send(1000, 0, SIZE)
    assert it.run_until(10_000) == [
        Ending(1224, 0, 0, (1,)),
        Ending(1284 + 34 + 9 * slots(0) + 324, 1, 0, (1, 2)),
    ]
    assert it.sent.tolist() == [2, 0, 0]


def test_an_exchange_without_rts() -> None:
    """DATA 1000-1096, ACK 1112-1156."""
    it = medium(0, 10, rts=False)
    it.send(1000, 0, SIZE, 1)
    it.send(1000, 0, SIZE)
    assert it.run_until(10_000) == [
        Ending(1096, 0, 0, (1,)),
        Ending(1156 + 34 + 9 * slots(0) + 324, 1, 0, (1,)),
    ]


def test_who_gets_no_answer_tries_again_and_gives_up() -> None:
    """An RTS is given up after 52 + 16 + 44 + 9 µs; slots count from then on, twice as many each time."""
    it = medium(0, 300, retries=3, cw_max=63)
    it.send(1000, 0, SIZE, 1)
    it.send(1000, 0, SIZE)
    end = 1000 + 121
    for number, cw in enumerate((31, 63, 63)):
        end += 9 * slots(0, number, cw) + 121
    assert it.run_until(100_000) == [
        Ending(end, 0, 0, ()),
        Ending(end + 9 * slots(0, 3) + 324, 1, 0, ()),
    ]
    assert it.failed.tolist() == [1, 0]
    assert it.sent.tolist() == [1, 0]


def test_retries_without_rts_are_sent_frames() -> None:
    it = medium(0, 300, rts=False, **AT_ONCE)
    it.send(1000, 0, SIZE, 1)
    assert it.run_until(100_000) == [Ending(1000 + 8 * (96 + 16 + 44 + 9), 0, 0, ())]
    assert it.failed.tolist() == [1, 0]
    assert it.sent.tolist() == [8, 0]


def test_a_lost_ack_makes_a_second_frame_but_no_second_ending() -> None:
    """Station 2, too far away to be asked for silence, sends DIFS after the frame, which spoils its ACK."""
    it = medium(0, 110, -130, rts=False, **AT_ONCE, **NARROW)
    it.send(1000, 0, SIZE, 1)
    it.send(1050, 2, SIZE)
    it.send(1000, 0, SIZE)
    # DATA -1096, ACK lost; station 2 1130-1454; again: DATA 1488-1584, ACK 1600-1644; the next one 1678-2002
    assert it.run_until(10_000) == [
        Ending(1096, 0, 0, (1,)),
        Ending(1454, 1, 2, ()),
        Ending(2002, 2, 0, (1,)),
    ]
    assert it.sent.tolist() == [3, 0, 1]
    assert it.failed.tolist() == [0, 0, 0]


def test_a_frame_that_was_received_but_never_acknowledged_has_failed_and_ends_once() -> None:
    it = medium(0, 110, -130, rts=False, retries=0, **AT_ONCE, **NARROW)
    it.send(1000, 0, SIZE, 1)
    it.send(1050, 2, SIZE)
    assert it.run_until(10_000) == [Ending(1096, 0, 0, (1,)), Ending(1454, 1, 2, ())]
    assert it.failed.tolist() == [1, 0, 0]


# -- asked for silence ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("released", "start"),
    [
        (1060, 1060),  # it knows of nothing yet, and spoils the CTS for itself
        (1112, 1318),
        (1150, 1318),
        (1283, 1318),
        (1284, 1318),
        (1320, 1320),
    ],
)
def test_who_hears_a_cts_keeps_silent_until_the_ack_is_over(released: int, start: int) -> None:
    """Station 2 hears the receiver only: the CTS until 1112, which asks for silence until 1284."""
    it = medium(*CHAIN, **AT_ONCE, **NARROW)
    it.send(1000, 0, SIZE, 1)
    it.send(released, 2, SIZE)
    endings = {ending.frame: ending.at_us for ending in it.run_until(10_000)}
    assert endings[1] == start + 324
    assert (endings[0] == 1224) == (start > 1284)


def test_silence_that_an_rts_asks_for_lasts_though_nothing_follows() -> None:
    """RTS until 1052, then 3 · 16 + 44 + 96 + 44 µs."""
    it = medium(0, 10, 300, retries=0)
    it.send(1000, 0, SIZE, 2)
    it.send(1100, 1, SIZE)
    assert it.run_until(10_000) == [
        Ending(1121, 0, 0, ()),
        Ending(1284 + 34 + 9 * slots(1) + 324, 1, 1, (0,)),
    ]


def test_silence_that_a_frame_asks_for() -> None:
    """DATA until 1096, then 16 + 44 µs."""
    it = medium(0, 10, 300, retries=0, rts=False)
    it.send(1000, 0, SIZE, 2)
    it.send(1140, 1, SIZE)
    assert it.run_until(10_000)[-1] == Ending(1156 + 34 + 9 * slots(1) + 324, 1, 1, (0,))


def test_who_was_asked_for_silence_does_not_answer() -> None:
    """Station 2 is asked for silence by 1's CTS until 1284; the RTS of 3, which heard nothing, is in vain."""
    it = medium(*CHAIN, 330.0, retries=0, **NARROW)
    it.send(1000, 0, SIZE, 1)
    it.send(1140, 3, SIZE, 2)
    it.send(1300, 3, SIZE, 2)
    endings = it.run_until(10_000)
    assert endings[:2] == [Ending(1224, 0, 0, (1,)), Ending(1140 + 121, 1, 3, ())]
    assert [ending.receivers for ending in endings[2:]] == [(2,)]


# -- queues and switches ----------------------------------------------------------------------------------


def test_a_queue_is_bounded_and_what_is_on_the_air_counts() -> None:
    it = medium(0, 10, queue=2, **AT_ONCE)
    for at_us in (1000, 1000, 1000, 1323, 1324, 1324):
        it.send(at_us, 0, SIZE)
    assert [ending.frame for ending in it.run_until(10_000)] == [0, 1, 4]
    assert it.dropped.tolist() == [3, 0]


def test_switched_off_while_sending() -> None:
    """A transmission on the air goes on, waiting frames are lost, new ones are dropped."""
    it = medium(0, 10)
    it.send(1000, 0, SIZE)
    it.send(1000, 0, SIZE)
    it.send(1200, 0, SIZE)
    it.run_until(1100)
    it.switch(0, False)
    assert it.run_until(10_000) == [Ending(1324, 0, 0, (1,))]
    assert it.dropped.tolist() == [1, 0]
    assert it.sent.tolist() == [1, 0]


@pytest.mark.parametrize("at_us", [1000, 1001, 1324])
def test_switched_off_while_receiving(at_us: int) -> None:
    it = medium(0, 10, 20)
    it.send(1000, 0, SIZE)
    it.run_until(at_us)
    it.switch(1, False)
    it.switch(1, True)
    receivers = (1, 2) if at_us == 1000 else (2,)
    assert it.run_until(10_000) == [Ending(1324, 0, 0, receivers)]


def test_switched_off_before_it_answers() -> None:
    it = medium(0, 10, retries=0)
    it.send(1000, 0, SIZE, 1)
    it.run_until(1060)
    it.switch(1, False)
    it.switch(1, True)
    assert it.run_until(10_000) == [Ending(1121, 0, 0, ())]


def test_switched_off_while_waiting_for_an_answer() -> None:
    """The exchange is forgotten: the CTS is of no use, and nobody gives up."""
    it = medium(0, 10)
    it.send(1000, 0, SIZE, 1)
    it.run_until(1070)
    it.switch(0, False)
    it.switch(0, True)
    it.send(1113, 0, SIZE)
    assert it.run_until(10_000) == [Ending(1112 + 34 + 324, 1, 0, (1,))]
    assert it.failed.tolist() == [0, 0]


def test_a_station_that_was_switched_on_listens_for_difs_first() -> None:
    it = medium(0, 10)
    it.switch(0, False)
    it.run_until(5000)
    it.switch(0, True)
    it.send(5000, 0, SIZE)
    assert it.run_until(10_000) == [Ending(5034 + 324, 0, 0, (1,))]


# -- without listening ------------------------------------------------------------------------------------


def test_a_random_delay_replaces_listening() -> None:
    """37 bytes last 336 µs, a slot 625 µs, DIFS is 1400 µs."""
    it = medium(0, 10, model=BLUETOOTH)
    it.send(1000, 0, 37)
    it.send(1000, 0, 37)
    end = 1000 + 625 * slots(0) + 336
    assert it.run_until(100_000) == [
        Ending(end, 0, 0, (1,)),
        Ending(end + 1400 + 625 * slots(0, 1) + 336, 1, 0, (1,)),
    ]
