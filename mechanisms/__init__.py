"""The exchangeable parts: one package a family, one file a mechanism.

The catalogues say which mechanisms a plan may name for each proxy of a client and of a broker.
"""

from bypass.mechanisms.filters import BROKER_PARTS, CLIENT_PARTS
from bypass.transitions import Catalogue, Mechanism, Nothing, UnknownMechanism

_NONE_YET: dict[str, type[Mechanism]] = {Nothing.name: Nothing}

CLIENT_MECHANISMS: Catalogue = {
    "transport": _NONE_YET,
    "direct": _NONE_YET,
    "gateway": _NONE_YET,
    "gateway-logic": _NONE_YET,
    "filter": {part.name: part for part in CLIENT_PARTS},
}
BROKER_MECHANISMS: Catalogue = {
    "filter": {part.name: part for part in BROKER_PARTS},
    "gateway-selection": _NONE_YET,
}


def find_mechanism(catalogue: Catalogue, proxy: str, name: str) -> type[Mechanism]:
    """The mechanism that plans call `name`. Raises UnknownMechanism, which lists those there are."""
    if name not in catalogue[proxy]:
        known = ", ".join(catalogue[proxy])
        raise UnknownMechanism(f"{proxy!r} has no mechanism {name!r}; it has: {known}")
    return catalogue[proxy][name]


__all__ = ["BROKER_MECHANISMS", "CLIENT_MECHANISMS", "find_mechanism"]
