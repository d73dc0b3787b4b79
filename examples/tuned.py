"""A transition of your own: what was tuned in one mechanism goes on in the next."""

from bypass.mechanisms.dissemination import Gossip, PlanB
from bypass.transitions import AtomicTransition, auto_transfer


class KeepProbability(AtomicTransition[Gossip, PlanB]):
    """Who passed events on with probability `p` goes on with it as the least one."""

    def transfer_state(self, a: Gossip, b: PlanB) -> None:
        auto_transfer(a, b)  # what both have in common
        b.p_min = a.p
