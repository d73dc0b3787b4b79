"""The mechanisms that one system may use: those built in, and those that were brought to it."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

from bypass.errors import UnusableMechanism, shown
from bypass.mechanisms.families import FAMILIES, FILTER, Family, FamilyProxy, Side, proxies
from bypass.mechanisms.flags import MOST_GIVEN, Flags
from bypass.protocol.wire import CODEC, Codec, Contexts
from bypass.support.extensions import installed_names, load, load_installed, note_module
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
"""The sides that plans of a broker are for."""

MechanismDefaults = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Values of parameters by proxy, mechanism and name."""

NO_DEFAULTS: MechanismDefaults = MappingProxyType({})

Kinds = dict[str, type[Any]]
Parts = dict[str, type[Mechanism]]


class Registry:
    """The mechanisms and custom transitions of one system, with the numbers of its filter schemes.

    `mechanisms` are those of others: classes, references to them, or names under which installed packages
    offer them. A package's mechanism is also found when a plan names it. Mechanisms begin with `defaults`
    rather than with what their classes say. `families` are brought beside those built in; a reference among
    `mechanisms` may lead to one, too, before its mechanisms. `codec` has the types of values that messages
    carry. Systems with registries of their own do not disturb each other.
    """

    def __init__(
        self,
        mechanisms: Iterable[str | type | Family] = (),
        defaults: MechanismDefaults = NO_DEFAULTS,
        *,
        families: Iterable[Family] = (),
        codec: Codec = CODEC,
    ) -> None:
        """Raises UnusableMechanism, which names the reference, what was found and what was expected."""
        self.defaults = defaults
        self.codec = codec
        self.families: tuple[Family, ...] = FAMILIES
        self._kinds: dict[str, Kinds] = {}  # by family, once somebody asks
        self._transitions: list[tuple[AtomicTransition[Any, Any], list[FamilyProxy]]] = []
        self._sought: set[str] = set()  # among what is installed
        self.flags = Flags({name: kind.flag for name, kind in self.kinds(FILTER).items()})
        for each in (*families, *mechanisms):
            self._bring(*_found(each))
        for problem in self._unused():
            raise UnusableMechanism(problem)

    # -- what there is ------------------------------------------------------------------------------------

    def kinds(self, family: Family) -> Kinds:
        """The mechanisms of a family, by name."""
        if family.name not in self._kinds:
            self._kinds[family.name] = {kind.name: kind for kind in map(load, family.builtin)}
        return self._kinds[family.name]

    def proxies(self, side: Side) -> dict[str, FamilyProxy]:
        """The proxies on one side of the system, by name."""
        return proxies(side, self.families)

    def catalogue(self, side: Side) -> Mapping[str, Parts]:
        """List what plans may name on one side: proxy → name → the class that runs behind the proxy."""
        return _SideCatalogue(self, side)

    def contexts(self) -> Contexts:
        """The messages that schemes which are not built in declare, by the numbers of the schemes."""
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

    def check(self, plan: Plan, sides: Iterable[Side] = SIDES) -> None:
        """Refuse a plan that makes no sense on these sides. Raises as `check_plan` does."""
        sides = tuple(sides)
        for side in sides:
            for action in plan.actions:
                self._look_for(side, action.proxy, action.to or action.of)
        check_plan(plan, *map(self.catalogue, sides))

    def bring(self, mechanism: str | type | Family) -> None:
        """Bring a mechanism, a custom transition or a family, as those that the registry began with. Raises
        UnusableMechanism."""
        self._bring(*_found(mechanism))
        for problem in self._unused():
            raise UnusableMechanism(problem)

    def bring_installed(self) -> None:
        """Bring all that installed packages offer; what is broken is left out, with a warning."""
        names = [name for name in installed_names(INSTALLED) if name not in self._sought]
        offered = [(name, load_installed(INSTALLED, name)) for name in names]
        for name, found in sorted(offered, key=lambda each: not isinstance(each[1], Family)):  # for its own
            self._bring_offered(name, found)
        for problem in self._unused():
            log.warning("%s", problem)

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
        proxy = self.proxies(side)[name]
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

    def create_brought(self, engine: Engine, side: Side) -> dict[str, Any]:
        """Make the proxies of families that were brought, by name, on one side. Raises as `create` does."""
        brought = proxies(side, self.families[len(FAMILIES) :])
        return {name: self.create(engine, side, name) for name in brought}

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

    def _bring_family(self, reference: str, family: Family) -> None:
        if family in self.families:
            return
        if family.name in {each.name for each in self.families}:
            raise UnusableMechanism(f"{reference}: family {family.name!r}: expected one of another name")
        for proxy in family.proxies:
            if proxy.name in self.proxies(proxy.side):
                raise UnusableMechanism(
                    f"{reference}: proxy {proxy.name!r} of side {proxy.side!r}: expected another name"
                )
        self.families = (*self.families, family)

    def _bring(self, reference: str, found: type[Any] | Family) -> None:
        if isinstance(found, Family):
            self._bring_family(reference, found)
        elif issubclass(found, AtomicTransition):
            self._bring_transition(reference, found)
        else:
            self._bring_mechanism(reference, found)

    def _bring_mechanism(self, reference: str, kind: type[Any]) -> None:
        family = next((family for family in self.families if family.holds(kind)), None)
        if family is None:
            bases = ", ".join(family.base.rpartition(":")[2] for family in self.families)
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
        try:
            family.admit(self, kind)
        except UnusableMechanism as error:
            raise UnusableMechanism(f"{reference}: {error}") from None
        kinds[kind.name] = kind

    def _bring_transition(self, reference: str, kind: type[AtomicTransition[Any, Any]]) -> None:
        declared: list[Any] = [getattr(kind, end, None) for end in ("target", "source")]
        ends = [end for end in declared if isinstance(end, type) and end is not Nothing]
        places = [
            proxy
            for family in self.families
            for proxy in family.proxies
            if ends and all(issubclass(e, proxy.interface) if proxy.part else family.holds(e) for e in ends)
        ]
        if not places or _left_open(kind):
            raise UnusableMechanism(
                f"{reference}: expected AtomicTransition[From, To] between mechanisms of one family,"
                " with transfer_state"
            )
        if all(type(known) is not kind for known, _ in self._transitions):
            self._transitions.append((kind(), places))

    def _unused(self) -> Iterator[str]:
        """Say which transitions are between classes that are no mechanisms here, and so never used."""
        for transition, places in self._transitions:
            kinds = [kind for place in places for kind in self.catalogue(place.side)[place.name].values()]
            for end in (transition.source, transition.target):
                if end is Nothing or any(issubclass(kind, end) for kind in kinds):
                    continue
                if end.name not in installed_names(INSTALLED):  # a plan that names it will find it
                    yield (
                        f"{type(transition).__name__}: {end.__module__}:{end.__qualname__}: expected a class"
                        " among the mechanisms; one of a file is another class than what a module imports"
                    )

    def _look_for(self, side: Side, proxy: str, name: str | None) -> None:
        """See whether an installed package offers a mechanism that is not known behind a proxy of a side."""
        known = self.catalogue(side).get(proxy)
        if known is not None and name is not None and name not in {*known, *self._sought}:
            self._bring_offered(name, load_installed(INSTALLED, name))

    def _bring_offered(self, name: str, found: Any) -> None:
        """Bring what an installed package offers under a name, if it does: plans call a mechanism so."""
        self._sought.add(name)
        if found is None:
            return
        try:
            named = isinstance(found, type) and getattr(found, "name", None) == name
            if not named and not _is_nameless(found):
                raise UnusableMechanism(f"{found!r}: expected a mechanism that plans call {name!r}")
            self._bring(name, found)
        except UnusableMechanism as error:
            log.warning("entry point %s in %s is left out: %s", name, INSTALLED, error)


