"""Automatic state transfer: what of one mechanism goes where in the next one."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from bypass.transitions.errors import MissingState
from bypass.transitions.mechanism import Mechanism, Nothing, assign
from bypass.transitions.state.annotations import compatible, is_application_class
from bypass.transitions.state.schema import State
from bypass.transitions.state.values import handed_over


@dataclass(frozen=True, slots=True)
class Match:
    """The state that is handed over: `pairs` of (offered, wanted), `missing` though required, `dropped`."""

    pairs: tuple[tuple[State, State], ...]
    missing: tuple[State, ...]
    dropped: tuple[State, ...]


def match(offered: Collection[State], target: type[Mechanism]) -> Match:
    """Find a source for each state that `target` declares.

    Equal names come first. Then, among state whose name was not chosen but is just the field's, a type
    decides if the application made it and it is unique on both sides. Types must be compatible always.
    """
    if issubclass(target, Nothing):
        return Match(tuple((state, state) for state in offered), (), ())
    by_name = {state.name: state for state in offered}
    found: dict[State, State] = {}
    for want in target.states().values():
        offer = by_name.get(want.name)
        if offer is not None and compatible(offer.annotation, want.annotation):
            found[want] = offer
    found.update(_match_by_type(offered, target.states().values(), found))
    taken = set(found.values())
    return Match(
        pairs=tuple((found[want], want) for want in target.states().values() if want in found),
        missing=tuple(w for w in target.states().values() if w not in found and not w.optional),
        dropped=tuple(state for state in offered if state not in taken),
    )


def _match_by_type(
    offered: Collection[State], wanted: Collection[State], found: dict[State, State]
) -> dict[State, State]:
    taken = set(found.values())
    offers = [s for s in offered if s not in taken and not s.named and is_application_class(s.annotation)]
    wants = [s for s in wanted if s not in found and not s.named and is_application_class(s.annotation)]
    fits = [(o, w) for o in offers for w in wants if compatible(o.annotation, w.annotation)]
    return {
        want: offer
        for offer, want in fits
        if sum(o is offer for o, _ in fits) == 1 and sum(w is want for _, w in fits) == 1
    }


def offered_state(mechanism: Mechanism) -> list[tuple[State, Any]]:
    """The state that `mechanism` has to give, with its values."""
    if isinstance(mechanism, Nothing):
        return list(mechanism._trust)
    states = type(mechanism).states().values()
    return [(state, getattr(mechanism, state.field)) for state in states if hasattr(mechanism, state.field)]


def entrust(nothing: Nothing, offered: list[tuple[State, Any]]) -> None:
    """Let `nothing` keep state until a mechanism comes that wants it."""
    nothing._trust = [(state, handed_over(value)) for state, value in offered]


def auto_transfer(source: Mechanism, target: Mechanism) -> None:
    """Hand over all state that both mechanisms declare. Custom transitions may call it and add to it."""
    offered = offered_state(source)
    if isinstance(target, Nothing):
        entrust(target, offered)
        return
    values = dict(offered)
    for offer, want in match(list(values), type(target)).pairs:
        assign(target, want, handed_over(values[offer]))


def require_state(mechanism: Mechanism, offered: Collection[State]) -> None:
    """Raises MissingState if `mechanism` still lacks state that it requires."""
    for state in type(mechanism).states().values():
        if not state.optional and not hasattr(mechanism, state.field):
            raise missing_state(type(mechanism), state, offered)


def missing_state(target: type[Mechanism], state: State, offered: Collection[State]) -> MissingState:
    """The error that says what `target` misses and what there is instead."""
    there = ", ".join(f"{offer.name!r} ({_type_name(offer)})" for offer in offered) or "nothing"
    return MissingState(
        f"{target.name!r} requires state {state.name!r} ({_type_name(state)}); offered is: {there}"
    )


def _type_name(state: State) -> str:
    kind = state.annotation
    return kind.__name__ if isinstance(kind, type) else str(kind)
