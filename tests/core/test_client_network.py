"""The client's network proxy: marks, piggybacks, sorts, and lets no event through twice."""

from __future__ import annotations

from collections.abc import Collection

import pytest

from bypass.core.client_network import SEEN_EVENTS, ClientNetwork
from bypass.events.event import Event
from bypass.events.filters import Subscription, attr
from bypass.protocol.messages import (
    Assignment,
    AssignmentRequest,
    ContextMessage,
    ContextUpdate,
    Message,
    OutcomeMessage,
    PlanMessage,
    Publish,
    Subscribe,
    Unsubscribe,
)
from bypass.sim.clock import VirtualClock

ANY = Subscription.of(attr("n") >= 0)


class End:
    """A network proxy between an uplink, a filter scheme and an analyzer that note what they get."""

    def __init__(self) -> None:
        self.clock = VirtualClock()
        self.sent: list[tuple[int, Message]] = []
        self.events: list[tuple[int, tuple[int, ...], bool]] = []
        self.context: list[ContextMessage] = []
        self.plans: list[PlanMessage] = []
        self.analyzed: list[tuple[int, int]] = []
        self.network = ClientNetwork(7, self._uplink, self.clock.after, self)
        self.relayed: list[tuple[int, tuple[int, ...]]] = []
        self.network.bind(self, self.plans.append, self)
        self.network.flag, self.network.epoch = 3, 5

    def _uplink(self, message: Message) -> None:
        self.sent.append((self.clock.now_us, message))

    def event_arrived(self, publication: Publish, handles: tuple[int, ...], unfiltered: bool) -> None:
        self.events.append((publication.id, handles, unfiltered))

    def context_arrived(self, message: ContextMessage) -> None:
        self.context.append(message)

    def relay(self, publication: Publish, targets: Collection[int]) -> None:
        self.relayed.append((publication.id, tuple(targets)))

    def notified(self, client: int, publication: Publish) -> None:
        self.analyzed.append((client, publication.id))

    @property
    def messages(self) -> list[Message]:
        return [message for _, message in self.sent]


@pytest.fixture
def end() -> End:
    return End()


def event(number: int = 1) -> Publish:
    return Publish(number, Event(n=1))


@pytest.mark.parametrize(
    "message", [event(), Subscribe(1, ANY), Unsubscribe(1), ContextUpdate((0.0, 0.0)), OutcomeMessage(b"x")]
)
def test_every_message_is_marked(end: End, message: Message) -> None:
    end.network.send(message)
    assert end.messages == [message]
    assert (message.client, message.scheme, message.epoch) == (7, 3, 5)


@pytest.mark.parametrize("carrier", [event(), Subscribe(1, ANY)])
def test_context_rides_on_what_is_sent_in_the_same_instant(end: End, carrier: Publish | Subscribe) -> None:
    update = ContextUpdate((1.0, 2.0))
    end.network.send_context(update)
    later = event(2)
    end.network.send(carrier)
    end.network.send(later)
    end.clock.run_until(10)
    assert end.messages == [carrier, later]
    assert carrier.piggyback is update
    assert later.piggyback is None


@pytest.mark.parametrize("message", [Unsubscribe(1), OutcomeMessage(b"x")])
def test_other_messages_carry_nothing(end: End, message: Message) -> None:
    update = ContextUpdate((1.0, 2.0))
    end.network.send_context(update)
    end.network.send(message)
    end.clock.run_until(10)
    assert end.messages == [message, update]


def test_context_goes_alone_at_the_end_of_the_instant(end: End) -> None:
    update = ContextUpdate((1.0, 2.0))
    end.clock.at(4, end.network.send_context, update)
    end.clock.at(5, end.network.send, event())
    end.clock.run_until(10)
    assert end.sent[0] == (4, update)
    assert (update.client, update.scheme, update.epoch) == (7, 3, 5)
    assert end.sent[1][0] == 5
    assert len(end.sent) == 2


def test_newer_context_replaces_older_in_the_same_instant(end: End) -> None:
    newer = AssignmentRequest((3.0, 4.0))
    end.network.send_context(ContextUpdate((1.0, 2.0)))
    end.network.send_context(newer)
    end.clock.run_until(10)
    assert end.messages == [newer]


def test_a_subscription_with_its_own_context_makes_older_superfluous(end: End) -> None:
    own = ContextUpdate((3.0, 4.0))
    subscribe = Subscribe(1, ANY, 10, own)
    end.network.send_context(ContextUpdate((1.0, 2.0)))
    end.network.send(subscribe)
    end.clock.run_until(10)
    assert end.messages == [subscribe]
    assert subscribe.piggyback is own


def test_copies_of_an_event_stop_here(end: End) -> None:
    end.network.notified(event(1), (1, 2))
    end.network.notified(event(1), (1, 2))
    end.network.notified(event(1), (2,), True)
    assert end.events == [(1, (1, 2), False)]
    assert end.analyzed == [(7, 1)]
    assert end.network.duplicates == 2


def test_a_copy_may_bring_other_handles(end: End) -> None:
    end.network.notified(event(1), (1,))
    end.network.notified(event(1), (1, 2), True)
    end.network.notified(event(1), (2,))
    assert end.events == [(1, (1,), False), (1, (2,), True)]
    assert end.analyzed == [(7, 1)]


def test_an_event_of_the_broker_is_handed_over_whatever_was_heard_under_its_number(end: End) -> None:
    forged, true = Publish(1, Event(n=666), client=9), Publish(1, Event(n=1), client=9)
    end.network.heard(forged, (1,))
    end.network.notified(true, (1, 2))
    end.network.notified(true, (1, 2))
    assert end.events == [(1, (1,), False), (1, (1, 2), False)]
    assert (end.network.conflicts, end.network.duplicates) == (1, 1)
    end.network.heard(forged, (1,))
    assert (end.network.conflicts, end.network.duplicates) == (1, 2)


def test_what_was_heard_nearby_is_a_copy_of_what_the_broker_sends(end: End) -> None:
    end.network.heard(Publish(1, Event(n=1), client=9, scheme=4), (1,))
    end.network.notified(Publish(1, Event(n=1), client=9), (1,))
    assert end.events == [(1, (1,), False)]
    assert (end.network.conflicts, end.network.duplicates) == (0, 1)


def test_memory_for_events_is_bounded_and_long_enough(end: End) -> None:
    for number in range(2 * SEEN_EVENTS):
        end.network.notified(event(number), (1,))
    for number in range(SEEN_EVENTS + 1, 2 * SEEN_EVENTS):
        end.network.notified(event(number), (1,))
    assert len(end.events) == 2 * SEEN_EVENTS
    assert end.network.duplicates == SEEN_EVENTS - 1
    end.network.notified(event(SEEN_EVENTS + 1), (2,))
    assert end.events[-1] == (SEEN_EVENTS + 1, (2,), False)


@pytest.mark.parametrize(
    ("scheme", "epoch", "understood"),
    [(3, 5, True), (3, 6, True), (3, 4, False), (2, 5, False), (0, 9, False)],
)
def test_context_of_other_schemes_and_older_epochs_is_not_understood(
    end: End, scheme: int, epoch: int, understood: bool
) -> None:
    message = Assignment(1, "g1:0:0", scheme=scheme, epoch=epoch)
    end.network.receive(message)
    assert end.context == ([message] if understood else [])
    assert end.network.strangers == (not understood)


def test_plans_go_where_plans_go(end: End) -> None:
    plan = PlanMessage(b"plan", epoch=9)
    end.network.receive(plan)
    assert end.plans == [plan]
    assert end.network.epoch == 5  # the client's business, once it has executed the plan
