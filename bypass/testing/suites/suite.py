"""The base of the suites of all families."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

from bypass.errors import BypassError
from bypass.mechanisms import Registry
from bypass.mechanisms.families import Family


class UnknownCapability(BypassError):
    """A suite was told of a capability that it does not ask for."""


class Suite:
    """A class to derive test classes from. `capabilities` say what is promised of the thing under test, where
    that is not what `defaults` say; what a class says holds for those derived from it. Each property is tried
    with so many `examples`.

    Deriving raises UnknownCapability.
    """

    defaults: ClassVar[Mapping[str, Any]] = {}
    capabilities: ClassVar[Mapping[str, Any]] = {}
    examples: ClassVar[int] = 20

    def __init_subclass__(cls, **values: Any) -> None:
        super().__init_subclass__(**values)
        for name in cls.capabilities:
            if name not in cls.defaults:
                known = ", ".join(cls.defaults) or "none"
                raise UnknownCapability(f"{cls.__name__}: capability {name!r}: expected one of {known}")

    def capability(self, name: str) -> Any:
        """Give the declared value of a capability, or its default."""
        said = (vars(kind).get("capabilities", {}) for kind in type(self).__mro__)
        return next((own[name] for own in said if name in own), self.defaults[name])

    def for_all(self, holds: Callable[..., None], **strategies: SearchStrategy[Any]) -> None:
        """Try a property with whatever the strategies give, so many times as the suite has `examples`."""

        def attempt(**drawn: Any) -> None:
            holds(**drawn)

        attempt.__name__ = holds.__name__.strip("_")
        attempt.__qualname__ = f"{type(self).__qualname__}.{attempt.__name__}"  # examples are kept by it
        settings(
            max_examples=self.examples,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        )(given(**strategies)(attempt))()


class MechanismSuite(Suite):
    """A suite for the mechanisms of a family. `mechanism` is what is tested: a class, a reference to one
    (`file.py:Class`, `module:Class`), or the name of one that is built in; `parameters` are what it is begun
    with.
    """

    family: ClassVar[Family]
    mechanism: ClassVar[str | type]
    parameters: ClassVar[dict[str, Any]] = {}

    @property
    def brought(self) -> tuple[str | type, ...]:
        """The mechanisms of one's own that systems under test must be given."""
        builtin = isinstance(self.mechanism, str) and self.mechanism in Registry().kinds(self.family)
        return () if builtin else (self.mechanism,)

    @property
    def kind(self) -> type[Any]:
        """The class that is tested. Raises UnusableMechanism."""
        before, after = Registry().kinds(self.family), Registry(self.brought).kinds(self.family)
        if isinstance(self.mechanism, str) and self.mechanism in before:
            return before[self.mechanism]
        if isinstance(self.mechanism, type) and self.mechanism in after.values():
            return self.mechanism
        (own,) = (kind for name, kind in after.items() if name not in before)
        return own

    @property
    def name(self) -> str:
        """The name that plans call it by."""
        name: str = self.kind.name
        return name

    @property
    def others(self) -> list[str]:
        """The built-in mechanisms of the same family."""
        return [name for name in Registry().kinds(self.family) if name != self.name]
