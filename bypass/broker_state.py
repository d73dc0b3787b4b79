"""What a broker must know again after a restart, besides its clients: schemes, decisions, what was told."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from bypass.broker import LAST_EPOCH, Broker
from bypass.standing import Standing
from bypass.transitions import Action, Mechanism, Nothing, Plan, TransitionError


class Installed(BaseModel):
    """A mechanism, its parameters and, for filter schemes beside the default one, whom it serves."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    set: dict[str, JsonValue]
    members: tuple[int, ...] | None = None


class BrokerState(BaseModel):
    """The configuration of a broker as data; `of` reads it off, `restore` brings a new broker to it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    epoch: Annotated[int, Field(ge=0)]
    decisions: dict[int, int]
    schemes: Annotated[tuple[Installed, ...], Field(min_length=1)]
    selection: Installed | None = None
    told: tuple[Plan, ...] = ()

    @classmethod
    def of(cls, broker: Broker) -> BrokerState:
        first, *others = broker.filter_schemes
        selection = broker.engine.active("gateway-selection")
        return cls(
            epoch=broker.epoch,
            decisions=dict(broker.decisions),
            schemes=(_installed(first), *(_installed(each, each.clients) for each in others)),
            selection=None if isinstance(selection, Nothing) else _installed(selection),
            told=tuple(broker.standing.told),
        )

    def restore(self, broker: Broker) -> None:
        """Bring a broker that has admitted its clients to this configuration; nobody is told.

        Raises a TransitionError if a mechanism or a parameter is not known any more.
        """
        first, *others = self.schemes
        actions = [Action(proxy="filter", to=first.name, set=first.set)]
        known = {client for scheme in broker.filter_schemes for client in scheme.clients}
        for each in others:
            members = known.intersection(each.members or ())
            if members:
                actions.append(
                    Action(proxy="filter", to=each.name, set=each.set, members=tuple(sorted(members)))
                )
        if self.selection is not None:
            actions.append(Action(proxy="gateway-selection", to=self.selection.name, set=self.selection.set))
        plan = Plan(plan="restart", actions=tuple(actions))
        broker.engine.check(plan)
        for record in broker.engine.execute(plan):
            if record.outcome == "failed":
                raise TransitionError(f"restart: {record.proxy} to {record.target!r}: {record.error}")
        # One that no message can carry is none that clients have: they are told everything again.
        broker.epoch = broker.coordinator.epoch = min(self.epoch, LAST_EPOCH)
        broker.decisions.update(self.decisions)
        broker.standing = Standing({"filter": first.name})
        broker.standing.told = list(self.told)


def _installed(mechanism: Mechanism, members: Collection[int] | None = None) -> Installed:
    return Installed(
        name=mechanism.name,
        set=mechanism.settings(),
        members=None if members is None else tuple(sorted(members)),
    )
