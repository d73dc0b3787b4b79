"""Hosts that missed plans end up where the others are, whatever was lost, late or cut off."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any, NamedTuple, Protocol

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.transitions import (
    Engine,
    Healing,
    Mechanism,
    Nothing,
    Plan,
    Stamp,
    UnknownProxy,
    newer,
)
from bypass.transitions.healing import MOST_AHEAD, successor, supersedes

END = 2**32
counters = st.integers(0, END - 1)


class Voice(Protocol):
    def say(self) -> None: ...

    def hear(self, then: Callable[[], object]) -> None: ...


class Toy(Mechanism):
    def say(self) -> None:
        self.host.send()

    def hear(self, then: Callable[[], object]) -> None:
        then()


class Calm(Toy):
    pass


class Loud(Toy):
    pass


class Shy(Toy):
    pass


class Wild(Toy):
    pass


class Broken(Toy):
    def start(self) -> None:
        raise OSError("no such voice")


FLAGS: dict[int, type[Mechanism]] = {1: Calm, 2: Loud, 3: Shy, 7: Wild}
NAMES = {flag: kind.name for flag, kind in FLAGS.items()}


class Radio:
    """What a mechanism is leased: it counts what is sent."""

    def __init__(self, sent: list[str], host: str) -> None:
        self.sent = sent
        self.name = host

    def open(self) -> None:
        pass

    def close(self) -> None:
        pass

    def send(self) -> None:
        self.sent.append(self.name)


class Host:
    """A host as its owner would build it: plans are executed if they are not out of date."""

    def __init__(
        self, name: str = "h", sent: list[str] | None = None, flags: dict[int, type[Mechanism]] = FLAGS
    ) -> None:
        sent = [] if sent is None else sent
        self.later: list[Callable[[], None]] = []
        self.engine = Engine(name, lease=lambda proxy: Radio(sent, name), defer=self.later.append)
        self.voice = self.engine.create_proxy("voice", Voice, Calm)
        self.changes: list[Stamp] = []
        self.healing = Healing(self.engine, "voice", flags, self.changes.append)

    @property
    def stamp(self) -> Stamp:
        assert self.healing.stamp.flag == next(
            (flag for flag, name in NAMES.items() if name == self.engine.active("voice").name), 0
        )
        return self.healing.stamp

    def receive(self, plan: Plan) -> bool:
        if not self.healing.admits(plan.scope, plan.decision):
            return False
        if all(record.outcome != "failed" for record in self.engine.execute(plan)):
            self.healing.adopt(plan.scope, plan.decision)
        return True

    def meet(self, flag: int, counter: int, scope: int = 0) -> bool:
        return self.healing.meet(Stamp(flag, counter, scope), "peer")

    def run_later(self) -> None:
        todo, self.later[:] = list(self.later), []
        for call in todo:
            call()


def decide(flag: int, decision: int = 0, scope: int = 0) -> Plan:
    return Plan.from_data(
        {
            "plan": "p",
            "scope": scope,
            "decision": decision,
            "actions": [{"proxy": "voice", "to": NAMES.get(flag, "nothing")}],
        }
    )


def at(flag: int, counter: int, scope: int = 0) -> Host:
    host = Host()
    assert host.receive(decide(flag, counter, scope))
    assert host.stamp == (flag, counter, scope)
    return host


# Numbers


@given(counters, counters)
def test_of_two_numbers_exactly_one_is_newer(a: int, b: int) -> None:
    assert newer(a, b) + newer(b, a) == (a != b)


@given(counters, st.integers(1, 2**31 - 1))
def test_what_comes_after_is_newer_also_around_the_end(a: int, ahead: int) -> None:
    assert newer((a + ahead) % END, a)
    assert not newer(a, (a + ahead) % END)


@given(counters)
def test_the_next_number_is_newer_and_never_none(a: int) -> None:
    assert 0 < successor(a) < END
    assert newer(successor(a), a)


def test_the_end_of_numbers() -> None:
    assert newer(0, END - 1)
    assert newer(5, END - 5)
    assert not newer(END - 5, 5)
    assert (successor(0), successor(END - 2), successor(END - 1)) == (1, END - 1, 1)
    assert Host().meet(2, END - 1), "whoever knows no decision follows any"
    host = at(1, END - 1)
    assert not host.meet(2, 0)
    assert host.meet(2, 1)
    assert host.stamp == (2, 1, 0)
    assert not host.healing.admits(0, END - 1)


# One host


def test_a_newer_decision_is_followed_and_its_message_handed_on() -> None:
    host = at(1, 4)
    assert host.meet(2, 5)
    assert host.stamp == (2, 5, 0)
    assert host.changes[-1] == host.stamp
    record = host.engine.records[-1]
    assert (record.who, record.why) == ("self-healing", "heard decision 5 of scope 0 from peer")
    assert host.healing.healed == 1


def test_nobody_can_push_the_number_of_a_decision_to_its_end() -> None:
    host = at(1, 5)
    assert not host.meet(2, 5 + MOST_AHEAD + 1)
    assert not host.meet(2, END // 2)
    assert (host.stamp, host.healing.leaps) == (Stamp(1, 5, 0), 2)
    assert host.meet(2, 5 + MOST_AHEAD)
    assert not host.meet(1, 5 + 2 * MOST_AHEAD)  # not in steps either: no plan has said so
    assert host.healing.admits(0, 5 + MOST_AHEAD + 1)


def test_a_plan_outranks_a_number_far_ahead_that_was_only_heard() -> None:
    host = Host()
    assert host.meet(2, END - 2)  # it knows no other
    assert not host.healing.admits(0, END - 2 - MOST_AHEAD)
    assert host.receive(decide(1, 7))
    assert host.stamp == (1, 7, 0)
    assert not host.meet(2, END - 2)


def test_a_missed_detour_only_moves_the_number() -> None:
    host = at(1, 4)
    before = len(host.engine.records)
    assert host.meet(1, 6)
    assert host.stamp == (1, 6, 0)
    assert len(host.engine.records) == before


def test_older_messages_are_handed_on_if_the_mechanism_is_the_same() -> None:
    host = at(2, 5)
    assert host.meet(2, 3)
    assert not host.meet(1, 4)
    assert host.stamp == (2, 5, 0)
    assert (host.healing.obsolete, host.healing.conflicts, host.healing.healed) == (1, 0, 0)


def test_two_initiators_are_a_conflict_that_ends() -> None:
    high, low = at(3, 5), at(2, 5)
    assert not high.meet(*low.stamp)
    assert low.meet(*high.stamp)
    assert high.stamp == low.stamp == (3, 5, 0)
    assert (high.healing.conflicts, low.healing.conflicts) == (1, 1)


def test_other_scopes_are_heard_and_not_followed() -> None:
    host = at(2, 5, scope=8)
    assert host.meet(2, 99, scope=9)
    assert not host.meet(3, 99, scope=9)
    assert host.stamp == (2, 5, 8)


def test_nothing_is_never_woken() -> None:
    host = at(2, 5)
    host.engine.transition("voice", Nothing)
    assert host.stamp == (0, 5, 0)
    assert not host.meet(3, 9)
    assert not host.meet(0, 5)
    assert host.stamp == (0, 5, 0)
    assert host.receive(decide(1, 5))
    assert host.stamp == (1, 5, 0)


def test_flags_that_nobody_knows() -> None:
    host = at(2, 5)
    assert not host.meet(6, 9)
    assert not host.meet(0, 9)
    assert not host.meet(6, 1, scope=3)
    assert host.stamp == (2, 5, 0)
    assert host.healing.unknown == 3


def test_what_fails_is_not_adopted_and_tried_again() -> None:
    host = Host(flags={1: Calm, 2: Broken})
    for attempt in (1, 2):
        assert not host.meet(2, 5)
        assert host.stamp == (1, 0, 0)
        assert host.healing.failed == attempt
    assert host.meet(1, 6)


def test_a_dropped_proxy_disturbs_nobody(caplog: pytest.LogCaptureFixture) -> None:
    host = Host()
    host.engine.drop_proxy("voice")
    host.engine.create_proxy("other", Voice, Shy)
    host.engine.transition("other", Nothing)
    assert not caplog.records
    assert not host.healing.meet(Stamp(2, 5, 0))
    assert host.healing.failed == 1


def test_local_changes_show_in_the_flag() -> None:
    host = at(2, 5)
    host.engine.transition("voice", Wild)
    assert host.stamp == host.changes[-1] == (7, 5, 0)
    host.engine.create_proxy("other", Voice, Shy)
    told = len(host.changes)
    host.engine.transition("other", Nothing)
    assert len(host.changes) == told


def test_plans_without_a_decision_keep_the_number() -> None:
    host = at(2, 5, scope=8)
    assert host.receive(decide(3, 0, scope=8))
    assert host.stamp == (3, 5, 8)
    assert host.receive(decide(3, 0, scope=9))
    assert host.stamp == (3, 0, 9)


def test_old_plans_are_not_admitted() -> None:
    host = at(2, 5, scope=8)
    assert not host.receive(decide(1, 4, scope=8))
    assert host.receive(decide(3, 5, scope=8))
    assert host.receive(decide(1, 1, scope=9))
    assert host.stamp == (1, 1, 9)


def test_flags_that_cannot_be() -> None:
    engine = Engine()
    engine.create_proxy("voice", Voice, Calm)
    with pytest.raises(ValueError, match="flag 0 is Loud: it stands for no mechanism"):
        Healing(engine, "voice", {0: Loud})
    with pytest.raises(TypeError, match="lacks 'hear'"):
        Healing(engine, "voice", {1: Mechanism})
    with pytest.raises(UnknownProxy):
        Healing(engine, "noise", FLAGS)


# From inside a call


def test_inside_a_call_the_decision_is_followed_afterwards() -> None:
    host = at(1, 4)
    heard: list[bool] = []
    host.voice.hear(lambda: heard.extend((host.meet(2, 5), host.meet(2, 5), host.meet(1, 3))))
    assert heard == [False, False, True]
    assert host.stamp == (1, 4, 0)
    host.run_later()
    assert host.stamp == (2, 5, 0)
    assert host.healing.healed == 1
    assert host.meet(2, 5)


def test_a_deferred_transition_that_fails_is_not_adopted() -> None:
    host = Host(flags={1: Calm, 2: Broken})
    host.voice.hear(lambda: host.meet(2, 5))
    host.run_later()
    assert host.stamp == (1, 0, 0)
    assert host.healing.failed == 1


def test_a_deferred_transition_that_comes_too_late_is_healed_in_turn() -> None:
    host = at(1, 4)
    host.voice.hear(lambda: host.meet(2, 5))
    assert host.meet(3, 6)
    host.run_later()
    assert host.stamp == (2, 5, 0), "what is active is what is said to be active"
    assert host.meet(3, 6)


def test_a_deferred_transition_does_not_move_a_host_back_to_another_scope() -> None:
    host = at(1, 4, scope=8)
    host.voice.hear(lambda: host.meet(2, 5, scope=8))
    assert host.receive(decide(3, 1, scope=9))
    host.run_later()
    assert host.stamp == (2, 1, 9)


def test_without_deferral_it_is_refused_and_tried_again() -> None:
    engine = Engine("h")
    voice = engine.create_proxy("voice", Voice, Calm)
    healing = Healing(engine, "voice", FLAGS)
    heard: list[bool] = []
    voice.hear(lambda: heard.append(healing.meet(Stamp(2, 5, 0))))
    assert heard == [False]
    assert (healing.failed, healing.stamp) == (1, (1, 0, 0))
    assert healing.meet(Stamp(2, 5, 0))


# Many hosts


class Reach(NamedTuple):
    """The plan of a decision, made earlier or now, gets to some hosts."""

    decision: int
    hosts: list[int]


class Contact(NamedTuple):
    sender: int
    hearer: int


class Off(NamedTuple):
    host: int


def events(hosts: int) -> st.SearchStrategy[list[Any]]:
    number = st.integers(0, hosts - 1)
    return st.lists(
        st.one_of(
            st.builds(Reach, st.integers(0, 11), st.lists(number, unique=True, min_size=1)),
            st.builds(Contact, number, number),
            st.builds(Contact, number, number),
            st.builds(Off, number),
        ),
        max_size=40,
    )


def compare(a: int, b: int) -> int:
    return supersedes(a, b) - supersedes(b, a)


AGE = cmp_to_key(compare)


class Network:
    """Hosts that plans reach or miss, with decisions of several scopes made in advance, by one initiator."""

    def __init__(self, size: int, decisions: list[tuple[int, int]], first: int) -> None:
        self.sent: list[str] = []
        self.spoken = 0
        self.hosts = [Host(str(number), self.sent) for number in range(size)]
        self.meaning: dict[tuple[int, int], int] = {(0, 0): 1}
        self.plans = []
        latest: dict[int, int] = {}
        for scope, flag in decisions:
            latest[scope] = successor(latest[scope]) if scope in latest else first
            self.meaning[scope, latest[scope]] = flag
            self.plans.append(decide(flag, latest[scope], scope))

    def reach(self, decision: int, hosts: list[int]) -> None:
        for number in hosts:
            self.hosts[number].receive(self.plans[decision % len(self.plans)])

    def contact(self, sender: int, hearer: int) -> None:
        mine = self.hosts[sender].stamp
        self.hosts[sender].voice.say()
        self.spoken += mine.flag > 0
        theirs = self.hosts[hearer]
        before = theirs.stamp
        handed_on = mine.flag > 0 and theirs.healing.meet(mine, str(sender))
        after = theirs.stamp
        assert after.scope == before.scope, "a scope infected another"
        assert not supersedes(before.counter, after.counter), "a host went back"
        assert (after == before) or mine.scope == before.scope
        assert handed_on == (mine.flag > 0 and after.flag == mine.flag)

    def newest(self, scope: int) -> Stamp | None:
        """What the hosts of a scope that listen have to agree on."""
        stamps = [host.stamp for host in self.hosts if host.stamp.scope == scope and host.stamp.flag]
        return max(stamps, key=lambda stamp: (AGE(stamp.counter), stamp.flag)) if stamps else None


@st.composite
def connections(draw: st.DrawFn, hosts: list[int]) -> list[tuple[int, int]]:
    """A connected graph: a tree in random order, so that news may have to travel all the way."""
    order = draw(st.permutations(hosts))
    return [(order[i], order[draw(st.integers(0, i - 1))]) for i in range(1, len(order))]


@settings(max_examples=120, deadline=None)
@given(st.data())
def test_whatever_was_lost_all_that_are_connected_agree_in_the_end(data: st.DataObject) -> None:
    size = data.draw(st.integers(2, 7))
    decisions = data.draw(
        st.lists(st.tuples(st.integers(0, 2), st.sampled_from(list(FLAGS))), min_size=1, max_size=12)
    )
    network = Network(size, decisions, data.draw(st.sampled_from([1, END - 3])))
    part = data.draw(st.lists(st.integers(0, 1), min_size=size, max_size=size))
    for event in data.draw(events(size)):
        match event:
            case Reach(decision, hosts):
                network.reach(decision, hosts)
            case Contact(sender, hearer) if part[sender] == part[hearer]:
                network.contact(sender, hearer)
            case Off(number):
                network.hosts[number].engine.transition("voice", Nothing)
        for host in network.hosts:
            flag, counter, scope = host.stamp
            if flag:
                assert flag == network.meaning[scope, counter], "a mechanism without its decision"

    agreed = {scope: network.newest(scope) for scope in range(3)}
    asleep = [host.engine.active("voice") for host in network.hosts if not host.stamp.flag]
    for scope in range(3):
        awake = [i for i, h in enumerate(network.hosts) if h.stamp.flag and h.stamp.scope == scope]
        links = data.draw(connections(awake))
        for _ in range(size):
            for one, other in links:
                network.contact(one, other)
                network.contact(other, one)
    for one in range(size):  # and everybody hears everybody, of whatever scope
        for other in range(size):
            network.contact(one, other)

    for host in network.hosts:
        if host.stamp.flag:
            assert host.stamp == agreed[host.stamp.scope]
        assert host.healing.failed == host.healing.unknown == host.healing.conflicts == 0
    assert asleep == [host.engine.active("voice") for host in network.hosts if not host.stamp.flag]
    assert len(network.sent) == network.spoken, "healing sent something"


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(st.sampled_from(list(FLAGS)), st.integers(1, 3)), min_size=2, max_size=6), st.data()
)
def test_even_initiators_that_do_not_know_each_other_come_to_one_end(
    starts: list[tuple[int, int]], data: st.DataObject
) -> None:
    hosts = [at(flag, counter) for flag, counter in starts]
    links = data.draw(connections(list(range(len(hosts)))))
    for _ in hosts:
        for one, other in links:
            hosts[one].meet(*hosts[other].stamp)
            hosts[other].meet(*hosts[one].stamp)
    counter, flag = max((counter, flag) for flag, counter in starts)
    assert {host.stamp for host in hosts} == {(flag, counter, 0)}
