"""Quantities as people write them: durations and numbers of bytes."""

from __future__ import annotations

import re

_QUANTITY = re.compile(r"(\d+(?:\.\d+)?)\s*([A-Za-z]*)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_BYTES = {"": 1, "B": 1, "kB": 10**3, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}


def parse_seconds(text: str) -> float:
    """A duration in seconds: `90`, `30m`, `1.5h`, `7d`. Raises ValueError."""
    return _parse(text, _SECONDS, "a duration such as 30m, 1.5h or 7d")


def parse_bytes(text: str) -> int:
    """A number of bytes: `4096`, `20GB`, `1.5TB`; a kilobyte is 1,000. Raises ValueError."""
    return round(_parse(text, _BYTES, "a number of bytes such as 500MB or 20GB"))


def _parse(text: str, units: dict[str, int], expected: str) -> float:
    found = _QUANTITY.fullmatch(text.strip())
    if found is None or found[2] not in units:
        raise ValueError(f"{text!r}: expected {expected}")
    return float(found[1]) * units[found[2]]
