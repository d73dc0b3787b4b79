"""Plans for many clients go out a few at a time, in order for each client, and in time."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from bypass.live.broker.delivery.plan_pacing import AT_ONCE, LONGEST_S, STEP_S, Pacing
from bypass.live.broker.sessions.sessions import Session
from bypass.protocol.messages import Assignment, Message, PlanMessage


class Line:
    """Where messages go, and time that passes when it is told to."""

    def __init__(self, clients: int, grace: float = 1.5) -> None:
        self.sent: list[tuple[float, bytes, Message]] = []
        self.now = 0.0
        self.timers: list[tuple[float, Callable[[], None]]] = []
        self.sessions = [Session(number, str(number), 1, durable=True) for number in range(clients)]
        for session in self.sessions:
            session.route = b"%d" % session.number
        self.pacing = Pacing(self._send, self._after, grace)

    def _send(self, route: bytes, message: Message) -> None:
        self.sent.append((self.now, route, message))

    def _after(self, delay: float, action: Callable[[], None]) -> None:
        self.timers.append((self.now + delay, action))

    def tell_all(self, plan: bytes = b"plan") -> None:
        for session in self.sessions:
            self.pacing.send(session, PlanMessage(plan))

    def step(self) -> None:
        self.now, action = self.timers.pop(0)
        action()

    def pass_time(self) -> None:
        while self.timers:
            self.step()

    def to(self, session: Session) -> list[Any]:
        """What went to the route that a client has now."""
        return [message for _, route, message in self.sent if route == session.route]


def test_few_are_told_at_once() -> None:
    line = Line(AT_ONCE)
    line.tell_all()
    assert len(line.sent) == AT_ONCE
    assert line.now == 0.0


def test_many_are_told_a_few_at_a_time() -> None:
    line = Line(10 * AT_ONCE)
    line.tell_all()
    assert len(line.sent) == AT_ONCE
    line.step()
    assert len(line.sent) == 2 * AT_ONCE
    line.pass_time()
    assert [route for _, route, _ in line.sent] == [session.route for session in line.sessions]


def test_however_many_there_are_all_are_told_in_time() -> None:
    line = Line(10_000)
    line.tell_all()
    line.pass_time()
    assert len(line.sent) == 10_000
    assert max(at for at, _, _ in line.sent) <= LONGEST_S + STEP_S


def test_nobody_waits_if_nothing_goes_on_meanwhile() -> None:
    line = Line(1000, grace=0.0)
    line.tell_all()
    assert len(line.sent) == 1000


def test_a_short_grace_period_makes_it_quicker() -> None:
    line = Line(2000, grace=0.3)
    line.tell_all()
    line.pass_time()
    assert max(at for at, _, _ in line.sent) <= 0.1 + STEP_S


def test_what_follows_a_plan_waits_behind_it_and_nothing_else_waits() -> None:
    line = Line(2 * AT_ONCE)
    line.tell_all()
    first, last = line.sessions[0], line.sessions[-1]
    for session in (first, last):
        line.pacing.send(session, Assignment(1, "cell", ()))
        line.pacing.send(session, PlanMessage(b"next"))
    assert [type(message) for message in line.to(first)] == [
        PlanMessage,
        Assignment,
    ]  # no plan more in a step
    assert line.to(last) == []
    line.pass_time()
    for session in (first, last):
        kinds = [message.plan if isinstance(message, PlanMessage) else "" for message in line.to(session)]
        assert kinds == [b"plan", "", b"next"]


def test_who_is_gone_is_told_nothing_and_who_is_back_not_what_waited() -> None:
    line = Line(3 * AT_ONCE)
    line.tell_all()
    gone, back = line.sessions[-2:]
    gone.route, back.route = None, b"new"
    line.pacing.send(back, PlanMessage(b"again"))
    line.pass_time()
    assert len(line.sent) == 3 * AT_ONCE - 1
    assert [message.plan for message in line.to(back)] == [b"again"]


@given(st.lists(st.tuples(st.integers(0, 5 * AT_ONCE - 1), st.booleans(), st.booleans()), max_size=400))
def test_each_client_gets_everything_in_order(script: list[tuple[int, bool, bool]]) -> None:
    line = Line(5 * AT_ONCE)
    said: dict[int, list[Message]] = {}
    for client, plan, steps in script:
        message: Message = PlanMessage(b"") if plan else Assignment(1, "cell", ())
        said.setdefault(client, []).append(message)
        line.pacing.send(line.sessions[client], message)
        if steps and line.timers:
            line.step()
    line.pass_time()
    for client, messages in said.items():
        assert [id(each) for each in line.to(line.sessions[client])] == [id(each) for each in messages]


@given(st.integers(AT_ONCE, 10 * AT_ONCE - 1))
def test_what_cannot_be_sent_to_one_keeps_nobody_else_waiting(which: int) -> None:
    line = Line(10 * AT_ONCE)
    line.tell_all()
    unfortunate, send = line.sessions[which].route, line.pacing._send

    def refuse(route: bytes, message: Message) -> None:
        if route == unfortunate:
            raise ValueError("it cannot travel")
        send(route, message)

    line.pacing._send = refuse
    while line.timers:
        with suppress(ValueError):
            line.step()
    told = [route for _, route, _ in line.sent]
    assert told == [session.route for session in line.sessions if session.route != unfortunate]
    line.pacing._send = send
    line.tell_all(b"another")
    line.pass_time()
    assert len(line.sent) == len(told) + len(line.sessions)
