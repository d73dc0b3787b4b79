"""Damages packets in many ways and checks that each is understood or refused, and that none of them leaks."""

from __future__ import annotations

import random
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any

from common import arguments, integer, pin, print_table, write

from bypass import Event, attr
from bypass.events.attributes import SET
from bypass.events.filters import Subscription
from bypass.places.area_of_interest import AreaOfInterest
from bypass.places.areas import Area
from bypass.places.borders import BorderOptions, PathPoint
from bypass.protocol.borders import BorderTask, BorderWatch, WatchedAreas
from bypass.protocol.messages import (
    AllowFollowing,
    Assignment,
    AssignmentRequest,
    Circle,
    ContextUpdate,
    FollowedPlace,
    Frame,
    Kind,
    Message,
    Notify,
    OutcomeMessage,
    PlanMessage,
    Publish,
    Subscribe,
    Unsubscribe,
)
from bypass.protocol.session import Ack, Bye, Control, Hello, Kept, Missed, Ping, Refused, Reply, Welcome
from bypass.protocol.wire import (
    Forwarding,
    MalformedMessage,
    decode,
    decode_raw,
    encode,
    pack,
    recipient,
    unpack,
)
from bypass.protocol.wire.bodies import WRITERS
from bypass.protocol.wire.fields import varint

BATCH = 1_000  # frames of one kind of damage at a time
TARGET_MIB = 8.0  # more memory at the end than after the first tenth, at most
MOST_SHOWN = 10  # of inputs that were neither understood nor refused

Damage = Callable[[random.Random, list[bytes]], bytes]


def corpus() -> list[bytes]:
    """Messages of every kind, some with all their fields and some with as few as possible."""
    event = Event(
        [("kind", "monster"), ("level", -42), ("speed", 1.5), ("tags", {"a", 1})], payload=b"\0\xff"
    )
    update = ContextUpdate((650.25, 700.5), (1.5, -0.5))
    publish = Publish(77, event, Kind.PLACED, 1_000_000, (650.25, -700.5), "g3:4:7", client=3, epoch=4)
    filters = [attr("level") >= 12, attr("kind").in_(["a", "b"]), attr("tags", SET).contains("x")]
    subscribe = Subscribe(5, Subscription(filters), 125)
    circles = (Circle("park", 10.0, 20.0, 100.0),)
    cell, area = (0.0, 1.0, 2.0, 3.0), (0.0, 0.0, 1300.0, 1300.0)
    zone = Area.polygon([(0, 0), (90, 0), (90, 80)], [[(40, 10), (60, 10), (60, 20)]], altitude=(0, 50))
    market, options = Area.of_place("market"), BorderOptions(frozenset({"enter", "dwell"}), 30.0)
    fences = (("zone", zone), ("market", market))
    states = {"zone": [True, 1.5, False, True, [1.0, 2.0, 3.0, None], None]}
    messages: list[Message] = [
        publish,
        Publish(1, Event(), piggyback=update, address=2**63),
        Publish(2, Event([(f"a{i}", float(i)) for i in range(100)], payload=bytes(500))),
        Notify(publish, tuple(range(40)), True),
        Notify(publish, (1,), relay=True, targets=(1, 2**40)),
        update,
        AssignmentRequest((1.0, 2.0)),
        Assignment(3, "g3:4:7", ("g3:4:7", "g3:4:8"), cell, cell, circles),
        Assignment(0, ""),
        subscribe,
        Subscribe(6, Subscription(filters[:1]), piggyback=AssignmentRequest((1.0, 2.0)), address=1),
        Subscribe(7, Subscription(filters[:1]), interest=AreaOfInterest((zone, market), True), expires=60.0),
        Subscribe(8, Subscription(filters[:1]), watch=BorderWatch(options, fences, True, ("bus",), 90.0)),
        Unsubscribe(5),
        AllowFollowing(("alice", "bus/7")),
        AllowFollowing(everybody=True),
        FollowedPlace((650.25, -700.5), (1.5, 0.0)),
        BorderTask(3, True, 2.5, (WatchedAreas(4, options, fences[:1], states),), PathPoint(1.0, 2.0, 3.0)),
        BorderTask(4, False, 0.0),
        Publish(3, Event(), area=zone, lifetime=30_000_000),
        Publish(4, Event(payload=b"{}"), Kind.BORDER),
        PlanMessage(b"plan"),
        OutcomeMessage(b""),
        Frame(1),
        Frame(1, 6, (1.5, -0.25), (publish, Publish(1, Event()))),
        Frame(0, ids=(3, 2**40)),
        Hello("phone", 2**40, (1, 2)),
        Hello("", 0, durable=False),
        Welcome(3, 5.0, area, (49.875, 8.65), (subscribe, subscribe), 300),
        Welcome(0, 0.5, area),
        Kept((subscribe, subscribe)),
        Missed("too slow", 2**40),
        Ack((3, 2**40), (1, 2)),
        Ack(),
        Refused("too long", id=1),
        Refused("too many", handle=1),
        Refused("who?"),
        Ping(),
        Ping(True),
        Bye(),
        Bye(True),
        Control(4, "status", b"{}"),
        Reply(4, True, b"[]"),
        Reply(4, False),
    ]
    assert {type(message) for message in messages} == {*WRITERS, BorderTask}, (
        "not every kind of message is there"
    )
    return [encode(message) for message in messages]


