"""Whatever happens to a group, each member is in exactly one mechanism, with what belongs to it."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Annotated, Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from pydantic import Field

from bypass.transitions import Engine, Mechanism, MechanismState, Plan, TransferState

MEMBERS = [*range(6), "a", "b"]
KINDS = ["ring", "heap", "list"]

chosen_members = st.lists(st.sampled_from([*MEMBERS, "nobody"]), min_size=1, max_size=5)
kinds = st.sampled_from(KINDS)
names = st.sampled_from(["size", "factor", "x"])
some_parameters = st.dictionaries(names, st.integers(0, 12), min_size=1, max_size=2)
parameters: st.SearchStrategy[dict[str, int]] = st.just({}) | some_parameters


class Weather:
    """Decides what fails: starting, the n-th admission from now, the next reaction to a parameter."""

    def __init__(self) -> None:
        self.start = self.reaction = False
        self.admissions = 0

    def clear(self) -> None:
        self.start = self.reaction = False
        self.admissions = 0

    def admission(self) -> None:
        if self.admissions:
            self.admissions -= 1
            if not self.admissions:
                raise OSError("admission refused")


class Permit:
    def __init__(self) -> None:
        self.state = "new"

    def open(self) -> None:
        assert self.state == "new"
        self.state = "open"

    def close(self) -> None:
        assert self.state in ("new", "open")
        self.state = "closed"


class Queue(Mechanism):
    weather: Annotated[Weather, TransferState()]
    size: Annotated[int, MechanismState("size"), Field(le=10)] = 5

    def __init__(self, host: Any = None, **values: Any) -> None:
        super().__init__(host, **values)
        self.content: dict[Hashable, str] = {}

    def start(self) -> None:
        if self.weather.start:
            raise OSError("start refused")

    def set_size(self, size: int) -> None:
        self.size = size
        if self.weather.reaction:
            self.weather.reaction = False
            raise OSError("reaction refused")

    def members(self) -> Collection[Hashable]:
        return self.content

    def admit(self, members: Collection[Hashable] | None, source: Mechanism | None) -> None:
        assert isinstance(source, Queue)
        for member in source.content if members is None else members:
            self.weather.admission()
            assert member not in self.content
            self.content[member] = source.content[member]

    def release(self, members: Collection[Hashable]) -> None:
        for member in members:
            self.content.pop(member, None)


class Ring(Queue):
    pass


class Heap(Queue):
    factor: Annotated[int, MechanismState("factor")] = 2


class List(Queue):
    pass


class Transitions(RuleBasedStateMachine):
    @initialize()
    def create(self) -> None:
        self.weather = Weather()
        self.permits: list[Permit] = []
        self.engine = Engine("h", lease=self.lease)
        self.group = self.engine.create_group(
            "queues", Ring, mechanisms=[Heap, List], state={"weather": self.weather}
        )
        default = self.group.default
        assert isinstance(default, Queue)
        default.content.update({member: f"of {member}" for member in MEMBERS})
        self.number = 0

    def lease(self, name: str) -> Permit:
        self.permits.append(Permit())
        return self.permits[-1]

    def run(self, **action: Any) -> None:
        self.number += 1
        plan = Plan.from_data(
            {"plan": "p", "id": str(self.number), "actions": [{"proxy": "queues", **action}]}
        )
        (planned,) = plan.dry_run(self.engine)
        before = [(m, m.settings(), dict(m.content)) for m in self.queues()]
        (record,) = self.engine.execute(plan)
        self.weather.clear()
        assert record.error == "" or record.outcome in ("failed", "skipped")
        if record.outcome in ("failed", "skipped"):
            assert [(m, m.settings(), m.content) for m in self.queues()] == before
        if record.outcome != "failed":
            assert planned.outcome == ("planned" if record.outcome == "done" else "skipped")
            assert (planned.source, planned.target, planned.set, planned.skipped, planned.members) == (
                record.source,
                record.target,
                record.set,
                record.skipped,
                record.members,
            )

    def queues(self) -> list[Queue]:
        return [m for m in self.group.active if isinstance(m, Queue)]

    @rule(to=kinds, members=chosen_members, values=parameters)
    def partial(self, to: str, members: list[int | str], values: dict[str, int]) -> None:
        self.run(to=to, members=members, set=values)
        if self.engine.records[-1].outcome == "done":
            target = self.group.get(to)
            assert isinstance(target, Queue)
            assert (set(members) - {"nobody"}) <= set(target.content)

    @rule(to=kinds, values=parameters)
    def total(self, to: str, values: dict[str, int]) -> None:
        self.run(to=to, set=values)
        if self.engine.records[-1].outcome == "done":
            assert [m.name for m in self.group.active] == [to]

    @rule(values=some_parameters, of=st.none() | kinds)
    def change(self, values: dict[str, int], of: str | None) -> None:
        self.run(set=values, of=of)

    @rule(start=st.booleans(), admissions=st.integers(0, 6), reaction=st.booleans())
    def storm(self, start: bool, admissions: int, reaction: bool) -> None:
        self.weather.start, self.weather.admissions, self.weather.reaction = start, admissions, reaction

    @invariant()
    def each_member_is_in_exactly_one_mechanism(self) -> None:
        everywhere = [member for queue in self.queues() for member in queue.content]
        assert sorted(map(str, everywhere)) == sorted(map(str, MEMBERS))
        assert all(queue.content[m] == f"of {m}" for queue in self.queues() for m in queue.content)

    @invariant()
    def only_the_default_may_be_empty(self) -> None:
        assert all(queue.content for queue in self.queues()[1:])
        assert len({type(queue) for queue in self.queues()}) == len(self.queues())

    @invariant()
    def exactly_what_is_active_may_communicate(self) -> None:
        active = [queue.host for queue in self.queues()]
        assert all(permit.state == ("open" if permit in active else "closed") for permit in self.permits)


TestTransitions = Transitions.TestCase
TestTransitions.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
