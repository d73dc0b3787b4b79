"""The parameters of a radio: how far it reaches, how long frames last, which ones cannot be."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from bypass.models.radio.path_loss import power_between
from bypass.models.radio.radio import BLUETOOTH, UNIT, WIFI, FrameKind, RadioModel

distances = st.floats(0, 300)


def decibels(ratio: float) -> float:
    return 10 * math.log10(ratio)


def test_link_budget() -> None:
    """The weakest power that is received is 13.96 dB above the weakest that counts: 38 dB a decade of
    distance."""
    assert WIFI.power(205) == UNIT
    assert decibels(WIFI.power(88) / WIFI.power(205)) == pytest.approx(13.96, abs=0.005)
    assert WIFI.power(88) / WIFI.power(205) == pytest.approx((205 / 88) ** 3.8, rel=1e-5)
    assert decibels(WIFI.power(10) / WIFI.power(100)) == pytest.approx(38, abs=1e-4)
    assert WIFI.power(205.001) == 0
    assert WIFI.sensitivity == WIFI.power(88)
    assert WIFI.sinr == pytest.approx(10)


def test_a_frame_that_is_just_received_stands_out_of_noise_alone() -> None:
    for model in (WIFI, BLUETOOTH):
        assert model.noise == UNIT
        assert model.sensitivity >= model.sinr * UNIT


@given(
    reach=st.floats(2, 100),
    beyond=st.floats(1, 2.5),
    exponent=st.floats(2, 4),
    sinr_db=st.floats(0, 40),
)
def test_noise_leaves_the_reach_as_it_is(
    reach: float, beyond: float, exponent: float, sinr_db: float
) -> None:
    """Noise is that of a sender at the interference range, and weaker only if frames would not reach else."""
    model = RadioModel(reach=reach, interference=reach * beyond, exponent=exponent, sinr_db=sinr_db)
    assert 0 <= model.noise <= UNIT
    assert float(model.sensitivity) >= model.sinr * float(model.noise)
    if model.sensitivity >= model.sinr * UNIT:
        assert model.noise == UNIT
    else:
        assert float(model.sensitivity) < model.sinr * float(model.noise + 2)


@given(first=distances, second=distances)
def test_power_falls_with_distance(first: float, second: float) -> None:
    near, far = sorted((first, second))
    assert WIFI.power(near) >= WIFI.power(far) >= 0
    assert (WIFI.power(far) >= UNIT) == (far <= WIFI.interference)
    assert WIFI.power(near) <= WIFI.power(1)


@settings(deadline=None)  # the first call compiles
@given(x=st.integers(-300, 300), y=st.integers(-300, 300))
def test_power_between_places_is_the_power_at_their_distance(x: int, y: int) -> None:
    between = power_between(7.0, -3.0, 7.0 + x, -3.0 + y, WIFI.interference, WIFI.exponent)
    assert between == pytest.approx(WIFI.power(math.hypot(x, y)), rel=1e-12)
    assert between == power_between(7.0 + x, -3.0 + y, 7.0, -3.0, WIFI.interference, WIFI.exponent)


def test_durations() -> None:
    """20 µs of preamble and whole symbols of 4 µs; 6 Mbit/s are 24 bits a symbol, 24 Mbit/s 96."""
    assert WIFI.difs_us == 34
    assert WIFI.duration_us(224, 6.0) == 324
    assert WIFI.duration_us(224, 24.0) == 96
    assert WIFI.duration_us(0, 6.0) == 24
    assert [WIFI.control_us(part) for part in (FrameKind.RTS, FrameKind.CTS, FrameKind.ACK)] == [52, 44, 44]
    assert BLUETOOTH.duration_us(37, 1.0) == 40 + 8 * 37


@given(size=st.integers(0, 2304), rate=st.sampled_from([6.0, 9.0, 12.0, 24.0, 54.0]))
def test_a_frame_lasts_as_many_symbols_as_its_bits_need(size: int, rate: float) -> None:
    symbols, rest = divmod(WIFI.duration_us(size, rate) - WIFI.preamble_us, WIFI.symbol_us)
    bits_a_symbol = rate * WIFI.symbol_us
    assert rest == 0
    assert (symbols - 1) * bits_a_symbol < 22 + 8 * size <= symbols * bits_a_symbol


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"interference": 50}, r"interference 50\.0: expected at least the reach, 88\.0"),
        ({"cw_min": 31, "cw_max": 15}, "cw_max 15: expected at least cw_min, 31"),
        ({"reach": 1}, "greater than 1"),
        ({"exponent": 1.9}, "greater than or equal to 2"),
        ({"sinr_db": -1}, "greater than or equal to 0"),
        ({"broadcast_rate": 0}, "greater than 0"),
        ({"unicast_rate": math.inf}, "finite"),
        ({"slot_us": 0}, "greater than or equal to 1"),
        ({"sifs_us": 0}, "greater than or equal to 1"),
        ({"queue": 0}, "greater than or equal to 1"),
        ({"refresh_ms": 0}, "greater than or equal to 1"),
        ({"retries": -1}, "greater than or equal to 0"),
        ({"range": 100}, "range"),
    ],
)
def test_what_cannot_be_is_refused(values: dict[str, float], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        RadioModel.model_validate(values)


def test_equal_ranges_and_windows_are_allowed() -> None:
    model = RadioModel(reach=88, interference=88, cw_min=7, cw_max=7)
    assert model.sensitivity == UNIT
