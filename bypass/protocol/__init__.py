"""The messages between hosts, and their encoding."""

from typing import TYPE_CHECKING

from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.protocol.messages import ContextMessage, Publish
    from bypass.protocol.scheme_context import SchemeContext
    from bypass.protocol.wire import MalformedMessage
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "ContextMessage": "bypass.protocol.messages",
            "MalformedMessage": "bypass.protocol.wire",
            "Publish": "bypass.protocol.messages",
            "SchemeContext": "bypass.protocol.scheme_context",
        },
    )

__all__ = ["ContextMessage", "MalformedMessage", "Publish", "SchemeContext"]
