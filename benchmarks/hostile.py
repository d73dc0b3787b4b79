"""Sends damaged packets to a live broker beside honest clients: each is counted, and nobody else is
disturbed."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import zmq
from common import arguments, integer, print_table, write
from fuzz import DAMAGES, corpus
from servers import await_service

from bypass import Event, Subscription, attr
from bypass.live.operator import Operator
from bypass.protocol.messages import (
    ContextUpdate,
    Kind,
    Message,
    Notify,
    OutcomeMessage,
    Publish,
    Subscribe,
    Unsubscribe,
)
from bypass.protocol.session import Ack, Bye, Control, Hello, Ping, Welcome
from bypass.protocol.wire import MalformedMessage, decode, encode, pack, unpack
from bypass.transitions import Outcome

BATCH = 500  # damaged packets on one connection, before it is somebody else's turn
HONEST = 5  # events that an honest client publishes meanwhile
WHOLE = 0.05  # share of packets that are not damaged
PARTS = 0.01  # share of packets that come in several parts
FLOODS = 0.0005  # share of packets with more messages than a client may send at once
FLOOD = pack([encode(Ping())] * 1000)
BATCHES = 4  # then a lane connects anew: it may have taken leave by chance
LIMIT_MIB = 64.0  # more memory than at the beginning, at most
PATIENCE = 60.0
OUTCOMES = (
    "understood",
    "malformed",
    "refused",
    "oversized",
    "limited",
    "limited_bytes",
    "unread",
    "overflowed",
    "strangers",
    "hello_repeated",
    "unauthorised",
    "over_sessions",
)
ERROR = "the loop goes on after an error"
HERE = (10.0, 10.0)
PAGE, TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")


class Lane:
    """A connection that counts what is sent on it: packets, and messages as a broker finds them."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], endpoint: str, name: str | None) -> None:
        self.packets = 0
        self.messages = 0
        self.number = 0
        self.name = name
        self._context = context
        self._endpoint = endpoint
        self._arrived: deque[Message] = deque()
        self.connect()

    def connect(self) -> None:
        self._socket = self._context.socket(zmq.DEALER)
        self._socket.linger = int(1000 * PATIENCE)
        self._socket.connect(self._endpoint)
        if self.name is not None:
            self.say(Hello(self.name, 1))
            self.number = self.wait_for(Welcome).client

    def say(self, message: Message) -> None:
        message.client = self.number
        message.scheme = 1
        self.send(encode(message))

    def send(self, packet: bytes, parts: int = 1) -> None:
        self.packets += 1
        try:
            self.messages += len(unpack(packet)) if parts == 1 else 1
        except MalformedMessage:
            self.messages += 1
        self._socket.send_multipart([packet] * parts)

    def read(self, wait_ms: int = 0) -> None:
        """Take whatever has arrived."""
        while self._socket.poll(wait_ms):
            self._arrived.extend(map(decode, unpack(self._socket.recv())))
            wait_ms = 0

    def take(self) -> Iterator[Message]:
        while self._arrived:
            yield self._arrived.popleft()

    def wait_for(self, kind: type[Any]) -> Any:
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            self.read(100)
            for message in self.take():
                if isinstance(message, kind):
                    return message
        raise RuntimeError(f"no {kind.__name__} for {self.name} in {PATIENCE:g} s")

    def close(self) -> None:
        self._socket.close()


class Honest:
    """One client that publishes and one that is told, beside all others."""

    def __init__(self, context: zmq.Context[zmq.Socket[bytes]], endpoint: str) -> None:
        self.publisher = Lane(context, endpoint, "honest publisher")
        self.subscriber = Lane(context, endpoint, "honest subscriber")
        self.subscriber.say(Subscribe(1, Subscription.of(attr("honest") == 1), 100, ContextUpdate(HERE)))
        self.subscriber.wait_for(Ack)
        self.published = 0
        self.acknowledged: set[int] = set()
        self.heard: list[int] = []
        self.slowest = 0.0
        self._sent_at: dict[int, float] = {}

    def publish(self) -> None:
        self.published += 1
        number = self.publisher.number << 32 | self.published
        self._sent_at[number] = time.monotonic()
        self.publisher.say(Publish(number, Event(honest=1), Kind.PLACED, 0, HERE))

    def listen(self, wait_ms: int = 0) -> None:
        self.publisher.read()
        for message in self.publisher.take():
            if isinstance(message, Ack):
                self.acknowledged.update(message.ids)
            self._stay(self.publisher, message)
        self.subscriber.read(wait_ms)
        for message in self.subscriber.take():
            if isinstance(message, Notify):
                number = message.publication.id
                self.heard.append(number)
                self.subscriber.say(Ack((number,)))
                self.slowest = max(self.slowest, time.monotonic() - self._sent_at[number])
            self._stay(self.subscriber, message)

    def _stay(self, lane: Lane, message: Message) -> None:
        if isinstance(message, Ping) and message.asks:
            lane.say(Ping())

    @property
    def complete(self) -> bool:
        return sorted(self.heard) == sorted(self._sent_at) == sorted(self.acknowledged)


