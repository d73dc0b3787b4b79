"""The suite of insertions: promises that each mechanism keeps which says when fetched items are inserted."""

from __future__ import annotations

from typing import ClassVar

from hypothesis import strategies as st

from bypass.mechanisms import Registry
from bypass.mechanisms.families import INSERTION, Family
from bypass.ports.caches import Insertion
from bypass.testing.suites.suite import MechanismSuite
from bypass.transitions import Engine


class InsertionSuite(MechanismSuite):
    """Items that arrive in a cycle are inserted before the next decision: at once, or with a batch."""

    family: ClassVar[Family] = INSERTION

    def test_batches_are_in_order_and_the_last_one_is_in_time(self) -> None:
        """At least one: what arrived before the mechanism was there waits for it."""

        def ordered(period_s: float, share: float) -> None:
            slack_s = share * period_s
            _, insertion = self._insertion()
            batches = list(insertion.batches(period_s, slack_s))
            assert batches, "no batch: expected one at least, for what has arrived before an exchange"
            assert batches == sorted(set(batches)), f"batches {batches}: expected ascending times"
            assert batches[0] > 0, f"batches {batches}: expected the first after the decision"
            latest = (period_s - slack_s) * (1 + 1e-9)
            assert batches[-1] <= latest, f"batches {batches}: expected the last one until {latest}"

        self.for_all(ordered, period_s=st.floats(0.1, 3600.0), share=st.floats(0.0, 0.9))

    def test_the_same_cycle_has_the_same_batches(self) -> None:
        _, insertion = self._insertion()
        found = {(tuple(insertion.batches(30.0, 3.0)), insertion.is_immediate()) for _ in range(3)}
        assert len(found) == 1, f"{found}: expected the same each time"

    def test_it_can_be_exchanged(self) -> None:
        """Each mechanism takes over from this one and hands over to it."""
        for other in self.others:
            engine, insertion = self._insertion()
            before = tuple(insertion.batches(30.0, 3.0))
            for name, values in ((other, {}), (self.name, self.parameters)):
                engine.transition("insertion", name, set=values)
                insertion.is_immediate()
            after = tuple(insertion.batches(30.0, 3.0))
            assert after == before, f"over {other}: batches {after}, expected {before}"

    def _insertion(self) -> tuple[Engine, Insertion]:
        engine = Engine("node")
        insertion: Insertion = Registry(self.brought).create(
            engine, "edge", "insertion", self.name, set=self.parameters
        )
        return engine, insertion
