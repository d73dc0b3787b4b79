"""The messages between hosts, and their encoding."""

from typing import TYPE_CHECKING

from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.protocol.messages import Publish
    from bypass.protocol.wire import MalformedMessage
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "MalformedMessage": "bypass.protocol.wire",
            "Publish": "bypass.protocol.messages",
        },
    )

__all__ = ["MalformedMessage", "Publish"]