class Hostile:
    """A lane on which nearly everything is damaged; `reads`: whether it takes what it is answered."""

    def __init__(self, kind: str, lane: Lane, seed: int, reads: bool = True) -> None:
        self.kind = kind
        self.lane = lane
        self._rng = random.Random(seed)
        self._reads = reads
        self._damages = list(DAMAGES.values())
        self._batches = 0
        self._frames = corpus() + [encode(message) for message in _likely(lane.number)]

    def batch(self, size: int) -> None:
        lane, rng = self.lane, self._rng
        self._batches += 1
        if self._batches % BATCHES == 0:
            lane.close()
            lane.connect()
        for _ in range(size):
            if rng.random() < FLOODS:
                packet = FLOOD
            elif rng.random() < WHOLE:
                packet = rng.choice(self._frames)
            else:
                packet = rng.choice(self._damages)(rng, self._frames)
            lane.send(packet, rng.randint(2, 4) if rng.random() < PARTS else 1)
        if self._reads:
            lane.read()
            for _ in lane.take():
                pass


def _likely(number: int) -> list[Message]:
    """Messages that a client with this number could send."""
    wanted = Subscription.of(attr("level") >= 3)
    ok = Outcome(plan="join-1", host=str(number), ok=True).to_bytes()
    return [
        *(
            Publish(number << 32 | n, Event(level=n, text="x" * n), Kind.PLACED, n, HERE)
            for n in range(1, 60)
        ),
        *(Subscribe(handle, wanted, 100 * handle, ContextUpdate(HERE)) for handle in range(1, 8)),
        *(Unsubscribe(handle) for handle in range(1, 4)),
        ContextUpdate((500.0, 20.0), (1.0, 1.0)),
        Ack((number << 32 | 5,)),
        OutcomeMessage(ok),
        Hello("somebody", 5, (1, 2)),
        Hello("somebody else", 6, durable=False),
        Ping(asks=True),
        Control(1, "log", b'{"limit": 3}'),
        Bye(),
    ]


class Broker:
    """The broker's process."""

    def __init__(self, folder: Path) -> None:
        self.endpoint = f"ipc://{folder}/broker.sock"
        self.log = folder / "log"
        file = folder / "broker.yaml"
        settings = {
            "listen": [self.endpoint],
            "open": True,
            "store": "bypass.db",
            "sync": "normal",
            "heartbeat": 600,  # nobody is to be lost because the machine is slow
            # Far too much is not read, and its connection is ended: nobody could say how much it was.
            "limits": {"client_rate": 3000, "clients": 500, "pending_events": 1000, "message_bytes": 8192},
            "log": {"level": "warning"},
        }
        file.write_text(json.dumps(settings), encoding="utf-8")  # which YAML is
        command = [
            sys.executable,
            "-c",
            "from bypass.cli import main; main()",
            "broker",
            "--config",
            str(file),
        ]
        root = str(Path(__file__).resolve().parent.parent)
        with self.log.open("w") as log:
            self.process = subprocess.Popen(
                command, stdout=log, stderr=log, cwd=folder, env=os.environ | {"PYTHONPATH": root}
            )
        self.asked = 0

    def counters(self) -> Counter[str]:
        """As `bypass status` tells. Says three messages: a greeting, the question, farewell."""
        self.asked += 1
        with Operator(self.endpoint, None, patience=PATIENCE) as operator:
            return Counter(operator.ask("status")["counters"])

    def mib(self) -> float:
        """Memory that it has now."""
        fields = Path(f"/proc/{self.process.pid}/statm").read_text(encoding="utf-8").split()
        return int(fields[1]) * PAGE / (1 << 20)

    def cpu(self) -> float:
        """Seconds of processor time so far, of all its threads."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def errors(self) -> list[str]:
        """The last lines of the errors in the broker's log."""
        said = self.log.read_text(encoding="utf-8", errors="replace")
        return [each.strip().splitlines()[-1] for each in said.split(ERROR)[1:]]

    def end(self) -> int:
        self.process.terminate()
        try:
            return self.process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            return self.process.wait()


@contextmanager
def broker() -> Iterator[Broker]:
    with tempfile.TemporaryDirectory() as folder:
        started = Broker(Path(folder))
        try:
            await_service(started.process, started.log)
            yield started
        finally:
            if started.process.poll() is None:
                started.end()


