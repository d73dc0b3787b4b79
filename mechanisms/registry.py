"""What mechanisms one system may use: those built in, and those that were brought to it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from bypass.errors import UnusableMechanism, shown
from bypass.mechanisms.families import FAMILIES, FILTER, Family, FamilyProxy, Side, proxies
from bypass.mechanisms.flags import MOST_GIVEN, Flags
from bypass.protocol.wire import Contexts
from bypass.support.extensions import installed_names, load, load_installed
from bypass.transitions import (
    Action,
    AtomicTransition,
    Engine,
    Mechanism,
    Nothing,
    Plan,
    UnknownMechanism,
    check_plan,
)

log = logging.getLogger(__name__)

INSTALLED = "bypass.mechanisms"
"""The group of entry points by which installed packages offer mechanisms, each under its name in plans."""

SIDES: tuple[Side, ...] = ("broker", "client")
"""Those that plans of a broker are for."""

MechanismDefaults = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Values of parameters by proxy, mechanism and name."""

NO_DEFAULTS: MechanismDefaults = MappingProxyType({})

Kinds = dict[str, type[Any]]
Parts = dict[str, type[Mechanism]]


class Registry:
    """The mechanisms and custom transitions of one system, with the numbers of its filter schemes.

    `mechanisms` are those of others: classes, references to them, or names under which installed packages
    offer them. What an installed package offers is also found when a plan names it. Mechanisms begin with
    `defaults` rather than with what their classes say. Systems with registries of their own do not disturb
    each other.
    """

    def __init__(
        self, mechanisms: Iterable[str | type] = (), defaults: MechanismDefaults = NO_DEFAULTS
    ) -> None:
        """Raises UnusableMechanism, which names the reference, what was found and what was expected."""
        self.defaults = defaults
        self._kinds: dict[str, Kinds] = {}  # by family, once somebody asks
        self._catalogues: dict[Side, dict[str, Parts]] = {}
        self._transitions: list[tuple[AtomicTransition[Any, Any], list[FamilyProxy]]] = []
        self._sought: set[str] = set()  # among what is installed
        self.flags = Flags({name: kind.flag for name, kind in self.kinds(FILTER).items()})
        for each in mechanisms:
            kind = _class_behind(each)
            reference = each if isinstance(each, str) else f"{kind.__module__}:{kind.__qualname__}"
            if issubclass(kind, AtomicTransition):
                self._bring_transition(reference, kind)
            else:
                self._bring(reference, kind)

    # -- what there is ------------------------------------------------------------------------------------

    def kinds(self, family: Family) -> Kinds:
        """The mechanisms of a family, by name."""
        if family.name not in self._kinds:
            self._kinds[family.name] = {kind.name: kind for kind in map(load, family.builtin)}
        return self._kinds[family.name]

    def catalogue(self, side: Side) -> Mapping[str, Parts]:
        """What plans may name on one side: proxy → name → what runs behind the proxy."""
        if side not in self._catalogues:
            self._catalogues[side] = {
                proxy.name: {
                    **({Nothing.name: Nothing} if proxy.first == Nothing.name else {}),
                    **{name: _part(kind, proxy) for name, kind in self.kinds(family).items()},
                }
                for family in FAMILIES
                for proxy in family.proxies
                if proxy.side == side
            }
        return self._catalogues[side]

    def contexts(self) -> Contexts:
        """What the parts of schemes that are not built in say to each other, by the numbers of the
        schemes."""
        return {
            self.flags.of(name): scheme.Context
            for name, scheme in self.kinds(FILTER).items()
            if scheme.Context is not None
        }

    def own_schemes(self) -> tuple[str, ...]:
        """Filter schemes that are not built in, and what else is installed that may be one: at most 64
        names."""
        brought = [name for name, scheme in self.kinds(FILTER).items() if not scheme.flag]
        return tuple(dict.fromkeys((*brought, *installed_names(INSTALLED))))[:MOST_GIVEN]

    def find(self, side: Side, proxy: str, name: str) -> type[Mechanism]:
        """The mechanism that plans call `name`. Raises UnknownMechanism, which lists those there are."""
        self._look_for(side, proxy, name)
        kinds = self.catalogue(side)[proxy]
        if name not in kinds:
            raise UnknownMechanism(f"{proxy!r} has no mechanism {name!r}; it has: {', '.join(kinds)}")
        return kinds[name]

    def check(self, plan: Plan) -> None:
        """Refuse a plan that makes no sense here. Raises as `check_plan` does."""
        for side in SIDES:
            for action in plan.actions:
                self._look_for(side, action.proxy, action.to or action.of)
        check_plan(plan, *map(self.catalogue, SIDES))

    def bring_installed(self) -> None:
        """Bring all that installed packages offer; what is broken is left out, with a warning."""
        for name in installed_names(INSTALLED):
            self._bring_offered(name)

    # -- engines ------------------------------------------------------------------------------------------

    def create(
        self,
        engine: Engine,
        side: Side,
        name: str,
        first: str = "",
        *,
        set: Mapping[str, Any] = {},  # noqa: A002 - plans call it so
        state: Mapping[str, Any] = {},
    ) -> Any:
        """Make a proxy, or a group, as its family declares it, with all mechanisms that may run behind it.

        `first` is the mechanism to begin with where the family does not say. Raises UnknownMechanism, and as
        `Engine.create_proxy` does.
        """
        proxy = proxies(side)[name]
        default = self.find(side, name, first or proxy.first)
        kinds = self.catalogue(side)[name].values()
        own = self.defaults.get(name, {})
        known = default.parameters()
        set = {**{n: value for n, value in own.get(default.name, {}).items() if n in known}, **set}  # noqa: A001
        made: Any
        if proxy.group:
            made = engine.create_group(name, default, mechanisms=kinds, set=set, state=state)
        else:
            made = engine.create_proxy(name, proxy.interface, default, mechanisms=kinds, set=set, state=state)
        for mechanism, values in own.items():
            engine.set_defaults(name, values, of=mechanism)
        for transition, places in self._transitions:
            if proxy in places:
                engine.register_transition(name, transition)
        return made

    def prepare(self, engine: Engine, side: Side, actions: Iterable[Action]) -> None:
        """Have an engine know the mechanisms that actions name, if they were found after it was made."""
        for action in actions:
            name = action.to or action.of
            if name is not None and not engine.knows(action.proxy, name):
                self._look_for(side, action.proxy, name)
                kind = self.catalogue(side).get(action.proxy, {}).get(name)
                if kind is not None:
                    engine.register(action.proxy, kind)

    # -- what is brought ----------------------------------------------------------------------------------

    def _bring(self, reference: str, kind: type[Any]) -> None:
        family = next((family for family in FAMILIES if family.holds(kind)), None)
        if family is None:
            bases = ", ".join(family.base.rpartition(":")[2] for family in FAMILIES)
            raise UnusableMechanism(
                f"{reference}: {kind.__name__}: expected a subclass of {bases} or AtomicTransition"
            )
        kinds = self.kinds(family)
        if kinds.get(kind.name) is kind:
            return
        if kind.name in (Nothing.name, *kinds):
            raise UnusableMechanism(
                f"{reference}: name {kind.name!r}: expected one that no other mechanism has"
            )
        for proxy in family.proxies:
            if left := _left_open(_part(kind, proxy)):
                raise UnusableMechanism(
                    f"{reference}: {proxy.part or kind.__name__} lacks {left}: expected a method of this name"
                )
        if family.numbered:
            flag = getattr(kind, "flag", None)
            taken = {each.flag for each in kinds.values()}
            if flag in taken or not isinstance(flag, int) or not 0 < flag < 128:
                raise UnusableMechanism(
                    f"{reference}: flag {shown(flag)}: expected a number from 1 to 127 of its own"
                )
        if family is FILTER:
            if kind.flag:
                raise UnusableMechanism(
                    f"{reference}: flag {kind.flag}: expected none, the broker gives it one"
                )
            if kind.Context is not None:
                try:
                    kind.Context.forms()
                except TypeError as error:
                    raise UnusableMechanism(f"{reference}: {error}") from None
            self.flags.give(kind.name)
        kinds[kind.name] = kind
        for side, catalogue in self._catalogues.items():
            for proxy in family.proxies:
                if proxy.side == side:
                    catalogue[proxy.name][kind.name] = _part(kind, proxy)

    def _bring_transition(self, reference: str, kind: type[AtomicTransition[Any, Any]]) -> None:
        declared: list[Any] = [getattr(kind, end, None) for end in ("target", "source")]
        ends = [end for end in declared if isinstance(end, type) and end is not Nothing]
        places = [
            proxy
            for family in FAMILIES
            for proxy in family.proxies
            if ends and all(issubclass(e, proxy.interface) if proxy.part else family.holds(e) for e in ends)
        ]
        if not places or _left_open(kind):
            raise UnusableMechanism(
                f"{reference}: expected AtomicTransition[From, To] between mechanisms of one family,"
                " with transfer_state"
            )
        self._transitions.append((kind(), places))

    def _look_for(self, side: Side, proxy: str, name: str | None) -> None:
        """See whether an installed package offers a mechanism that is not known here."""
        if name is not None and name not in self.catalogue(side).get(proxy, {}):
            self._bring_offered(name)

    def _bring_offered(self, name: str) -> None:
        """Bring what an installed package offers under a name, if one does."""
        if name in self._sought:
            return
        self._sought.add(name)
        kind = load_installed(INSTALLED, name)
        if kind is None:
            return
        try:
            if getattr(kind, "name", None) != name:
                raise UnusableMechanism(f"{kind!r}: expected a mechanism that plans call {name!r}")
            self._bring(name, kind)
        except UnusableMechanism as error:
            log.warning("entry point %s in %s is left out: %s", name, INSTALLED, error)


def _class_behind(reference: str | type) -> type[Any]:
    """The class that was brought, or that a reference leads to. Raises UnusableMechanism."""
    kind: Any = reference
    if isinstance(reference, str):
        kind = load(reference) if ":" in reference else load_installed(INSTALLED, reference)
        if kind is None:
            known = ", ".join(installed_names(INSTALLED)) or "none"
            raise UnusableMechanism(
                f"{reference}: expected module:Class, an import path, file.py:Class, or what is installed:"
                f" {known}"
            )
    if not isinstance(kind, type):
        raise UnusableMechanism(f"{reference}: {shown(kind)}: expected a class of mechanisms")
    return kind


def _part(kind: type[Any], proxy: FamilyProxy) -> type[Mechanism]:
    """What of a family's class runs behind a proxy."""
    part: type[Mechanism] = getattr(kind, proxy.part) if proxy.part else kind
    return part


def _left_open(kind: type) -> str:
    """The first method that a class should define and does not; empty if there is none."""
    return next((n for n in dir(kind) if getattr(getattr(kind, n), "__isabstractmethod__", False)), "")
