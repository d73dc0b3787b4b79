"""Filter schemes that are wrong, each in a way of its own."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable
from typing import TYPE_CHECKING

from bypass import FilterScheme, Publish
from bypass.mechanisms.filters import Radial
from bypass.places import Fix
from bypass.transitions import Mechanism

if TYPE_CHECKING:
    from bypass.support.arrays import Ints


class MovesOnce(FilterScheme):
    """Its clients report that they have left where they were first, and nothing after that."""

    class Client(Radial.Client):
        def start(self) -> None:
            super().start()
            self.first: Fix | None = None
            self.left = False

        def moved(self, fix: Fix) -> None:
            if self.first is None:
                self.first = fix
                self.report(fix)
            elif not self.left and math.dist(fix[:2], self.first[:2]) > 10.0:
                self.left = True
                self.report(fix)

    class Broker(Radial.Broker):
        pass


class OneEach(FilterScheme):
    """Tells a client of an event for one of its subscriptions, though others want it as well."""

    class Client(Radial.Client):
        pass

    class Broker(Radial.Broker):
        def match(self, publication: Publish) -> Ints:
            import numpy as np

            rows = super().match(publication)
            _, first = np.unique(self.table.client[rows], return_index=True)
            return rows[np.sort(first)]


class StartsEmpty(FilterScheme):
    """Takes members over in a transition, and none of their subscriptions."""

    class Client(Radial.Client):
        pass

    class Broker(Radial.Broker):
        def admit(self, members: Collection[Hashable] | None, source: Mechanism | None) -> None:
            super().admit(members, source)
            self.index.removed(self.table.located(self.clients))