# ---- damage


def flip(rng: random.Random, frames: list[bytes]) -> bytes:
    """Up to eight bits are not what they were."""
    out = bytearray(rng.choice(frames))
    for _ in range(rng.randint(1, 8)):
        out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
    return bytes(out)


def cut(rng: random.Random, frames: list[bytes]) -> bytes:
    """Only the beginning, or only the end."""
    frame = rng.choice(frames)
    at = rng.randrange(len(frame))
    return frame[:at] if rng.random() < 0.8 else frame[at:]


def splice(rng: random.Random, frames: list[bytes]) -> bytes:
    """The beginning of one, the end of another; or something in the middle of it."""
    one, other = rng.choices(frames, k=2)
    i, j = rng.randrange(len(one) + 1), rng.randrange(len(other) + 1)
    return one[:i] + other[j:] + (one[i:] if rng.random() < 0.5 else b"")


def blow_up(rng: random.Random, frames: list[bytes]) -> bytes:
    """A number as long as numbers can be, or longer."""
    frame = rng.choice(frames)
    at = rng.randrange(len(frame))
    number = b"\xff" * rng.randint(1, 12) + bytes((rng.randrange(128),))
    return frame[:at] + number + frame[at + rng.randint(0, 1) :]


def lie(rng: random.Random, frames: list[bytes]) -> bytes:
    """A length that is not that of what follows."""
    frame = rng.choice(frames)
    at, after, length = rng.choice(_lengths(frame) or [(0, 0, 0)])
    said = rng.choice((0, length - 1, length + 1, 2 * length, rng.randrange(1 << rng.randint(1, 64))))
    return frame[:at] + varint(max(0, said)) + frame[after:]


def nest(rng: random.Random, frames: list[bytes]) -> bytes:
    """Sets in sets, in an event or a filter; or fields that nobody knows, in each other."""
    depth = rng.randint(1, 120)
    head = frames[0][: frames[0].index(b"\x42")]  # the envelope of a publication
    if rng.random() < 0.4:
        group = b"\x9b\x06" * depth + b"\x9c\x06" * (depth - (rng.random() < 0.1))
        return head + _field(8, b"\x09" + bytes(8) + group)
    value = b"\x10\x02"
    for _ in range(depth):
        value = _field(5, b"".join([_field(1, value)] * rng.choice((1, 1, 1, 1, 1, 1, 1, 2))))
        if len(value) > 10_000:
            break
    value = _field(1, b"a") + value
    if rng.random() < 0.5:
        return head + _field(8, b"\x09" + bytes(8) + _field(7, value))
    wanted = _field(1, value) + _field(2, rng.choice((b"=", b"in"))) + _field(3, b"set")
    return head + _field(13, b"\x0d" + bytes(4) + _field(2, wanted))


def together(rng: random.Random, frames: list[bytes]) -> bytes:
    """A packet of several, some of them damaged, and at times the packet, too."""
    parts = [_any(rng)(rng, frames) if rng.random() < 0.3 else rng.choice(frames) for _ in range(4)]
    packet = pack(parts)
    return packet if rng.random() < 0.5 else _any(rng)(rng, [packet])


def noise(rng: random.Random, _: list[bytes]) -> bytes:
    """Anything, behind the right version or the beginning of a packet or neither."""
    return rng.choice((b"", b"\x08\x01", b"\x0a")) + rng.randbytes(rng.randint(0, 200))


DAMAGES: dict[str, Damage] = {
    each.__name__.replace("_", " "): each for each in (flip, cut, splice, blow_up, lie, nest, together, noise)
}


def _any(rng: random.Random) -> Damage:
    return rng.choice((flip, cut, splice, blow_up, lie))


