"""The configuration of a broker as data, for a restart: its schemes, decisions, and standing plans."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from bypass.core.broker import Broker
from bypass.core.plans.rollout import LAST_EPOCH
from bypass.core.plans.standing_plans import Held, StandingPlans
from bypass.mechanisms.families import FILTER_PROXY, MATCHING_PROXY
from bypass.transitions import Action, Mechanism, Nothing, Plan, TransitionError


class Installed(BaseModel):
    """A mechanism, its parameters and, for filter schemes beside the default one, whom it serves."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    set: dict[str, JsonValue]
    members: tuple[int, ...] | None = None


class BrokerState(BaseModel):
    """The configuration of a broker as data; `of` reads it off, `restore` brings a new broker to it.

    `held` is what holds for all clients, and `ever` are the parameters that were ever set, by proxy. Version
    0.1.0 had what all clients were `told` instead.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    epoch: Annotated[int, Field(ge=0)]
    decisions: dict[int, int]
    schemes: Annotated[tuple[Installed, ...], Field(min_length=1)]
    selection: Installed | None = None
    matching: Installed | None = None
    told: tuple[Plan, ...] = ()
    held: dict[str, Held] | None = None
    ever: dict[str, set[str]] = {}

    @classmethod
    def of(cls, broker: Broker) -> BrokerState:
        first, *others = broker.filter_schemes
        selection = broker.engine.active("gateway-selection")
        return cls(
            epoch=broker.rollout.epoch,
            decisions=dict(broker.rollout.decisions),
            schemes=(_installed(first), *(_installed(each, each.clients) for each in others)),
            selection=None if isinstance(selection, Nothing) else _installed(selection),
            matching=_installed(broker.engine.active(MATCHING_PROXY)),
            held=broker.rollout.standing.all,
            ever=broker.rollout.standing.ever,
        )

    def restore(self, broker: Broker) -> None:
        """Bring a broker that has admitted its clients to this configuration; nobody is told.

        Raises a TransitionError if a mechanism or a parameter is not known any more.
        """
        first, *others = self.schemes
        actions = [Action(proxy=FILTER_PROXY, to=first.name, set=first.set)]
        known = {client for scheme in broker.filter_schemes for client in scheme.clients}
        for each in others:
            members = known.intersection(each.members or ())
            if members:
                actions.append(
                    Action(proxy=FILTER_PROXY, to=each.name, set=each.set, members=tuple(sorted(members)))
                )
        if self.selection is not None:
            actions.append(Action(proxy="gateway-selection", to=self.selection.name, set=self.selection.set))
        if self.matching is not None and self.matching.name != broker.engine.active(MATCHING_PROXY).name:
            actions.append(Action(proxy=MATCHING_PROXY, to=self.matching.name, set=self.matching.set))
        plan = Plan(plan="restart", actions=tuple(actions))
        broker.engine.check(plan)
        for record in broker.engine.execute(plan):
            if record.outcome == "failed":
                raise TransitionError(f"restart: {record.proxy} to {record.target!r}: {record.error}")
        # One that no message can carry is none that clients have: they are told everything again.
        broker.rollout.epoch = min(self.epoch, LAST_EPOCH)
        broker.rollout.decisions.update(self.decisions)
        self._restore_standing(broker, first.name)

    def _restore_standing(self, broker: Broker, scheme: str) -> None:
        standing = broker.rollout.standing
        if self.held is None:
            for plan in self.told:
                standing.remember(plan, plan.actions, ())
            # What else was set, and overridden later, nobody knows.
            for proxy, kinds in broker.registry.catalogue("client").items():
                standing.ever[proxy].update(name for kind in kinds.values() for name in kind.parameters())
        else:
            standing.all.update({proxy: self.held[proxy] for proxy in standing.all.keys() & self.held.keys()})
            for proxy in standing.ever.keys() & self.ever.keys():
                standing.ever[proxy].update(self.ever[proxy])
        if standing.all[FILTER_PROXY].to != scheme:
            standing.all[FILTER_PROXY] = self._scheme(standing, scheme)
        for each in broker.filter_schemes[1:]:
            for client in each.clients:
                standing.put(client, FILTER_PROXY, self._scheme(standing, each.name))

    def _scheme(self, standing: StandingPlans, name: str) -> Held:
        """Give what holds for whom a filter scheme serves, as far as 0.1.0 said that."""
        held = Held(name, self.epoch, self.epoch)
        for plan in self.told:
            for action in plan.actions:
                if action.proxy == FILTER_PROXY and action.to is None:
                    held = standing.after(held, plan, action)
        return held


def _installed(mechanism: Mechanism, members: Collection[int] | None = None) -> Installed:
    return Installed(
        name=mechanism.name,
        set=mechanism.settings(),
        members=None if members is None else tuple(sorted(members)),
    )
