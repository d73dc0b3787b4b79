"""The client and the broker of every runtime, above the mechanisms that they exchange."""

from typing import TYPE_CHECKING

from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.core.adaptation import Adaptation
    from bypass.core.broker import Broker
    from bypass.core.client import Client
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Adaptation": "bypass.core.adaptation",
            "Broker": "bypass.core.broker",
            "Client": "bypass.core.client",
        },
    )

__all__ = ["Adaptation", "Broker", "Client"]
