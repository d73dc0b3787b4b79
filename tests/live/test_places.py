"""The location sensor of a live client, whatever tells it where it is."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from bypass.errors import InvalidLocation
from bypass.live.client.sources.gpx import gpx
from bypass.live.client.sources.sensor import ClientPlace, LiveSensor
from bypass.models.traces.errors import InvalidTrace
from bypass.places.geo import GeoLocation, PlanarLocation
from bypass.places.sensor import Fix, LocationRequest
from tests.live.scripted import AREA, on_loop, turns


class Timer:
    def __init__(self, at: float, action: Callable[[], None]) -> None:
        self.at = at
        self.action = action

    def cancel(self) -> None:
        """Never asked for here."""


class Clock:
    """Time that the test lets pass."""

    def __init__(self) -> None:
        self.time = 100.0
        self._timers: list[Timer] = []

    def now(self) -> float:
        return self.time

    def after(self, delay: float, action: Callable[..., None], *args: Any) -> Timer:
        timer = Timer(self.time + delay, lambda: action(*args))
        self._timers.append(timer)
        return timer

    def run(self, seconds: float) -> None:
        end = self.time + seconds
        while due := [timer for timer in self._timers if timer.at <= end]:
            first = min(due, key=lambda timer: timer.at)
            self._timers.remove(first)
            self.time = first.at
            first.action()
        self.time = end


EVERY_SECOND = LocationRequest(interval=1.0)


@on_loop
async def test_a_function_is_asked_when_somebody_wants_to_know() -> None:
    clock = Clock()
    sensor = LiveSensor(clock, lambda: (2.0 * clock.time, 5.0))
    assert sensor.last() is None
    assert sensor.current() == Fix(200.0, 5.0, 0.0, 0.0, 100.0)
    clock.run(0.01)
    assert sensor.place() == (200.0, 5.0)  # asked again so soon, it would only make speeds noisy
    clock.run(0.99)
    assert sensor.current() == Fix(202.0, 5.0, 2.0, 0.0, 101.0)
    clock.run(100.0)
    assert sensor.current() == Fix(402.0, 5.0, 0.0, 0.0, 201.0)  # who knows what it did meanwhile
    assert sensor.last() == sensor.current()


@on_loop
async def test_a_source_that_never_knows_a_place_is_counted_and_reported_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    clock, place = Clock(), None
    sensor = LiveSensor(clock, lambda: place)
    fixes: list[Fix] = []
    sensor.request(EVERY_SECOND, fixes.append)
    clock.run(9.0)
    assert (sensor.unknown, caplog.text) == (9, "")
    clock.run(6.0)
    assert sensor.unknown == 15
    assert caplog.text.count("no place of this client was known in 10 intervals") == 1
    place = (1.0, 2.0)
    clock.run(5.0)
    assert (sensor.unknown, len(fixes)) == (15, 5)


@on_loop
async def test_listeners_share_fixes_at_the_shortest_interval() -> None:
    clock = Clock()
    sensor = LiveSensor(clock, lambda: PlanarLocation(clock.time, 0.0))
    slow: list[float] = []
    fast: list[float] = []

    def hear_slow(fix: Fix) -> None:
        slow.append(fix.at)

    def hear_fast(fix: Fix) -> None:
        fast.append(fix.at)
        if len(fast) == 3:
            sensor.release(hear_fast)

    sensor.request(LocationRequest(interval=5.0), hear_slow)
    clock.run(5.0)
    assert slow == [105.0]
    sensor.request(EVERY_SECOND, hear_fast)
    clock.run(3.0)
    assert fast == [106.0, 107.0, 108.0]
    clock.run(5.0)
    assert slow == [105.0, 106.0, 107.0, 108.0, 113.0]
    sensor.release(hear_slow)
    clock.run(60.0)
    assert len(slow) == 5
    sensor.close()


@on_loop
async def test_places_that_come_by_themselves() -> None:
    clock = Clock()
    coming: asyncio.Queue[ClientPlace] = asyncio.Queue()

    async def source() -> AsyncIterator[ClientPlace]:
        while True:
            yield await coming.get()

    sensor = LiveSensor(clock, source())
    heard: list[Fix] = []
    sensor.request(EVERY_SECOND, heard.append)
    clock.run(3.0)
    assert heard == []
    coming.put_nowait((1.0, 1.0))
    await turns()
    assert heard == [Fix(1.0, 1.0, 0.0, 0.0, 103.0)]  # the first one is told at once
    clock.run(2.0)
    assert len(heard) == 1  # nothing new
    coming.put_nowait(None)
    coming.put_nowait((3.0, 1.0))
    coming.put_nowait((3.0, 2.0))
    await turns()
    assert sensor.current() == Fix(3.0, 2.0, 1.0, 0.0, 105.0)  # two in one moment are one
    clock.run(1.0)
    assert heard[1:] == [Fix(3.0, 2.0, 1.0, 0.0, 105.0)]
    sensor.close()
    coming.put_nowait((9.0, 9.0))
    await turns()
    clock.run(5.0)
    assert len(heard) == 2


@on_loop
async def test_degrees_need_a_projection(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    sensor = LiveSensor(clock, lambda: GeoLocation(49.001, 8.0))
    sensor.enter(AREA, None)
    for _ in range(3):
        assert sensor.current() is None
        clock.run(1.0)
    assert caplog.text.count("the broker's region has no origin on earth") == 1
    assert sensor.refused == 3
    sensor.enter(AREA, (49.0, 8.0))
    fix = sensor.current()
    assert fix is not None
    assert (fix.x, fix.y) == pytest.approx((0.0, 111.19), abs=0.01)


@on_loop
async def test_sources_that_fail_leave_what_was_known(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    answers: list[Any] = [(1.0, 2.0), ValueError("on purpose"), "nowhere", (float("nan"), 0.0), None]

    def source() -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    sensor = LiveSensor(clock, source)
    for _ in range(5):
        assert sensor.place() == (1.0, 2.0)
        clock.run(1.0)
    assert answers == []
    assert "on purpose" in caplog.text
    assert "location 'nowhere': expected a place or (x, y)" in caplog.text

    async def breaks() -> AsyncIterator[ClientPlace]:
        yield (5.0, 5.0)
        raise ValueError("broken")

    sensor = LiveSensor(clock, breaks())
    await turns()
    assert sensor.place() == (5.0, 5.0)
    assert "the source of locations failed" in caplog.text


@on_loop
async def test_what_is_no_source_is_refused() -> None:
    with pytest.raises(InvalidLocation, match=r"location \(1, 2\): expected a function"):
        LiveSensor(Clock(), (1, 2))  # type: ignore[arg-type]
    assert LiveSensor(Clock(), None).current() is None

    async def later() -> ClientPlace: ...

    async def one_by_one() -> AsyncIterator[ClientPlace]:
        yield (1.0, 1.0)

    for source in (later, one_by_one):
        with pytest.raises(InvalidLocation, match="expected a function or an asynchronous iterable"):
            LiveSensor(Clock(), source)  # type: ignore[arg-type]


@on_loop
async def test_degrees_that_come_before_the_region_is_known_wait_for_it() -> None:
    async def source() -> AsyncIterator[ClientPlace]:
        yield GeoLocation(49.001, 8.0)
        await asyncio.Event().wait()

    sensor = LiveSensor(Clock(), source())
    await turns()
    assert sensor.place() is None
    sensor.enter(AREA, (49.0, 8.0))
    assert sensor.place() == pytest.approx((0.0, 111.19), abs=0.01)
    assert sensor.refused == sensor.outside == 0
    sensor.close()


@on_loop
async def test_a_place_far_from_the_region_is_counted_and_taken(caplog: pytest.LogCaptureFixture) -> None:
    sensor = LiveSensor(Clock(), None)
    sensor.enter(AREA, (49.0, 8.0))
    sensor.push((-1400.0, 500.0))
    assert sensor.outside == 0
    sensor.push((-1500.0, 500.0))
    sensor.push(GeoLocation(8.0, 49.0))  # swapped
    assert sensor.outside == 2
    assert caplog.text.count("outside the broker's region: expected latitude before longitude") == 1
    place = sensor.place()
    assert place is not None
    assert place[0] > 1e6


@on_loop
async def test_places_are_told_from_outside_as_often_as_listeners_want() -> None:
    clock = Clock()
    sensor = LiveSensor(clock, None)
    assert not sensor.available()
    sensor.enter(AREA, None)
    heard: list[Fix] = []
    sensor.push((1.0, 1.0))
    assert sensor.available()
    sensor.request(EVERY_SECOND, heard.append)
    clock.run(0.5)
    sensor.push((2.0, 1.0))
    assert [fix.x for fix in heard] == [2.0]
    clock.run(0.25)
    sensor.push((3.0, 1.0))
    sensor.push(PlanarLocation(4.0, 1.0))
    assert [fix.x for fix in heard] == [2.0]  # it is too early
    clock.run(0.5)
    assert [fix.x for fix in heard] == [2.0, 4.0]
    wrong: list[Any] = [None, 5, (1.0, 2.0, 3.0), ("1", "2"), (float("inf"), 0.0), GeoLocation(49.0, 8.0)]
    for place in wrong:
        with pytest.raises(InvalidLocation):
            sensor.push(place)
    assert sensor.place() == (4.0, 1.0)


TRACK = """<?xml version="1.0"?>
<gpx version="1.1" creator="test" xmlns="http://www.topografix.com/GPX/1/1"><trk><trkseg>
<trkpt lat="49.0" lon="8.0"><time>2024-05-01T10:00:00Z</time></trkpt>
<trkpt lat="49.001" lon="8.0"><time>2024-05-01T10:01:40Z</time></trkpt>
<trkpt lat="49.001" lon="8.002"><time>2024-05-01T10:02:40Z</time></trkpt>
</trkseg></trk></gpx>
"""


def test_a_track_is_played_at_any_speed(tmp_path: Path) -> None:
    path = tmp_path / "walk.gpx"
    path.write_text(TRACK)
    now = [1000.0]
    place = gpx(path, 10.0, clock=lambda: now[0])

    def after(seconds: float) -> tuple[float, float]:
        now[0] = 1000.0 + seconds
        found = place()
        return found.lat, found.lon

    assert after(0.0) == pytest.approx((49.0, 8.0), abs=1e-8)
    assert after(5.0) == pytest.approx((49.0005, 8.0), abs=1e-8)
    assert after(10.0) == pytest.approx((49.001, 8.0), abs=1e-8)
    assert after(13.0) == pytest.approx((49.001, 8.001), abs=1e-7)
    assert after(1000.0) == pytest.approx((49.001, 8.002), abs=1e-8)


def test_tracks_that_cannot_be_played(tmp_path: Path) -> None:
    path = tmp_path / "walk.gpx"
    path.write_text(TRACK)
    for speed in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(InvalidLocation, match="expected a number above 0"):
            gpx(path, speed)
    path.write_text("no track")
    with pytest.raises(InvalidTrace):
        gpx(path)
