"""Satellite receivers: NMEA sentences as receivers have said them, serial lines, and gpsd's protocol."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Iterable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bypass.errors import InvalidLocation
from bypass.live.client.sources.gps import InvalidSentence, checksum, gpsd, nmea, read_sentence
from bypass.places.geo import GeoLocation
from tests.live.scripted import on_loop, until

RMC = "$GPRMC,081836,A,3751.65,S,14507.36,E,000.0,360.0,130998,011.3,E*62"
GGA = "$GPGGA,092750.000,5321.6802,N,00630.3372,W,1,8,1.03,61.7,M,55.2,M,,*76"
NO_FIX = "$GPRMC,225446.00,V,,,,,,,080419,,,N*7A"
OTHER = "$GPGSV,3,1,11,03,03,111,00,04,15,270,00,06,01,010,00,13,06,292,00*74"


def test_sentences_of_receivers() -> None:
    assert read_sentence(RMC) == ("081836", GeoLocation(-(37 + 51.65 / 60), 145 + 7.36 / 60))
    assert read_sentence(GGA.encode() + b"\r\n") == (
        "092750.000",
        GeoLocation(53 + 21.6802 / 60, -(6 + 30.3372 / 60)),
    )
    assert read_sentence(NO_FIX) == ("225446.00", None)
    assert read_sentence(OTHER) is None


@pytest.mark.parametrize(
    ("line", "wrong"),
    [
        (RMC.replace("*62", "*63"), "expected the checksum 62"),
        (RMC.replace("3751", "3752"), "expected the checksum 61"),
        (RMC.removesuffix("*62"), "expected \\$, fields and a checksum"),
        ("", "expected \\$"),
        (b"\xff\x00\x80", "expected \\$"),
        ("$GPRMC,1,A*" + f"{checksum('GPRMC,1,A'):02X}", "0 fields for the place: expected 4"),
        ("$GPRMC,1,A,9960.0,N,00000.0,E*" + f"{checksum('GPRMC,1,A,9960.0,N,00000.0,E'):02X}", "minutes"),
        ("$GPRMC,1,A,9130.0,N,00000.0,E*" + f"{checksum('GPRMC,1,A,9130.0,N,00000.0,E'):02X}", "-90..90"),
        ("$GPRMC,1,A,0130.0,X,00000.0,E*" + f"{checksum('GPRMC,1,A,0130.0,X,00000.0,E'):02X}", "one of NS"),
        ("$GPRMC,1,A,0130.0,,00000.0,E*" + f"{checksum('GPRMC,1,A,0130.0,,00000.0,E'):02X}", "one of NS"),
    ],
)
def test_damaged_sentences_are_refused(line: str | bytes, wrong: str) -> None:
    with pytest.raises(InvalidSentence, match=wrong):
        read_sentence(line)


def sentence(place: GeoLocation, time: str = "120000") -> str:
    """A sentence that says a place to a ten-millionth of a minute."""
    lat, lon = abs(place.lat) * 60, abs(place.lon) * 60
    content = (
        f"GNRMC,{time},A,{int(lat // 60):02d}{lat % 60:010.7f},{'N' if place.lat >= 0 else 'S'},"
        f"{int(lon // 60):03d}{lon % 60:010.7f},{'E' if place.lon >= 0 else 'W'},,,010120,,"
    )
    return f"${content}*{checksum(content):02X}"


@given(st.floats(-89.99, 89.99), st.floats(-179.99, 179.99))
def test_places_survive_a_sentence(lat: float, lon: float) -> None:
    text = sentence(GeoLocation(lat, lon))
    if "60.0000000" in text:  # rounded up: no receiver says so
        with pytest.raises(InvalidSentence):
            read_sentence(text)
        return
    found = read_sentence(text)
    assert found is not None
    assert found[1] is not None
    assert found[1].lat == pytest.approx(lat, abs=1e-8)
    assert found[1].lon == pytest.approx(lon, abs=1e-8)


@given(st.integers(1, len(GGA) - 4), st.integers(33, 126))
def test_one_wrong_character_is_noticed(at: int, character: int) -> None:
    damaged = GGA[:at] + chr(character) + GGA[at + 1 :]
    if damaged != GGA:
        with pytest.raises(InvalidSentence):
            read_sentence(damaged)


async def lines(of: Iterable[str]) -> AsyncIterator[str]:
    for each in of:
        yield each


@on_loop
async def test_what_several_sentences_say_is_said_once() -> None:
    here, there = GeoLocation(49.0, 8.0), GeoLocation(49.1, 8.0)
    spoken = [sentence(here, "1"), OTHER, sentence(here, "1"), "noise", sentence(there, "2"), NO_FIX]
    found = [place async for place in nmea(lines(spoken))]
    assert found[2:] == [None]
    assert [round(place.lat, 6) for place in found if place is not None] == [49.0, 49.1]


@on_loop
async def test_a_receiver_on_a_serial_line() -> None:
    receiver, line = os.openpty()
    try:
        source = nmea(os.ttyname(line), baud=4800)
        first = asyncio.ensure_future(anext(source))
        os.write(receiver, f"half a line\r\n{RMC}\r\n".encode())
        place = await asyncio.wait_for(first, 10)
        assert place == GeoLocation(-(37 + 51.65 / 60), 145 + 7.36 / 60)
        await source.aclose()  # type: ignore[attr-defined]
    finally:
        os.close(receiver)
        os.close(line)


@on_loop
async def test_what_is_no_serial_line_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidLocation, match="No such file or directory: expected a serial device"):
        await anext(nmea(tmp_path / "missing"))
    (tmp_path / "file").write_text(RMC)
    with pytest.raises(InvalidLocation, match="expected a serial device"):
        await anext(nmea(tmp_path / "file"))
    with pytest.raises(InvalidLocation, match="baud 1: expected a speed of serial lines"):
        await anext(nmea("/dev/null", baud=1))


@on_loop
async def test_gpsd_is_asked_and_asked_again() -> None:
    sessions: list[list[Any]] = [
        [
            {"class": "VERSION", "release": "3.25"},
            {"class": "TPV", "mode": 1},
            {"class": "SKY", "satellites": []},
            {"class": "TPV", "mode": 3, "lat": 49.5, "lon": 8.5, "alt": 110.0},
            {"class": "TPV", "mode": 3, "lat": 949.5, "lon": 8.5},
            ["no report"],
        ],
        [{"class": "TPV", "mode": 2, "lat": -1.0, "lon": -2.0}],
    ]
    asked: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readline())
        for report in sessions[len(asked) - 1]:
            writer.write(json.dumps(report).encode() + b"\r\n")
        writer.write(b"not json\n")
        writer.close()
        await writer.wait_closed()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    source = gpsd(f"127.0.0.1:{server.sockets[0].getsockname()[1]}", retry=0.01)
    found = [await asyncio.wait_for(anext(source), 10) for _ in range(3)]
    assert found == [None, GeoLocation(49.5, 8.5), GeoLocation(-1.0, -2.0)]
    assert asked == [b'?WATCH={"enable":true,"json":true};\n'] * 2
    await source.aclose()  # type: ignore[attr-defined]
    server.close()
    await server.wait_closed()


@on_loop
async def test_a_gpsd_that_is_not_there_is_waited_for(caplog: pytest.LogCaptureFixture) -> None:
    server = await asyncio.start_server(lambda reader, writer: writer.close(), "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    server.close()
    await server.wait_closed()
    source = gpsd(f"127.0.0.1:{port}", retry=0.001)
    waiting = asyncio.ensure_future(anext(source))
    await until(lambda: "it is tried again" in caplog.text)

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b'{"class":"TPV","mode":2,"lat":1.5,"lon":2.5}\n')
        await reader.read()
        writer.close()
        await writer.wait_closed()
        served.set()

    served = asyncio.Event()
    server = await asyncio.start_server(serve, "127.0.0.1", port)
    assert await asyncio.wait_for(waiting, 10) == GeoLocation(1.5, 2.5)
    assert caplog.text.count("it is tried again") == 1
    await source.aclose()  # type: ignore[attr-defined]
    await served.wait()
    server.close()
    await server.wait_closed()
    with pytest.raises(InvalidLocation, match="gpsd at 'here': expected host:port"):
        await anext(gpsd("here"))
