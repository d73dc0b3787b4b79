"""The error of traces."""

from bypass.errors import BypassError


class InvalidTrace(BypassError):
    """Files are no trace of positions, or are in the way of one."""
