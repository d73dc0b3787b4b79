"""Histories of stores are the same at every run; `make soak` looks for others."""

from collections.abc import Iterator

import pytest
from hypothesis import settings

settings.register_profile("repeatable", settings.get_profile("untimed"), derandomize=True)


@pytest.fixture(autouse=True)
def repeatable() -> Iterator[None]:
    """Have suites draw the same examples at every run."""
    settings.load_profile("repeatable")
    yield
    settings.load_profile("untimed")
