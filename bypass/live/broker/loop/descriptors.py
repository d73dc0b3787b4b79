"""File descriptors of a broker's process: every connection takes one, and some are kept for its own files."""

from __future__ import annotations

import resource
from collections.abc import Iterator
from contextlib import contextmanager, suppress

RESERVED = 32
"""Descriptors that connections cannot take; at most half of all."""

UNLIMITED = 1 << 20
"""Taken for the limit where there is none: the system has one of its own, and this is its default."""


def raise_limit() -> int:
    """Let this process have as many descriptors as it may, and keep some of them back; gives how many it has.

    New connections wait, without harm to others, while there are none left.
    """
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = UNLIMITED if hard == resource.RLIM_INFINITY else hard
    with suppress(ValueError, OSError):  # the system has another opinion: it stays as it was
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(most - RESERVED, most // 2), hard))
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


@contextmanager
def reserved() -> Iterator[None]:
    """Let files that are opened within take descriptors that were kept back."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
