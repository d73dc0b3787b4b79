"""The built-in selections of gateways pass the suite that others' are tested with, and a small one does."""

from __future__ import annotations

import numpy as np

from bypass import GatewayChoice
from bypass.mechanisms.gateways.selection import Candidates
from bypass.support.arrays import Ints
from bypass.testing.suites.gateway_selections import GatewaySelectionSuite


class TestDkcLeach(GatewaySelectionSuite):
    mechanism = "dkc-leach"


class TestSkcLeach(GatewaySelectionSuite):
    mechanism = "skc-leach"


class TestCsWca(GatewaySelectionSuite):
    mechanism = "cs-wca"


class TheFirst(GatewayChoice):
    """The client with the lowest number is the gateway."""

    def choose(self, candidates: Candidates, k: int) -> Ints:
        return np.zeros(1, np.int64)


class TestTheFirst(GatewaySelectionSuite):
    mechanism = TheFirst
