"""Plans for an edge: they exchange its mechanisms, and set their parameters, while it runs."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from bypass.mechanisms.registry import Registry
from bypass.mechanisms.storage.infra.edge.address_store import AddressStore
from bypass.mechanisms.storage.infra.edge.caches import EdgeCaches
from bypass.mechanisms.storage.infra.edge.item_cache import ItemCache
from bypass.mechanisms.storage.infra.edge.service.collection import PopularItems
from bypass.ports.edge import Capacities
from bypass.transitions import (
    Action,
    Engine,
    InvalidParameter,
    Plan,
    Record,
    TransitionError,
    UnknownMechanism,
)
from bypass.transitions.engine.record import TransitionResult
from bypass.transitions.recent import Recent

SIDE = "edge"
CACHE, PARTITION = "cache", "partition"


class EdgePlans:
    """Executes plans at an edge.

    Actions for `cache` and `partition` are for all caches, or for those that `members` names: "local",
    "prefetch metadata" and so on; "prefetch" and "global" are both of a kind. The prefetch caches stay
    undivided unless they are named. The sizes of caches are parameters of `capacities` alone. All other
    actions are done first. Cells are told of what leaves the cache for the own area, and `executed` is called
    after each plan.
    """

    def __init__(
        self,
        engine: Engine,
        registry: Registry,
        capacities: Capacities,
        caches: EdgeCaches,
        popular: PopularItems,
        addresses: AddressStore,
        executed: Callable[[], None],
        now: Callable[[], float],
    ) -> None:
        self._capacities = capacities
        self._all = caches
        self._popular = popular
        self._addresses = addresses
        self._now = now
        self._engine = engine
        self._registry = registry
        self._caches = {each.name: each for each in caches.all()}
        self._ended = executed
        self._executed: Recent[str, None] = Recent()

    def execute(self, plan: Plan) -> list[Record]:
        """Execute a plan, once by its id. Gives a record for each action, and for each container of a cache.

        Raises UnknownProxy, UnknownMechanism and InvalidParameter for a plan that makes no sense here, and
        then nothing was done; a failed action is told by its record.
        """
        self._registry.check(plan, (SIDE,))
        of_caches = [each for each in plan.actions if each.proxy in (CACHE, PARTITION)]
        chosen = [(each, self._named(each)) for each in of_caches]
        others = tuple(each for each in plan.actions if each.proxy not in (CACHE, PARTITION))
        records: list[Record] = []
        if others:
            self._registry.prepare(self._engine, SIDE, others)
            records += self._engine.execute(plan.model_copy(update={"actions": others}))
        if plan.id and plan.id in self._executed:
            return records
        if plan.id:
            self._executed[plan.id] = None
        for action, names in chosen:
            if plan.on_error == "abort" and any(each.outcome == "failed" for each in records):
                records.append(self._record(plan, action, "skipped", "an earlier action of the plan failed"))
                continue
            for name in names:
                records += self._act(plan, action, name)
        self._fit()
        self._ended()
        return records

    def _fit(self) -> None:
        """Give stores the sizes that hold now."""
        sizes = self._capacities.sizes()
        for name, capacity in zip(self._caches, sizes, strict=False):
            if self._caches[name].capacity != capacity:
                self._change(name, partial(ItemCache.set_capacity, capacity=capacity))
        self._addresses.resize(sizes.addresses)

    def _change(self, name: str, change: Callable[[ItemCache], None]) -> None:
        """Change a cache, and tell cells of what that has evicted."""
        if self._caches[name] is self._all.local:
            self._popular.tell(self._all.change_local(change))
        else:
            change(self._caches[name])

    def _named(self, action: Action) -> list[str]:
        """The caches that an action is for."""
        if "capacity" in action.set:
            raise InvalidParameter(
                f"capacity of {action.proxy!r} cannot be set: expected a parameter of 'capacities'"
            )
        if action.members is None:
            undivided = action.proxy == PARTITION
            return [each for each in self._caches if not (undivided and each.startswith("prefetch"))]
        found = [each for each in self._caches if each in action.members or each.split()[0] in action.members]
        known = {*self._caches, *(each.split()[0] for each in self._caches)}
        if unknown := [str(each) for each in action.members if each not in known]:
            raise UnknownMechanism(f"there is no cache {unknown[0]!r}; there are: {', '.join(sorted(known))}")
        return found

    def _act(self, plan: Plan, action: Action, name: str) -> list[Record]:
        """Do an action at one cache."""
        single = plan.model_copy(update={"actions": (action,), "id": ""})
        records: list[Record] = []

        def change(cache: ItemCache) -> None:
            if action.to is None:
                records.extend(cache.set_parameters(single))
            elif action.proxy == CACHE:
                records.extend(cache.exchange_eviction(action.to, **action.set))
            else:
                records.append(cache.exchange_partition(action.to, **action.set))

        try:
            self._change(name, change)
        except TransitionError as error:
            return [self._record(plan, action, "failed", str(error))]
        for each in records:
            each.plan, each.who, each.why = plan.plan, plan.who, plan.why
        return records

    def _record(self, plan: Plan, action: Action, outcome: TransitionResult, error: str) -> Record:
        return Record(
            plan.id, plan.plan, plan.who, plan.why, self._engine.host, self._now(), action.proxy,
            target=action.to or "", outcome=outcome, error=error,
        )  # fmt: skip
