"""Places from satellite receivers, as sources for a connection's `location`: NMEA sentences and gpsd."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import AsyncIterable, AsyncIterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path

from bypass.errors import BypassError, InvalidLocation, shown
from bypass.places.geo import GeoLocation

log = logging.getLogger(__name__)

GPSD = "localhost:2947"

_SENTENCE = re.compile(r"\$([^*$]*)\*([0-9A-Fa-f]{2})\s*")
_ANGLE = re.compile(r"(\d{2,3})(\d{2}(?:\.\d+)?)")
_WATCH = b'?WATCH={"enable":true,"json":true};\n'
_PLAIN_FIX = 2  # gpsd's modes: 0 and 1 are no fix, 3 has an altitude too


class InvalidSentence(BypassError):
    """A line that is no NMEA sentence, or one that was damaged on its way."""


def read_sentence(line: str | bytes) -> tuple[str, GeoLocation | None] | None:
    """Time of day (hhmmss) and place in an NMEA sentence of type RMC or GGA; None for other types.

    The place is None if the receiver says that it does not know it. Raises InvalidSentence, also if the
    checksum is missing or wrong.
    """
    text = line.decode("ascii", "replace") if isinstance(line, bytes) else line
    found = _SENTENCE.fullmatch(text)
    if found is None:
        raise InvalidSentence(f"{shown(text)}: expected $, fields and a checksum, as NMEA has it")
    content, given = found.groups()
    if checksum(content) != int(given, 16):
        raise InvalidSentence(f"{shown(text)}: expected the checksum {checksum(content):02X}")
    kind, *fields = content.split(",")
    try:
        match kind[2:]:
            case "RMC":
                time, status, *place = fields[:6]
                valid, above = status == "A", ""
            case "GGA":
                time, *place, quality = fields[:6]
                valid = quality not in ("", "0")
                above = fields[8] if len(fields) > 8 else ""
            case _:
                return None
        return time, _place(place, above) if valid else None
    except (ValueError, InvalidLocation) as error:
        raise InvalidSentence(f"{shown(text)}: {error}") from None


def checksum(content: str) -> int:
    """The checksum of what stands between $ and *."""
    total = 0
    for character in content:
        total ^= ord(character) & 0xFF
    return total


def _place(fields: list[str], altitude: str) -> GeoLocation:
    if len(fields) != 4:
        raise ValueError(f"{len(fields)} fields for the place: expected 4")
    lat, north, lon, east = fields
    above = float(altitude) if altitude else None
    return GeoLocation(_degrees(lat, north, "NS"), _degrees(lon, east, "EW"), altitude=above)


def _degrees(text: str, side: str, sides: str) -> float:
    found = _ANGLE.fullmatch(text)
    if found is None or side not in sides or not side or float(found[2]) >= 60.0:
        raise ValueError(f"{text},{side}: expected degrees and minutes, and one of {sides}")
    degrees = int(found[1]) + float(found[2]) / 60.0
    return degrees if side == sides[0] else -degrees


async def nmea(
    source: str | Path | AsyncIterable[str | bytes], *, baud: int = 9600
) -> AsyncIterator[GeoLocation | None]:
    """Places from a receiver's sentences, which come from a serial device or from lines, however they come.

    An `asyncio.StreamReader` is such a source of lines. Damaged lines are skipped. Raises InvalidLocation if
    the device cannot be used.
    """
    if isinstance(source, str | Path):
        async with _serial(Path(source), baud) as lines:
            async for place in _places(lines):
                yield place
    else:
        async for place in _places(source):
            yield place


async def _places(lines: AsyncIterable[str | bytes]) -> AsyncIterator[GeoLocation | None]:
    told = None
    async for line in lines:
        try:
            sentence = read_sentence(line)
        except InvalidSentence as error:
            log.debug("%s", error)
            continue
        if sentence is not None and sentence[0] != told:  # receivers say the same in several sentences
            told, place = sentence
            yield place


@asynccontextmanager
async def _serial(path: Path, baud: int) -> AsyncIterator[asyncio.StreamReader]:
    import termios  # not every system has these
    import tty

    speed = getattr(termios, f"B{baud}", None)
    if speed is None:
        raise InvalidLocation(f"{path}: baud {baud}: expected a speed of serial lines, such as 9600")
    with ExitStack() as opened:
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOCTTY | os.O_NONBLOCK)
            file = opened.enter_context(open(descriptor, "rb", buffering=0))
            tty.setraw(descriptor, termios.TCSANOW)
            attributes = termios.tcgetattr(descriptor)
            attributes[4] = attributes[5] = speed
            termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
        except (OSError, termios.error) as error:
            raise InvalidLocation(f"{path}: {error.args[-1]}: expected a serial device") from None
        reader = asyncio.StreamReader()
        transport, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), file
        )
        try:
            yield reader
        finally:
            transport.close()


async def gpsd(address: str = GPSD, *, retry: float = 5.0) -> AsyncIterator[GeoLocation | None]:
    """Places from the gpsd at an address; while it is not there, it is tried every `retry` seconds.

    Raises InvalidLocation for an address that is none.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal():
        raise InvalidLocation(f"gpsd at {address!r}: expected host:port")
    reachable = True
    while True:
        try:
            reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
        except OSError as error:
            if reachable:
                log.warning("gpsd at %s: %s; it is tried again", address, error)
            reachable = False
        else:
            reachable = True
            try:
                writer.write(_WATCH)
                async for place in _reports(reader):
                    yield place
            except (OSError, ValueError) as error:  # ValueError: a line without end
                log.warning("gpsd at %s: %s", address, error)
            finally:
                writer.close()
                with suppress(OSError):
                    await writer.wait_closed()
        await asyncio.sleep(retry)


async def _reports(lines: AsyncIterable[bytes]) -> AsyncIterator[GeoLocation | None]:
    """Places in gpsd's reports; what is no report of a place is skipped."""
    async for line in lines:
        try:
            report = json.loads(line)
            if not isinstance(report, dict) or report.get("class") != "TPV":
                continue
            known = report.get("mode", 0) >= _PLAIN_FIX and "lat" in report and "lon" in report
            above = report.get("altMSL") if report.get("mode", 0) > _PLAIN_FIX else None
            place = GeoLocation(report["lat"], report["lon"], altitude=above) if known else None
        except (ValueError, TypeError, InvalidLocation) as error:
            log.debug("from gpsd: %s: %s", shown(line), error)
        else:
            yield place
