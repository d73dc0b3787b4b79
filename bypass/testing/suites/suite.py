"""What the suites of all families share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from hypothesis import HealthCheck, given, settings
from hypothesis.strategies import SearchStrategy

from bypass.mechanisms import Registry
from bypass.mechanisms.families import Family


class Suite:
    """A class to derive test classes from. `mechanism` is what is tested: a class, a reference to one
    (`file.py:Class`, `module:Class`), or the name of one that is built in. `parameters` are what it is
    begun with. Each property is tried with so many `examples`.
    """

    family: ClassVar[Family]
    mechanism: ClassVar[str | type]
    parameters: ClassVar[dict[str, Any]] = {}
    examples: ClassVar[int] = 20

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
        """What plans call it."""
        name: str = self.kind.name
        return name

    @property
    def others(self) -> list[str]:
        """The built-in mechanisms of the same family."""
        return [name for name in Registry().kinds(self.family) if name != self.name]

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
