"""A family of mechanisms of your own, on a side that has nothing to do with brokers."""

from typing import Protocol

from bypass import Registry
from bypass.mechanisms.families import Family, FamilyProxy
from bypass.transitions import Engine, Mechanism


class Store(Protocol):
    def keep(self, item: str) -> None: ...


class Archive(Mechanism):
    def keep(self, item: str) -> None:
        print("kept", item)


class Forgetful(Archive):
    def keep(self, item: str) -> None:
        print("forgot", item)


proxy = FamilyProxy("store", "edge", Store, first="archive")
family = Family("archive", f"{__name__}:Archive", (proxy,), (f"{__name__}:Archive",))
registry, engine = Registry([Forgetful], families=[family]), Engine("edge-1")
store: Store = registry.create(engine, "edge", "store")
store.keep("this")
engine.transition("store", "forgetful")
store.keep("that")
