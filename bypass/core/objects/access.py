"""A client's access to objects: what its application stores, asks for, fetches and deletes.

Everything is asynchronous: a call gives the number of an operation or a handle at once, and plain functions
are called later, in virtual or in real time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from bypass.core.object_times import ObjectTimes as ObjectTimes
from bypass.core.objects.deletions import Deletions
from bypass.core.objects.kept_objects import KeptObjects as KeptObjects
from bypass.core.objects.operations import FOREVER, Ended, OperationResult, Operations
from bypass.core.objects.own_queries import MatchCallback, OwnQuery, QueryTable
from bypass.core.objects.retrievals import Retrievals, transfer_s
from bypass.errors import InvalidCallback, InvalidObject, InvalidQuery, NotOwner, OperationFailed, shown
from bypass.events.event import Event
from bypass.events.filters import Filter, Subscription
from bypass.objects.metadata import Metadata, ObjectKey, StoredObject, Tombstone, check_given, content_hash
from bypass.objects.query import MOST_ON_A_PAGE, USUAL_PAGE, ObjectQuery, PageCursor, check_page
from bypass.objects.tags import TagFormula
from bypass.objects.window import TimeWindow, parse_time
from bypass.ports.host import Host
from bypass.ports.storage import Storage
from bypass.protocol.storage import FoundObjects, NodeCounts, OperationStatus
from bypass.support.callbacks import is_plain_function
from bypass.support.units import MICROSECONDS

K = TypeVar("K")
V = TypeVar("V")

MOST_REMEMBERED = 1024
"""Withdrawn queries that are remembered."""

OBJECT_REFUSED = frozenset((OperationStatus.REFUSED, OperationStatus.QUOTA, OperationStatus.TOO_LARGE))
"""The ends of an insertion that leave nothing behind."""


def microseconds(host: Host) -> int:
    """The time of a host in microseconds."""
    return round(host.now() * MICROSECONDS)


def ignore(result: OperationResult) -> None:
    """Do nothing: the default of who does not want to know how an operation ends."""


class ObjectAccess:
    """The objects and queries of one client. `storage` is the proxy behind which a mechanism does the work.

    `running` says whether there is one: without, every operation raises OperationFailed at once. `area` gives
    the edge in whose area the client is, from which all comes for good that it inserts there; `world` gives
    the namespace of what names none. What an earlier client of the node has `kept` is taken over; `queries`
    has its queries already.
    """

    def __init__(
        self,
        host: Host,
        storage: Storage,
        running: Callable[[], bool],
        queries: QueryTable,
        kept: KeptObjects,
        times: ObjectTimes,
        area: Callable[[], int | None] = lambda: None,
        world: Callable[[], str] = lambda: "",
    ) -> None:
        self.store = kept.store
        self.queries = queries
        self.operations = Operations(host, times.timeout_s, times.retries, kept.operations)
        self.counts = NodeCounts()
        self.unwanted = 0  # objects for queries that are not, or no longer, asked
        self._host = host
        self._storage = storage
        self._running = running
        self._area = area
        self._world = world
        # Another store of the same client, whose clock may show the same time again, begins elsewhere.
        self._names = host.random("object-names").getrandbits(32)
        self._withdrawn: dict[int, ObjectQuery] = {}
        self._deletions = Deletions(kept.store, self.operations, storage, kept.undeleted)
        self._retrievals = Retrievals(host, kept.store, self.operations, storage)

    def now_us(self) -> int:
        """The time in microseconds, by which objects are published."""
        return microseconds(self._host)

    @property
    def node(self) -> int:
        """The number of this client, which owns what it inserts."""
        return self._host.id

    def new_name(self) -> str:
        """A name that no object of this client has, or had, though its store was lost since."""
        self._names += 1
        return f"{self.now_us():x}-{self._names:x}"

    def kept(self) -> KeptObjects:
        """Give all that the node's next client goes on with."""
        return KeptObjects(
            self.store,
            list(self.queries),
            self.operations.begun,
            self.queries.placed,
            self.now_us(),
            dict(self._deletions.undeleted),
        )

    # -- the application's interface ----------------------------------------------------------------------

    def insert(
        self,
        data: bytes,
        tags: Iterable[str],
        *,
        name: str = "",
        summary: bytes = b"",
        place: tuple[float, float] | None = None,
        attributes: Event | None = None,
        namespace: str | None = None,
        active: bool | None = None,
        secret: bytes | None = None,
        ended: Ended = ignore,
    ) -> Metadata:
        """Store an object and publish it, in one. Gives its metadata; `ended` is told how it ends.

        Without a `name` it gets one that is new. `active` says whether others keep copies of its bytes; None:
        as the storage mechanism is set. `secret` is what deletes it; None: a random one. Raises
        InvalidObject, QuotaExceeded and OperationFailed, and then nothing was stored.
        """
        self._check(ended)
        check_given(data, tags)
        if active is not None and not isinstance(active, bool):
            raise InvalidObject(f"active {shown(active)}: expected True, False or None")
        now_us = self.now_us()
        key = ObjectKey(self.node, name or self.new_name())
        if secret is None:  # no stream of random numbers shows through
            secret = content_hash(self._host.random("object-secrets").randbytes(32))
        metadata = Metadata(
            key, frozenset(tags), now_us, len(data), content_hash(data), content_hash(secret),
            summary, place, attributes, (), self._world() if namespace is None else namespace, self._area(),
        )  # fmt: skip
        stored = StoredObject(metadata, data)
        self.store.publish(stored, secret)
        self.counts.inserted(len(metadata.tags))

        def insertion_ended(result: OperationResult) -> None:
            try:
                if result.status in OBJECT_REFUSED:
                    self.store.bury(Tombstone(key, secret))
            finally:  # whoever waits is told, though the file may be full
                ended(result)

        self.operations.begin(
            lambda op: self._insert_unless_deleted(op, stored, active),
            insertion_ended,
            extra_s=transfer_s(metadata),
        )
        return metadata

    def delete(self, key: ObjectKey, ended: Ended = ignore) -> int:
        """Delete an object of this client, for everybody and for windows in the past, too.

        One whose deletion ended without an answer can be deleted again. Raises NotOwner, UnknownObject,
        QuotaExceeded and OperationFailed.
        """
        self._check(ended)
        if key.owner != self._host.id:
            raise NotOwner(f"object {key}: expected one of client {self._host.id}")
        number = self._deletions.begin(key, ended)
        self.counts.deletes += 1
        return number

    def query(
        self,
        formula: TagFormula | str,
        callback: MatchCallback,
        *,
        since: str | float | None = None,
        until: str | float | None = None,
        near: tuple[float, float, float] | None = None,
        where: Subscription | Filter | None = None,
        namespace: str | None = None,
        limit: int = USUAL_PAGE,
        ended: Ended = ignore,
    ) -> OwnQuery:
        """Ask for objects by their tags: a page of those of the past, then all that come.

        `callback(metadata, query)` is called for each, once; `since` and `until` are as in `parse_time`, None
        an open end. `near` is a circle (x, y, radius), `where` filters attributes. `ended` is told when the
        first page is complete. Raises InvalidFormula, InvalidWindow, InvalidQuery, InvalidCallback,
        QuotaExceeded and OperationFailed.
        """
        self._check(ended)
        if not is_plain_function(callback):
            raise InvalidCallback(f"callback {shown(callback)}: expected a plain function")
        check_page(limit, 0)
        now_us = self.now_us()
        number = self._host.id << 32 | self.queries.placed + 1
        query = ObjectQuery(
            number,
            self._host.id,
            formula if isinstance(formula, TagFormula) else TagFormula.parse(formula),
            TimeWindow(parse_time(since, now_us), parse_time(until, now_us)),
            near,
            None if where is None else Subscription.of(where),
            self._world() if namespace is None else namespace,
        )
        own = OwnQuery(query, callback, now_us)
        live = not query.window.ended(now_us)

        def query_ended(result: OperationResult) -> None:
            if live and (result.status == OperationStatus.TIMEOUT or own.is_crowded):
                self.recover(own, own.placed_us)  # the application is told, and the query goes on being tried
            elif not result.ok and result.status != OperationStatus.TIMEOUT:
                self.queries.remove(number)
            ended(result)

        self.queries.placed += 1
        self.queries.add(own)
        try:
            self._ask_page(own, limit if own.more_past else 0, live, query_ended)
        except BaseException:
            self.queries.remove(number)
            raise
        self.counts.subscribed(len(query.formula.conjunctions()))
        return own

    def more(self, own: OwnQuery, limit: int = USUAL_PAGE, ended: Ended = ignore) -> int:
        """Ask for the next page of the past. `own.more_past` says afterwards whether there may be more.

        Raises InvalidQuery for a query that is withdrawn, or a page of another size than 1 to
        MOST_ON_A_PAGE, QuotaExceeded and OperationFailed.
        """
        self._check(ended)
        check_page(limit, 1)
        self._check_known(own)
        self.counts.pages += 1
        return self._ask_page(own, limit, False, ended)

    def withdraw(self, own: OwnQuery, ended: Ended = ignore) -> int:
        """Withdraw a query: its callback is not called any more. Raises as `more` does."""
        self._check(ended)
        self._check_known(own)
        self.queries.remove(own.query.id)
        _remember(self._withdrawn, own.query.id, own.query)
        self.counts.withdrawals += 1
        return self.operations.begin(lambda op: self._storage.withdraw(op, own.query), ended)

    def retrieve(self, metadata: Metadata, ended: Ended) -> int:
        """Fetch the bytes of an object that a query has told of: `ended` gets them as `data`.

        They are those that the owner has published, or the operation fails. What is stored at this node is
        taken from there. Raises QuotaExceeded and OperationFailed.
        """
        self._check(ended)
        here = self.store.get(metadata.key)
        if here is not None and metadata.describes(here.data):
            return self.operations.begin(lambda op: self.done(op, OperationStatus.OK, data=here.data), ended)

        self.counts.retrieves += 1
        return self._retrievals.begin(metadata, ended)

    # -- what mechanisms say ------------------------------------------------------------------------------

    def done(self, op: int, status: OperationStatus, detail: str = "", data: bytes | None = None) -> None:
        """An operation has ended, unless the answer is none to a retrieval."""
        if self._retrievals.admit(op, status, data):
            self.operations.done(op, status, detail, data)

    def matched(self, found: FoundObjects) -> None:
        """Objects were found for a query; whoever goes on finding some for a withdrawn one is told again."""
        own = self.queries.get(found.query)
        if own is not None:
            own.matched(found)
            return
        self.unwanted += 1
        query = self._withdrawn.pop(found.query, None)
        if query is not None and self._running():

            def withdrawn(_: OperationResult) -> None:
                _remember(self._withdrawn, query.id, query)

            self.operations.begin(lambda op: self._storage.withdraw(op, query), withdrawn)

    # -- after a switch, or a time away -------------------------------------------------------------------

    def rebuilding(self) -> None:
        """Note that holders and subscribers begin to fill indexes anew, which may lack objects until then."""
        self._retrievals.rebuilt_s = self._host.now()

    def recover(self, own: OwnQuery, since_us: int, after: PageCursor | None = None) -> None:
        """Register a query again and ask for all that was published since, page by page; until it is done."""

        def attempt(op: int) -> None:
            if own.withdrawn:
                self.operations.done(op, OperationStatus.OK)
                return
            own.open_page(op, None)
            live = after is None and not own.query.window.ended(self.now_us())
            self._storage.ask(op, own.query, after, MOST_ON_A_PAGE, since_us, live)

        def recovered(result: OperationResult) -> None:
            further = own.close_page(result.op, result.ok)
            if result.ok and further is not None and not own.withdrawn and further != after:
                self.recover(own, since_us, further)

        self.operations.begin(attempt, recovered, retries=FOREVER)

    def announce(self, stored: StoredObject, ended: Ended = ignore) -> int:
        """Have the mechanism that runs now know of an object that is here; until it is done."""
        return self.operations.begin(
            lambda op: self._insert_unless_deleted(op, stored, None),
            ended,
            extra_s=transfer_s(stored.metadata),
            retries=FOREVER,
        )

    def delete_again(self) -> None:
        """Try the deletions that ended without an answer once more."""
        for key in self._deletions.waiting():
            self.delete(key)

    # -- parts --------------------------------------------------------------------------------------------

    def _insert_unless_deleted(self, op: int, stored: StoredObject, active: bool | None) -> None:
        """Have an object inserted; if it was deleted meanwhile, an attempt must not come after that."""
        if stored.key in self.store:
            self._storage.insert(op, stored, active)
        else:
            self.operations.done(op, OperationStatus.REFUSED, f"object {stored.key} was deleted")

    def _ask_page(self, own: OwnQuery, limit: int, live: bool, ended: Ended) -> int:
        def attempt(op: int) -> None:
            own.open_page(op, limit)
            self._storage.ask(op, own.query, own.cursor, limit, None, live)

        def page_ended(result: OperationResult) -> None:
            own.close_page(result.op, result.ok)
            ended(result)

        return self.operations.begin(attempt, page_ended)

    def _check(self, ended: Ended) -> None:
        """Raise InvalidCallback or OperationFailed if an operation cannot be begun."""
        if not is_plain_function(ended):
            raise InvalidCallback(f"ended {shown(ended)}: expected a plain function")
        if not self._running():
            raise OperationFailed(
                f"client {self._host.id} has no storage mechanism: expected one behind its proxy 'storage'"
            )

    def _check_known(self, own: OwnQuery) -> None:
        if self.queries.get(own.query.id) is not own:
            raise InvalidQuery(f"query {own.query.id}: expected one that is not withdrawn")


def _remember(known: dict[K, V], key: K, value: V) -> None:
    """Keep the latest MOST_REMEMBERED."""
    known[key] = value
    if len(known) > MOST_REMEMBERED:
        del known[next(iter(known))]
