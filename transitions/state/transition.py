"""Custom state transfer for certain pairs of mechanisms, and which of several applies."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from typing import Any, ClassVar, Generic, TypeVar, get_args, get_origin

from bypass.transitions.mechanism import Mechanism, Nothing

A = TypeVar("A", bound=Mechanism)
B = TypeVar("B", bound=Mechanism)


class AtomicTransition(ABC, Generic[A, B]):
    """Transfers state from A to B in its own way: `class ListToTree(AtomicTransition[ListIndex, TreeIndex])`.

    It applies to A, B and their subclasses, and replaces the automatic transfer altogether. With
    `Nothing` as A it applies to any source.
    """

    source: ClassVar[type[Mechanism]]
    target: ClassVar[type[Mechanism]]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for base in vars(cls).get("__orig_bases__", ()):
            if get_origin(base) is AtomicTransition:
                source, target = (get_origin(kind) or kind for kind in get_args(base))
                if isinstance(source, type) and isinstance(target, type):
                    cls.source, cls.target = source, target

    @abstractmethod
    def transfer_state(self, a: A, b: B) -> None:
        """Give `b`, which has not been started, what it needs. Must not change `a`."""


def select(
    registered: Iterable[AtomicTransition[Any, Any]], source: type[Mechanism], target: type[Mechanism]
) -> AtomicTransition[Any, Any] | None:
    """The registered transition whose types are closest, the source's first; the latest one among equals."""
    sources = (Nothing,) if issubclass(source, Nothing) else (*source.__mro__, Nothing)
    targets = (Nothing,) if issubclass(target, Nothing) else target.__mro__
    best, best_score = None, (len(sources), len(targets))
    for transition in registered:
        if transition.source in sources and transition.target in targets:
            score = (sources.index(transition.source), targets.index(transition.target))
            if score <= best_score:
                best, best_score = transition, score
    return best
