"""A filter scheme that installed packages offer by an entry point; clients import it without numpy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bypass import FilterScheme
from bypass.mechanisms.filters import Radial

if TYPE_CHECKING:
    from bypass.mechanisms.filters import KeyIndex


class Everybody(FilterScheme):
    """Every event concerns everybody: what it costs to do without filtering."""

    class Client(Radial.Client):
        """Reports as RADIAL's."""

    class Broker(FilterScheme.Broker):
        def make_index(self) -> KeyIndex:
            from bypass.mechanisms.filters import KeyIndex

            return KeyIndex(self.table, self.resolver, lambda *_: ("all",), lambda _: "all")
