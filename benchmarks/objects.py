"""How many objects a live broker stores in a second, and how soon it finds those of the past.

Beside it is PostgreSQL with the same objects: a GIN index on their tags, and NOTIFY for who listens. Tags are
Zipf's, published over a day. The first page of the past is asked for by formulas with many, few and no hits.
"""

from __future__ import annotations

import argparse
import random
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from itertools import accumulate
from pathlib import Path
from typing import Any, Literal, NamedTuple

import common
import ingest_postgres
import objects_postgres
import servers
import zmq

from bypass.live.broker.config import ObjectLimits
from bypass.live.broker.objects.changes import PutObject
from bypass.live.broker.objects.object_database import object_path
from bypass.live.broker.objects.object_store import ObjectStore
from bypass.objects.metadata import Metadata, ObjectKey, content_hash
from bypass.objects.query import ObjectQuery
from bypass.objects.tags import TagFormula
from bypass.protocol.messages import Message
from bypass.protocol.session import CAPABILITIES, Hello, Welcome
from bypass.protocol.storage import Acknowledge, Ask, FoundObjects, Insert
from bypass.protocol.wire import decode, encode, pack, unpack
from bypass.protocol.wire.object_fields import metadata_from_bytes, metadata_to_bytes

GOAL_RATE, GOAL_PAGE_MS = 5000, 20.0
TAGS = 20_000
DATA = bytes(200)
DAY_US = 86_400_000_000
WINDOW = 400
"""Insertions of one client that are not acknowledged at a time."""

TOGETHER = 100
PAGE = 20
PATIENCE_S = 60.0

Page = tuple[list[float], float]
"""Milliseconds that first pages took, and how many objects were on one, in the middle."""


class Described(NamedTuple):
    """An object: a name, tags, and when it was published."""

    name: str
    tags: frozenset[str]
    published_us: int


