"""Who waits for which events, in columns, against the same in dictionaries; and what becomes packets."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from bypass.live.broker.sessions import notifications as composing
from bypass.live.broker.sessions.notifications import MOST_IN_A_PACKET, Composer, Notifications
from bypass.live.broker.sessions.unacknowledged import Unacknowledged
from bypass.live.broker.sessions.unacknowledged_kernels import CONNECTION, NONE, RECEIVED, TO, WHICH
from bypass.live.broker.store.batch import LAST_PLACE
from bypass.protocol.session import WINDOW, WINDOW_BYTES
from bypass.protocol.wire import recipient, unpack

PENDING = 6
SIZE = 1000
numbers = st.integers(0, (1 << 64) - 1)


class Client:
    def __init__(self, slot: int, durable: bool) -> None:
        self.slot = slot
        self.durable = durable
        self.connected = False
        self.waiting: dict[int, int] = {}  # number: place in the log
        self.unsent: list[int] = []  # always the last ones
        self.fresh: list[int] = []  # those of them that were never sent to this life
        self.received = 0
        self.moved = False
        self.done = 0  # the latest place of which something is gone
        self.behind: list[int] = []  # as it was noted last


class Columns(RuleBasedStateMachine):
    """A broker's bookkeeping, with clients that come, go and acknowledge in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.awaited = Unacknowledged()
        self.awaited.window = PENDING
        self.clients: dict[int, Client] = {}
        self.seq = 0
        self.latest = 0
        self.next_client = 1 << 30

    def left(self, seq: int) -> bool:
        return any(seq in client.waiting.values() for client in self.clients.values())

    def drop(self, client: Client, gone: list[int]) -> set[int]:
        """Places in the log that nobody waits for after this."""
        seqs = {client.waiting.pop(number) for number in gone}
        client.done = max(client.done, *seqs, 0)
        client.unsent = [number for number in client.unsent if number not in gone]
        client.fresh = [number for number in client.fresh if number not in gone]
        return {seq for seq in seqs if seq and not self.left(seq)}

    @rule(durable=st.booleans())
    def comes(self, durable: bool) -> None:
        self.next_client += 1
        slot = self.awaited.occupy(self.next_client)
        assert slot not in {client.slot for client in self.clients.values()}
        self.awaited.disconnected(slot, durable)
        self.clients[self.next_client] = Client(slot, durable)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), connected=st.booleans())
    def connects_or_not(self, data: st.DataObject, connected: bool) -> None:
        client = data.draw(st.sampled_from([*self.clients.values()]))
        before = self.awaited.slots[client.slot, CONNECTION]
        client.connected = connected
        if connected:
            self.awaited.connected(client.slot, client.durable)
            client.unsent = list(client.waiting)
        else:
            self.awaited.disconnected(client.slot, client.durable)
        assert self.awaited.slots[client.slot, CONNECTION] != before

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def begins_a_new_life(self, data: st.DataObject) -> None:
        """It has a connection of its own, on which nothing was sent yet."""
        client = data.draw(st.sampled_from([*self.clients.values()]))
        client.connected = True
        self.awaited.connected(client.slot, client.durable)
        client.unsent = list(client.waiting)

    @precondition(lambda self: self.clients)
    @rule(data=st.data())
    def leaves(self, data: st.DataObject) -> None:
        number = data.draw(st.sampled_from([*self.clients]))
        client = self.clients[number]
        gone, done = self.awaited.give_up(client.slot, LAST_PLACE)
        assert gone == [*client.waiting]
        assert set(done) == self.drop(client, list(client.waiting))
        self.awaited.vacate(client.slot)
        del self.clients[number]

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), number=numbers, again=st.booleans())
    def publishes(self, data: st.DataObject, number: int, again: bool) -> None:
        if again and self.latest:
            number = self.latest
        again = any(number in client.waiting for client in self.clients.values())
        self.latest = number
        self.seq += 1
        chosen = data.draw(st.lists(st.sampled_from([*self.clients, 5]), unique=True, min_size=1))
        notifications = Notifications()
        event, added, special = self.awaited.deliver(
            NONE, number, self.seq, np.array(chosen), PENDING, SIZE, again, notifications, 3
        )
        sent, waits, rest = [], 0, []
        for i, each in enumerate(chosen):
            if each not in self.clients:
                continue
            client = self.clients[each]
            full = (
                (len(client.waiting) >= PENDING or client.unsent)
                if client.connected
                else (len(client.fresh) >= PENDING)
            )
            if not client.durable or full or number in client.waiting:
                rest.append(i)
                continue
            client.waiting[number] = self.seq
            waits += 1
            if client.connected:
                sent.append(client.slot)
            else:
                client.fresh.append(number)
        assert special == rest
        assert added == waits
        assert notifications.to[: notifications.count, TO].tolist() == sent
        assert (notifications.to[: notifications.count, WHICH] == 3).all()
        for i in special:
            client = self.clients[chosen[i]]
            assert self.awaited.waits(client.slot, number, True) == (number in client.waiting)
            if number in client.waiting or not client.connected:
                continue
            room = not client.unsent and self.awaited.room(client.slot) > 0
            if client.durable:
                event = self.awaited.add(event, number, self.seq, client.slot, SIZE if room else None)
                client.waiting[number] = self.seq
                if not room:
                    client.unsent.append(number)
                    client.fresh.append(number)
            elif room:  # nothing waits to be sent to it: who has no room does not get it
                self.awaited.add(NONE, number, 0, client.slot, SIZE)
                client.waiting[number] = 0

    @precondition(lambda self: any(client.waiting for client in self.clients.values()))
    @rule(data=st.data(), others=st.lists(numbers, max_size=2), ahead=st.booleans())
    def acknowledges(self, data: st.DataObject, others: list[int], ahead: bool) -> None:
        client = data.draw(st.sampled_from([each for each in self.clients.values() if each.waiting]))
        if ahead:
            known = list(client.waiting)[: data.draw(st.integers(0, len(client.waiting)))]
        else:
            known = data.draw(st.lists(st.sampled_from([*client.waiting]), unique=True))
        others = [number for number in others if number not in client.waiting]
        said = known + others if ahead else data.draw(st.permutations(known + others + known[:1]))
        gone, done = self.awaited.acknowledge(client.slot, np.array(said, np.uint64).view(np.int64))
        assert sorted(gone) == sorted(known)
        assert set(done) == self.drop(client, known)
        assert len(done) == len(set(done))
        client.received += len(gone)
        client.moved |= bool(gone)

    @precondition(lambda self: any(client.connected and client.unsent for client in self.clients.values()))
    @rule(data=st.data())
    def is_sent_what_waits(self, data: st.DataObject) -> None:
        hungry = [each for each in self.clients.values() if each.connected and each.unsent]
        client = data.draw(st.sampled_from(hungry))
        most = data.draw(st.integers(1, 4))
        first = self.awaited.first_unsent(client.slot, most)
        assert first == [(number, client.waiting[number]) for number in client.unsent[:most]]
        for _ in first:
            self.awaited.was_sent(client.slot, SIZE)
        client.fresh = [number for number in client.fresh if number not in client.unsent[:most]]
        client.unsent = client.unsent[most:]

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), age=st.integers(0, 4), most=st.integers(0, 4), fresh=st.booleans())
    def grows_too_old(self, data: st.DataObject, age: int, most: int, fresh: bool) -> None:
        client = data.draw(st.sampled_from([*self.clients.values()]))
        if not client.durable:
            return
        candidates = client.fresh if fresh else list(client.waiting)
        old = [number for number in candidates if client.waiting[number] <= self.seq - age][:most]
        gone, done = self.awaited.give_up(client.slot, self.seq - age, most, fresh)
        assert gone == old
        assert set(done) == self.drop(client, old)
        client.moved |= bool(gone)

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), age=st.integers(0, 4))
    def is_not_to_get_what_is_old(self, data: st.DataObject, age: int) -> None:
        client = data.draw(st.sampled_from([*self.clients.values()]))
        if client.durable:
            self.awaited.pass_over(client.slot, self.seq - age)
            client.moved |= self.seq - age > client.done
            client.done = max(client.done, self.seq - age)

    @precondition(lambda self: any(not client.connected for client in self.clients.values()))
    @rule(data=st.data(), age=st.integers(0, 4))
    def may_have_been_sent_what_is_old(self, data: st.DataObject, age: int) -> None:
        client = data.draw(st.sampled_from([each for each in self.clients.values() if not each.connected]))
        self.awaited.doubt(client.slot, self.seq - age)
        client.fresh = [number for number in client.fresh if client.waiting[number] > self.seq - age]
        client.moved = True

    @rule(part=st.integers(0, 1))
    def cursors_are_noted(self, part: int) -> None:
        found = self.awaited.moved(part, 2)
        for client in self.clients.values():
            if client.slot % 2 == part and client.durable:
                assert (client.slot in found) == client.moved
                client.moved = False

    @precondition(lambda self: self.clients)
    @rule(data=st.data(), closing=st.booleans(), failed=st.booleans())
    def it_is_noted_how_far_somebody_has_got(self, data: st.DataObject, closing: bool, failed: bool) -> None:
        client = data.draw(st.sampled_from([*self.clients.values()]))
        if not client.durable:
            return
        if failed:
            self.awaited.all_moved()
            for each in self.clients.values():
                each.moved = True
        mark = self.awaited.mark(client.slot, closing)
        behind = [seq for seq in client.waiting.values() if seq <= client.done]
        assert mark.cursor == client.done
        assert mark.behind == behind or (mark.behind is None and client.behind == behind and not failed)
        client.behind = behind
        fresh = {client.waiting[number] for number in client.fresh}
        if client.connected and not closing:
            assert mark.sent == LAST_PLACE
        else:
            assert fresh == {seq for seq in client.waiting.values() if seq > mark.sent}
            assert mark.sent <= self.seq

    @invariant()
    def the_same_waits(self) -> None:
        for client in self.clients.values():
            slot = client.slot
            assert self.awaited.waiting(slot) == list(client.waiting.items())
            assert self.awaited.count(slot) == len(client.waiting)
            assert self.awaited.fresh(slot) == len(client.fresh)
            if client.connected:
                assert self.awaited.unsent(slot) == len(client.unsent)
            assert self.awaited.slots[slot, RECEIVED] == client.received
        first, last = self.seq // 3, self.seq // 2 + 1
        outstanding = tuple(
            sum(
                first <= seq <= last
                for client in self.clients.values()
                if client.connected is connected and client.durable
                for seq in client.waiting.values()
            )
            for connected in (True, False)
        )
        assert self.awaited.between(first, last) == outstanding


