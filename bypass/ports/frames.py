"""The sending side of a port, the same in every runtime: it turns calls of a mechanism into frames."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bypass.ports.local_access import SEND, FrameSender, LocalReceiver, Tuning, Unless
from bypass.protocol.messages import Frame, Publish


class SendingPort:
    """The sending side of one port of the client with this number.

    Each frame carries the flag, the counter and the scope of the tuning with which it was sent.
    """

    __slots__ = ("_client", "_hello", "_number", "_place", "_receiver", "_sender", "_strange", "_tuning")

    def __init__(self, number: int, client: int) -> None:
        self._number = number
        self._client = client
        self._tuning = Tuning()
        self._hello: Frame | None = None  # all hellos are alike, unless they say where they come from
        self._receiver: LocalReceiver
        self._sender: FrameSender
        self._strange: Callable[[Frame], bool]
        self._place: Callable[[], tuple[float, float] | None]

    def bind(
        self,
        receiver: LocalReceiver,
        sender: FrameSender,
        strange: Callable[[Frame], bool],
        place: Callable[[], tuple[float, float] | None],
    ) -> None:
        self._receiver, self._sender, self._strange, self._place = receiver, sender, strange, place

    def tune(self, tuning: Tuning) -> None:
        self._tuning = tuning
        self._hello = None

    def broadcast(self, publication: Publish, delay: float = 0.0, unless: Unless = SEND) -> None:
        self._sender.send(self._frame((publication,)), None, delay, unless)

    def broadcast_together(self, publications: Sequence[Publish]) -> None:
        self._sender.send(self._frame(tuple(publications)), None, 0.0, SEND)

    def unicast(self, publication: Publish, address: int) -> None:
        self._sender.send(self._frame((publication,)), address, 0.0, SEND)

    def hello(self) -> None:
        if self._hello is None or self._tuning.places:
            self._hello = self._frame(())
        self._sender.send(self._hello, None, 0.0, SEND)

    def digest(self, ids: Sequence[int]) -> None:
        self._sender.send(self._frame((), tuple(ids)), None, 0.0, SEND)

    def _frame(self, publications: tuple[Publish, ...], ids: tuple[int, ...] | None = None) -> Frame:
        tuning = self._tuning
        place = self._place() if tuning.places else None
        return Frame(
            self._number, tuning.scope, place, publications, ids,
            client=self._client, scheme=tuning.flag, epoch=tuning.counter,
        )  # fmt: skip
