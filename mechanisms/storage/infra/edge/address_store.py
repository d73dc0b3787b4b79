"""Where clients are: the physical addresses of nodes in cells, and the stable node of each cell."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable

from bypass.protocol.datagrams import NodeAddress

StableListener = Callable[[str, int], None]
"""Is told of a world and a cell that has a stable node now."""

CellOfWorld = tuple[str, int]

MOST_STABLE_NODES = 65_536


class AddressStore:
    """Translates addresses of nodes, each in a world, to physical ones: at most `size` of them, of which the
    one that was written least recently goes first, and none that was written longer than `ttl_s` ago.

    The stable node of each cell is kept beside them, whatever `size` is, until another one takes its place or
    it is lost. `now` gives seconds.
    """

    def __init__(self, now: Callable[[], float], size: int = 100, ttl_s: float = 300.0) -> None:
        self._now = now
        self._ttl_s = ttl_s
        self._size = size
        self._written: OrderedDict[tuple[str, NodeAddress], tuple[Hashable, float]] = OrderedDict()
        self._stable: OrderedDict[CellOfWorld, Hashable] = OrderedDict()
        self._listeners: list[StableListener] = []

    def __len__(self) -> int:
        self._expire()
        return len(self._written)

    @property
    def size(self) -> int:
        """The most addresses that are kept."""
        return self._size

    def resize(self, size: int) -> None:
        """Keep at most so many addresses from now on."""
        self._size = size
        self._fit()

    def put(self, world: str, node: NodeAddress, physical: Hashable) -> None:
        """Write an address, which begins to age anew."""
        key = world, node
        self._written.pop(key, None)
        self._written[key] = physical, self._now()
        self._fit()

    def translate(self, world: str, node: NodeAddress) -> Hashable | None:
        """The physical address of a node; None if it is not known."""
        self._expire()
        found = self._written.get((world, node))
        return None if found is None else found[0]

    def all_in_cell(self, world: str, cell: int) -> list[Hashable]:
        """The physical addresses that are known of a cell, those written last first."""
        self._expire()
        found = [
            physical
            for (of, node), (physical, _) in reversed(self._written.items())
            if of == world and node.cell == cell
        ]
        return list(dict.fromkeys(found))

    def forget(self, world: str, node: NodeAddress) -> None:
        """Remove the address of a node that did not answer, and its place as a stable node."""
        found = self._written.pop((world, node), None)
        if found is not None and node.cell is not None and self._stable.get((world, node.cell)) == found[0]:
            self.lose_stable(world, node.cell)

    # -- stable nodes -------------------------------------------------------------------------------------

    def establish(self, world: str, cell: int, physical: Hashable) -> None:
        """Note the stable node of a cell, and tell the listeners."""
        self._stable.pop((world, cell), None)
        self._stable[world, cell] = physical
        if len(self._stable) > MOST_STABLE_NODES:
            self._stable.popitem(last=False)
        for listener in tuple(self._listeners):
            listener(world, cell)

    def stable(self, world: str, cell: int) -> Hashable | None:
        """The physical address of the stable node of a cell; None if there is none."""
        return self._stable.get((world, cell))

    def lose_stable(self, world: str, cell: int) -> None:
        """Know no stable node of a cell any more; harmless if there is none."""
        self._stable.pop((world, cell), None)

    def on_stable(self, listener: StableListener) -> None:
        """Have a function told whenever a stable node is established."""
        self._listeners.append(listener)

    def forget_cells(self, world: str) -> None:
        """Forget all of a world: its cells are others now."""
        for key in [key for key in self._written if key[0] == world]:
            del self._written[key]
        for place in [place for place in self._stable if place[0] == world]:
            del self._stable[place]

    # -- bounds -------------------------------------------------------------------------------------------

    def _fit(self) -> None:
        while len(self._written) > self._size:
            self._written.popitem(last=False)

    def _expire(self) -> None:
        """Remove the addresses that are too old; they are in the order in which they were written."""
        before = self._now() - self._ttl_s
        for key in _until(self._written.items(), before):
            del self._written[key]


def _until(
    entries: Iterable[tuple[tuple[str, NodeAddress], tuple[Hashable, float]]], before: float
) -> list[tuple[str, NodeAddress]]:
    found = []
    for key, (_, at) in entries:
        if at >= before:
            break
        found.append(key)
    return found