def _field(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def _number(frame: bytes, at: int) -> tuple[int, int]:
    """The varint there, and where it ends. Raises IndexError."""
    number = shift = 0
    while True:
        byte = frame[at]
        number |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            return number, at


def _lengths(frame: bytes, start: int = 0, end: int | None = None) -> list[tuple[int, int, int]]:
    """Every length in there: where it begins and ends, and itself. So are those that strings seem to have."""
    end = len(frame) if end is None else end
    found: list[tuple[int, int, int]] = []
    at = start
    try:
        while at < end:
            tag, at = _number(frame, at)
            kind = tag & 7
            if kind == 0:
                _, at = _number(frame, at)
            elif kind in (1, 5):
                at += 8 if kind == 1 else 4
            elif kind == 2:
                length, after = _number(frame, at)
                if after + length > end:
                    break
                found += [(at, after, length), *_lengths(frame, after, after + length)]
                at = after + length
            else:
                break
    except IndexError:
        pass
    return found


# ---- what becomes of it


def receive(packet: bytes) -> list[str]:
    """Decode a packet; gives an outcome for each message in it. Raises whatever the library should not raise.

    A message that is understood is encoded again, and a publication is forwarded.
    """
    try:
        parts = unpack(packet)
    except MalformedMessage as error:
        return [type(error).__name__]
    outcomes = []
    for part in parts:
        try:
            message, raw = decode_raw(part)
        except MalformedMessage as error:
            outcomes.append(type(error).__name__)
            continue
        outcomes.append("understood")
        encode(message)
        if isinstance(message, Publish):
            forwarding = Forwarding(raw, message.client, message.scheme, message.epoch, 0)
            decode(recipient(1) + forwarding.rest((1,), False))
    return outcomes


class Run:
    """So many packets with every kind of damage in turn; what came of them, and how long it took."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.frames = corpus()
        self.outcomes = {name: Counter[str]() for name in DAMAGES}
        self.packets: Counter[str] = Counter()
        self.seconds = dict.fromkeys(DAMAGES, 0.0)
        self.failures: list[tuple[str, bytes]] = []

    def batch(self, name: str, size: int) -> None:
        damage, rng, frames = DAMAGES[name], self.rng, self.frames
        packets = [damage(rng, frames) for _ in range(size)]
        outcomes = self.outcomes[name]
        self.packets[name] += size
        began = time.process_time()
        for packet in packets:
            try:
                outcomes.update(receive(packet))
            except Exception as error:  # it is what we are looking for
                outcomes[type(error).__name__] += 1
                self.failures.append((f"{type(error).__name__}: {error}", packet))
        self.seconds[name] += time.process_time() - began

    def until(self, total: int) -> None:
        """Go on until there have been so many packets."""
        while (done := self.packets.total()) < total:
            name = min(DAMAGES, key=self.packets.__getitem__)
            self.batch(name, min(BATCH, total - done))


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (
        1 << 20 if sys.platform == "darwin" else 1 << 10
    )


def main() -> None:
    parser = arguments(__doc__, repetitions=None)
    integer(parser, "--frames", 1_000_000, "damaged packets")
    integer(parser, "--seed", 1, "of the damage")
    options = parser.parse_args()
    pin()
    run = Run(options.seed)
    for frame in run.frames:
        assert receive(frame) == ["understood"], frame.hex()
    run.until(min(options.frames, max(options.frames // 10, BATCH * len(DAMAGES))))  # each damage once
    early = peak_mib()
    run.until(options.frames)
    growth = peak_mib() - early
    kinds = sorted(set[str]().union(*run.outcomes.values()), key=lambda kind: (kind != "understood", kind))
    rows: list[dict[str, Any]] = [
        {"damage": name, "packets": run.packets[name], "per_second": run.packets[name] / run.seconds[name]}
        | {kind: run.outcomes[name][kind] for kind in kinds}
        for name in DAMAGES
        if run.packets[name]
    ]
    print_table(
        f"What becomes of {run.packets.total():,} damaged packets: messages by outcome",
        ("damage", "packets", "packets/s", *kinds),
        [list(row.values()) for row in rows],
    )
    speed = run.packets.total() / sum(run.seconds.values())
    print(
        f"\n{speed:,.0f} packets/s; "
        f"memory grew by {growth:.1f} MiB (at most {TARGET_MIB}) after the first tenth, from {early:.0f} MiB"
    )
    for said, packet in run.failures[:MOST_SHOWN]:
        print(f"\n{said}\n{packet.hex()}")
    failures = [{"error": said, "packet": packet.hex()} for said, packet in run.failures]
    memory = {"early_mib": early, "growth_mib": growth, "target_mib": TARGET_MIB}
    write(
        "fuzz",
        options.out,
        {"seed": options.seed, "rows": rows, "per_second": speed, "memory": memory, "failures": failures},
    )
    if failures or growth > TARGET_MIB:
        sys.exit(1)


if __name__ == "__main__":
    main()
