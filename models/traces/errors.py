"""What can be wrong with a trace."""

from bypass.errors import BypassError


class InvalidTrace(BypassError):
    """Files that are no trace of positions, or that are in the way of one."""
