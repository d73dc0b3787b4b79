"""The errors of queries: what is asked cannot be understood, or cannot be answered any more."""

from bypass.root_error import BypassError


class InvalidSelection(BypassError):
    """A selection that nothing can match, or that is not understood."""


class InvalidCursor(BypassError):
    """A text that is no cursor of this table."""


class QueryTooLong(BypassError):
    """A query that took more time than it may."""


class CursorExpired(BypassError):
    """A cursor whose continuation was removed: what came behind it cannot be told from the rest any more."""
