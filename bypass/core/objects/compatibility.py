"""The compatibility of storage and routing: a design needs services that its routing offers."""

from __future__ import annotations

from collections.abc import Iterable

from bypass.mechanisms import Registry
from bypass.mechanisms.families import ROUTING_PROXY, STORAGE_PROXY
from bypass.ports.storage import BROKER
from bypass.transitions import Action, Engine, InvalidPlan, Nothing


def check_fit(registry: Registry, engine: Engine, actions: Iterable[Action], has_broker: bool) -> None:
    """Refuse actions that would leave a storage mechanism without services that it needs.

    Raises InvalidPlan, which names both mechanisms and what is missing. An unknown mechanism is not our
    business: the engine refuses it.
    """
    running = {proxy: engine.active(proxy).name for proxy in (ROUTING_PROXY, STORAGE_PROXY)}
    named = [action for action in actions if action.proxy in running and action.to is not None]
    if not named:
        return
    for action in named:
        running[action.proxy] = action.to or ""
    kinds = registry.catalogue("client")
    storage = kinds[STORAGE_PROXY].get(running[STORAGE_PROXY])
    routing = kinds[ROUTING_PROXY].get(running[ROUTING_PROXY])
    if storage is None or routing is None or issubclass(storage, Nothing):
        return
    offered: frozenset[str] = getattr(routing, "offers", frozenset())
    if has_broker:
        offered |= {BROKER}
    missing = sorted(getattr(storage, "needs", frozenset()) - offered)
    if missing:
        raise InvalidPlan(
            f"storage {storage.name!r} with routing {routing.name!r}: expected one that offers"
            f" {', '.join(missing)}"
        )
