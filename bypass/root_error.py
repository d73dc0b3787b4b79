"""The root of all errors. It stands apart because `transitions` uses it and knows nothing of
publish/subscribe."""

from __future__ import annotations


class BypassError(Exception):
    """Base of everything this library raises on purpose."""
