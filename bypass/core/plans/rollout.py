"""Plans of a broker on their way to its clients: those who are there, and those who come later."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from collections.abc import Set as AbstractSet

from bypass.core.plans.plan_shares import shares
from bypass.core.plans.rollout_tracker import RolloutTracker
from bypass.core.plans.standing_plans import StandingPlans
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


class Rollout:
    """Executes plans by an engine and tells clients, by `send(client, message)`. `served` gives the clients
    of each filter scheme.

    `decisions` are the numbers of the latest decisions, by scope, and `told` the epochs of the latest plans
    that were sent to clients. `standing` knows what clients have to have, `tracker` follows what they make of
    it; `track` makes that one. `resubscribe`: the broker starts from nothing at every transition, clients say
    everything again.
    """

    def __init__(
        self,
        engine: Engine,
        registry: Registry,
        standing: StandingPlans,
        send: Callable[[int, Message], None],
        served: Callable[[], Served],
        track: Callable[[Rollout], RolloutTracker],
        *,
        resubscribe: bool,
    ) -> None:
        self.plans_sent = 0  # one for each client that was told
        self.decisions: dict[int, int] = {}
        self.told: dict[int, int] = {}
        self.standing = standing
        self.coordinator = Coordinator(engine, send=self._send_plan)
        self._engine = engine
        self._registry = registry
        self._send = send
        self._served = served
        self._resubscribe = resubscribe
        self._executed: Recent[str, None] = Recent()  # ids of plans
        self.tracker = track(self)

    @property
    def epoch(self) -> int:
        """Give the number of the latest plan."""
        return self.coordinator.epoch

    @epoch.setter
    def epoch(self, epoch: int) -> None:
        self.coordinator.epoch = epoch

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
        self.tracker.executed(plan, records)
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

    def tell_all(self, client: int, *, new: bool, switch: bool) -> list[Plan]:
        """Tell a client all that holds for it, each thing by its decision; give the plans that it is sent.

        One that is `new` has done nothing of it. `switch`: it has another filter scheme than the one that
        serves it.
        """
        made = []
        for plan in self.standing.plans(client, new=new, switch=switch):
            self.epoch = min(self.epoch + 1, LAST_EPOCH)
            about = {"why": f"client {client} has come", "id": f"join-{self.epoch}", "epoch": self.epoch}
            made += self._distribute(plan.model_copy(update=about), [{client}])
        return made

    def renewed(self, client: int, shares: Sequence[Plan]) -> list[Distribution[int]]:
        """Give what holds of shares that a client was told, as the newest plans; they are not sent yet.

        They have names that no others have: a plan that the client knows it only answers, and an old one it
        ignores.
        """
        made = []
        for plan in self.standing.left_of(client, shares):
            self.epoch = min(self.epoch + 1, LAST_EPOCH)
            name = f"{plan.id.partition('~')[0][:100]}~{client}.{self.epoch}"
            made += self._distributions(plan.model_copy(update={"id": name, "epoch": self.epoch}), [{client}])
        return made

    def send(self, distribution: Distribution[int]) -> None:
        """Send a plan to the clients that it is for; the tracker learns whom it cannot be sent to."""
        plan = distribution.plan
        self.told.update(dict.fromkeys(distribution.hosts, plan.epoch))
        for client, error in distribution.send().items():
            self.tracker.unreachable(client, plan, error)

    def forget(self, client: int) -> None:
        """Forget a client that has left for good."""
        self.told.pop(client, None)
        self.standing.forget(client)
        self.tracker.forget(client)

    def _distribute(self, plan: Plan, served: Served) -> list[Plan]:
        """Send clients their shares of a plan, and follow them; give the shares."""
        made = self._distributions(plan, served)
        for each in made:
            self.tracker.told(each.plan, each.hosts)
            self.send(each)
        return [each.plan for each in made]

    def _distributions(self, plan: Plan, served: Served) -> list[Distribution[int]]:
        theirs = shares(plan, self._registry.catalogue("client"), served, resubscribe=self._resubscribe)
        return [self.coordinator.distribution(share, clients) for share, clients in theirs]

    def _send_plan(self, client: object, epoch: int, data: bytes) -> None:
        assert isinstance(client, int)
        self.plans_sent += 1
        self._send(client, PlanMessage(data, client=client, epoch=epoch))
