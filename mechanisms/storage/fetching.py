"""Fetching the bytes of objects: from one holder after the other, in pieces where they are large."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence

from bypass.objects.metadata import Metadata, StoredObject
from bypass.protocol.datagrams import NodeAddress
from bypass.protocol.storage import LONGEST_DATA, OperationStatus, Retrieve, Retrieved, StorageMessage
from bypass.transitions.recent import Recent


class _Fetch:
    """One object on its way: `at` is the holder that was asked last, `left` are those to be asked yet."""

    __slots__ = ("at", "data", "denied", "left", "metadata")

    def __init__(self, metadata: Metadata, holders: Iterable[NodeAddress]) -> None:
        self.metadata = metadata
        self.left = deque(dict.fromkeys(holders))
        self.at = NodeAddress()
        self.data = bytearray()
        self.denied = False  # a holder has said that it has no such object


class ObjectFetches:
    """The objects that one node is fetching. `send` and `done` are those of its link.

    An operation ends with NOT_FOUND if no holder is left and one has said that it has no such object; if none
    could be reached it does not end here, since one may be reached later.
    """

    def __init__(
        self,
        send: Callable[[StorageMessage, Sequence[NodeAddress]], None],
        done: Callable[..., None],
    ) -> None:
        self._send = send
        self._done = done
        self._fetches: Recent[int, _Fetch] = Recent()

    def begin(self, op: int, metadata: Metadata, holders: Iterable[NodeAddress]) -> None:
        """Ask holders for an object, in their order; an attempt that is under way begins anew."""
        self._fetches[op] = fetch = _Fetch(metadata, holders)
        self._ask_next(op, fetch)

    def arrived(self, answer: Retrieved, origin: NodeAddress) -> None:
        """A holder has answered: take its bytes, and ask for the rest, or ask the next holder."""
        fetch = self._fetches.get(answer.op)
        if fetch is None or answer.key != fetch.metadata.key:
            return
        if fetch.at.node is not None and fetch.at.node != origin.node:
            return  # of a holder that was given up
        if answer.data is None:
            self.denied(answer.op)
        elif answer.offset == len(fetch.data):
            fetch.data += answer.data
            if len(fetch.data) < fetch.metadata.size and answer.data:
                self._ask(answer.op, fetch, origin)
            elif fetch.metadata.describes(bytes(fetch.data)):
                del self._fetches[answer.op]
                self._done(answer.op, OperationStatus.OK, data=bytes(fetch.data))
            else:
                self._ask_next(answer.op, fetch)

    def denied(self, op: int) -> None:
        """The holder that was asked last does not have the object: ask the next one."""
        fetch = self._fetches.get(op)
        if fetch is not None:
            fetch.denied = True
            self._ask_next(op, fetch)

    def refer(self, op: int, holders: Iterable[NodeAddress]) -> None:
        """The holder that was asked last names others: ask these, then those that are left."""
        fetch = self._fetches.get(op)
        if fetch is not None:
            fetch.left = deque(dict.fromkeys((*holders, *fetch.left)))
            self._ask_next(op, fetch)

    def failed(self, request: Retrieve) -> None:
        """A request did not reach its holder: ask the next one."""
        fetch = self._fetches.get(request.op)
        if fetch is not None:
            self._ask_next(request.op, fetch)

    def _ask_next(self, op: int, fetch: _Fetch) -> None:
        fetch.data.clear()
        if fetch.left:
            self._ask(op, fetch, fetch.left.popleft())
        else:
            del self._fetches[op]
            if fetch.denied:
                self._done(
                    op, OperationStatus.NOT_FOUND, f"object {fetch.metadata.key} is with none of its holders"
                )

    def _ask(self, op: int, fetch: _Fetch, holder: NodeAddress) -> None:
        fetch.at = holder
        length = None if fetch.metadata.size <= LONGEST_DATA else LONGEST_DATA
        self._send(Retrieve(op, fetch.metadata.key, len(fetch.data), length), (holder,))


def piece(request: Retrieve, stored: StoredObject | None) -> Retrieved:
    """The answer to a request for an object, or a piece of it."""
    if stored is None:
        return Retrieved(request.op, request.key)
    length = min(request.length or LONGEST_DATA, LONGEST_DATA)
    end = request.offset + length
    return Retrieved(request.op, request.key, stored.data[request.offset : end], request.offset)
