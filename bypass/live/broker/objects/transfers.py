"""Uploads in transfer: the broker asks their owners for one part after the other, as fast as it may.

A part is taken only if the broker has asked for it. So uploads take no more than a share of a key's rate,
which leaves the rest to its events, and no more memory than the parts that were asked for.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from bypass.live.broker.loop.loop import Loop
from bypass.live.broker.objects.changes import AddPart, BeginUpload, ChangeOutcome
from bypass.live.broker.objects.object_database import PART_BYTES
from bypass.live.broker.objects.object_threads import Written
from bypass.live.broker.sessions.sessions import Session
from bypass.live.broker.store.database import StoreFailed
from bypass.objects.metadata import Metadata, ObjectKey
from bypass.protocol.storage import Chunk, Retrieve, StorageMessage

MOST_ASKED = 4
"""Parts of one upload that are asked for at a time."""

SHARE = 0.5
"""Uploads of a key together may take so much of the bytes that it may send in a second."""

UNASKED = "uploads_unasked"

AGAIN_S = 2.0
"""A part that came when its key had sent too much is asked for again after so long."""


@dataclass(slots=True)
class Transfer:
    """An upload on a connection: bytes up to `asked` were asked for, those up to `written` are stored; the
    parts that begin at what is `awaited` have not come yet."""

    session: Session
    route: bytes
    op: int
    metadata: Metadata
    asked: int = 0
    written: int = 0
    awaited: set[int] = field(default_factory=set)
    due: bool = False  # more are asked for soon


class Transfers:
    """All uploads that go on. `answer(session, route, op, outcome)` ends one; `is_here(client, route)` says
    whether its client is still connected. Parts that nobody has asked for are counted in `counters`."""

    def __init__(
        self,
        loop: Loop,
        byte_rate: float,
        submit: Callable[..., None],
        is_here: Callable[[int, bytes], bool],
        send: Callable[[bytes, StorageMessage], None],
        answer: Callable[[Session, bytes, int, ChangeOutcome | StoreFailed], None],
        counters: Counter[str],
    ) -> None:
        self._loop = loop
        self._rate = byte_rate * SHARE
        self._submit = submit
        self._is_here = is_here
        self._send = send
        self._answer = answer
        self._counters = counters
        self._transfers: dict[ObjectKey, Transfer] = {}
        self._next: dict[str, float] = {}  # when an account may be asked again, while it is later than now

    def __len__(self) -> int:
        return len(self._transfers)

    def begin(self, session: Session, op: int, metadata: Metadata, record: bytes) -> None:
        """Begin an upload of a client, or go on with it on another connection."""
        assert session.route is not None
        known = self._transfers.get(metadata.key)
        if known is not None and known.route == session.route and known.metadata == metadata:
            known.op = op
            known.asked = known.written  # what was asked for may not have come
            self._ask(known)
            return
        transfer = Transfer(session, session.route, op, metadata)
        self._transfers[metadata.key] = transfer
        self._submit(BeginUpload(session.account.name, metadata, record), self._written(transfer))

    def take(self, session: Session, message: Chunk) -> None:
        """Store a part that has come; one that was not asked for, or has come before, is ignored."""
        transfer = self._transfers.get(message.key)
        if transfer is None or transfer.route != session.route or message.offset not in transfer.awaited:
            self._counters[UNASKED] += 1
            return
        transfer.awaited.discard(message.offset)
        change = AddPart(session.account.name, message.key, message.offset, message.data)
        self._submit(change, self._written(transfer))

    def delayed(self, session: Session, message: Chunk) -> None:
        """Ask later for a part that was not taken, because its key had sent too much."""
        transfer = self._transfers.get(message.key)
        if transfer is not None and transfer.route == session.route:
            transfer.asked = min(transfer.asked, message.offset)
            self._ask_later(transfer, AGAIN_S)

    def look_after(self) -> None:
        """Forget the transfers of clients that have left; these begin again when they are back."""
        for key, transfer in [*self._transfers.items()]:
            if not self._is_here(transfer.session.number, transfer.route):
                del self._transfers[key]
        now = self._loop.now()
        self._next = {account: at for account, at in self._next.items() if at > now}

    def _written(self, transfer: Transfer) -> Written:
        def written(outcome: ChangeOutcome | StoreFailed) -> None:
            key = transfer.metadata.key
            if self._transfers.get(key) is not transfer:
                if isinstance(outcome, ChangeOutcome) and outcome.arrived is not None:
                    self._answer(transfer.session, transfer.route, transfer.op, outcome)
                return
            if isinstance(outcome, ChangeOutcome) and outcome.missing is not None:
                transfer.written = outcome.missing
                transfer.asked = max(transfer.asked, outcome.missing)
                self._ask(transfer)
            else:
                del self._transfers[key]
                self._answer(transfer.session, transfer.route, transfer.op, outcome)

        return written

    def _ask(self, transfer: Transfer) -> None:
        size = transfer.metadata.size
        account = transfer.session.account.name
        while transfer.asked < min(size, transfer.written + MOST_ASKED * PART_BYTES) and not transfer.due:
            now = self._loop.now()
            wait = self._next.get(account, 0.0) - now
            if wait > 0.0:
                self._ask_later(transfer, wait)
                return
            length = min(PART_BYTES, size - transfer.asked)
            self._send(transfer.route, Retrieve(transfer.op, transfer.metadata.key, transfer.asked, length))
            transfer.awaited.add(transfer.asked)
            transfer.asked += length
            if self._rate:
                self._next[account] = now + length / self._rate

    def _ask_later(self, transfer: Transfer, delay: float) -> None:
        if not transfer.due:
            transfer.due = True
            self._loop.after(delay, self._asks_again, transfer)

    def _asks_again(self, transfer: Transfer) -> None:
        transfer.due = False
        if self._transfers.get(transfer.metadata.key) is transfer:
            self._ask(transfer)
