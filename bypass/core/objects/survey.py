"""A survey among nodes: one asks what all have done with objects, each answers, and nobody needs a broker."""

from __future__ import annotations

from collections.abc import Callable

from bypass.ports.host import Host
from bypass.ports.routing import Routing
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import CountsRequest, NodeCounts
from bypass.transitions.recent import Recent

ANSWER_S = 3.0
"""The longest random time before a node answers: so not all speak at once."""

MOST_ASKING = 16
"""Nodes that one node is about to answer; a further one gets no answer."""


class NodeAnswers(Recent[int, NodeCounts]):
    """The latest answer of each node."""

    LIMIT = 4096


class NodeSurvey:
    """The questions and answers of one node. `count` gives its own counts; `answers` has those of others.

    A request is a flood, an answer a way. Who has not been answered yet and asks again is answered once.
    """

    def __init__(self, host: Host, routing: Routing, count: Callable[[], NodeCounts]) -> None:
        self.answers = NodeAnswers()
        self._host = host
        self._routing = routing
        self._count = count
        self._asking: set[NodeAddress] = set()

    def ask(self) -> None:
        """Ask all nodes in reach of each other; of the answers to this question alone there are `answers`.

        This node has answered when the call returns.
        """
        self.answers.clear()
        self.answers[self._host.id] = self._count()
        self._routing.flood(CountsRequest())

    def asked(self, origin: NodeAddress) -> None:
        """Answer a node, soon."""
        if origin not in self._asking and len(self._asking) < MOST_ASKING:
            self._asking.add(origin)
            self._host.after(ANSWER_S * self._host.random("survey").random(), self._answer, origin)

    def answered(self, origin: NodeAddress, counts: NodeCounts) -> None:
        """Take the answer of a node."""
        if origin.node is not None:
            self.answers[origin.node] = counts

    def end(self) -> None:
        """Answer nobody any more: the client is gone."""
        self._asking.clear()

    def _answer(self, origin: NodeAddress) -> None:
        if origin in self._asking:
            self._asking.discard(origin)
            self._routing.send(self._count(), (origin,))
