"""Plans of a broker on their way to its clients: those who are there, and those who come later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet
from typing import Protocol

from bypass.core.plan_shares import shares
from bypass.core.standing_plans import Standing
from bypass.mechanisms import Registry
from bypass.mechanisms.families import PORT_OF
from bypass.protocol.messages import Message, PlanMessage
from bypass.transitions import Coordinator, Distribution, Engine, InvalidPlan, Plan, Record, successor
from bypass.transitions.recent import Recent

LAST_EPOCH = 2**32 - 1
MOST_PLANS = LAST_EPOCH - 2**24
"""The largest epoch that a message can carry, and the one from which on plans are refused: those who come are
still told the earlier ones, which have epochs, too."""

Served = Sequence[AbstractSet[int]]
"""The clients of each filter scheme."""


class PlanListener(Protocol):
    """Is told of plans; it must not execute others meanwhile."""

    def plan_executed(self, plan: Plan, records: list[Record]) -> None:
        """A plan was executed here, with these records; clients are told next."""

    def plan_distributed(self, distribution: Distribution) -> None:
        """Clients were told a share of a plan, or what they had missed."""

    def client_returned(self, client: int, epoch: int, again: Sequence[Distribution] | None) -> None:
        """A client is back, with this epoch: as it was left (None), or it was told all that holds `again`."""


class Rollout:
    """Executes plans by an engine and tells clients, by `send(client, message)`. `served` gives the clients
    of each filter scheme.

    `epoch` is the number of the latest plan, `decisions` are the numbers of the latest decisions, by scope,
    and `told` the epochs of the latest plans that were sent to clients. `standing` is what clients have to
    have. `resubscribe`: the broker starts from nothing at every transition, clients say everything again.
    """

    def __init__(
        self,
        engine: Engine,
        registry: Registry,
        standing: Standing,
        send: Callable[[int, Message], None],
        served: Callable[[], Served],
        *,
        resubscribe: bool,
    ) -> None:
        self.epoch = 0
        self.plans_sent = 0  # one for each client that was told
        self.decisions: dict[int, int] = {}
        self.told: dict[int, int] = {}
        self.standing = standing
        self.listeners: list[PlanListener] = []
        self.coordinator = Coordinator(engine, send=self._send_plan)
        self._engine = engine
        self._registry = registry
        self._send = send
        self._served = served
        self._resubscribe = resubscribe
        self._executed: Recent[str, None] = Recent()  # ids of plans

    def execute(self, plan: Plan) -> list[Record]:
        """Execute a plan here, then at the clients concerned; gives the records of here.

        Raises InvalidPlan for one plan too many, before anything is changed. An action that fails is in the
        records; clients are told what succeeded here.
        """
        if self.epoch >= MOST_PLANS:
            raise InvalidPlan(f"plan {plan.plan!r}: epoch {self.epoch}: expected less than {MOST_PLANS}")
        plan = self._numbered(plan)
        proxies = self._registry.proxies("broker")
        here = [action for action in plan.actions if action.proxy in proxies]
        records = self._engine.execute(plan.model_copy(update={"actions": tuple(here)})) if here else []
        for listener in self.listeners:
            listener.plan_executed(plan, records)
        failed = [action for action, record in zip(here, records, strict=True) if record.outcome == "failed"]
        succeeded = [action for action in plan.actions if action not in failed]
        if failed and plan.on_error == "abort":
            succeeded = list(plan.actions[: plan.actions.index(failed[0])])
        repeated = plan.id in self._executed  # hosts do nothing of it
        self._executed[plan.id] = None
        if succeeded and not repeated:
            served = self._served()
            self.standing.remember(plan, succeeded, served)
            self._distribute(plan.model_copy(update={"actions": tuple(succeeded)}), served)
        return records

    def _numbered(self, plan: Plan) -> Plan:
        """Give a plan its epoch, its id and, if it decides something for everybody, its decision."""
        name = plan.id or self.next_id(plan)
        self.epoch += 1
        plan = plan.model_copy(update={"epoch": self.epoch, "id": name})
        if plan.decision:
            self.decisions[plan.scope] = plan.decision
        elif not plan.scope and any(a.proxy in PORT_OF and a.to and not a.members for a in plan.actions):
            plan = plan.model_copy(update={"decision": self.decide(0)})
        return plan

    def next_id(self, plan: Plan) -> str:
        """The id that a plan without one gets if it is executed next."""
        return f"{plan.plan[:100]}-{self.epoch + 1}"

    def decide(self, scope: int) -> int:
        """A number for a new decision about an area (0: everywhere): clients who hear of it follow it."""
        self.decisions[scope] = successor(self.decisions.get(scope, 0))
        return self.decisions[scope]

    def tell_again(self, client: int, plan: Plan) -> None:
        """Send a client what holds of a plan that it was told, as the newest plan and under a name that no
        other has: one that it knows it only answers, and an old one it ignores."""
        self.epoch = min(self.epoch + 1, LAST_EPOCH)
        name = f"{plan.id.partition('~')[0][:100]}~{client}.{self.epoch}"
        self._distribute(plan.model_copy(update={"id": name, "epoch": self.epoch}), [{client}])

    def tell_all(self, client: int, *, new: bool, switch: bool) -> list[Distribution]:
        """Tell a client all that holds for it, each thing by its decision.

        One that is `new` has done nothing of it. `switch`: it has another filter scheme than the one that
        serves it.
        """
        if not new:
            self.coordinator.forget(client)  # what it was told before is said again
        made = []
        for plan in self.standing.plans(client, new=new, switch=switch):
            self.epoch = min(self.epoch + 1, LAST_EPOCH)
            about = {"why": f"client {client} has come", "id": f"join-{self.epoch}", "epoch": self.epoch}
            made += self._distribute(plan.model_copy(update=about), [{client}])
        return made

    def returned(self, client: int, epoch: int, *, served: bool, switch: bool) -> None:
        """A client is back, with this epoch: tell it what it may have missed.

        One that is not `served` yet, or that is as it was left, is told nothing.
        """
        again = None
        if served and (switch or self.told.get(client) != epoch):
            again = self.tell_all(client, new=False, switch=switch)
        for listener in self.listeners:
            listener.client_returned(client, epoch, again)

    def forget(self, client: int) -> None:
        """Forget a client that has left for good."""
        self.told.pop(client, None)
        self.standing.forget(client)
        self.coordinator.forget(client)

    def _distribute(self, plan: Plan, served: Served) -> list[Distribution]:
        made = []
        catalogue = self._registry.catalogue("client")
        for share, clients in shares(plan, catalogue, served, resubscribe=self._resubscribe):
            self.told.update(dict.fromkeys(clients, share.epoch))
            made.append(self.coordinator.distribute(share, clients))
            for listener in self.listeners:
                listener.plan_distributed(made[-1])
        return made

    def _send_plan(self, client: object, data: bytes) -> None:
        assert isinstance(client, int)
        self.plans_sent += 1
        self._send(client, PlanMessage(data, client=client, epoch=self.epoch))