class _SideCatalogue(Mapping[str, Parts]):
    """The mechanisms of one side by proxy. Those of a family are imported when one of its proxies is asked
    for: a client that stores no objects does without the mechanisms that do."""

    def __init__(self, registry: Registry, side: Side) -> None:
        self._registry = registry
        self._places = {
            proxy.name: (family, proxy)
            for family in registry.families
            for proxy in family.proxies
            if proxy.side == side
        }

    def __getitem__(self, name: str) -> Parts:
        family, proxy = self._places[name]
        return {
            **({Nothing.name: Nothing} if proxy.first == Nothing.name else {}),
            **{known: _part(kind, proxy) for known, kind in self._registry.kinds(family).items()},
        }

    def __contains__(self, name: object) -> bool:
        return name in self._places

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)


def _is_nameless(found: Any) -> bool:
    """Whether it is something that plans do not name."""
    return isinstance(found, Family) or (isinstance(found, type) and issubclass(found, AtomicTransition))


def _found(given: str | type | Family) -> tuple[str, type[Any] | Family]:
    """Look up what is brought: its name in messages, and the class or family. Raises UnusableMechanism."""
    if isinstance(given, Family):
        return f"family {given.name!r}", given
    if isinstance(given, type):
        note_module(given.__module__)
        return f"{given.__module__}:{given.__qualname__}", given
    found = load(given) if ":" in given else load_installed(INSTALLED, given)
    if found is None:
        known = ", ".join(installed_names(INSTALLED)) or "none"
        raise UnusableMechanism(
            f"{given}: expected module:Class, an import path, file.py:Class, or what is installed: {known}"
        )
    if not isinstance(found, type | Family):
        raise UnusableMechanism(f"{given}: {shown(found)}: expected a class of mechanisms")
    return given, found


def _part(kind: type[Any], proxy: FamilyProxy) -> type[Mechanism]:
    """The part of a family's class that runs behind a proxy."""
    part: type[Mechanism] = getattr(kind, proxy.part) if proxy.part else kind
    return part


def _left_open(kind: type) -> str:
    """The first method that a class should define and does not; empty if there is none."""
    return next((n for n in dir(kind) if getattr(getattr(kind, n), "__isabstractmethod__", False)), "")
