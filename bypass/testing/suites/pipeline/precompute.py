"""The suite for mechanisms of pre-computation."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import msgspec
from hypothesis import strategies as st

from bypass.ingest.stream.policies import Policies
from bypass.mechanisms import Registry
from bypass.mechanisms.families import PRECOMPUTE, Family
from bypass.ports.measurements import Measurement, MessageOrigin
from bypass.testing.suites.suite import MechanismSuite
from bypass.transitions import Action, Plan

START = 1_531_993_320_000
"""The time of the first batch (ms); messages have measurements of about that time."""

STEP_MS = 20_000
LAST_MS = 10 * 86_400_000
"""The time that passes after the last message: nothing may be held back for longer."""

LOSSLESS = ("keep-everything", "batch")
"""Mechanisms that are built in and leave nothing out."""


class DeviceMessageContent(NamedTuple):
    """A message of a device, by its number, and its measurements."""

    device: str
    measurements: list[Measurement]


Batches = Sequence[Sequence[DeviceMessageContent]]


class PrecomputeSuite(MechanismSuite):
    """Each message has one end, whatever is exchanged and whenever a worker begins anew; nothing is kept
    twice, and devices have nothing to do with each other.

    `keeps` is "everything" if nothing is left out or changed, "some" if some measurements are left out, and
    "derived" if values are computed.
    """

    family: ClassVar[Family] = PRECOMPUTE
    defaults: ClassVar[Mapping[str, Any]] = {"keeps": "some"}

    def messages(self) -> st.SearchStrategy[Batches]:
        """Draw batches of messages of three devices; override it if measurements have to be others."""
        numbers = st.integers(-5, 5)
        values: list[st.SearchStrategy[Measurement]] = [
            st.builds(Measurement, _times, _metrics, st.just("Long"), numbers, st.none()),
            st.builds(Measurement, _times, _metrics, st.just("Double"), numbers.map(float), st.none()),
            st.builds(Measurement, _times, _metrics, st.just("String"), st.sampled_from("ab"), st.none()),
        ]
        message = st.builds(
            DeviceMessageContent, st.sampled_from("xyz"), st.lists(st.one_of(values), max_size=3)
        )
        return st.lists(st.lists(message, max_size=4), max_size=5)

    def test_each_message_has_one_end(self) -> None:
        def has_one(batches: Batches) -> None:
            run = _Run(self, self.name)
            run.take_all(batches)
            sent = sum(map(len, batches))
            assert run.held == 0, f"{run.held} of {sent} messages are held back after ten days"
            ended = run.ends["stored"] + run.ends["filtered"]
            assert ended == sent, f"{ended} messages have ended, expected {sent}"

        self.for_all(has_one, batches=self.messages())

    def test_what_is_kept_was_sent(self) -> None:
        def was_sent(batches: Batches) -> None:
            run = _Run(self, self.name)
            run.take_all(batches)
            self._check_kept(run, batches)

        self.for_all(was_sent, batches=self.messages())

    def test_a_worker_that_begins_anew_changes_nothing(self) -> None:
        def same(batches: Batches) -> None:
            one, another = _Run(self, self.name), _Run(self, self.name)
            one.take_all(batches)
            another.take_all(batches, anew=True)
            assert one.kept == another.kept, f"kept {one.kept}, after beginning anew {another.kept}"
            assert one.ends == another.ends, f"ends {one.ends}, after beginning anew {another.ends}"

        self.for_all(same, batches=self.messages())

    def test_devices_have_nothing_to_do_with_each_other(self) -> None:
        def apart(batches: Batches) -> None:
            together = _Run(self, self.name)
            together.take_all(batches)
            for device in "xyz":
                alone = _Run(self, self.name)
                alone.take_all([[each for each in batch if each.device == device] for batch in batches])
                kept = [each for each in together.kept if each[0] == device]
                assert kept == alone.kept, f"{device}: kept {kept}, alone {alone.kept}"

        self.for_all(apart, batches=self.messages())

    def test_it_can_be_exchanged(self) -> None:
        """All devices, or some, go to another mechanism and back: what is held back moves with them."""

        def exchanged(batches: Batches, other: str, members: tuple[str, ...] | None) -> None:
            run = _Run(self, self.name)
            run.take_all(batches, anew=True, others=(other, self.name), members=members)
            sent = sum(map(len, batches))
            assert run.held == 0, f"{other}: {run.held} messages are held back after ten days"
            ended = run.ends["stored"] + run.ends["filtered"]
            assert ended == sent, f"{other}: {ended} messages have ended, expected {sent}"
            if self.capability("keeps") == "everything" and other in LOSSLESS:
                self._check_kept(run, batches)

        self.for_all(
            exchanged,
            batches=self.messages(),
            other=st.sampled_from(self.others),
            members=st.none() | st.sampled_from([("x",), ("x", "z")]),
        )

    def _check_kept(self, run: _Run, batches: Batches) -> None:
        sent = Counter((each.device, one) for batch in batches for each in batch for one in each.measurements)
        kept = Counter(run.kept)
        keeps = self.capability("keeps")
        if keeps == "derived":
            names = {(device, one.metric) for device, one in sent}
            other = {(device, one.metric) for device, one in kept} - names
            assert not other, f"kept {other}, which nobody has sent"
            assert kept.total() <= sent.total(), f"kept {kept.total()} of {sent.total()} measurements"
            return
        assert not kept - sent, f"kept {kept - sent}, which nobody has sent, or twice"
        if keeps == "everything":
            assert not sent - kept, f"{sent - kept} are left out"


_times = st.integers(START - 90_000, START + 90_000)
_metrics = st.sampled_from(["a", "b"])


class _Run:
    """A pipeline with a mechanism for all devices, and what it has kept."""

    def __init__(self, suite: PrecomputeSuite, first: str) -> None:
        self._suite = suite
        self._memory: dict[str, bytes] = {}
        self._number = 0
        self.kept: list[tuple[str, Measurement]] = []
        self.ends = Counter[str]()
        self._policies = self._begin()
        self._do(first, None)

    @property
    def held(self) -> int:
        return self._policies.host.held

    def take_all(
        self,
        batches: Batches,
        *,
        anew: bool = False,
        others: Sequence[str] = (),
        members: tuple[str, ...] | None = None,
    ) -> None:
        """Take batches, and let ten days pass. Workers begin `anew` for each; the mechanism of `members` is
        exchanged for one of `others` after another, before batches."""
        waiting = list(others)
        for number, batch in enumerate([*batches, *([()] * 3)]):
            late = number - len(batches) + 1
            clock = START + number * STEP_MS + max(0, late) * LAST_MS
            if waiting and number:
                self._do(waiting.pop(0), members, clock)
            self._batch(batch, clock)
            if anew:
                self._policies = self._begin()

    def _begin(self) -> Policies:
        memory = {key: msgspec.msgpack.decode(data) for key, data in self._memory.items()}
        return Policies(Registry(self._suite.brought), lambda _: True, memory)

    def _do(self, name: str, members: tuple[str, ...] | None, clock: int = START) -> None:
        self._policies.begin(clock)
        values = self._suite.parameters if name == self._suite.name else {}
        action = Action(proxy="precompute", to=name, set=values, members=members)
        for record in self._policies.execute(Plan(plan="suite", actions=(action,))):
            assert record.outcome in ("done", "skipped"), f"to {name}: {record.outcome} {record.error}"
        self._note()

    def _batch(self, batch: Sequence[DeviceMessageContent], clock: int) -> None:
        self._policies.begin(clock)
        for device, measurements in batch:
            origin = MessageOrigin("region", "tenant", device, clock, "log", self._number)
            self._number += 1
            self.ends[self._policies.take(origin, measurements)] += 1
        self._policies.pass_time()
        self._note()

    def _note(self) -> None:
        """Note what was kept and settled, and what the next batch must know."""
        host = self._policies.host
        self.kept += [(origin.device, each) for origin, measurements in host.kept for each in measurements]
        self.ends["stored"] += host.settled[True]
        self.ends["filtered"] += host.settled[False]
        for key, data in self._policies.changes().items():
            if data is None:
                self._memory.pop(key, None)
            else:
                self._memory[key] = msgspec.msgpack.encode(data)
