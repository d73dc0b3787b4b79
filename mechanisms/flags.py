"""The numbers by which messages name filter schemes."""

from __future__ import annotations

from collections.abc import Mapping

from bypass.errors import UnusableMechanism

FIRST_GIVEN, MOST_GIVEN = 64, 64
"""Numbers for schemes that are not built in: they take one byte in a message, as those of built-in ones."""


class Flags:
    """One system's numbers: those of built-in schemes are fixed, others are given by name, each once.

    A broker gives them, and tells its clients. `given` may have numbers of schemes that are not there any
    more.
    """

    def __init__(self, fixed: Mapping[str, int]) -> None:
        self.given: dict[str, int] = {}
        self._fixed = dict(fixed)
        self._schemes: list[str] = []  # that were to be given one

    def of(self, scheme: str) -> int:
        """The number of a scheme, 0 if it has none."""
        return self._fixed.get(scheme) or self.given.get(scheme, 0)

    def scheme(self, flag: int) -> str | None:
        """The scheme that has a number, if one has."""
        known = (*self._fixed.items(), *self.given.items())
        return next((name for name, number in known if number == flag), None)

    def give(self, scheme: str) -> None:
        """Give a scheme a number unless it has one. Raises UnusableMechanism if there are no more."""
        if not self.of(scheme):
            taken = set(self.given.values())
            free = [number for number in range(FIRST_GIVEN, FIRST_GIVEN + MOST_GIVEN) if number not in taken]
            if not free:
                raise UnusableMechanism(
                    f"scheme {scheme!r}: {len(taken)} others have numbers: expected fewer"
                )
            self.given[scheme] = free[0]
        self._schemes.append(scheme)

    def restore(self, given: Mapping[str, int]) -> None:
        """Schemes have the numbers that they were given earlier; the others get new ones. Raises as
        `give` does."""
        self.given = dict(given)
        schemes, self._schemes = self._schemes, []
        for scheme in schemes:
            self.give(scheme)
