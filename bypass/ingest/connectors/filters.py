"""Topic filters: what connectors subscribe to, and which categories of devices each filter covers."""

from __future__ import annotations

import re
from dataclasses import dataclass

from bypass.errors import shown
from bypass.ingest.categories import CATEGORIES, category_name, category_of
from bypass.ingest.connectors.connector import InvalidConnector

GROUP = "ingest"
"""The connectors that share a subscription."""

_APPLICATION = re.compile(r"[^$+#/\s][^+#/\s]{0,99}")


class UnreadableTopic(ValueError):
    """A topic that no device has. Its text is a reason that can be counted."""


@dataclass(frozen=True, slots=True)
class ApplicationFilters:
    """The topics of one application, APPLICATION/CATEGORY/ID, and the filters that they match."""

    application: str
    categories: int = CATEGORIES

    def __post_init__(self) -> None:
        """Raises InvalidConnector."""
        if not _APPLICATION.fullmatch(self.application):
            raise InvalidConnector(
                f"application {shown(self.application)}: expected 1 to 100 characters, no / + # or space"
            )

    @property
    def whole(self) -> str:
        """The filter that all messages match."""
        return f"{self.application}/#"

    @property
    def shared(self) -> str:
        """The filter whose messages the broker divides among the connectors."""
        return f"$share/{GROUP}/{self.whole}"

    def of(self, category: int) -> str:
        """The filter that the messages of one category match."""
        return f"{self.application}/{category_name(category, self.categories)}/#"

    @property
    def all(self) -> frozenset[str]:
        """All filters there are."""
        return frozenset((self.whole, self.shared, *map(self.of, range(self.categories))))

    def covers(self, held: frozenset[str]) -> frozenset[str]:
        """The filters of the categories that these filters cover together."""
        if self.whole in held or self.shared in held:
            return frozenset(map(self.of, range(self.categories)))
        return held

    def device(self, topic: str) -> str:
        """The device that publishes to a topic. Raises UnreadableTopic."""
        application, _, rest = topic.partition("/")
        category, _, device = rest.partition("/")
        if application != self.application or not device:
            raise UnreadableTopic("malformed topic")
        if category != category_of(device, self.categories):
            raise UnreadableTopic("wrong category")
        return device
