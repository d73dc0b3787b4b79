"""The queries at the end of an experiment with a store, by which it is seen what can be found."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial

from bypass.core.objects.access import ObjectAccess
from bypass.core.objects.operations import OperationResult
from bypass.core.objects.own_queries import OwnQuery
from bypass.errors import BypassError
from bypass.objects.metadata import Metadata, ObjectKey
from bypass.scenarios.runs.experiment import ExperimentFailed

PROBED_TOGETHER = 8  # tags that one query asks for
PROBE_S = 20.0
PROBE_EVERY_S = 2.0  # between two of them: floods of all at once would be lost

Asker = tuple[ObjectAccess, str, int]
"""A client that asks, its world, and its area."""


class FinalQueries:
    """Asks for all objects; `found` has the areas in which each one was found. `wait` lets time pass (s)."""

    def __init__(self, wait: Callable[[float], None]) -> None:
        self.found: dict[ObjectKey, set[int]] = {}
        self._wait = wait

    def ask(self, askers: Iterable[Asker], tags: Iterable[str]) -> None:
        """Have clients ask for all objects with any of these tags. Raises ExperimentFailed."""
        asking, named = list(askers), sorted(tags)
        for first in range(0, len(named), PROBED_TOGETHER) if asking else ():
            for objects, world, area in asking:
                self._ask(objects, world, area, " | ".join(named[first : first + PROBED_TOGETHER]))
            self._wait(PROBE_EVERY_S)
        self._wait(PROBE_S)

    def found_in(self, area: int, key: ObjectKey) -> bool:
        """Whether an object was found in an area."""
        return area in self.found.get(key, ())

    def _ask(self, objects: ObjectAccess, world: str, area: int, formula: str) -> None:
        asked: list[OwnQuery] = []

        def further(result: OperationResult) -> None:
            if result.ok and asked and asked[0].more_past:
                objects.more(asked[0], 64, further)

        try:
            notice = partial(self._notice, area)
            asked.append(objects.query(formula, notice, namespace=world, limit=64, ended=further))
        except BypassError as error:
            raise ExperimentFailed(f"at the end: {error}") from None

    def _notice(self, area: int, metadata: Metadata, _: OwnQuery) -> None:
        self.found.setdefault(metadata.key, set()).add(area)
