"""A dissemination mechanism of your own: what you hear you pass on, unless others have done so already."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from bypass import Disseminator, MechanismState, Publish, Unless, run


class CounterBased(Disseminator):
    """Waits up to `hesitation` seconds, and keeps silent if `copies` copies were heard by then."""

    flag: ClassVar[int] = 64  # what frames call it: from 64 on, numbers are free
    hesitation: Annotated[float, MechanismState(), Field(ge=0, le=1)] = 0.02
    copies: Annotated[int, MechanismState(), Field(ge=1, le=255)] = 3

    def start(self) -> None:
        self._draw: Callable[[], float] = self.host.random("hesitation").random

    def disseminate_locally(self, publication: Publish, targets: Collection[int] | None = None) -> None:
        self.host.link.broadcast(publication)  # the client's own event

    def heard(self, publication: Publish, sender: int, distance: float) -> None:
        self.tell(publication)  # once an event: its port keeps further copies to itself
        if self.admits(publication):
            self.host.link.broadcast(publication, self.hesitation * self._draw(), Unless(copies=self.copies))


if __name__ == "__main__":
    for copies in (2, 3, 5, 255):
        result = run(Path(__file__).with_suffix(".yaml"), seed=7, set={"begin.1.set.copies": copies})
        [phase] = result.phases
        frames = result.summary()["extra"]["local"]["frames"]
        print(
            f"silent after {copies:3} copies: recall {phase.recall.mean:.3f},"
            f" {frames / phase.events:.1f} frames an event, {phase.delay_ms.mean:.0f} ms"
        )