TestColumns = Columns.TestCase
TestColumns.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)


def test_room_is_limited_by_events_and_by_bytes() -> None:
    awaited = Unacknowledged()
    slot = awaited.occupy(1)
    awaited.connected(slot, True)
    assert awaited.room(slot) == WINDOW
    awaited.add(NONE, 1, 1, slot, WINDOW_BYTES // 4)
    assert awaited.room(slot) == 3
    awaited.add(NONE, 2, 2, slot, WINDOW_BYTES)
    assert awaited.room(slot) == 0
    awaited.acknowledge(slot, np.array([1, 2]))
    assert awaited.room(slot) == WINDOW
    for number in range(WINDOW):
        awaited.add(NONE, 10 + number, 3 + number, slot, 1)
    assert awaited.room(slot) == 0


def test_there_is_room_again_after_all_that_was_on_its_way_was_given_up() -> None:
    awaited = Unacknowledged()
    slot = awaited.occupy(1)
    awaited.connected(slot, True)
    awaited.add(NONE, 1, 1, slot, 2 * WINDOW_BYTES)
    assert awaited.room(slot) == 0
    awaited.give_up(slot, 1)
    assert awaited.room(slot) == WINDOW


@pytest.mark.parametrize("size", [2, 10, 1000])
def test_an_event_that_is_waited_for_twice_is_acknowledged_as_a_whole(size: int) -> None:
    """That should not be; but whoever acknowledges in some other order must not do any harm by it."""
    awaited = Unacknowledged()
    slot = awaited.occupy(1)
    for seq in range(1, 2 * size + 1):
        awaited.add(NONE, 1 + seq % size, seq, slot, None)
    gone, done = awaited.acknowledge(slot, np.arange(1, size + 1))
    assert (len(gone), sorted(done)) == (2 * size, list(range(1, 2 * size + 1)))
    assert awaited.waiting(slot) == []


def test_what_is_withdrawn_is_what_was_at_that_place() -> None:
    awaited = Unacknowledged()
    slot = awaited.occupy(1)
    for number, seq in ((7, 1), (8, 2), (7, 3), (9, 4)):
        awaited.add(NONE, number, seq, slot, None)
    assert awaited.withdraw(slot, 7, 3) == ([7], [3])
    assert awaited.withdraw(slot, 7, 3) == ([], [])
    assert awaited.waiting(slot) == [(7, 1), (8, 2), (9, 4)]
    assert awaited.withdraw(slot, 9) == ([9], [4])
    awaited.add(NONE, 5, 6, slot, None)
    assert awaited.waiting(slot) == [(7, 1), (8, 2), (5, 6)]


def test_thousands_come_and_go() -> None:
    awaited = Unacknowledged()
    slots = {client: awaited.occupy(client) for client in range(1000, 6000)}
    for client in range(1000, 6000, 2):
        awaited.vacate(slots.pop(client))
    slots |= {client: awaited.occupy(client) for client in range(6000, 9000)}
    assert len({*slots.values()}) == len(slots)
    for slot in slots.values():
        awaited.connected(slot, True)
    notifications = Notifications()
    everybody = np.arange(1000, 9000)
    _, added, special = awaited.deliver(NONE, 1, 1, everybody, 10, 10, False, notifications)
    assert (added, special) == (len(slots), [])
    assert {*notifications.to[: notifications.count, TO].tolist()} == {*slots.values()}
    assert len(awaited.slots) < 10_000  # slots are used again


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.lists(
        st.tuples(st.binary(min_size=1, max_size=300), st.sets(st.integers(0, 4), min_size=1)), max_size=20
    ),
    st.sets(st.integers(0, 4)),
    st.sampled_from([1, 400, 2000, 1 << 22]),
)
def test_packets_have_what_was_to_be_sent_to_whom(
    monkeypatch: pytest.MonkeyPatch, events: list[tuple[bytes, set[int]]], gone: set[int], at_once: int
) -> None:
    awaited, notifications = Unacknowledged(), Notifications()
    slots = [awaited.occupy(1 << 30 | client) for client in range(5)]
    for rest, clients in events:
        for client in clients:
            notifications.add(awaited.slots, slots[client], rest)
    for client in gone:
        awaited.disconnected(slots[client], True)
    got: dict[int, list[bytes]] = {}
    with monkeypatch.context() as patch:
        patch.setattr(composing, "MOST_AT_ONCE", at_once)
        for data, packets in Composer().packets(notifications, awaited.slots):
            assert len({slot for slot, _, _ in packets}) < 2 or packets[-1][2] <= at_once
            for slot, start, end in packets:
                got.setdefault(slots.index(slot), []).extend(unpack(bytes(data[start:end])))
    assert got == {
        client: [recipient(1 << 30 | client) + rest for rest, clients in events if client in clients]
        for client in range(5)
        if client not in gone and any(client in clients for _, clients in events)
    }


def test_packets_are_not_too_large() -> None:
    awaited, composer = Unacknowledged(), Composer()
    slot = awaited.occupy(7)
    for size, count, expected in ((10, 1000, 4), (100_000, 7, 4), (400_000, 3, 3)):
        notifications = Notifications()
        for number in range(count):
            notifications.add(awaited.slots, slot, number.to_bytes(2, "big") + bytes(size))
        ((data, packets),) = composer.packets(notifications, awaited.slots)
        assert len(packets) == expected
        messages = [unpack(bytes(data[start:end])) for _, start, end in packets]
        assert max(map(len, messages)) <= MOST_IN_A_PACKET
        got = [message[7:9] for some in messages for message in some]
        assert got == [number.to_bytes(2, "big") for number in range(count)]