def described(count: int, seed: int, end_us: int) -> Iterator[Described]:
    """Objects published over a day, each with one to six tags out of Zipf's distribution."""
    rng = random.Random(seed)
    words = [f"tag{number}" for number in range(TAGS)]
    weights = [*accumulate(1 / (number + 1) for number in range(TAGS))]
    for number in range(count):
        tags = frozenset(rng.choices(words, cum_weights=weights, k=rng.randint(1, 6)))
        yield Described(f"{seed}-{number}", tags, end_us - DAY_US + number * DAY_US // count)


def metadata_of(owner: int, each: Described) -> Metadata:
    """The metadata of one of them."""
    key = ObjectKey(owner, each.name)
    digest = content_hash(DATA)
    return Metadata(key, each.tags, each.published_us, len(DATA), digest, content_hash(b"secret"))


def formulas(rng: random.Random, count: int) -> dict[str, list[tuple[list[str], list[str]]]]:
    """Conjunctions (tags that must be there, tags that must not) that have many, few and no hits."""

    def tag(low: int, high: int) -> str:
        return f"tag{rng.randrange(low, high)}"

    return {
        "many": [([tag(0, 5), tag(5, 30)], [tag(30, 60)]) for _ in range(count)],
        "few": [([tag(200, 2000), tag(20, 200)], [tag(0, 5)]) for _ in range(count)],
        "none": [([tag(2000, TAGS), tag(2000, TAGS), tag(0, 50)], []) for _ in range(count)],
    }


class Client:
    """A client that says what it is told to, message by message."""

    def __init__(self, endpoint: str, name: str) -> None:
        self.socket: Any = zmq.Context.instance().socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.connect(endpoint)
        self.socket.send(encode(Hello(name, 1, (), True, CAPABILITIES)))
        (welcome,) = (each for each in self.receive() if isinstance(each, Welcome))
        self.number = welcome.client

    def receive(self) -> list[Message]:
        """Give the messages of the next packet."""
        if not self.socket.poll(int(PATIENCE_S * 1000)):
            raise TimeoutError("the broker does not answer")
        return [decode(data) for data in unpack(self.socket.recv())]

    def close(self) -> None:
        self.socket.close()


def inserted(endpoint: str, count: int, clients: int) -> float:
    """Insertions a second, acknowledged, of some clients together; messages are made before."""
    crowd = [Client(endpoint, f"publisher {number}") for number in range(clients)]
    now_us = round(time.time() * 1e6)
    packets: list[list[bytes]] = []
    for index, client in enumerate(crowd):
        messages = [
            encode(Insert((client.number << 32) + op, metadata_of(client.number, each), DATA))
            for op, each in enumerate(described(count // clients, index, now_us), 1)
        ]
        packets.append([pack(messages[at : at + TOGETHER]) for at in range(0, len(messages), TOGETHER)])
    poller = zmq.Poller()
    for client in crowd:
        poller.register(client.socket, zmq.POLLIN)
    sent, answered = [0] * clients, [0] * clients
    most = count // clients
    began = time.monotonic()
    while any(number < most for number in answered):
        for index, client in enumerate(crowd):
            while packets[index] and sent[index] - answered[index] <= WINDOW - TOGETHER:
                client.socket.send(packets[index].pop(0))
                sent[index] += TOGETHER
        if not (ready := dict(poller.poll(int(PATIENCE_S * 1000)))):
            raise TimeoutError("insertions are not acknowledged")
        for index, client in enumerate(crowd):
            if client.socket in ready:
                for message in client.receive():
                    if isinstance(message, Acknowledge):
                        assert not message.status, message.detail
                        answered[index] += 1
    seconds = time.monotonic() - began
    for client in crowd:
        client.close()
    return sum(answered) / seconds


def notified(endpoint: str, count: int) -> list[float]:
    """Milliseconds from an insertion to the notification of who asks for it."""
    publisher, subscriber = Client(endpoint, "publisher"), Client(endpoint, "subscriber")
    query = ObjectQuery((subscriber.number << 32) + 1, subscriber.number, TagFormula.parse("news"))
    subscriber.socket.send(encode(Ask((subscriber.number << 32) + 1, query, limit=0)))
    subscriber.receive()
    taken = []
    for number in range(count):
        each = Described(f"news {number}", frozenset(("news",)), round(time.time() * 1e6))
        message = encode(
            Insert((publisher.number << 32) + number + 1, metadata_of(publisher.number, each), DATA)
        )
        began = time.perf_counter()
        publisher.socket.send(message)
        (found,) = subscriber.receive()
        taken.append(1e3 * (time.perf_counter() - began))
        assert isinstance(found, FoundObjects)
        subscriber.socket.send(encode(Ask(0, query, limit=0, arrived=found.arrived)))
        publisher.receive()
    publisher.close()
    subscriber.close()
    return taken


def load(folder: Path, count: int, sync: Literal["normal", "full"]) -> None:
    """Put objects of a day into the file of a broker that does not run."""
    unlimited = {
        "objects_per_key": 10 * count,
        "bytes_per_key": 1 << 40,
        "objects": 10 * count,
        "bytes": 1 << 40,
    }
    store = ObjectStore(
        object_path(folder / "bypass.db"), sync, ObjectLimits(**unlimited), metadata_from_bytes
    )
    changes: list[PutObject] = []
    with closing(store):
        for number, each in enumerate(described(count, 1, round(time.time() * 1e6))):
            metadata = metadata_of(1 + number % 2000, each)
            changes.append(PutObject("loaded", metadata, metadata_to_bytes(metadata), DATA))
            if len(changes) == 5000:
                store.apply(changes)
                changes.clear()
        store.apply(changes)


def pages(endpoint: str, asked: Sequence[tuple[list[str], list[str]]]) -> Page:
    """Milliseconds until the first page is there, and how many objects are on it, in the middle."""
    client = Client(endpoint, "subscriber")
    taken, hits = [], []
    for number, (present, absent) in enumerate(asked, 1):
        formula = TagFormula.parse(" & ".join([*present, *(f"~{tag}" for tag in absent)]))
        query = ObjectQuery((client.number << 32) + number, client.number, formula)
        message = encode(Ask((client.number << 32) + number, query, limit=PAGE, live=False))
        began = time.perf_counter()
        client.socket.send(message)
        (found,) = client.receive()
        taken.append(1e3 * (time.perf_counter() - began))
        assert isinstance(found, FoundObjects)
        hits.append(len(found.items))
    client.close()
    return taken, statistics.median(hits)


def quantiles(taken: Sequence[float]) -> tuple[float, float]:
    """The median, and the 99th percentile."""
    ordered = sorted(taken)
    return statistics.median(ordered), ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]


def main() -> None:
    options = _arguments()
    rng = random.Random(options.seed)
    asked = formulas(rng, options.queries)
    unlimited = {"client_rate": 0, "client_byte_rate": 0}
    rows: list[list[str | float]] = []
    result: dict[str, Any] = {"objects": options.objects, "inserts": options.inserts, "systems": {}}

    def note(system: str, rate: float, told: list[float], found: dict[str, Page]) -> None:
        figures: dict[str, Any] = {"inserts_per_s": rate, "notified_ms": quantiles(told)}
        for kind, (taken, hits) in found.items():
            figures[kind] = {"page_ms": quantiles(taken), "hits": hits}
        result["systems"][system] = figures
        firsts: list[str | float] = [each for taken, _ in found.values() for each in quantiles(taken)]
        rows.append([system, rate, *quantiles(told), *firsts])

    core = servers.cores().server
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)  # PostgreSQL does not run as root
        for sync in options.sync:
            place = Path(folder, sync)
            place.mkdir()
            load(place, options.objects, sync)
            config = {"open": True, "sync": sync, "limits": unlimited}
            with servers.bypass_broker(place, core, **config) as server:
                endpoint = server.endpoint
                warm = formulas(rng, 20)["many"]
                pages(endpoint, warm)
                found = {kind: pages(endpoint, wanted) for kind, wanted in asked.items()}
                told = notified(endpoint, options.notified)
                rate = inserted(endpoint, options.inserts, options.clients)
            _check(place, options.objects + options.notified + options.inserts)
            note(f"bypass, sync {sync}", rate, told, found)
        if ingest_postgres.available() and not options.alone:
            for sync in options.sync:
                note(f"PostgreSQL, sync {sync}", *_postgres(Path(folder, f"pg-{sync}"), sync, options, asked))
    header = ["", "inserts/s", "told p50", "p99", *("many p50", "p99", "few p50", "p99", "none p50", "p99")]
    common.print_table(f"{options.objects:,} objects of a day; times in ms, of the first page", header, rows)
    result["goals"] = {"inserts_per_s": GOAL_RATE, "page_p99_ms": GOAL_PAGE_MS}
    common.write("objects", options.out, result)


def _check(folder: Path, expected: int) -> None:
    """Raise AssertionError unless all that was acknowledged is stored."""
    with closing(sqlite3.connect(object_path(folder / "bypass.db"))) as connection:
        (stored,) = connection.execute("SELECT count(*) FROM objects").fetchone()
        assert stored == expected, f"{stored} objects: expected {expected}"


def _postgres(
    folder: Path,
    sync: str,
    options: argparse.Namespace,
    asked: dict[str, list[tuple[list[str], list[str]]]],
) -> tuple[float, list[float], dict[str, Page]]:
    def rows(count: int, seed: int) -> Iterator[tuple[Any, ...]]:
        for number, each in enumerate(described(count, seed, round(time.time() * 1e6))):
            metadata = metadata_of(1 + number % 2000, each)
            yield *metadata.key, each.published_us, [*each.tags], metadata_to_bytes(metadata), DATA

    with ingest_postgres.database(folder) as (where, _):
        peer = objects_postgres.Peer(where, sync)
        peer.load(rows(options.objects, 1))
        found = {kind: peer.pages(wanted, PAGE) for kind, wanted in asked.items()}
        told = peer.notified(options.notified)
        each = options.inserts // options.clients
        own = [[*rows(each, 100 + number)] for number in range(options.clients)]
        rate = peer.inserted(options.clients, own)
        peer.close()
    return rate, told, found


def _arguments() -> argparse.Namespace:
    parser = common.arguments(__doc__ or "", repetitions=None)
    common.integer(parser, "--objects", 1_000_000, "that are stored before")
    common.integer(parser, "--inserts", 50_000, "that are timed")
    common.integer(parser, "--clients", 4, "that insert")
    common.integer(parser, "--queries", 300, "of each kind")
    common.integer(parser, "--notified", 300, "insertions that somebody waits for")
    common.integer(parser, "--seed", 7, "of the queries")
    parser.add_argument("--sync", nargs="+", choices=("normal", "full"), default=["normal", "full"])
    parser.add_argument("--alone", action="store_true", help="without PostgreSQL")
    return parser.parse_args()


if __name__ == "__main__":
    main()
