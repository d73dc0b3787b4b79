"""The wires between edges: in order, with delays; cut and mended."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from bypass.protocol.storage import Acknowledge, StorageMessage
from bypass.sim.backhaul import BackhaulModel, SimulatedBackhaul
from bypass.sim.clock import VirtualClock


class End:
    """One edge: what it was told, in that order."""

    def __init__(self, clock: VirtualClock) -> None:
        self._clock = clock
        self.got: list[tuple[float, int, int]] = []
        self.changes: list[tuple[str, int]] = []

    def from_edge(self, edge: int, body: StorageMessage) -> None:
        assert isinstance(body, Acknowledge)
        self.got.append((self._clock.now(), edge, body.op))

    def connected(self, edge: int) -> None:
        self.changes.append(("connected", edge))

    def disconnected(self, edge: int) -> None:
        self.changes.append(("disconnected", edge))


class Wires:
    def __init__(self, edges: int, model: BackhaulModel, seed: int = 1) -> None:
        self.clock = VirtualClock()
        self.backhaul = SimulatedBackhaul(self.clock, range(edges), seed, model)
        self.ends = [End(self.clock) for _ in range(edges)]
        for number, end in enumerate(self.ends):
            self.backhaul.open(number, end)

    def run(self, seconds: float) -> None:
        self.clock.run_until(self.clock.now_us + round(1e6 * seconds))


def test_a_body_takes_its_time() -> None:
    wires = Wires(2, BackhaulModel(delay_s=0.1, rate=1000.0))
    assert not wires.backhaul.send(0, 1, Acknowledge(1)), "they are not connected yet"
    wires.run(1.0)
    assert [end.changes for end in wires.ends] == [[("connected", 1)], [("connected", 0)]]
    assert wires.backhaul.send(0, 1, Acknowledge(2))
    assert wires.backhaul.send(0, 1, Acknowledge(3))
    size = wires.backhaul.sizes[0, 1] // 2
    wires.run(5.0)
    assert [(round(at, 6), edge, op) for at, edge, op in wires.ends[1].got] == [
        (round(1.1 + 0.008 * size, 6), 0, 2),
        (round(1.1 + 0.016 * size, 6), 0, 3),
    ]
    assert wires.backhaul.bodies == {(0, 1): 2}


def test_nobody_is_connected_to_itself_or_to_strangers() -> None:
    wires = Wires(2, BackhaulModel())
    wires.run(1.0)
    assert not wires.backhaul.send(0, 0, Acknowledge(1))
    assert not wires.backhaul.send(0, 9, Acknowledge(1))
    assert wires.backhaul.connected(0) == [1]


def test_a_cut_is_noticed_later_and_what_is_sent_meanwhile_is_lost() -> None:
    wires = Wires(3, BackhaulModel(delay_s=0.1, notice_s=1.0))
    wires.run(1.0)
    wires.backhaul.send(0, 1, Acknowledge(1))
    wires.backhaul.cut(0, 1)
    wires.run(0.5)
    assert wires.backhaul.send(0, 1, Acknowledge(2))
    assert wires.backhaul.send(0, 2, Acknowledge(3))
    wires.run(1.0)
    assert not wires.backhaul.send(0, 1, Acknowledge(4))
    wires.backhaul.heal(1, 0)
    wires.run(0.2)
    assert wires.backhaul.send(0, 1, Acknowledge(5))
    wires.run(0.2)
    assert [op for _, _, op in wires.ends[1].got] == [5]
    assert [op for _, _, op in wires.ends[2].got] == [3]
    assert wires.ends[0].changes == [
        ("connected", 1), ("connected", 2), ("disconnected", 1), ("connected", 1)
    ]  # fmt: skip


def test_an_end_that_begins_anew_before_that_was_noticed_is_another_one() -> None:
    wires = Wires(2, BackhaulModel(notice_s=5.0))
    wires.run(1.0)
    wires.backhaul.close(1)
    wires.run(0.5)
    wires.ends[1].changes.clear()
    wires.backhaul.open(1, wires.ends[1])
    wires.run(10.0)
    assert wires.ends[0].changes == [("connected", 1), ("disconnected", 1), ("connected", 1)]
    assert wires.ends[1].changes == [("connected", 0)]


ENDS = st.integers(0, 2)
STEPS = st.tuples(st.sampled_from(("send", "send", "cut", "heal", "close", "open", "wait")), ENDS, ENDS)


@settings(max_examples=60, deadline=None)
@given(steps=st.lists(STEPS, max_size=60), loss=st.sampled_from((0.0, 0.3)), seed=st.integers(0, 99))
def test_what_arrives_was_sent_in_that_order_and_all_does_without_losses(
    steps: list[tuple[str, int, int]], loss: float, seed: int
) -> None:
    wires = Wires(3, BackhaulModel(loss=loss), seed)
    wires.run(1.0)
    open_ends, sent, broken = {0, 1, 2}, 0, False
    expected: dict[tuple[int, int], list[int]] = {}
    for step, a, b in steps:
        if step == "send":
            sent += 1
            if wires.backhaul.send(a, b, Acknowledge(sent)):
                expected.setdefault((a, b), []).append(sent)
            else:
                assert a == b or broken
        elif step == "close" and a in open_ends:
            wires.backhaul.close(a)
            open_ends.discard(a)
            broken = True
        elif step == "open" and a not in open_ends:
            wires.backhaul.open(a, wires.ends[a])
            open_ends.add(a)
        elif step in ("cut", "heal") and a != b:
            getattr(wires.backhaul, step)(a, b)
            broken = broken or step == "cut"
        elif step == "wait":
            wires.run(0.5 * (a + 1))
    wires.run(5.0)
    for to, end in enumerate(wires.ends):
        for edge in {0, 1, 2} - {to}:
            got, said = [op for _, of, op in end.got if of == edge], expected.get((edge, to), [])
            assert got == sorted(got)
            assert set(got) <= set(said)
            if not broken and not loss:
                assert got == said
        known = {other for other in {0, 1, 2} - {to} if ("connected", other) in end.changes}
        for other in known:
            turns = [what for what, of in end.changes if of == other]
            if not broken:
                assert turns == ["connected"]
