"""The built-in dissemination mechanisms pass the suite that others' are tested with, and a small one does."""

from __future__ import annotations

from collections.abc import Collection

from bypass import Disseminator, Publish
from bypass.testing.suites.dissemination import DisseminationSuite


class BuiltIn(DisseminationSuite):
    examples = 8


class TestUnicast(BuiltIn):
    mechanism = "unicast"
    capabilities = {"hops": 1}


class TestBroadcast(BuiltIn):
    mechanism = "broadcast"
    capabilities = {"hops": 1}


class TestFlooding(BuiltIn):
    mechanism = "flooding"


class TestGossip(BuiltIn):
    mechanism = "gossip"
    capabilities = {"share": 0.4}


class TestHyperGossip(BuiltIn):
    mechanism = "hyperg"


class TestPlanB(BuiltIn):
    mechanism = "plan-b"
    capabilities = {"share": 0.6}


class Shout(Disseminator):
    """Says an event once, loudly."""

    flag = 100

    def disseminate_locally(self, publication: Publish, targets: Collection[int] | None = None) -> None:
        self.host.link.broadcast(publication)

    def heard(self, publication: Publish, sender: int, distance: float) -> None:
        self.tell(publication)


class TestShout(DisseminationSuite):
    mechanism = Shout
    capabilities = {"hops": 1}
    examples = 8
