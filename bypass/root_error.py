"""The root of all errors: transitions, which know nothing of publish/subscribe, have it too."""

from __future__ import annotations


class BypassError(Exception):
    """Base of everything this library raises on purpose."""
