"""Dissemination between clients nearby: how an event travels without the broker.

The same mechanisms serve a client's own events (proxy `direct`) and those that gateways relay (`gateway`).
"""

from bypass.mechanisms.dissemination.broadcast import Broadcast
from bypass.mechanisms.dissemination.disseminator import Disseminator
from bypass.mechanisms.dissemination.flooding import Flooding
from bypass.mechanisms.dissemination.gossip import Gossip
from bypass.mechanisms.dissemination.hyperg import HyperGossip
from bypass.mechanisms.dissemination.planb import PlanB
from bypass.mechanisms.dissemination.unicast import Unicast

__all__ = [
    "Broadcast",
    "Disseminator",
    "Flooding",
    "Gossip",
    "HyperGossip",
    "PlanB",
    "Unicast",
]
