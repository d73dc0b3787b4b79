"""Decides what an action is going to do before anything is done; dry runs end here."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bypass.transitions.engine.attempt import Attempt
from bypass.transitions.engine.roster import Members, Roster
from bypass.transitions.errors import InvalidParameter
from bypass.transitions.mechanism import Mechanism
from bypass.transitions.plan import Action
from bypass.transitions.state.schema import State, schema_of
from bypass.transitions.state.transfer import match, missing_state
from bypass.transitions.state.transition import AtomicTransition, select


@dataclass(frozen=True, slots=True)
class ServingMechanism:
    """A running mechanism as it is known without touching it: enough to foresee transitions."""

    kind: type[Mechanism]
    offers: tuple[State, ...]
    members: Roster = field(default_factory=Roster)


@dataclass(frozen=True, slots=True)
class Draft:
    """The decision about one action; a draft without anything to do stands for an action that is skipped.

    `build` is the mechanism to make, with `settings`, from the state of `origin`. `changes` are new
    parameter values for running mechanisms. `target` takes over the members of others, as `moves` says.
    `after` is who will be there then, the default first.
    """

    after: tuple[ServingMechanism, ...]
    build: type[Mechanism] | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    origin: type[Mechanism] | None = None
    changes: Mapping[type[Mechanism], Mapping[str, Any]] = field(default_factory=dict)
    target: type[Mechanism] | None = None
    moves: Mapping[type[Mechanism], Members] = field(default_factory=dict)


def draft_self(
    action: Action, seats: Iterable[ServingMechanism], attempt: Attempt
) -> dict[type[Mechanism], dict[str, Any]]:
    """New parameter values for those of `seats` that have the parameters; none if the action is skipped.

    Raises TransitionFailed in phase "set" if a value is not allowed.
    """
    record = attempt.record
    kinds = [seat.kind for seat in seats]
    chosen = [kind for kind in kinds if action.of in (None, kind.name)]
    record.kind = "self"
    record.source = record.target = ",".join(kind.name for kind in chosen or kinds)
    changes = {kind: values for kind in chosen if (values := valid_values(kind, action, "set", attempt))}
    for values in changes.values():
        record.set.update(values)
    record.skipped = tuple(name for name in action.set if name not in record.set)
    if changes:
        record.source = record.target = ",".join(kind.name for kind in changes)
    else:
        record.outcome = "skipped"
        record.error = f"{record.source!r} is active" + (
            " and has no such parameter" if chosen and action.set else ""
        )
    return changes


def draft_build(
    target: type[Mechanism],
    source: ServingMechanism,
    action: Action,
    registered: Iterable[AtomicTransition[Any, Any]],
    attempt: Attempt,
) -> dict[str, Any]:
    """Foresee how `target` comes out of `source`; returns the parameters that the action sets.

    Raises TransitionFailed in phase "build" if a value is not allowed, in phase "transfer" if `target`
    requires state that nobody offers.
    """
    record = attempt.record
    record.set = valid_values(target, action, "build", attempt)
    record.skipped = tuple(name for name in action.set if name not in record.set)
    custom = select(registered, source.kind, target)
    if custom is not None:
        record.custom = type(custom).__name__
    else:
        found = match(source.offers, target)
        if found.missing:
            raise attempt.failure("transfer", missing_state(target, found.missing[0], source.offers))
        record.moved = tuple(state.name for _, state in found.pairs)
        record.dropped = tuple(state.name for state in found.dropped)
    return {name: action.set[name] for name in record.set}


def valid_values(kind: type[Mechanism], action: Action, phase: str, attempt: Attempt) -> dict[str, Any]:
    """The values of `action` that `kind` has parameters for. Raises TransitionFailed in `phase`."""
    schema = schema_of(kind)
    try:
        return {
            name: schema.valid(name, value) for name, value in action.set.items() if name in schema.parameters
        }
    except InvalidParameter as error:
        raise attempt.failure(phase, error) from error
