"""Objects that stay: metadata, formulas over tags, windows of time, queries, and stores that keep them."""

from typing import TYPE_CHECKING

from bypass.support.lazy import lazy_names

if TYPE_CHECKING:
    from bypass.objects.catalogue import ObjectCatalogue
    from bypass.objects.metadata import Metadata, ObjectKey, Replica, StoredObject, Tombstone
    from bypass.objects.node_store import NodeStore
    from bypass.objects.query import ObjectQuery, PageCursor
    from bypass.objects.tags import TagFormula
    from bypass.objects.window import TimeWindow
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "Metadata": "bypass.objects.metadata",
            "NodeStore": "bypass.objects.node_store",
            "ObjectCatalogue": "bypass.objects.catalogue",
            "ObjectKey": "bypass.objects.metadata",
            "ObjectQuery": "bypass.objects.query",
            "PageCursor": "bypass.objects.query",
            "Replica": "bypass.objects.metadata",
            "StoredObject": "bypass.objects.metadata",
            "TagFormula": "bypass.objects.tags",
            "TimeWindow": "bypass.objects.window",
            "Tombstone": "bypass.objects.metadata",
        },
    )

__all__ = [
    "Metadata",
    "NodeStore",
    "ObjectCatalogue",
    "ObjectKey",
    "ObjectQuery",
    "PageCursor",
    "Replica",
    "StoredObject",
    "TagFormula",
    "TimeWindow",
    "Tombstone",
]
