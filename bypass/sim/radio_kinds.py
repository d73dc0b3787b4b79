"""The kinds of radio that a simulation knows: two of its own, and those that transports bring."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from bypass.errors import UnusableMechanism, shown
from bypass.mechanisms.transports import RadioTransport
from bypass.models.radio.radio import BLUETOOTH, WIFI, RadioModel

RADIOS: Mapping[str, RadioModel] = {"wifi": WIFI, "bluetooth": BLUETOOTH}


def radio_models(
    radios: Mapping[str, RadioModel], transports: Iterable[type[RadioTransport]]
) -> dict[str, RadioModel]:
    """Add the models that transports have of their own radios to those of `radios`, by the radios' names.

    Raises UnusableMechanism for a transport whose radio has no model, or more than one.
    """
    models = dict(radios)
    for each in transports:
        called = f"transport {each.name!r}: radio {each.radio!r}"
        if each.model is None:
            continue
        if not isinstance(each.model, RadioModel):
            raise UnusableMechanism(f"{called}: model {shown(each.model)}: expected a RadioModel")
        if each.radio not in radios and models.setdefault(each.radio, each.model) != each.model:
            raise UnusableMechanism(f"{called}: another transport has another model of it: expected one")
        if each.radio in RADIOS:
            raise UnusableMechanism(f"{called}: it has a model already: expected a radio of another name")
    for each in transports:
        if each.radio not in models:
            raise UnusableMechanism(
                f"transport {each.name!r}: radio {each.radio!r}:"
                f" expected one of {', '.join(models)}, or one of which the transport has a model"
            )
    return models
