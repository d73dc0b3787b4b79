"""The ports through which mechanisms see the world: host, radio, subscriptions, state information."""

from typing import TYPE_CHECKING

from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.ports.host import Host
    from bypass.ports.local_access import Unless
    from bypass.ports.subscriptions import SubHandle
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Host": "bypass.ports.host",
            "SubHandle": "bypass.ports.subscriptions",
            "Unless": "bypass.ports.local_access",
        },
    )

__all__ = ["Host", "SubHandle", "Unless"]
