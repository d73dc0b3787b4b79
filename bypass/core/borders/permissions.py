"""The permissions to watch: clients allow others to follow them, operators watch everybody."""

from __future__ import annotations

from collections.abc import Callable

from bypass.core.plans.isolation import ClientDirectory


class WatchPermissions:
    """Knows who may watch whom. `allows` says whether a client of a name lets another one follow it,
    `is_operator` whether a client is an operator's, and `understands` whether a client's version knows border
    tasks; each runtime says what is otherwise there."""

    def __init__(self, names: ClientDirectory, allows: Callable[[str, int], bool]) -> None:
        self.is_operator: Callable[[int], bool] = lambda _: True
        self.understands: Callable[[int], bool] = lambda _: True
        self._names = names
        self._allows = allows

    def name(self, client: int) -> str:
        """Give the name of a client; empty if it is gone for good."""
        return self._names.name(client)

    def may_watch(self, watcher: int, client: int) -> bool:
        """Whether a client has allowed another one to follow it."""
        return watcher == client or self._allows(self._names.name(client), watcher)

    def may_watch_all(self, watcher: int) -> bool:
        """Whether a client is an operator's."""
        return self.is_operator(watcher)

    def can_compute(self, client: int) -> bool:
        """Whether a client's version knows border tasks."""
        return self.understands(client)
