"""The requests of an application to a node that has no broker."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Literal

from bypass.errors import shown
from bypass.live.client.errors import InvalidArgument, Unsupported
from bypass.live.client.live_node import LiveNode
from bypass.live.client.session.session import ClientSession
from bypass.transitions import Outcome, Plan


class NodeCalls(ABC):
    """The methods of a connection that are for nodes without a broker."""

    _node: LiveNode | None

    @property
    @abstractmethod
    def _exchange(self) -> ClientSession:
        """The session. Raises NotConnected before it is opened."""

    def decide(self, plan: Plan) -> Outcome:
        """Carry out a plan about storage and routing, and have all nodes in reach of each other follow it.

        Without a broker alone, whose plans decide otherwise: raises Unsupported, and as `Client.decide`.
        """
        if self._node is None:
            raise Unsupported(f"plan {plan.plan!r}: expected a node without a broker, or its operator")
        return self._exchange.usable().decide(plan)

    def prefer(self, preference: Literal["auto", "edges", "peers"]) -> None:
        """Reach others by an edge while there is one ("auto"), by edges alone, or by peers alone, which saves
        the search for edges. Raises Unsupported unless this is a node that knows `edges`."""
        from bypass.core.objects.fallback import Preference

        fallback = None if self._node is None else self._exchange.usable().node.fallback
        if fallback is None:
            raise Unsupported(f"prefer {shown(preference)}: expected a node that was given edges")
        if preference not in ("auto", "edges", "peers"):
            raise InvalidArgument(f"prefer {shown(preference)}: expected 'auto', 'edges' or 'peers'")
        fallback.prefer(Preference(preference))
