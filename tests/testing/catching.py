"""Runs a suite outside of pytest, to see what it says of a mechanism."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import SkipTest

from hypothesis import Phase, settings

from bypass.testing.suites.suite import Suite

settings.register_profile(
    "unshrunk", deadline=None, derandomize=True, database=None, phases=[Phase.explicit, Phase.generate]
)


@contextmanager
def unshrunk() -> Iterator[None]:
    """Examples are found and not made small, which takes long; the same ones each time."""
    before = settings.get_current_profile_name()
    settings.load_profile("unshrunk")
    try:
        yield
    finally:
        settings.load_profile(before)


def failures(suite: type[Suite], *names: str) -> dict[str, str]:
    """Which tests of a suite fail, of those named or of all, and what they say."""
    found: dict[str, str] = {}
    with unshrunk():
        for name in names or [each for each in dir(suite) if each.startswith("test_")]:
            try:
                getattr(suite(), name)()
            except SkipTest:
                continue
            except Exception as error:
                found[name] = f"{type(error).__name__}: {error}"
    return found