def attack(started: Broker, frames: int, seed: int) -> dict[str, Any]:
    """So many packets beside honest clients; what was sent, what was counted, and what it cost."""
    context: zmq.Context[zmq.Socket[bytes]] = zmq.Context()
    before = started.counters()
    honest = Honest(context, started.endpoint)

    def lane(name: str | None) -> Lane:
        return Lane(context, started.endpoint, name)

    hostile = [
        *(Hostile("greeted", lane(f"hostile {n}"), seed + n) for n in range(3)),
        Hostile("never reads", lane("mute"), seed + 3, reads=False),
        *(Hostile("before the greeting", lane(None), seed + 4 + n) for n in range(2)),
    ]
    first, most = started.mib(), 0.0
    began, sent = started.cpu(), 0
    while sent < frames:
        for each in hostile:
            size = min(BATCH, frames - sent)
            sent += size
            each.batch(size)
            for _ in range(HONEST):
                honest.publish()
            honest.listen()
            most = max(most, started.mib())
    _until(lambda: honest.complete, lambda: honest.listen(100))
    lanes = [*(each.lane for each in hostile), honest.publisher, honest.subscriber]
    expected = sum(each.messages for each in lanes)
    after: Counter[str] = Counter()

    def ask() -> None:
        nonlocal after
        after = started.counters() - before
        # Of those who have asked before, the question and the farewell; of this one, the greeting.
        after["understood"] -= 3 * (started.asked - 1)

    ask()
    _until(lambda: _counted(after) >= expected, ask)
    for lane_used in lanes:
        lane_used.close()
    context.destroy(0)
    kinds: dict[str, Counter[str]] = {}
    for each in hostile:
        kinds.setdefault(each.kind, Counter()).update(packets=each.lane.packets, messages=each.lane.messages)
    return {
        "sent": {kind: dict(count) for kind, count in kinds.items()},
        "messages": expected,
        "counted": {outcome: after[outcome] for outcome in OUTCOMES},
        "per_second": frames / (started.cpu() - began),
        "honest": {
            "published": honest.published,
            "acknowledged": len(honest.acknowledged),
            "heard": len(honest.heard),
            "slowest_s": honest.slowest,
            "complete": honest.complete,
        },
        "memory": {"first_mib": first, "growth_mib": most - first, "limit_mib": LIMIT_MIB},
    }


def _counted(counters: Counter[str]) -> int:
    return sum(counters[outcome] for outcome in OUTCOMES)


def _until(condition: Callable[[], bool], act: Callable[[], None]) -> None:
    """Act until it is so, or it has been long enough."""
    deadline = time.monotonic() + PATIENCE
    while not condition() and time.monotonic() < deadline:
        act()


def main() -> None:
    parser = arguments(__doc__, repetitions=None)
    integer(parser, "--frames", 1_000_000, "damaged packets")
    integer(parser, "--seed", 1, "of the damage")
    options = parser.parse_args()
    with broker() as started:
        result = attack(started, options.frames, options.seed)
        is_up = started.process.poll() is None
        result["errors"] = started.errors()
        result["ended_with"] = started.end() if is_up else started.process.returncode
    sent, counted, honest, memory = (result[key] for key in ("sent", "counted", "honest", "memory"))
    print_table(
        f"{options.frames:,} damaged packets, {result['per_second']:,.0f} a second of the broker's processor",
        ("connection", "packets", "messages"),
        [[kind, count["packets"], count["messages"]] for kind, count in sent.items()],
    )
    print_table(
        f"What {result['messages']:,} messages were, with those of honest clients",
        ("counted as", "messages"),
        list(counted.items()),
    )
    all_counted = sum(counted.values()) == result["messages"]
    print(
        f"\nevery message {'was' if all_counted else 'was NOT'} counted once;"
        f" of {honest['published']:,} honest events {honest['heard']:,} arrived,"
        f" the slowest after {honest['slowest_s']:.2f} s;"
        f"\nmemory grew by {memory['growth_mib']:.1f} MiB (at most {LIMIT_MIB:.0f}) from"
        f" {memory['first_mib']:.0f} MiB; errors of the broker: {len(result['errors'])}"
    )
    for error in sorted(set(result["errors"]))[:10]:
        print(error)
    result["seed"] = options.seed
    write("hostile", options.out, result)
    fine = is_up and all_counted and honest["complete"] and not result["errors"] and not result["ended_with"]
    if not fine or memory["growth_mib"] > LIMIT_MIB:
        sys.exit(1)


if __name__ == "__main__":
    main()
