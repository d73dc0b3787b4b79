"""The exchangeable parts: one package a family, one file a mechanism.

The catalogues say which mechanisms a plan may name for each proxy of a client and of a broker.
"""

import importlib
from collections.abc import Iterable
from typing import Any

from bypass.errors import BypassError
from bypass.mechanisms.dissemination import DISSEMINATION, Disseminator
from bypass.mechanisms.filters import BROKER_PARTS, CLIENT_PARTS
from bypass.mechanisms.gateways import LOGICS, SELECTIONS, GatewayChoice
from bypass.mechanisms.modes import MODES
from bypass.mechanisms.transports import TRANSPORTS
from bypass.transitions import Mechanism, Nothing, UnknownMechanism


def _named(kinds: Iterable[type[Mechanism]]) -> dict[str, type[Mechanism]]:
    return {kind.name: kind for kind in kinds}


Mechanisms = dict[str, dict[str, type[Mechanism]]]

CLIENT_MECHANISMS: Mechanisms = {
    "transport": _named((Nothing, *TRANSPORTS)),
    "direct": _named((Nothing, *DISSEMINATION)),
    "gateway": _named((Nothing, *DISSEMINATION)),
    "gateway-logic": _named((Nothing, *LOGICS)),
    "mode": _named(MODES),
    "filter": _named(CLIENT_PARTS),
}
BROKER_MECHANISMS: Mechanisms = {
    "filter": _named(BROKER_PARTS),
    "gateway-selection": _named((Nothing, *SELECTIONS)),
}


class UnusableMechanism(BypassError):
    """An import path that does not lead to a mechanism that can be used here."""


def use_mechanism(path: str) -> type[Mechanism]:
    """Let plans name a mechanism of one's own, given as `module:Class`: a `Disseminator` or a
    `GatewayChoice`.

    Raises UnusableMechanism if there is none, or if its name or flag belongs to another one. To use one again
    changes nothing.
    """
    kind = _imported(path)
    if issubclass(kind, Disseminator):
        places = [CLIENT_MECHANISMS["direct"], CLIENT_MECHANISMS["gateway"]]
        flag = getattr(kind, "flag", None)
        others = [each for each in places[0].values() if each is not kind and issubclass(each, Disseminator)]
        if flag in {each.flag for each in others} or not isinstance(flag, int) or not 0 < flag < 128:
            raise UnusableMechanism(f"{path}: flag {flag!r}: expected a number from 1 to 127 of its own")
    elif issubclass(kind, GatewayChoice):
        places = [BROKER_MECHANISMS["gateway-selection"]]
    else:
        raise UnusableMechanism(f"{path}: expected a subclass of Disseminator or GatewayChoice")
    for place in places:
        if place.get(kind.name, kind) is not kind:
            raise UnusableMechanism(f"{path}: name {kind.name!r}: expected one that no other mechanism has")
        place[kind.name] = kind
    return kind


def _imported(path: str) -> type[Mechanism]:
    module, _, name = path.partition(":")
    try:
        kind: Any = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise UnusableMechanism(f"{path}: expected module:Class, an import path ({error})") from None
    if not (isinstance(kind, type) and issubclass(kind, Mechanism)):
        raise UnusableMechanism(f"{path}: expected a class of mechanisms")
    return kind


def find_mechanism(catalogue: Mechanisms, proxy: str, name: str) -> type[Mechanism]:
    """The mechanism that plans call `name`. Raises UnknownMechanism, which lists those there are."""
    if name not in catalogue[proxy]:
        known = ", ".join(catalogue[proxy])
        raise UnknownMechanism(f"{proxy!r} has no mechanism {name!r}; it has: {known}")
    return catalogue[proxy][name]


__all__ = ["BROKER_MECHANISMS", "CLIENT_MECHANISMS", "UnusableMechanism", "find_mechanism", "use_mechanism"]
