"""Storage mechanisms: where objects and queries are kept, and how they find each other."""

from typing import TYPE_CHECKING

from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.mechanisms.storage.base import StorageMechanism
    from bypass.mechanisms.storage.broker_storage import BrokerStorage
    from bypass.mechanisms.storage.cells.mechanism import Cells
    from bypass.mechanisms.storage.last_k import LastK
    from bypass.mechanisms.storage.local import Local
    from bypass.mechanisms.storage.pull import Pull
    from bypass.mechanisms.storage.server import ExternalStorage
    from bypass.mechanisms.storage.transient import Transient
    from bypass.mechanisms.storage.ttl import Ttl
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "BrokerStorage": "bypass.mechanisms.storage.broker_storage",
            "Cells": "bypass.mechanisms.storage.cells.mechanism",
            "ExternalStorage": "bypass.mechanisms.storage.server",
            "LastK": "bypass.mechanisms.storage.last_k",
            "Local": "bypass.mechanisms.storage.local",
            "Pull": "bypass.mechanisms.storage.pull",
            "StorageMechanism": "bypass.mechanisms.storage.base",
            "Transient": "bypass.mechanisms.storage.transient",
            "Ttl": "bypass.mechanisms.storage.ttl",
        },
    )

__all__ = [
    "BrokerStorage",
    "Cells",
    "ExternalStorage",
    "LastK",
    "Local",
    "Pull",
    "StorageMechanism",
    "Transient",
    "Ttl",
]
