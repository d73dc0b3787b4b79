"""The suite for churn models."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any, ClassVar

from hypothesis import strategies as st

from bypass.models.catalogue import INSTALLED_MODELS
from bypass.models.churn import CHURN, ChurnModel, Presence
from bypass.support.units import MICROSECONDS
from bypass.testing.suites.models.model_suite import ModelSuite

CLIENTS, DURATION = 15, 60.0

_seeds = st.integers(0, 2**64 - 1)


class ChurnSuite(ModelSuite[ChurnModel]):
    """Presence depends on the seed and on what was asked for alone, and makes sense.

    Capabilities: what does not depend on the seed is not `random`.
    """

    builtin, base, group = CHURN, ChurnModel, INSTALLED_MODELS
    defaults: ClassVar[Mapping[str, Any]] = {"random": True}

    def test_clients_come_and_go_by_turns_within_the_run(self) -> None:
        def by_turns(clients: int, duration: float, seed: int) -> None:
            presence = self.made().schedule(clients, duration, seed)
            assert len(presence) == clients, f"{len(presence)} clients: expected {clients}"
            for client, own in enumerate(_moments(presence)):
                ascend = all(before < after for before, after in pairwise(own))
                assert ascend, f"client {client} comes and goes at {own}: expected ascending moments"
                inside = all(0 <= at < duration * MICROSECONDS for at in own)
                assert inside, f"client {client} comes and goes at {own} µs: expected before {duration} s"

        self.for_all(by_turns, clients=st.integers(1, 40), duration=st.floats(0.01, DURATION), seed=_seeds)

    def test_the_seed_decides(self) -> None:
        def decides(seed: int) -> None:
            one, again = (_moments(self.made().schedule(CLIENTS, DURATION, seed)) for _ in range(2))
            assert one == again, "the same seed gave other moments"

        self.for_all(decides, seed=_seeds)
        some = [_moments(self.made().schedule(CLIENTS, DURATION, seed)) for seed in range(5)]
        differ = any(each != some[0] for each in some)
        assert differ or not self.capability("random"), "whatever the seed, the same moments"

    def test_those_who_are_there_are_counted(self) -> None:
        def counted(at: float, seed: int) -> None:
            presence = self.made().schedule(CLIENTS, DURATION, seed)
            there = sum(presence.active(client, at) for client in range(CLIENTS))
            assert presence.count(at) == there, f"{presence.count(at)} are there, of whom {there} take part"

        self.for_all(counted, at=st.floats(0.0, DURATION), seed=_seeds)


def _moments(presence: Presence) -> list[list[int]]:
    bounds = pairwise(presence.offsets.tolist())
    return [presence.at_us[first:last].tolist() for first, last in bounds]
