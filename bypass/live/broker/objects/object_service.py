"""The service of objects at a live broker: it takes the requests of clients, and answers them.

It runs in the broker's thread; the store is written in a second thread and read in a third.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Any

from bypass.live.broker.config import BrokerConfig
from bypass.live.broker.loop.loop import Loop
from bypass.live.broker.objects.arrivals import FoundArrivals, arrivals_since
from bypass.live.broker.objects.blobs import read_bytes
from bypass.live.broker.objects.changes import (
    ArrivedObject,
    ChangeOutcome,
    DeleteObject,
    PutObject,
    SweepObjects,
)
from bypass.live.broker.objects.live_queries import LiveQueries, LiveQuery
from bypass.live.broker.objects.object_database import PART_BYTES, object_path
from bypass.live.broker.objects.object_store import ObjectStore
from bypass.live.broker.objects.object_threads import ObjectReader, ObjectWriter
from bypass.live.broker.objects.pages import FoundPage, PageScan
from bypass.live.broker.objects.transfers import Transfers
from bypass.live.broker.sessions.sessions import Session, Sessions
from bypass.live.broker.store.database import StoreFailed
from bypass.objects.query import MOST_ON_A_PAGE, PAGE_BYTES
from bypass.protocol.storage import (
    Acknowledge,
    Ask,
    Chunk,
    Delete,
    FoundObjects,
    Insert,
    OperationStatus,
    Retrieve,
    Retrieved,
    StorageMessage,
    Withdraw,
)
from bypass.protocol.wire.object_fields import metadata_from_bytes, metadata_to_bytes

AHEAD_US = 3_600_000_000
"""The clock of an object's owner may be ahead of the broker's by one hour (µs)."""

MOST_READS = 96
"""Pages and parts of objects that one client may wait for at a time: twice as many as a client asks
for, since it asks again on another connection."""

MOST_WAITING, MOST_WAITING_BYTES = 20_000, 64 << 20
"""Changes, and bytes of objects in them, that wait to be written; of one client a quarter."""

LOOK_AFTER_S = 1.0
"""The time between two searches for clients that have left and objects that are too old (s)."""

NOT_OWNER, TOO_LARGE, AHEAD, BUSY = (
    "objects_not_owner",
    "objects_too_large",
    "objects_ahead",
    "objects_over_waiting",
)
UNREADABLE, OVER_QUERIES, NOT_STORED = "objects_unreadable", "objects_over_queries", "objects_not_stored"


class ObjectService:
    """Serves the clients of a broker, `send(route, message)` is the way to them.

    Every request ends with an answer, and every refusal is counted by its reason in `counters`. Raises
    StoreFailed for a file that cannot be used.
    """

    def __init__(
        self,
        config: BrokerConfig,
        loop: Loop,
        sessions: Sessions,
        send: Callable[[bytes, StorageMessage], None],
        counters: Counter[str],
    ) -> None:
        self._limits = config.objects
        self._loop = loop
        self._sessions = sessions
        self._send = send
        self._counters = counters
        values = config.registry.codec.values
        self._encode = partial(metadata_to_bytes, values=values)
        self._decode = partial(metadata_from_bytes, values=values)
        self.store = ObjectStore(
            object_path(config.store), config.sync, config.objects, self._decode, loop.now
        )
        self.writer = ObjectWriter(self.store, loop.soon, self._committed)
        self._reader = ObjectReader(self.store, loop.soon)
        self.live = LiveQueries(self._push)
        self.live.latest = self.store.arrival
        self._transfers = Transfers(
            loop,
            config.limits.client_byte_rate,
            self.writer.submit,
            self._is_here,
            send,
            self._answer,
            counters,
        )
        self._arrived: list[ArrivedObject] = []
        self._waiting: Counter[int] = Counter()  # changes, by client
        self._waiting_bytes: Counter[int] = Counter()
        self._reads: Counter[int] = Counter()
        loop.after(LOOK_AFTER_S, self._look_after)

    def close(self) -> None:
        """End the service, after all submitted changes are written."""
        self.writer.close()
        self._reader.close()
        self.store.close()

    def figures(self) -> dict[str, Any]:
        """The figures of the store for operators."""
        writer, accounts = self.writer, self.store.accounts
        mean = 1e3 * writer.seconds / max(writer.commits, 1)
        return {
            "path": str(self.store.path),
            "objects": accounts.objects,
            "bytes": accounts.bytes,
            "queries": len(self.live),
            "held_back": self.live.held_back,
            "uploads": len(self._transfers),
            "commits": writer.commits,
            "commit_ms": round(mean, 3),
            "failing": writer.failing,
        }

    # -- requests -----------------------------------------------------------------------------------------

    def take(self, session: Session, message: StorageMessage) -> None:
        """Carry out a request of a client, and answer it when that is done."""
        assert session.route is not None
        match message:
            case Insert():
                self._insert(session, message)
            case Chunk():
                self._transfers.take(session, message)
            case Delete():
                change = DeleteObject(session.account.name, message.key, message.opening)
                self._change(session, message.op, change, 0)
            case Ask():
                self._ask(session, message)
            case Withdraw():
                live = self.live.get(message.query)
                if live is not None and live.client == session.number:
                    self.live.remove(message.query)
                self._answer(session, session.route, message.op, ChangeOutcome(OperationStatus.OK))
            case Retrieve():
                self._retrieve(session, message)
            case _:
                unknown = ChangeOutcome(OperationStatus.UNSUPPORTED, reason="objects_unsupported")
                self._answer(session, session.route, getattr(message, "op", 0), unknown)

    def refuse(self, session: Session, message: StorageMessage, reason: str) -> None:
        """Refuse a request that is over the rate of its key. A part of an upload, which the broker has asked
        for, is asked for again later; a confirmation of arrivals is taken all the same."""
        assert session.route is not None
        if isinstance(message, Chunk):
            self._transfers.delayed(session, message)
        elif isinstance(message, Ask) and not message.op:
            self.take(session, message)
        else:
            over = ChangeOutcome(OperationStatus.QUOTA, reason, "objects_over_rate")
            self._answer(session, session.route, getattr(message, "op", 0), over)

    def _insert(self, session: Session, message: Insert) -> None:
        assert session.route is not None
        metadata = message.metadata
        refused = None
        if metadata.key.owner != session.number:
            detail = f"object {metadata.key}: expected an owner of number {session.number}"
            refused = ChangeOutcome(OperationStatus.NOT_OWNER, detail, NOT_OWNER)
        elif metadata.size > self._limits.object_bytes:
            detail = f"object of {metadata.size} bytes: expected at most {self._limits.object_bytes}"
            refused = ChangeOutcome(OperationStatus.TOO_LARGE, detail, TOO_LARGE)
        elif metadata.published_us > self._loop.now() * 1e6 + AHEAD_US:
            detail = f"object {metadata.key} of the future: expected a clock that is at most 1 h ahead"
            refused = ChangeOutcome(OperationStatus.REFUSED, detail, AHEAD)
        elif message.data is not None and not metadata.describes(message.data):
            detail = f"object {metadata.key}: expected the bytes that its metadata has the hash of"
            refused = ChangeOutcome(OperationStatus.REFUSED, detail, UNREADABLE)
        if refused is not None:
            self._answer(session, session.route, message.op, refused)
            return
        record = self._encode(metadata)
        account = session.account.name
        if message.data is None and metadata.size:
            self._transfers.begin(session, message.op, metadata, record)
        else:
            data = message.data or b""
            self._change(session, message.op, PutObject(account, metadata, record, data), len(data))

    def _change(self, session: Session, op: int, change: PutObject | DeleteObject, size: int) -> None:
        assert session.route is not None
        client, route = session.number, session.route
        total, total_bytes = self._waiting.total(), self._waiting_bytes.total()
        if (
            total >= MOST_WAITING
            or total_bytes + size > MOST_WAITING_BYTES
            or self._waiting[client] >= MOST_WAITING // 4
            or self._waiting_bytes[client] + size > MOST_WAITING_BYTES // 4
        ):
            busy = ChangeOutcome(OperationStatus.QUOTA, "too much waits to be written: expected less", BUSY)
            self._answer(session, route, op, busy)
            return
        self._waiting[client] += 1
        self._waiting_bytes[client] += size

        def written(outcome: ChangeOutcome | StoreFailed) -> None:
            _subtract(self._waiting, client, 1)
            _subtract(self._waiting_bytes, client, size)
            self._answer(session, route, op, outcome)

        self.writer.submit(change, written)

    def _ask(self, session: Session, message: Ask) -> None:
        assert session.route is not None
        client, route, query = session.number, session.route, message.query
        if query.subscriber != client:
            detail = f"query {query.id}: expected one of subscriber {client}"
            self._answer(
                session, route, message.op, ChangeOutcome(OperationStatus.NOT_OWNER, detail, NOT_OWNER)
            )
            return
        arrived, newest = self.live.latest, message.arrived
        if message.live:
            live = self.live.get(query.id)
            if live is not None and live.query == query and live.route == route:
                if message.arrived is not None:
                    live.confirm(message.arrived)
            elif live is None and self.live.count(client) >= self._limits.queries_per_client:
                most = self._limits.queries_per_client
                over = ChangeOutcome(
                    OperationStatus.QUOTA, f"{most} queries: expected no more of one client", OVER_QUERIES
                )
                self._answer(session, route, message.op, over)
                return
            else:
                since = self.live.latest if message.arrived is None else message.arrived
                live = self.live.add(query, client, route, since)
            self._catch_up(live)
            arrived = newest = live.began  # pages have what was there before, asked for again or not
        if not message.limit:
            if message.op:  # what has arrived so far does not count: the client has to know where it begins
                self._send(route, FoundObjects(message.op, query.id, (), arrived=arrived))
            return
        limit = min(message.limit, MOST_ON_A_PAGE)
        scan = PageScan(query, message.after, limit, message.since_us, self._decode, newest)

        def found(page: FoundPage) -> StorageMessage:
            items = tuple(map(self._decode, page.records))
            return FoundObjects(message.op, query.id, items, page.next, page.more, arrived=arrived)

        self._read(session, message.op, scan.advance, found)

    def _retrieve(self, session: Session, message: Retrieve) -> None:
        length = PART_BYTES if message.length is None else min(message.length, PART_BYTES)
        step = partial(read_bytes, key=message.key, offset=message.offset, length=length)

        def found(data: tuple[bytes | None]) -> StorageMessage:
            return Retrieved(message.op, message.key, data[0], message.offset)

        self._read(session, message.op, step, found)

    def _read(
        self, session: Session, op: int, step: Callable[..., Any], answer: Callable[[Any], StorageMessage]
    ) -> None:
        assert session.route is not None
        client, route = session.number, session.route
        if self._reads[client] >= MOST_READS:
            busy = ChangeOutcome(OperationStatus.QUOTA, f"{MOST_READS} answers wait: expected no more", BUSY)
            self._answer(session, route, op, busy)
            return
        self._reads[client] += 1

        def read(found: Any) -> None:
            _subtract(self._reads, client, 1)
            if isinstance(found, StoreFailed):
                self._answer(session, route, op, found)
            elif session.route == route:
                self._send(route, answer(found))

        self._reader.read(step, read)

    # -- answers ------------------------------------------------------------------------------------------

    def _answer(self, session: Session, route: bytes, op: int, outcome: ChangeOutcome | StoreFailed) -> None:
        """Acknowledge an operation if its client is still there; note the object that has arrived by it."""
        if isinstance(outcome, StoreFailed):
            outcome = ChangeOutcome(OperationStatus.QUOTA, str(outcome), NOT_STORED)
        if outcome.arrived is not None:
            self._arrived.append(outcome.arrived)
            self._counters["objects_inserted"] += 1
        self._counters["objects_deleted"] += outcome.removed
        if outcome.reason:
            self._counters[outcome.reason] += 1
        if op and session.route == route:
            self._send(route, Acknowledge(op, outcome.status, outcome.detail))

    def _committed(self) -> None:
        """Send the objects of a transaction to live queries, after their insertions were acknowledged."""
        arrived, self._arrived = self._arrived, []
        self.live.arrived(arrived)
        for live in self.live:
            self._catch_up(live)

    def _push(self, live: LiveQuery, matches: list[ArrivedObject]) -> None:
        if self._is_here(live.client, live.route):
            some: list[ArrivedObject] = []
            size = 0
            for each in matches:
                if some and (len(some) == MOST_ON_A_PAGE or size + len(each.record) > PAGE_BYTES):
                    self._tell(live, some)
                    some, size = [], 0
                some.append(each)
                size += len(each.record)
            if some:
                self._tell(live, some)

    def _tell(self, live: LiveQuery, some: list[ArrivedObject]) -> None:
        items = tuple(each.metadata for each in some)
        self._send(live.route, FoundObjects(0, live.query.id, items, arrived=some[-1].arrival))

    def _catch_up(self, live: LiveQuery) -> None:
        """Read as many objects for a query that is behind as its client has room for."""
        if not live.behind or live.reading or live.room <= 0:
            return
        live.reading = True
        since, room = live.told, live.room

        def step(query: Any) -> FoundArrivals:
            return arrivals_since(query, live.query, since, room, self._decode)

        def read(found: FoundArrivals | StoreFailed) -> None:
            if isinstance(found, StoreFailed):
                live.reading = False
            elif self.live.get(live.query.id) is live:
                self.live.found(live, found)
                self._catch_up(live)

        self._reader.read(step, read)

    # -- again and again ----------------------------------------------------------------------------------

    def _is_here(self, client: int, route: bytes) -> bool:
        session = self._sessions.by_number.get(client)
        return session is not None and session.route == route

    def _look_after(self) -> None:
        self._loop.after(LOOK_AFTER_S, self._look_after)
        for live in [*self.live]:
            if not self._is_here(live.client, live.route):
                self.live.remove(live.query.id)
            else:
                self._catch_up(live)  # after the store has failed
        self._transfers.look_after()
        now, age = self._loop.now(), self._limits.age
        before = 0.0 if age is None else now - age
        self.writer.submit(SweepObjects(before, now - self._limits.upload_age), self._swept)

    def _swept(self, outcome: ChangeOutcome | StoreFailed) -> None:
        if isinstance(outcome, ChangeOutcome):
            self._counters["objects_expired"] += outcome.removed


def _subtract(counter: Counter[int], key: int, number: int) -> None:
    """Subtract from a count, and remove it at zero."""
    counter[key] -= number
    if counter[key] <= 0:
        del counter[key]
