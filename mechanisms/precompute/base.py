"""The base of pre-computation, and what it holds back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Iterable, Mapping
from typing import Any, ClassVar, NamedTuple, cast

from bypass.ports.measurements import Measurement, MessageOrigin, PipelineHost
from bypass.transitions import Mechanism


class HeldMeasurement(NamedTuple):
    """A measurement that waits. `accounts`: its message waits as a whole, and this is the measurement that
    says what became of it."""

    origin: MessageOrigin
    measurement: Measurement
    accounts: bool


class Precompute(Mechanism, ABC):
    """Decides about the measurements of the devices that it serves, message by message.

    What it keeps, it hands to `host.keep`. What it holds back moves with its device when another mechanism
    takes over: that one is given it as if it had just come.
    """

    keeps_everything: ClassVar[bool] = False
    """Whether messages may go into the table without being shown to it."""

    host: PipelineHost

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self._members: set[str] = set()

    @abstractmethod
    def take(self, origin: MessageOrigin, measurements: list[Measurement]) -> None:
        """Decide about the measurements of one message: keep, hold back or leave out each of them."""

    def pass_time(self) -> None:
        """Look at what is held back, at the end of each batch."""

    def held(self, device: str) -> list[HeldMeasurement]:  # noqa: ARG002
        """List the measurements of a device that are held back, in the order in which they came."""
        return []

    # -- memory between batches ---------------------------------------------------------------------------

    def export(self) -> Any:
        """Give all that it must know in the next batch, as plain data: lists, dicts, strings, numbers,
        bytes. It is written with every batch: a memory that may be large overrides `changes` instead."""
        return None

    def load(self, data: Any) -> None:
        """Take over what `export` gave."""

    def changes(self) -> Iterable[tuple[str, Any]]:
        """Give what its memory has gained since the last call: plain data by key, None for a key that is
        gone. A key that is given again replaces what it had."""
        yield "", self.export()

    def restore(self, memory: Mapping[str, Any]) -> None:
        """Take over all that `changes` gave, with the latest data of each key that is not gone."""
        self.load(memory.get(""))

    # -- members of its group -----------------------------------------------------------------------------

    def members(self) -> Collection[Hashable]:
        """The devices that it serves by name."""
        return self._members

    def serve(self, devices: Iterable[str]) -> None:
        """Serve devices that nobody serves by name yet."""
        self._members.update(devices)

    def admit(self, members: Collection[Hashable] | None, source: Mechanism | None) -> None:
        """Take over devices, with what `source` holds back of them."""
        other = cast("Precompute", source)
        devices = cast("Collection[str]", other.members() if members is None else members)
        self._members.update(devices)
        for device in sorted(other.holding() if members is None else devices):  # the same in each process
            for origin, measurement, accounts in other.held(device):
                self.resume(HeldMeasurement(origin, measurement, accounts))

    def release(self, members: Collection[Hashable]) -> None:
        """Forget devices."""
        self._members.difference_update(cast("Collection[str]", members))
        for device in cast("Collection[str]", members):
            self.forget(device)

    def holding(self) -> Collection[str]:
        """The devices of which something is held back."""
        return ()

    def resume(self, held: HeldMeasurement) -> None:
        """Take over a measurement that another mechanism held back. Must not change that one."""
        self.host.keep(held.origin, [held.measurement])
        if held.accounts:
            self.host.settle(held.origin, kept=True)

    def forget(self, device: str) -> None:
        """Forget all that is known of a device."""
